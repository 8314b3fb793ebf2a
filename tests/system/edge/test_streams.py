"""The held GET: heartbeats, judged again and again, the newest wins, and nothing is left when it ends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from edge.config import Timing
from kit import limits
from tests.poll import until
from tests.system.edge.held import Held
from tests.system.edge.running import Running, Site
from tests.system.edge.wire import Wire, auth, error
from tests.system.edge.world import World

QUICK = Timing(heartbeat_seconds=0.05, reauthorize_seconds=0.15, stall_seconds=1.0)


@pytest.fixture
def quick(site: Site, world: World) -> Iterator[Running]:
    """An edge whose streams are heard from and judged many times a second."""
    with site.edge(QUICK) as made:
        yield made


@contextmanager
def session(edge: Running, world: World) -> Iterator[Wire]:
    """A client in a session of its own."""
    with httpx.Client(timeout=20) as http:
        yield Wire(edge, world.new_key(), http).initialize()


def test_a_stream_is_heard_from_at_once_and_again_and_again(quick: Running, world: World, hold: Callable[..., Held]) -> None:
    with session(quick, world) as wire:
        held = hold(wire)
        until(lambda: held.text.count(": keepalive\n\n") >= 4, "heartbeats")
        assert held.status == 200
        assert held.headers["content-type"] == "text/event-stream"
        assert held.headers["cache-control"] == "no-cache, no-transform"
        assert held.headers["x-accel-buffering"] == "no"
    assert limits.HEARTBEAT_SECONDS < 15


def test_a_revoked_key_loses_its_stream(quick: Running, world: World, hold: Callable[..., Held]) -> None:
    with session(quick, world) as wire:
        held = hold(wire)
        wire.known.revoked = True
        assert held.ended.wait(5)
        assert "<broken>" not in held.text
        again = Held(wire)
        until(lambda: again.status, "the answer")
        assert again.status == 401
        again.close()
    assert limits.REAUTHORIZE_SECONDS <= 30


def test_a_stream_ends_when_nobody_can_say_whether_its_key_is_good(quick: Running, world: World, hold: Callable[..., Held]) -> None:
    with session(quick, world) as wire:
        held = hold(wire)
        world.auth_up = False
        assert held.ended.wait(5)


def test_the_newest_stream_of_a_session_wins(quick: Running, world: World, hold: Callable[..., Held]) -> None:
    with session(quick, world) as wire:
        old = hold(wire)
        new = hold(wire)
        assert old.ended.wait(5)
        beats = new.text.count("keepalive")
        until(lambda: new.text.count("keepalive") > beats, "the new stream lives")


def test_a_message_goes_to_the_sessions_own_stream_alone(site: Site, quick: Running, world: World, hold: Callable[..., Held]) -> None:
    with session(quick, world) as one, session(quick, world) as two:
        first, second = hold(one), hold(two)
        assert site.loop.run(quick.channel.deliver(str(one.session), b'{"jsonrpc":"2.0","method":"x"}'))
        until(lambda: 'event: message\ndata: {"jsonrpc":"2.0","method":"x"}\n\n' in first.text, "the message")
        beats = second.text.count("keepalive")
        until(lambda: second.text.count("keepalive") > beats + 1, "the other stream goes on")
        assert "message" not in second.text
        assert not site.loop.run(quick.channel.deliver("unknown", b"{}"))


def test_a_key_has_few_streams_and_the_oldest_makes_room_with_advice(
    quick: Running, world: World, http: httpx.Client, hold: Callable[..., Held]
) -> None:
    known = world.new_key()
    streams = [hold(Wire(quick, known, http).initialize()) for _ in range(limits.STREAMS_PER_KEY_MAX + 1)]
    assert streams[0].ended.wait(5)
    assert streams[0].text.endswith("retry: 30000\n\n")
    assert not any(s.ended.is_set() for s in streams[1:])
    assert quick.channel.counts[1] == limits.STREAMS_PER_KEY_MAX


def test_nothing_is_left_of_streams_whose_clients_went_away(quick: Running, world: World) -> None:
    with session(quick, world) as wire:
        for _ in range(10):
            held = Held(wire)
            until(lambda held=held: held.text, "the stream opens")  # type: ignore[misc]
            held.close()
        until(lambda: quick.channel.counts[1] == 0, "no stream is left")
        assert wire.call("ping").status_code == 200


def test_delete_ends_the_stream_and_the_program_stopping_ends_it_cleanly(site: Site, world: World, hold: Callable[..., Held]) -> None:
    with site.edge(QUICK) as edge, session(edge, world) as wire, session(edge, world) as other:
        held, held_by_other = hold(wire), hold(other)
        wire.http.delete(edge.url, headers=auth(wire.known) | {"mcp-session-id": str(wire.session)})
        assert held.ended.wait(5)
        assert not held_by_other.ended.is_set()
    assert held_by_other.ended.wait(5)
    assert "<broken>" not in held_by_other.text


def test_calls_go_on_while_a_stream_is_opened_again(quick: Running, world: World, hold: Callable[..., Held]) -> None:
    with session(quick, world) as wire:
        hold(wire)
        assert wire.call("ping").status_code == 200
        hold(wire)
        assert wire.call("ping").status_code == 200


def test_a_session_with_an_open_stream_does_not_expire(site: Site, world: World, hold: Callable[..., Held]) -> None:
    with (
        site.edge(Timing(heartbeat_seconds=0.05, session_idle_seconds=0.2, session_sweep_seconds=0.05)) as edge,
        session(edge, world) as wire,
    ):
        held = hold(wire)
        until(lambda: held.text.count("keepalive") > 12, "more than the idle time")
        assert wire.call("ping").status_code == 200


def test_what_is_no_stream_request_is_refused_before_anything_opens(legacy: Wire) -> None:
    headers = auth(legacy.known) | {"mcp-session-id": str(legacy.session)}
    before = legacy.edge.channel.counts
    error(legacy.http.get(legacy.edge.url, headers=headers | {"accept": "application/json"}), 406, -32600)
    error(legacy.http.get(legacy.edge.url, headers=headers | {"accept": "text/event-stream;q=0, */*"}), 406, -32600)
    error(legacy.http.get(legacy.edge.url, headers=headers | {"last-event-id": "5"}), 400, -32600)
    error(legacy.http.get(legacy.edge.url, headers=headers | {"mcp-protocol-version": "1900"}), 400, -32022)
    assert legacy.edge.channel.counts == before
