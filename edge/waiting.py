"""Answers that may take long: whole where they come soon, else at the end of a stream that is heard from while its client waits."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from edge import jsonrpc, streams
from edge.config import Timing
from edge.errors import Fault
from edge.http import Answer, Disconnected, Exchange, Header
from edge.negotiation import Accepts
from kit.errors import Refusal


class Waiting:
    """One such answer. A client that goes away takes it back, and with it whatever was waited for."""

    def __init__(self, exchange: Exchange, accepts: Accepts, timing: Timing, extra: tuple[Header, ...]) -> None:
        self._exchange, self._accepts, self._timing, self._extra = exchange, accepts, timing, extra
        self._begun, self._writing = False, asyncio.Lock()

    async def answer(self, work: Coroutine[Any, Any, bytes], id_: jsonrpc.Id) -> Answer | None:
        """The answer, or None where it went out on a stream. A refusal that comes too late for a status of its own is told as a message."""
        working, gone = asyncio.create_task(work), asyncio.create_task(self._exchange.gone())
        try:
            while not working.done():
                await asyncio.wait({working, gone}, timeout=self._timing.heartbeat_seconds, return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    raise Disconnected
                if not working.done() and self._accepts.sse:
                    await self._say(streams.KEEPALIVE)
            if not self._begun:
                return streams.whole(working.result(), self._accepts)
            await self._say(streams.event(told(working, id_)))
            await self._exchange.end()
        finally:
            working.cancel()
            gone.cancel()
            await asyncio.gather(working, gone, return_exceptions=True)
        return None

    async def tell(self, message: bytes) -> None:
        """Says something ahead of the answer. Only to a client that takes events."""
        await self._say(streams.event(message))

    async def _say(self, data: bytes) -> None:
        try:
            async with self._writing, asyncio.timeout(self._timing.stall_seconds):
                if not self._begun:
                    self._begun = True
                    await self._exchange.begin((*streams.HEADERS, *self._extra))
                await self._exchange.part(data)
        except TimeoutError:  # a reader that takes nothing is as good as gone
            raise Disconnected from None


def told(working: asyncio.Task[bytes], id_: jsonrpc.Id) -> bytes:
    """The answer of work that is done, or its refusal as one."""
    try:
        return working.result()
    except Refusal as refusal:
        return jsonrpc.error(id_, jsonrpc.INVALID_REQUEST, refusal.message)
    except Fault as fault:
        return jsonrpc.error(id_, fault.code, fault.message, fault.data)
