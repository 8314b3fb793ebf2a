"""The link of a session: asked on the stream of its own call, answered once, decided by nobody, and its end told once (E1 to E9)."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from mcp_types import methods

from edge.config import Handoff, Timing
from kit import limits
from tests.poll import until
from tests.system.edge.conftest import LINK_TIMING
from tests.system.edge.held import Held
from tests.system.edge.ledger import session_hash
from tests.system.edge.links import PROPOSE, failing, plain, proposed, respond, says
from tests.system.edge.running import Running, Site
from tests.system.edge.wire import Wire, auth, error, messages
from tests.system.edge.world import World

COMPLETE = "notifications/elicitation/complete"


def beats(held: Held, number: int = 6) -> None:
    """Waits for so many more heartbeats of a stream: longer than the pauses in which the edge looks."""
    seen = held.text.count("keepalive")
    until(lambda: held.text.count("keepalive") >= seen + number, "heartbeats")


async def errands() -> int:
    """What the edges of these tests still do without a request."""
    return sum("LinkRequests" in repr(task.get_coro()) for task in asyncio.all_tasks())


def session_of(edge: Running, wire: Wire) -> Any:
    """The edge's memory of a session."""
    return edge.channel._sessions.get(str(wire.session))


def test_a_receipt_is_preceded_by_a_request_to_open_a_link_that_says_nothing(linked: Wire, world: World) -> None:
    asked, receipt = proposed(linked.initialize())
    filed, id_, link = world.ledger.only()
    methods.parse_server_request("elicitation/create", "2025-11-25", asked["params"])
    base = linked.edge.url
    assert asked["method"] == "elicitation/create"
    assert {k: v for k, v in asked["params"].items() if k != "message"} == {
        "mode": "url",
        "elicitationId": id_,
        "url": f"{base}/approve?elicitationId={id_}",
    }
    assert link.session == session_hash(str(linked.session))
    assert receipt["structuredContent"]["approval_id"] == filed.receipt.approval_id
    for word in (filed.receipt.approval_id, linked.known.id, linked.known.owner, PROPOSE["arguments"]["case_id"], "add_note"):  # type: ignore[index]
        assert word not in str(asked)


@pytest.mark.parametrize(
    ("body", "noted"),
    [
        ({"result": {"action": "accept"}}, "accepted"),
        ({"result": {"action": "accept", "content": {"approve": True}}}, "accepted"),
        ({"result": {"action": "decline"}}, "declined"),
        ({"result": {"action": "cancel"}}, "cancelled"),
        ({"result": {"action": "approve"}}, "cancelled"),
        ({"result": {}}, "cancelled"),
        ({"result": 1}, "cancelled"),
        ({"error": {"code": -1, "message": "No."}}, "cancelled"),
    ],
)
def test_e1_a_request_is_answered_once_and_the_first_answer_stands(linked: Wire, world: World, body: Any, noted: str) -> None:
    asked, _ = proposed(linked.initialize())
    answer = respond(linked, asked, **body)
    assert (answer.status_code, answer.content) == (202, b"")
    assert "content-type" not in answer.headers
    assert world.ledger.only()[2].answer == noted
    for other in ("accept", "decline", "cancel"):
        error(says(linked, asked, other), 400, -32600)
    assert world.ledger.only()[2].answer == noted


@pytest.mark.parametrize(("action", "noted"), [("accept", "accepted"), ("decline", "declined")])
def test_e1_an_answer_that_could_not_be_noted_at_once_is_noted_as_soon_as_it_can_be(
    linked: Wire, world: World, hold: Callable[..., Held], action: str, noted: str
) -> None:
    asked, _ = proposed(linked.initialize())
    held = hold(linked)
    world.ledger.fault = failing("AnswerHandoff")
    assert says(linked, asked, action).status_code == 202
    error(says(linked, asked, "cancel"), 400, -32600)
    assert world.ledger.only()[2].answer == ""
    world.ledger.only()[0].state = "approved"
    world.ledger.fault = None
    until(lambda: world.ledger.only()[2].answer == noted, "the answer is noted")
    if action == "accept":
        until(lambda: COMPLETE in held.text, "the end is told")
    beats(held)
    assert held.text.count(COMPLETE) == (action == "accept")


