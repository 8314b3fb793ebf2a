"""Where sessions and their held streams are kept: in this process, or (another implementation) shared between several edges."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from edge.sessions import Session
from kit import limits


class Full(Exception):
    """No room for another session or stream."""


class Stream:
    """A held stream: messages for the client, in order, until someone ends it."""

    framed = False  # whether its messages are events already

    def __init__(self) -> None:
        self.retry_seconds: float | None = None
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue()

    def put(self, message: bytes) -> bool:
        """Adds a message. A reader that lets too much pile up loses its stream."""
        if self._waiting.qsize() >= limits.STREAM_BACKLOG_MAX:
            self.end()
            return False
        self._waiting.put_nowait(message)
        return True

    def end(self, retry_seconds: float | None = None) -> None:
        """Ends the stream, perhaps with advice on when to come back."""
        self.retry_seconds = retry_seconds
        self._waiting.put_nowait(None)

    async def next(self, seconds: float) -> bytes | None:
        """The next message; None at the end. TimeoutError when nothing came in time."""
        async with asyncio.timeout(seconds):
            return await self._waiting.get()


class SessionStream(Stream):
    """A held GET."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session


class Channel(Protocol):
    """What the handshake era needs to remember, wherever it is remembered."""

    async def open(self, session: Session) -> None:
        """Keeps a new session, or raises Full."""

    async def find(self, session_id: str) -> Session | None:
        """A live session."""

    async def close(self, session_id: str) -> bool:
        """Forgets a session and ends its stream. Whether there was one."""

    async def hold(self, session: Session) -> SessionStream:
        """Opens the session's stream; the newest wins over the ones before it."""

    async def release(self, stream: SessionStream) -> None:
        """Forgets a stream that is over."""

    async def listens(self, session_id: str) -> bool:
        """Whether the session holds a stream."""

    async def deliver(self, session_id: str, message: bytes) -> bool:
        """Sends a message on the session's stream, and on no other. False where none is open."""

    async def listening(self) -> list[Session]:
        """The sessions that hold a stream here."""

    async def end_streams(self) -> None:
        """Ends every stream held here, because this program stops."""


class MemoryChannel:
    """Everything in this process. Losing it loses no work: clients initialize again."""

    def __init__(self, now: Callable[[], float], idle_seconds: float = limits.SESSION_IDLE_SECONDS) -> None:
        self._now, self._idle_seconds = now, idle_seconds
        self._sessions: dict[str, Session] = {}
        self._by_key: dict[str, dict[str, Session]] = {}
        self._streams: dict[str, SessionStream] = {}

    @property
    def counts(self) -> tuple[int, int]:
        """Live sessions and streams."""
        return len(self._sessions), len(self._streams)

    async def open(self, session: Session) -> None:
        """Keeps a new session. Where there are too many, of this key or of all, the one that was left alone longest makes room."""
        own = self._by_key.get(session.key_id, {})
        if len(own) >= limits.SESSIONS_PER_KEY_MAX:
            await self._make_room(own.values())
        if len(self._sessions) >= limits.SESSIONS_MAX:
            await self._make_room(self._sessions.values())
        self._sessions[session.id] = session
        self._by_key.setdefault(session.key_id, {})[session.id] = session

    async def _make_room(self, crowd: Iterable[Session]) -> None:
        """Forgets the session that was left alone longest; its client initializes again. One that is in use is never forgotten."""
        idle = (s for s in crowd if not s.busy and s.id not in self._streams)
        longest = min(idle, key=lambda s: s.last_used, default=None)
        if longest is None:
            raise Full
        await self.close(longest.id)

    async def find(self, session_id: str) -> Session | None:
        """A session that is neither closed nor expired."""
        session = self._sessions.get(session_id)
        if session is not None and self._expired(session):
            await self.close(session_id)
            return None
        return session

    async def close(self, session_id: str) -> bool:
        """Forgets a session. What still runs in it holds the object, and cannot bring it back."""
        session = self._sessions.pop(session_id, None)
        if session is None:
            return False
        session.asked.clear()
        session.parked.clear()
        session.watched.clear()
        session.replays.clear()
        own = self._by_key[session.key_id]
        del own[session_id]
        if not own:
            del self._by_key[session.key_id]
        if (stream := self._streams.pop(session_id, None)) is not None:
            stream.end()
        return True

    async def sweep(self) -> None:
        """Forgets what has expired."""
        for session in [s for s in self._sessions.values() if self._expired(s)]:
            await self.close(session.id)

    def _expired(self, session: Session) -> bool:
        return not session.busy and self._now() - session.last_used > self._idle_seconds

    async def hold(self, session: Session) -> SessionStream:
        """Opens the session's stream. The newest wins, within the session and, beyond a number, within the key."""
        if (old := self._streams.pop(session.id, None)) is not None:
            old.end()
        own = [s for s in self._streams.values() if s.session.key_id == session.key_id]
        for crowded in own[: max(0, len(own) - limits.STREAMS_PER_KEY_MAX + 1)]:
            del self._streams[crowded.session.id]
            crowded.end(limits.STREAM_RETRY_SECONDS)
        if len(self._streams) >= limits.STREAMS_MAX:
            raise Full
        stream = self._streams[session.id] = SessionStream(session)
        return stream

    async def release(self, stream: SessionStream) -> None:
        """Forgets a stream that is over, unless a newer one has its place."""
        if self._streams.get(stream.session.id) is stream:
            del self._streams[stream.session.id]

    async def listens(self, session_id: str) -> bool:
        """Whether the session holds a stream here."""
        return session_id in self._streams

    async def deliver(self, session_id: str, message: bytes) -> bool:
        """Sends on the session's stream."""
        stream = self._streams.get(session_id)
        return stream is not None and stream.put(message)

    async def listening(self) -> list[Session]:
        """Those of the streams that are held now."""
        return [stream.session for stream in self._streams.values()]

    async def end_streams(self) -> None:
        """Ends every stream."""
        for stream in self._streams.values():
            stream.end()
        self._streams.clear()
