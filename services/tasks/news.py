"""Wakes whoever waits for a task, and the worker, over one connection. Where nobody tells, who waits looks by itself now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kit import db, limits
from kit.errors import unavailable

log = logging.getLogger(__name__)
CHANGED, WAITING, LET_GO = "substrate_run", "substrate_run_waiting", "substrate_run_let_go"
RECONNECT_SECONDS = 0.5
ANY = ""  # stands for every task


class News:
    """Tells of changes. It says that something is different, never what it is."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._count = 0
        self.closing = False
        self.on_work: Callable[[], None] = _nobody
        self.on_let_go: Callable[[], None] = _nobody

    def close(self) -> None:
        """Nobody waits any more: each says what it knows, and is asked again elsewhere."""
        self.closing = True
        self._everybody()

    @property
    def count(self) -> int:
        """How many wait."""
        return self._count

    async def listen(self) -> None:
        """Listens until it is cancelled. When a lost connection is replaced everybody looks, since news may have been missed."""
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
            for channel in (CHANGED, WAITING, LET_GO):
                await connection.add_listener(channel, self._told)
            self._everybody()
            await lost.wait()
        finally:
            await connection.close()

    def _everybody(self) -> None:
        for events in self._waiting.values():
            for event in events:
                event.set()
        self.on_work()
        self.on_let_go()

    def _told(self, _connection: Any, _pid: int, channel: str, payload: Any) -> None:
        if channel == WAITING:
            self.on_work()
        elif channel == LET_GO:
            self.on_let_go()
        else:
            for name in (str(payload), ANY):
                for event in self._waiting.get(name, ()):
                    event.set()

    @contextmanager
    def about(self, ids: Sequence[str]) -> Iterator[asyncio.Event]:
        """An event that is set whenever one of these tasks may have changed, from now on."""
        if self._count >= limits.TASK_WAITERS_MAX:
            raise unavailable("Too many calls wait for tasks. Try again shortly.")
        event = asyncio.Event()
        self._count += 1
        for name in ids:
            self._waiting.setdefault(name, set()).add(event)
        try:
            yield event
        finally:
            self._count -= 1
            for name in ids:
                self._waiting[name].discard(event)
                if not self._waiting[name]:
                    del self._waiting[name]


def _nobody() -> None:
    """Nobody asked to be told."""