def test_e1_an_answer_after_its_time_finds_no_request(linked: Wire, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HANDOFF_LIVES_SECONDS", 0)
    asked, _ = proposed(linked.initialize())
    error(says(linked, asked, "accept"), 400, -32600)
    assert world.ledger.only()[2].answer == ""


@pytest.mark.parametrize("state", ["approved", "declined", "expired"])
def test_e2_the_end_of_an_accepted_link_is_told_once(linked: Wire, world: World, hold: Callable[..., Held], state: str) -> None:
    asked, _ = proposed(linked.initialize())
    held = hold(linked)
    assert says(linked, asked, "accept").status_code == 202
    filed, id_, _ = world.ledger.only()
    until(lambda: world.ledger.polled >= 2, "it is watched")
    assert COMPLETE not in held.text
    filed.state = state
    until(lambda: COMPLETE in held.text, "the end is told")
    beats(held)
    assert held.text.count(COMPLETE) == 1
    assert f'data: {{"jsonrpc":"2.0","method":"{COMPLETE}","params":{{"elicitationId":"{id_}"}}}}\n\n' in held.text


def test_e2_a_proposal_that_was_replaced_is_followed_to_the_one_that_ends(linked: Wire, world: World, hold: Callable[..., Held]) -> None:
    asked, _ = proposed(linked.initialize())
    held = hold(linked)
    says(linked, asked, "accept")
    first, _, _ = world.ledger.only()
    last = world.ledger.supersede(world.ledger.supersede(first))
    polled = world.ledger.polled
    until(lambda: world.ledger.polled >= polled + 2, "it is watched")
    assert COMPLETE not in held.text
    last.state = "declined"
    until(lambda: COMPLETE in held.text, "the end is told")


@pytest.mark.parametrize("action", ["decline", "cancel", None])
def test_e2_the_end_of_a_link_that_was_not_accepted_is_not_told(
    linked: Wire, world: World, hold: Callable[..., Held], action: str | None
) -> None:
    asked, _ = proposed(linked.initialize())
    held = hold(linked)
    if action is not None:
        says(linked, asked, action)
    world.ledger.only()[0].state = "approved"
    beats(held)
    assert (world.ledger.polled, COMPLETE in held.text) == (0, False)


@pytest.mark.parametrize("state", ["withdrawn", "sent_back"])
def test_e2_a_proposal_that_was_taken_or_sent_back_ends_without_a_word(
    linked: Wire, world: World, hold: Callable[..., Held], state: str
) -> None:
    asked, _ = proposed(linked.initialize())
    held = hold(linked)
    world.ledger.only()[0].state = state
    says(linked, asked, "accept")
    until(lambda: world.ledger.polled == 1, "it is looked at")
    beats(held)
    assert (world.ledger.polled, COMPLETE in held.text) == (1, False)


def test_e2_a_session_that_does_not_listen_is_not_asked_about_and_is_told_when_it_listens_again(
    linked: Wire, world: World, hold: Callable[..., Held]
) -> None:
    asked, _ = proposed(linked.initialize())
    says(linked, asked, "accept")
    world.ledger.only()[0].state = "approved"
    other = Wire(linked.edge, linked.known, linked.http).initialize()
    beats(hold(other))
    assert world.ledger.polled == 0
    held = hold(linked)
    until(lambda: COMPLETE in held.text, "the end is told")


def test_e3_no_other_key_or_session_touches_a_request(linked: Wire, world: World, hold: Callable[..., Held]) -> None:
    asked, _ = proposed(linked.initialize())
    colleague = Wire(linked.edge, world.new_key(linked.known.owner), linked.http, session=linked.session)
    error(says(colleague, asked, "accept"), 404, -32600)
    others = [Wire(linked.edge, k, linked.http, capabilities=linked.capabilities).initialize() for k in (linked.known, world.new_key())]
    for other in others:
        error(says(other, asked, "accept"), 400, -32600)
    assert world.ledger.only()[2].answer == ""
    held, stranger = hold(linked), hold(others[0])
    says(linked, asked, "accept")
    world.ledger.only()[0].state = "approved"
    until(lambda: COMPLETE in held.text, "the end is told")
    beats(stranger)
    assert COMPLETE not in stranger.text


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"elicitation": {}},
        {"elicitation": {"form": {}}},
        {"elicitation": {"url": None}},
        {"elicitation": {"url": True}},
        {"elicitation": []},
        {"url": {}},
        {"experimental": {"elicitation": {"url": {}}}},
    ],
)
def test_e4_a_client_that_does_not_say_it_opens_links_gets_the_receipt_alone(linked: Wire, world: World, capabilities: Any) -> None:
    linked.capabilities = capabilities
    plain(linked.initialize())
    assert world.ledger.links == {}


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26"])
def test_e4_revisions_without_links_get_the_receipt_alone(linked: Wire, world: World, version: str) -> None:
    (receipt,) = messages(linked.initialize(version).call("tools/call", PROPOSE))
    assert "pending_confirmation" in receipt["result"]["content"][0]["text"]
    assert world.ledger.links == {}


