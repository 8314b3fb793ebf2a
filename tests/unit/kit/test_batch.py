"""Natural batching: no delay when idle, one round for what gathers, and each caller its own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from kit import limits
from kit.batch import Batcher
from kit.errors import Refusal


class Backend:
    """Doubles numbers, and remembers in which rounds they came."""

    def __init__(self) -> None:
        self.rounds: list[list[int]] = []
        self.gate = asyncio.Event()

    async def one(self, item: int) -> int:
        return (await self.many([item]))[0]

    async def many(self, items: Sequence[int]) -> Sequence[int]:
        self.rounds.append(list(items))
        await self.gate.wait()
        if 13 in items:
            raise ValueError("unlucky")
        return [i * 2 for i in items]


async def test_what_arrives_while_a_call_is_in_flight_goes_together_in_the_next() -> None:
    backend = Backend()
    batcher = Batcher(backend.one, backend.many)
    waiting = [asyncio.create_task(batcher.submit(n)) for n in range(5)]
    while not backend.rounds:
        await asyncio.sleep(0)
    late = [asyncio.create_task(batcher.submit(n)) for n in range(5, 8)]
    backend.gate.set()
    assert await asyncio.gather(*waiting, *late) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert sorted(n for r in backend.rounds for n in r) == list(range(8))
    assert len(backend.rounds) < 8


async def test_a_failed_round_fails_its_own_callers_and_nobody_after() -> None:
    backend = Backend()
    backend.gate.set()
    batcher = Batcher(backend.one, backend.many)
    with pytest.raises(ValueError, match="unlucky"):
        await batcher.submit(13)
    assert await batcher.submit(4) == 8


async def test_a_caller_that_left_does_not_hold_up_the_others() -> None:
    backend = Backend()
    batcher = Batcher(backend.one, backend.many)
    first, leaver, last = (asyncio.create_task(batcher.submit(n)) for n in (1, 2, 3))
    while not backend.rounds:
        await asyncio.sleep(0)
    leaver.cancel()
    backend.gate.set()
    assert list(await asyncio.gather(first, last)) == [2, 6]


async def test_a_round_never_exceeds_its_size() -> None:
    backend = Backend()
    backend.gate.set()
    batcher = Batcher(backend.one, backend.many)
    await asyncio.gather(*[batcher.submit(n) for n in range(100, 300)])
    assert max(len(r) for r in backend.rounds) == limits.AUTHORIZE_BATCH_MAX


async def test_too_many_waiting_callers_are_refused_and_told_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BATCH_PENDING_MAX", 3)
    backend = Backend()
    batcher = Batcher(backend.one, backend.many)
    sent = asyncio.create_task(batcher.submit(1))
    while not backend.rounds:
        await asyncio.sleep(0)
    waiting = [asyncio.create_task(batcher.submit(n)) for n in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Refusal) as refused:
        await batcher.submit(9)
    assert refused.value.retryable
    backend.gate.set()
    assert await asyncio.gather(sent, *waiting) == [2, 0, 2, 4]


async def test_whoever_calls_the_moment_the_last_answer_came_is_not_left_behind() -> None:
    backend = Backend()
    backend.gate.set()
    batcher = Batcher(backend.one, backend.many)
    for n in range(200):
        async with asyncio.timeout(5):
            assert await batcher.submit(n + 20) == (n + 20) * 2
