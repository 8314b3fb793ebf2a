"""Calls of 2025-11-25 that speak while they work: each event has an id, and a client that lost the stream comes back for the rest of it."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from edge import jsonrpc, streams
from edge.caller import Caller
from edge.channel import Stream
from edge.config import Timing
from edge.errors import internal
from edge.http import Answer, Exchange, Header
from edge.negotiation import Accepts
from edge.sessions import Session
from edge.waiting import told
from kit import limits

log = logging.getLogger(__name__)
_EVENT_ID = re.compile(r"([\w-]{16})\.(\d{1,9})")


class Replay:
    """What one call said, numbered, as far back as there is room for. It is read by one client at a time: the newest."""

    def __init__(self) -> None:
        self.id = secrets.token_urlsafe(12)
        self.over = False
        self.said = asyncio.Event()
        self.reader: Reader | None = None
        self._events: deque[tuple[int, bytes, bool]] = deque()
        self._last, self._size = 0, 0

    @property
    def priming(self) -> bytes:
        """The event that gives a client an id to come back with before there is anything to say."""
        return b"id: %b.0\ndata: \n\n" % self.id.encode()

    async def tell(self, message: bytes) -> None:
        """A message for the client."""
        self._add(b"event: message\n", message)

    def pause(self, retry_ms: int) -> None:
        """Nothing will be said for a while: who reads hangs up, and comes back."""
        self._add(b"retry: %d\n" % min(retry_ms, limits.REPLAY_RETRY_MAX_MS), b"", pauses=True)

    def finish(self, message: bytes) -> None:
        """The answer, after which nothing is said."""
        self.over = True
        self._add(b"event: message\n", message)

    def _add(self, head: bytes, message: bytes, *, pauses: bool = False) -> None:
        self._last += 1
        data = b"id: %b.%d\n%bdata: %b\n\n" % (self.id.encode(), self._last, head, message)
        self._events.append((self._last, data, pauses))
        self._size += len(data)
        while len(self._events) > 1 and self._size > limits.REPLAY_MAX_BYTES:
            self._size -= len(self._events.popleft()[1])
        self.said.set()

    def keeps(self, number: int) -> bool:
        """Whether everything after this event is still here."""
        first = self._events[0][0] if self._events else 1
        return first - 1 <= number <= self._last

    def after(self, number: int) -> tuple[int, bytes, bool] | None:
        """The event that follows one that is kept, and whether who reads it hangs up."""
        return self._events[number + 1 - self._events[0][0]] if number < self._last else None

    def read(self, after: int) -> Reader:
        """A reader from there on. The one before it reads no more."""
        if self.reader is not None:
            self.reader.end()
        self.reader = Reader(self, after)
        return self.reader


class Reader(Stream):
    """One client that reads."""

    framed = True

    def __init__(self, replay: Replay, after: int) -> None:
        super().__init__()
        self._replay, self._after, self._ended = replay, after, False

    def end(self, retry_seconds: float | None = None) -> None:
        """Reads no more."""
        self.retry_seconds, self._ended = retry_seconds, True
        self._replay.said.set()

    async def next(self, seconds: float) -> bytes | None:
        """The next event. A reader that fell behind what is kept, or was told to pause, is let go."""
        async with asyncio.timeout(seconds):
            while not self._ended:
                if not self._replay.keeps(self._after):
                    return None
                if (event := self._replay.after(self._after)) is not None:
                    self._after, data, pauses = event
                    self._ended = pauses or (self._replay.over and self._replay.after(self._after) is None)
                    return data
                self._replay.said.clear()
                await self._replay.said.wait()
        return None


class Resuming:
    """The calls that can be come back to, few a session and bounded in all."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._kept: deque[tuple[Session, str]] = deque()
        self._working: dict[asyncio.Task[bytes], Session] = {}

    def room(self, session: Session) -> bool:
        """Whether another call may go on without its client."""
        own = sum(other is session for other in self._working.values())
        return own < limits.REPLAYS_PER_SESSION_MAX and len(self._working) < limits.REPLAYS_MAX

    async def answer(
        self,
        exchange: Exchange,
        accepts: Accepts,
        whose: tuple[Session, Caller],
        work: Callable[[Replay], Coroutine[Any, Any, bytes]],
        id_: jsonrpc.Id,
        extra: tuple[Header, ...],
    ) -> Answer | None:
        """The answer, or None where it went out on a stream. The call goes on whatever becomes of its reader."""
        (session, caller), replay = whose, Replay()
        working = asyncio.create_task(work(replay))
        self._working[working] = session
        working.add_done_callback(lambda done: self._working.pop(done, None))
        saying = asyncio.create_task(replay.said.wait())
        try:
            await asyncio.wait({working, saying}, timeout=self._timing.heartbeat_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            saying.cancel()
        if working.done() and not replay.said.is_set():
            return streams.whole(working.result(), accepts)
        self._keep(session, replay)
        working.add_done_callback(lambda done: _finish(replay, done, id_))
        await streams.hold(exchange, replay.read(0), caller, self._timing, extra, replay.priming)
        return None

    def _keep(self, session: Session, replay: Replay) -> None:
        while len(session.replays) >= limits.REPLAYS_PER_SESSION_MAX:
            del session.replays[next(iter(session.replays))]
        while len(self._kept) >= limits.REPLAYS_MAX:
            other, oldest = self._kept.popleft()
            other.replays.pop(oldest, None)
        session.replays[replay.id] = replay
        self._kept.append((session, replay.id))

    def find(self, session: Session, event_id: str) -> Reader | None:
        """A reader of what follows an event of this session; None where there is no such event or its followers are gone."""
        if (matched := _EVENT_ID.fullmatch(event_id)) is None:
            return None
        replay, number = session.replays.get(matched[1]), int(matched[2])
        return replay.read(number) if isinstance(replay, Replay) and replay.keeps(number) else None

    async def close(self) -> None:
        """Ends what still works."""
        working = list(self._working)
        for one in working:
            one.cancel()
        await asyncio.gather(*working, return_exceptions=True)


def _finish(replay: Replay, done: asyncio.Task[bytes], id_: jsonrpc.Id) -> None:
    try:
        body = told(done, id_)
    except (Exception, asyncio.CancelledError) as error:
        incident = secrets.token_hex(4)
        log.error("a call broke off", exc_info=error, extra={"incident": incident})
        fault = internal(incident)
        body = jsonrpc.error(id_, fault.code, fault.message)
    replay.finish(body)