def test_e4_a_server_without_an_approval_page_sends_no_link(legacy: Wire, world: World) -> None:
    legacy.session, legacy.capabilities = None, {"elicitation": {"url": {}}}
    plain(legacy.initialize())
    assert world.ledger.links == {}
    assert legacy.http.get(f"{legacy.edge.url}/approve?elicitationId={'a' * 43}").status_code == 404


def test_e4_a_client_that_takes_no_stream_gets_the_receipt_alone(linked: Wire, world: World) -> None:
    linked.headers = {"accept": "application/json"}
    plain(linked.initialize())
    assert world.ledger.links == {}


def test_e5_a_closed_session_waits_for_nothing_and_never_hears_again(site: Site, linked: Wire, world: World) -> None:
    before = site.loop.run(errands())
    asked, _ = proposed(linked.initialize())
    second, _ = proposed(linked)
    says(linked, second, "accept")
    session = session_of(linked.edge, linked)
    linked.http.delete(linked.edge.url, headers=auth(linked.known) | {"mcp-session-id": str(linked.session)})
    assert session.asked == {}
    error(says(linked, asked, "accept"), 404, -32600)
    assert sorted(link.answer for link in world.ledger.links.values()) == ["", "accepted"]
    for filed in world.ledger.filed.values():
        filed.state = "approved"
    until(lambda: site.loop.run(errands()) <= before, "nothing is watched any more")


def test_e5_a_session_that_closes_while_its_link_is_made_gets_the_receipt_alone(linked: Wire, world: World) -> None:
    opening, closed = threading.Event(), threading.Event()

    async def until_closed(method: str) -> None:
        if method == "OpenHandoff":
            opening.set()
            await asyncio.to_thread(closed.wait, 10)

    world.ledger.fault = until_closed
    found: list[httpx.Response] = []
    caller = threading.Thread(target=lambda: found.append(linked.initialize().call("tools/call", PROPOSE)))
    caller.start()
    assert opening.wait(10)
    with httpx.Client(timeout=10) as other:
        other.delete(linked.edge.url, headers=auth(linked.known) | {"mcp-session-id": str(linked.session)})
    closed.set()
    caller.join(10)
    assert [m["result"]["structuredContent"]["status"] for m in messages(found[0])] == ["pending_confirmation"]


@pytest.mark.parametrize("action", ["accept", "decline", "cancel", "approve"])
def test_e6_no_answer_is_a_vote(linked: Wire, world: World, action: str) -> None:
    asked, receipt = proposed(linked.initialize())
    respond(linked, asked, result={"action": action, "content": {"decision": "approved", "confirm": True}})
    assert [f.state for f in world.ledger.filed.values()] == ["undecided"]
    assert receipt["structuredContent"]["executed"] is False


def test_e7_a_revoked_key_answers_nothing_and_hears_nothing(linked: Wire, world: World, hold: Callable[..., Held]) -> None:
    asked, _ = proposed(linked.initialize())
    second, _ = proposed(linked)
    says(linked, second, "accept")
    held = hold(linked)
    until(lambda: world.ledger.polled, "it is watched")
    linked.known.revoked = True
    error(says(linked, asked, "accept"), 401, -32600)
    assert held.ended.wait(5)
    assert COMPLETE not in held.text


