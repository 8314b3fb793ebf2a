"""Sessions and streams in memory: caps, ages, owners, cancellation."""

import asyncio

import pytest

from edge import sessions
from edge.channel import Full, MemoryChannel, SessionStream
from edge.sessions import Capabilities, Session
from kit import credentials, limits

KEY = credentials.mint("test")


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Now."""
        return self.now


def made(clock: Clock, key_id: str = "k", id_: str | None = None) -> Session:
    """A session of a key."""
    return Session(id_ or sessions.new_id(), key_id, sessions.digest(KEY), "2025-11-25", Capabilities(), clock())


@pytest.fixture
def clock() -> Clock:
    """Time."""
    return Clock()


@pytest.fixture
def channel(clock: Clock) -> MemoryChannel:
    """A channel whose sessions live a hundred seconds without use."""
    return MemoryChannel(clock, idle_seconds=100)


def test_ids_are_unguessable_and_visible() -> None:
    ids = {sessions.new_id() for _ in range(1_000)}
    assert len(ids) == 1_000
    assert all(sessions.valid_id(i) and len(i) >= 32 for i in ids)
    assert not any(sessions.valid_id(i) for i in ("", "a b", "\x7f", "é", "x" * 129, "a\n"))


def test_only_the_key_that_made_a_session_owns_it(clock: Clock) -> None:
    session = made(clock)
    assert session.owned_by(KEY)
    assert not session.owned_by(credentials.mint("test"))
    assert KEY.text not in repr(session)


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        ({}, Capabilities()),
        ({"elicitation": {}}, Capabilities(elicitation_form=True)),
        ({"elicitation": {"form": {}}}, Capabilities(elicitation_form=True)),
        ({"elicitation": {"url": {}}}, Capabilities(elicitation_url=True)),
        ({"elicitation": {"url": {}, "form": {"a": 1}}}, Capabilities(elicitation_form=True, elicitation_url=True)),
        ({"sampling": {"tools": {}}, "roots": {"listChanged": True}, "tasks": {}}, Capabilities(sampling=True, roots=True, tasks=True)),
        ({"elicitation": True, "sampling": 1, "roots": "yes", "tasks": None}, Capabilities()),
        ({"elicitation": {"url": True}, "experimental": {"a": {}}}, Capabilities()),
    ],
)
def test_of_what_a_client_declares_only_the_known_yes_and_no_is_kept(declared: dict[str, object], kept: Capabilities) -> None:
    assert Capabilities.of(declared) == kept


async def test_a_session_dies_of_age_and_not_while_it_is_in_use(channel: MemoryChannel, clock: Clock) -> None:
    session = made(clock)
    await channel.open(session)
    with session.in_use(clock):
        clock.now += 1_000
        await channel.sweep()
        assert await channel.find(session.id) is session
    clock.now += 99
    assert await channel.find(session.id) is session
    clock.now += 2
    assert await channel.find(session.id) is None
    assert channel.counts == (0, 0)


async def test_use_after_the_end_does_not_bring_a_session_back(channel: MemoryChannel, clock: Clock) -> None:
    session = made(clock)
    await channel.open(session)
    with session.in_use(clock):
        assert await channel.close(session.id)
    assert await channel.find(session.id) is None
    assert not await channel.close(session.id)


async def test_a_key_with_too_many_sessions_loses_the_one_it_left_alone_longest(
    channel: MemoryChannel, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSIONS_PER_KEY_MAX", 3)
    opened = []
    for _ in range(3):
        clock.now += 1
        opened.append(made(clock))
        await channel.open(opened[-1])
    with opened[0].in_use(clock):
        await channel.open(made(clock))
    assert [await channel.find(s.id) for s in opened] == [opened[0], None, opened[2]]


async def test_a_key_whose_sessions_are_all_busy_gets_no_other(
    channel: MemoryChannel, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSIONS_PER_KEY_MAX", 1)
    busy = made(clock)
    await channel.open(busy)
    with busy.in_use(clock), pytest.raises(Full):
        await channel.open(made(clock))


async def test_a_full_process_forgets_the_session_that_was_left_alone_longest(
    channel: MemoryChannel, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSIONS_MAX", 4)
    opened = [made(clock, key) for key in "abcd"]
    for session in opened:
        await channel.open(session)
    clock.now += 1
    with opened[1].in_use(clock):  # so its last use is the latest
        pass
    await channel.hold(opened[2])
    with opened[0].in_use(clock):
        await channel.open(made(clock, "e"))
        assert [await channel.find(s.id) for s in opened] == [opened[0], opened[1], opened[2], None]
        await channel.open(made(clock, "f"))
        assert [await channel.find(s.id) for s in opened] == [opened[0], None, opened[2], None]
    assert channel.counts == (4, 1)


async def test_a_process_whose_sessions_are_all_busy_or_listening_refuses_another(
    channel: MemoryChannel, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSIONS_MAX", 2)
    busy, listening = made(clock, "a"), made(clock, "b")
    for session in (busy, listening):
        await channel.open(session)
    await channel.hold(listening)
    with busy.in_use(clock), pytest.raises(Full):
        await channel.open(made(clock, "c"))
    await channel.open(made(clock, "c"))
    assert await channel.find(busy.id) is None
    assert channel.counts == (2, 1)


async def test_streams_are_bounded_in_the_process(channel: MemoryChannel, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STREAMS_MAX", 1)
    await channel.hold(made(clock, "a"))
    with pytest.raises(Full):
        await channel.hold(made(clock, "b"))


async def test_releasing_an_old_stream_leaves_the_new_one(channel: MemoryChannel, clock: Clock) -> None:
    session = made(clock)
    old = await channel.hold(session)
    new = await channel.hold(session)
    await channel.release(old)
    assert await channel.deliver(session.id, b"x")
    assert await old.next(1) is None
    assert await new.next(1) == b"x"


async def test_a_reader_that_falls_behind_too_far_loses_its_stream(clock: Clock) -> None:
    stream = SessionStream(made(clock))
    assert all(stream.put(b"x") for _ in range(limits.STREAM_BACKLOG_MAX))
    assert not stream.put(b"x")
    read = [await stream.next(1) for _ in range(limits.STREAM_BACKLOG_MAX + 1)]
    assert read[-1] is None


async def test_a_thousand_abandoned_sessions_with_streams_leave_nothing(channel: MemoryChannel, clock: Clock) -> None:
    for number in range(1_000):
        session = made(clock, f"k{number % 7}")
        await channel.open(session)
        await channel.release(await channel.hold(session))
    clock.now += 101
    await channel.sweep()
    assert channel.counts == (0, 0)
    assert vars(channel)["_by_key"] == {}


def test_cancelling_touches_exactly_the_one_request_that_is_meant(clock: Clock) -> None:
    session, cancelled = made(clock), list[object]()
    ids = (1, "1", 2, 2)
    with (
        session.running(ids[0], lambda: cancelled.append(1)),
        session.running(ids[1], lambda: cancelled.append("1")),
        session.running(ids[2], lambda: cancelled.append("a")),
        session.running(ids[3], lambda: cancelled.append("b")),
    ):
        others: list[object] = [True, 1.0, None, [], 2, "3"]
        for wanted in others:
            session.cancel(wanted)
        assert cancelled == []
        session.cancel("1")
        session.cancel(1)
    assert cancelled == ["1", 1]
    assert session.in_flight == {}


async def test_waiting_for_a_message_ends_in_time(clock: Clock) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await SessionStream(made(clock)).next(0.01)
