"""What one call said, kept for who comes back: numbered, and within bounds."""

from edge import sessions
from edge.config import Timing
from edge.resuming import Replay, Resuming
from edge.sessions import Capabilities, Session
from kit import credentials, limits

KEY = credentials.mint("test")


def session() -> Session:
    """A session of a key."""
    return Session(sessions.new_id(), "k", sessions.digest(KEY), "2025-11-25", Capabilities(), 0.0)


async def test_what_is_too_much_to_keep_cannot_be_come_back_to_and_ends_who_fell_behind() -> None:
    replay = Replay()
    reader = replay.read(0)
    for _ in range(4):
        await replay.tell(b"x" * (limits.REPLAY_MAX_BYTES // 3))
    assert [replay.keeps(number) for number in range(6)] == [False, False, True, True, True, False]
    assert await reader.next(1) is None
    assert await replay.read(3).next(1)


async def test_an_answer_is_kept_whatever_its_size() -> None:
    replay = Replay()
    await replay.tell(b"before")
    replay.finish(b"x" * (2 * limits.REPLAY_MAX_BYTES))
    reader = replay.read(1)
    assert await reader.next(1)
    assert await reader.next(1) is None


async def test_advice_to_stay_away_is_bounded() -> None:
    replay = Replay()
    replay.pause(10**9)
    assert b"retry: %d\n" % limits.REPLAY_RETRY_MAX_MS in (await replay.read(0).next(1) or b"")


async def test_only_so_many_calls_are_kept_of_a_session_and_in_all() -> None:
    resuming, crowd = Resuming(Timing()), [session() for _ in range(limits.REPLAYS_MAX // limits.REPLAYS_PER_SESSION_MAX + 2)]
    for one in crowd:
        for _ in range(limits.REPLAYS_PER_SESSION_MAX + 1):
            resuming._keep(one, Replay())
        assert len(one.replays) == limits.REPLAYS_PER_SESSION_MAX
    assert sum(len(one.replays) for one in crowd) <= limits.REPLAYS_MAX
    assert not crowd[0].replays
