"""Natural batching: what arrives while a call is in flight goes together in the next. Nothing waits for a timer and nothing is cached."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from kit import limits
from kit.errors import unavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Batcher(Generic[Item, Answer]):
    """Gathers concurrent items like a group commit; a batch of one uses the plain call."""

    def __init__(
        self,
        one: Callable[[Item], Awaitable[Answer]],
        many: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
        in_flight: int = 1,
        size_max: int = limits.AUTHORIZE_BATCH_MAX,
    ) -> None:
        self._one, self._many = one, many
        self._in_flight_max, self._size_max = in_flight, size_max
        self._waiting: list[tuple[Item, asyncio.Future[Answer]]] = []
        self._in_flight = 0
        self._pumps: set[asyncio.Task[None]] = set()

    async def submit(self, item: Item) -> Answer:
        """The answer to this item; refuses when too much is waiting already."""
        if len(self._waiting) >= limits.BATCH_PENDING_MAX:
            raise unavailable()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._in_flight < self._in_flight_max:
            self._in_flight += 1
            pump = asyncio.create_task(self._pump())
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)
        return await future

    async def _pump(self) -> None:
        """Sends until nothing waits. The count falls in the same step that sees nothing waiting, so that no item is ever left behind."""
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._size_max], self._waiting[self._size_max :]
                live = [(item, future) for item, future in batch if not future.done()]
                if live:
                    await self._send(live)
        finally:
            self._in_flight -= 1

    async def _send(self, live: list[tuple[Item, asyncio.Future[Answer]]]) -> None:
        """One round; its failure is the failure of each item in it and of none after it."""
        try:
            if len(live) == 1:
                answers: Sequence[Answer] = [await self._one(live[0][0])]
            else:
                answers = await self._many([item for item, _ in live])
        except Exception as error:  # noqa: BLE001 - whatever went wrong belongs to the waiting callers, not to the pump
            for _, future in live:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(live, answers, strict=True):
            if not future.done():
                future.set_result(answer)
