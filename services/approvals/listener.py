"""The HTTP listener: uvicorn with a deadline for receiving a request and caps on what it holds."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kit import limits


class Connection(HttpToolsProtocol):
    """A connection whose request head has to arrive in time and within its size; the body has its own limits where it is read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None
        self._head_bytes: int | None = 0  # None while a body is received

    def connection_made(self, transport: Any) -> None:
        """Starts the clock."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(limits.HTTP_RECEIVE_SECONDS, self._end)

    def data_received(self, data: bytes) -> None:
        """Counts what comes before the end of a head."""
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._deadline is None:
                self._deadline = self.loop.call_later(limits.HTTP_RECEIVE_SECONDS, self._end)
        super().data_received(data)
        if self._head_bytes is not None and self._head_bytes > limits.HTTP_HEAD_MAX_BYTES:
            self._end()

    def on_headers_complete(self) -> None:
        """The head is here. An absolute address could name another host than the header that is checked."""
        self._head_bytes = None
        self._stop_clock()
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if not self.url.startswith(b"/") or size > limits.HTTP_HEAD_MAX_BYTES or len(self.headers) > limits.HTTP_HEADERS_MAX:
            self._end()
        else:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next bytes begin a head."""
        self._head_bytes = 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        self._stop_clock()
        self.transport.close()


class Listener(uvicorn.Server):
    """Serves until it is told to stop."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Serves, and says so."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the business of whoever runs this."""
        yield


def bind(listen: str) -> tuple[socket.socket, str]:
    """The listening socket, and its address."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, int(port)))
    host, bound = sock.getsockname()[:2]
    return sock, f"[{host}]:{bound}" if ":" in host else f"{host}:{bound}"


def announce(ready_file: str, bound: str) -> None:
    """Tells whoever started this program where it listens; renamed into place, so that nobody reads half of it."""
    part = Path(f"{ready_file}.part")
    part.write_text(bound, encoding="utf-8")
    part.rename(ready_file)


def configured(app: Any) -> uvicorn.Config:
    """Uvicorn without what this program does not want: no header that names it, no log of addresses, no trust in proxy headers."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        loop="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.HTTP_CONNECTIONS_MAX,
        timeout_keep_alive=int(limits.HTTP_IDLE_SECONDS),
        timeout_graceful_shutdown=int(limits.HTTP_DRAIN_SECONDS),
    )
