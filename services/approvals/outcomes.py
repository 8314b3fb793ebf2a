"""Waits for the executor: one connection that listens, and everybody who looks at a result waits on it for a moment."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kit import db, limits

log = logging.getLogger(__name__)
CHANNEL = "substrate_carried_out"
RECONNECT_SECONDS = 1.0


class Outcomes:
    """Tells who waits for a proposal that its execution has ended. Where nobody tells, the wait just ends: the page says what is so."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._waiting: dict[uuid.UUID, set[asyncio.Event]] = {}
        self._count = 0

    async def listen(self) -> None:
        """Listens until it is cancelled, over a new connection whenever one is lost."""
        while True:
            try:
                await self._listen_once()
            except (OSError, TimeoutError, db.Error) as error:
                log.warning("not listening", extra={"because": type(error).__name__})
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen_once(self) -> None:
        connection, lost = await db.connect_one(self._dsn), asyncio.Event()
        try:
            connection.add_termination_listener(lambda _: lost.set())
            await connection.add_listener(CHANNEL, self._told)
            await lost.wait()
        finally:
            await connection.close()

    def _told(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        try:
            told = uuid.UUID(str(payload))
        except ValueError:
            return
        for event in self._waiting.get(told, ()):
            event.set()

    @contextmanager
    def watching(self, id_: uuid.UUID) -> Iterator[asyncio.Event | None]:
        """Watches a proposal from now on, so that nothing is missed between looking and waiting; None where too many watch already."""
        if self._count >= limits.OUTCOME_WAITERS_MAX:
            yield None
            return
        event = asyncio.Event()
        self._count += 1
        self._waiting.setdefault(id_, set()).add(event)
        try:
            yield event
        finally:
            self._count -= 1
            self._waiting[id_].discard(event)
            if not self._waiting[id_]:
                del self._waiting[id_]


async def wait(event: asyncio.Event | None, seconds: float = limits.OUTCOME_WAIT_SECONDS) -> None:
    """Waits a moment."""
    if event is not None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