def test_e7_nothing_is_watched_for_a_revoked_key(
    site: Site, leading: Handoff, world: World, http: httpx.Client, hold: Callable[..., Held]
) -> None:
    before = site.loop.run(errands())
    with site.edge(Timing(handoff_pause_seconds=0.03), handoff=leading) as edge:
        wire = Wire(edge, world.new_key(), http, capabilities={"elicitation": {"url": {}}}).initialize()
        asked, _ = proposed(wire)
        says(wire, asked, "accept")
        held = hold(wire)
        until(lambda: world.ledger.polled, "it is watched")
        wire.known.revoked = True
        until(lambda: site.loop.run(errands()) <= before, "it is watched no more")
        assert not held.ended.is_set()


def test_e8_losing_every_session_changes_nothing_that_lasts(site: Site, leading: Handoff, world: World, http: httpx.Client) -> None:
    known = world.new_key()
    with site.edge(LINK_TIMING, handoff=leading) as edge:
        wire = Wire(edge, known, http, capabilities={"elicitation": {"url": {}}}).initialize()
        asked, _ = proposed(wire)
        accepted, _ = proposed(wire)
        says(wire, accepted, "accept")
    before = {i: (f.state, f.receipt.SerializeToString()) for i, f in world.ledger.filed.items()}
    with site.edge(LINK_TIMING, handoff=leading) as edge:
        again = Wire(edge, known, http, session=wire.session)
        error(says(again, asked, "accept"), 404, -32600)
    assert {i: (f.state, f.receipt.SerializeToString()) for i, f in world.ledger.filed.items()} == before
    assert sorted(link.answer for link in world.ledger.links.values()) == ["", "accepted"]


def test_e9_a_request_goes_on_the_stream_of_its_own_call_and_on_no_other(linked: Wire, world: World, hold: Callable[..., Held]) -> None:
    held = hold(linked.initialize())
    other = hold(Wire(linked.edge, linked.known, linked.http, capabilities=linked.capabilities).initialize())
    proposed(linked)
    beats(held)
    beats(other, 2)
    assert "elicitation" not in held.text + other.text


@pytest.mark.parametrize("how", ["unavailable", "exception", "hang"])
def test_a_link_that_cannot_be_made_costs_nobody_a_receipt(linked: Wire, world: World, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HANDOFF_OPEN_SECONDS", 0.2)

    async def fault(method: str) -> None:
        if method != "OpenHandoff":
            return
        if how == "exception":
            raise RuntimeError("SELECT secret")
        await (asyncio.sleep(30) if how == "hang" else failing("OpenHandoff")("OpenHandoff"))

    world.ledger.fault = fault
    receipt = plain(linked.initialize())
    assert receipt["approval_id"] in world.ledger.filed


def test_a_receipt_that_is_not_pending_has_no_link(linked: Wire, world: World) -> None:
    world.ledger.status = "something_else"
    (receipt,) = messages(linked.initialize().call("tools/call", PROPOSE))
    assert receipt["result"]["structuredContent"]["status"] == "something_else"
    assert world.ledger.links == {}


def test_a_client_that_never_answers_gets_every_receipt_at_once_and_after_a_number_no_more_links(linked: Wire, world: World) -> None:
    linked.initialize()
    for _ in range(limits.HANDOFFS_ASKED_PER_SESSION_MAX):
        proposed(linked)
    plain(linked)
    assert len(session_of(linked.edge, linked).asked) == limits.HANDOFFS_ASKED_PER_SESSION_MAX
    assert len(world.ledger.filed) == limits.HANDOFFS_ASKED_PER_SESSION_MAX + 1


def test_no_more_links_are_watched_than_there_is_room_for(
    linked: Wire, world: World, hold: Callable[..., Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HANDOFF_ERRANDS_MAX", 0)
    asked, _ = proposed(linked.initialize())
    held = hold(linked)
    assert says(linked, asked, "accept").status_code == 202
    world.ledger.only()[0].state = "approved"
    beats(held)
    assert (world.ledger.polled, COMPLETE in held.text) == (0, False)
