"""The HTTP listener: uvicorn with the deadlines and caps that it does not have, so that slow or crooked clients hold nothing up."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kit import limits

_REFUSALS = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large", 503: b"Service Unavailable"}


class Times(Protocol):
    """How long a connection is waited for."""

    @property
    def receive_seconds(self) -> float:
        """From the first byte of a request to the last."""
        ...

    @property
    def idle_seconds(self) -> float:
        """Between two requests."""
        ...

    @property
    def drain_seconds(self) -> float:
        """What is in flight when the program stops."""
        ...


@dataclass(frozen=True, slots=True)
class UsualTimes:
    """The times of a program that has no others."""

    receive_seconds: float = field(default_factory=lambda: limits.HTTP_RECEIVE_SECONDS)
    idle_seconds: float = field(default_factory=lambda: limits.HTTP_IDLE_SECONDS)
    drain_seconds: float = field(default_factory=lambda: limits.HTTP_DRAIN_SECONDS)


class Farewell:
    """What an answer is written to: a connection that is not closed over bytes nobody read: a reset would take the answer along."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection.transport, name)

    def close(self) -> None:
        """Ends the connection once the request has been read, or enough of it."""
        self._connection.close_when_read()


class Connection(HttpToolsProtocol):
    """One connection. Its clock runs while a request is being received, from the first byte (or the connection) to the last."""

    receive_seconds = limits.HTTP_RECEIVE_SECONDS
    cycle: Any  # None until a request has a head

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.access_log = False  # it would write the URL, and with it a key that somebody put there
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = 0  # None while a body is received
        self._refused = False
        self._linger_bytes: int | None = None  # what is still read of a request that is answered already

    @property
    def idle(self) -> bool:
        """Whether nothing is being received or answered."""
        return self._deadline is None and (self.cycle is None or self.cycle.response_complete)

    def connection_made(self, transport: Any) -> None:
        """Admits the connection, in place of an idle one where there are too many."""
        super().connection_made(transport)
        self._start_clock()
        if len(self.connections) > limits.HTTP_CONNECTIONS_MAX:
            idle = next((c for c in self.connections if isinstance(c, Connection) and c.idle), None)
            if idle is None:
                self._refuse(503)
                return
            idle.transport.close()
            self.connections.discard(idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Takes bytes, unless this connection is already told to go."""
        if self._linger_bytes is not None:
            self._linger_bytes -= len(data)
            if self._linger_bytes <= 0:
                self._refused = True
                self.transport.close()
        if self._refused:
            return
        if self.idle and self._linger_bytes is None:
            self._start_clock()
        if self._head_bytes is not None:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > limits.HTTP_HEAD_MAX_BYTES:
            self._refuse(431)

    def on_message_begin(self) -> None:
        """A request that comes before the one before it is answered is not read: the connection ends with that answer."""
        if self._owes_an_answer():
            self._refused = True
            self.cycle.keep_alive = False
            self.flow.pause_reading()
        if not self._refused:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Keeps a part of the request line."""
        if not self._refused:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keeps a header."""
        if not self._refused:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Looks at the head as a whole before anything acts on it."""
        if self._refused:
            return
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > limits.HTTP_HEAD_MAX_BYTES or len(self.headers) > limits.HTTP_HEADERS_MAX:
            self._refuse(431)
        elif not self.url.startswith(b"/"):  # an absolute address could name another host than the header that is checked
            self._refuse(400)
        else:
            self._head_bytes = None
            super().on_headers_complete()
            self.cycle.transport = Farewell(self)

    def on_body(self, body: bytes) -> None:
        """Keeps a part of the body."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is here whole."""
        if not self._refused:
            self._stop_clock()
            self._head_bytes = 0
            super().on_message_complete()
            if self._linger_bytes is not None:
                self._refused = True
                self.transport.close()

    def close_when_read(self) -> None:
        """Ends the connection; where the request is not here whole, reads on for a while and keeps nothing."""
        if not self.cycle.more_body or self.transport.is_closing():
            self.transport.close()
            return
        self._stop_clock()
        self._linger_bytes = limits.HTTP_LINGER_MAX_BYTES
        self.flow.resume_reading()
        self._deadline = self.loop.call_later(limits.HTTP_LINGER_SECONDS, self.transport.close)

    def _unsupported_upgrade_warning(self) -> None:
        """After an offer to change protocols the parser reads no further; the connection ends with this answer."""
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def _start_clock(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.receive_seconds, self._too_slow)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        self._refuse(408)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - what the parser disliked is not the client's business
        """What is not HTTP ends the connection."""
        self._refuse(400)

    def _refuse(self, status: int) -> None:
        """Answers without the application and ends the connection."""
        self._refused = True
        self._stop_clock()
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        if not self._owes_an_answer():
            reason = _REFUSALS[status]
            self.transport.write(b"HTTP/1.1 %d %s\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % (status, reason))
        self.transport.close()

    def _owes_an_answer(self) -> bool:
        """Whether a request before this one is still being answered: anything written now would be taken for its answer."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and (not cycle.more_body or cycle.response_started)


class Listener(uvicorn.Server):
    """Serves until it is told to stop; then streams end, and what is in flight may finish."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], Awaitable[object]] | None = None
    ) -> None:
        super().__init__(config)
        self._on_ready, self._on_stop = on_ready, on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serves, and says so."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Ends what would never end by itself, then waits for the rest."""
        if self._on_stop is not None:
            await self._on_stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the business of whoever runs this."""
        yield


def bind(listen: str) -> socket.socket:
    """The listening socket. What it is told about dead peers its connections inherit."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(limits.HTTP_PEER_SILENT_SECONDS * 1000))
    sock.bind((host, int(port)))
    return sock


def address(sock: socket.socket) -> str:
    """host:port of a bound socket."""
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def configured(app: Any, times: Times | None = None) -> uvicorn.Config:
    """Uvicorn as we want it: one protocol, no header that names it, its own log left alone, no trust in proxy headers."""
    times = times or UsualTimes()
    connection = type("TimedConnection", (Connection,), {"receive_seconds": times.receive_seconds})
    return uvicorn.Config(
        app,
        http=connection,
        ws="none",
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=times.idle_seconds,  # type: ignore[arg-type]  # a number of seconds; only the hint says whole
        timeout_graceful_shutdown=times.drain_seconds,  # type: ignore[arg-type]
    )
