"""Changes of what is offered: told to sessions and to subscriptions that want to hear of them, and of an address only to who reads it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from substrate.changes.v1 import change_service_pb2 as pb

from edge.config import Offers, Timing
from kit import limits
from tests.poll import until
from tests.system.edge.held import Held
from tests.system.edge.running import Running, Site
from tests.system.edge.test_task_subscriptions import SUBSCRIPTION, Listening
from tests.system.edge.wire import Wire, error
from tests.system.edge.world import CASE, World

MATTER = f"bron://matters/{CASE}"
LISTS = {
    pb.CHANGE_KIND_TOOLS: ("toolsListChanged", "notifications/tools/list_changed"),
    pb.CHANGE_KIND_PROMPTS: ("promptsListChanged", "notifications/prompts/list_changed"),
    pb.CHANGE_KIND_RESOURCES: ("resourcesListChanged", "notifications/resources/list_changed"),
}
UPDATED = "notifications/resources/updated"
Say = Callable[..., None]


@pytest.fixture(scope="module")
def changing(site: Site) -> Iterator[Running]:
    """An edge whose offer changes."""
    timing = Timing(heartbeat_seconds=0.05, changes_pause_seconds=0.05)
    with site.edge(timing, site.with_tasks, offers=Offers(changes="reads")) as made:
        yield made


@pytest.fixture
def say(site: Site, changing: Running, world: World) -> Say:
    """Makes a change; without a kind, the stream breaks off."""
    until(lambda: len(world.changes) == 1, "the edge listens")

    def made(kind: Any = None, uri: str = "") -> None:
        async def put() -> None:
            for queue in world.changes:
                queue.put_nowait(None if kind is None else pb.WatchChangesResponse(kind=kind, uri=uri))

        site.loop.run(put())

    return made


@pytest.fixture
def client(changing: Running, world: World, http: httpx.Client) -> Wire:
    """A client in a session."""
    return Wire(changing, world.new_key(), http).initialize()


def heard(held: Held) -> list[dict[str, Any]]:
    """The messages of a held stream so far."""
    return [json.loads(line[6:]) for line in held.text.split("\n") if line.startswith("data: ")]


def listen(wire: Wire, **wanted: Any) -> Listening:
    """A subscription that was acknowledged."""
    one = Listening(wire, {"notifications": wanted})
    until(lambda: one.heard, "the acknowledgement")
    return one


def error_of(wire: Wire, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The error of a request of a session."""
    found: dict[str, Any] = error(wire.call(method, params), 200, -32602)["error"]
    return found


def test_what_changes_is_announced_and_only_where_somebody_tells_of_it(
    changing: Running, edge: Running, world: World, http: httpx.Client
) -> None:
    for version in ("2025-11-25", "2025-06-18", "2025-03-26"):
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        said = {}
        for one in (changing, edge):
            wire = Wire(one, world.new_key(), http)
            said[one.url] = wire.call("initialize", params).json()["result"]["capabilities"]
        assert said[changing.url]["tools"] == {"listChanged": True}
        assert said[changing.url]["resources"] == {"listChanged": True, "subscribe": True}
        assert said[edge.url]["tools"] == said[edge.url]["resources"] == {}
    modern = Wire(changing, world.new_key(), http).modern_result("server/discover")["capabilities"]
    assert modern["tools"] == {"listChanged": True}
    assert modern["resources"] == {"listChanged": True, "subscribe": True}
    unoffered = Wire(edge, world.new_key(), http).initialize()
    error(unoffered.call("resources/subscribe", {"uri": MATTER}), 200, -32601)


@pytest.mark.parametrize("kind", LISTS)
def test_every_session_that_listens_and_every_subscription_that_wants_it_hears_of_a_list(
    client: Wire, say: Say, hold: Callable[..., Held], kind: pb.ChangeKind.ValueType
) -> None:
    name, method = LISTS[kind]
    held, one = hold(client), listen(client, **{name: True})
    others = listen(client, **{other: other != name for other, _ in LISTS.values()})
    assert one.heard[0]["params"]["notifications"] == {name: True}
    say(kind)
    until(lambda: len(one.heard) == 2 and heard(held), "both were told")
    assert heard(held) == [{"jsonrpc": "2.0", "method": method, "params": {}}]
    assert one.heard[1]["method"] == method
    assert one.heard[1]["params"]["_meta"][SUBSCRIPTION] == "sub-1"
    assert not one.ended.is_set()
    say(next(other for other in LISTS if other != kind))
    until(lambda: len(others.heard) == 2, "the other subscription heard what it wants, and nothing else")
    one.close()
    others.close()


