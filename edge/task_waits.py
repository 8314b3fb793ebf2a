"""The places in which keys wait for the ends of tasks: few a key, and none any more once this program stops."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

from edge.errors import Fault
from edge.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST
from kit import limits

Value = TypeVar("Value")
STOPPING = "This server stops; the task goes on. Ask again."


class Waits:
    """Who waits now."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._stopping = asyncio.Event()

    async def hold(self, key_id: str, work: Coroutine[Any, Any, Value]) -> Value:
        """Waits in one of the key's places; whoever gets none can still ask how the task stands."""
        if self._held[key_id] >= limits.TASK_WAITS_PER_KEY_MAX:
            work.close()
            raise Fault(INVALID_REQUEST, f"This key waits {limits.TASK_WAITS_PER_KEY_MAX} times already. Ask with tasks/get instead.")
        self._held[key_id] += 1
        waiting, stopping = asyncio.create_task(work), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                raise Fault(INTERNAL_ERROR, STOPPING, {"reason": "unavailable", "retryable": True})
            return waiting.result()
        finally:
            for one in (waiting, stopping):
                one.cancel()
            await asyncio.gather(waiting, stopping, return_exceptions=True)
            self._held[key_id] -= 1
            if not self._held[key_id]:
                del self._held[key_id]

    def end(self) -> None:
        """Ends every wait, because this program stops. The tasks go on."""
        self._stopping.set()