def test_a_session_hears_of_an_address_from_subscribing_to_unsubscribing(client: Wire, say: Say, hold: Callable[..., Held]) -> None:
    held = hold(client)
    say(pb.CHANGE_KIND_RESOURCE, MATTER)
    assert client.result("resources/subscribe", {"uri": MATTER}) == {}
    say(pb.CHANGE_KIND_RESOURCE, "bron://matters")
    say(pb.CHANGE_KIND_RESOURCE, MATTER)
    until(lambda: heard(held), "the update")
    assert client.result("resources/unsubscribe", {"uri": MATTER}) == {}
    assert client.result("resources/unsubscribe", {"uri": MATTER}) == {}
    say(pb.CHANGE_KIND_RESOURCE, MATTER)
    say(pb.CHANGE_KIND_TOOLS)
    until(lambda: heard(held)[-1]["method"] != UPDATED, "the next change")
    assert [m["params"] for m in heard(held) if m["method"] == UPDATED] == [{"uri": MATTER}]


@pytest.mark.parametrize("uri", [None, 1, "", "bron://nothing", "http://x", f"{MATTER}/x/y/z", "bron://matters/" + "9" * 5000])
def test_what_is_no_address_here_is_not_watched(client: Wire, uri: Any) -> None:
    assert error_of(client, "resources/subscribe", {"uri": uri})["message"]


def test_a_matter_that_the_key_does_not_reach_is_not_watched_and_one_that_it_loses_is_told_of_no_more(
    client: Wire, say: Say, world: World, hold: Callable[..., Held]
) -> None:
    held = hold(client)
    foreign = "bron://matters/99999999-1111-4111-8111-111111111111"
    error_of(client, "resources/subscribe", {"uri": foreign})
    one = listen(client, resourceSubscriptions=[foreign, MATTER, "bron://nothing"])
    assert one.heard[0]["params"]["notifications"] == {"resourceSubscriptions": [MATTER]}
    client.result("resources/subscribe", {"uri": MATTER})
    say(pb.CHANGE_KIND_RESOURCE, foreign)
    say(pb.CHANGE_KIND_RESOURCE, MATTER)
    until(lambda: len(heard(held)) == 1 and len(one.heard) == 2, "both hear of the matter they reach")
    client.known.revoked = True
    say(pb.CHANGE_KIND_RESOURCE, MATTER)
    say(pb.CHANGE_KIND_TOOLS)
    until(lambda: heard(held)[-1]["method"] != UPDATED, "the later change")
    assert [m["params"]["uri"] for m in heard(held) if m["method"] == UPDATED] == [MATTER]
    assert [m["params"]["uri"] for m in one.heard if m["method"] == UPDATED] == [MATTER]
    one.close()


def test_a_session_and_a_subscription_watch_few_addresses(client: Wire) -> None:
    session = next(s for s in client.edge.channel._sessions.values() if s.id == client.session)
    for number in range(limits.RESOURCES_WATCHED_MAX):
        session.watched[f"bron://x/{number}"] = None  # type: ignore[assignment]
    assert "unsubscribe" in error_of(client, "resources/subscribe", {"uri": MATTER})["message"]
    session.watched.popitem()
    client.result("resources/subscribe", {"uri": MATTER})
    client.result("resources/subscribe", {"uri": MATTER})
    too_many = {"notifications": {"resourceSubscriptions": ["bron://x"] * (limits.RESOURCES_WATCHED_MAX + 1)}}
    error(client.modern("subscriptions/listen", too_many), 400, -32602)


@pytest.mark.parametrize("wanted", [{"toolsListChanged": "yes"}, {"resourceSubscriptions": "x"}, {"resourceSubscriptions": [1]}])
def test_a_subscription_that_wants_nonsense_is_invalid(client: Wire, wanted: dict[str, Any]) -> None:
    error(client.modern("subscriptions/listen", {"notifications": wanted}), 400, -32602)


def test_changes_are_heard_again_after_their_stream_broke_off_and_a_strange_one_ends_nothing(
    client: Wire, say: Say, world: World, hold: Callable[..., Held]
) -> None:
    held = hold(client)
    before = set(world.changes)
    say()
    until(lambda: len(world.changes) == 1 and not world.changes & before, "the edge listens again")
    say(pb.CHANGE_KIND_UNSPECIFIED)
    say(pb.CHANGE_KIND_RESOURCE)
    say(99)
    say(pb.CHANGE_KIND_TOOLS)
    until(lambda: heard(held), "the change after them")
    assert [m["method"] for m in heard(held)] == ["notifications/tools/list_changed"]
