"""A load generator: so many keep-alive connections to one loopback address, each sending the next request when it has the last answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

REQUESTS_MAX = 200_000
TIMEOUT_SECONDS = 10.0
_HEAD_END = b"\r\n\r\n"


@dataclass
class Taken:
    """What one run saw."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    timeouts: int = 0

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return len(self.latencies) / self.seconds

    def percentile_ms(self, share: float) -> float:
        """The latency that this share of the answers did not exceed."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


@dataclass(frozen=True)
class Target:
    """A server, the bytes of one request, and what is wrong with an answer to it (None: nothing)."""

    name: str
    port: int
    request: bytes
    fault: Callable[[bytes, bytes], str | None]


class _Connection(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._head: bytes | None = None
        self._parts: list[bytes] = []
        self._missing = 0
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        self._send()

    def _send(self) -> None:
        assert self._transport is not None
        self._head, self._parts = None, []
        self._sent = time.perf_counter()
        self._transport.write(self._run.target.request)

    def data_received(self, data: bytes) -> None:
        if self._head is None:
            whole = b"".join([*self._parts, data])
            head, end, rest = whole.partition(_HEAD_END)
            if not end:
                self._parts = [whole]
                return
            self._head, self._parts, data = head, [], rest
            self._missing = content_length(head)
            if self._missing < 0:
                self._finish("an answer without content-length")
                return
        self._parts.append(data)
        self._missing -= len(data)
        if self._missing <= 0:
            self._finish(self._run.target.fault(self._head, b"".join(self._parts)))

    def _finish(self, fault: str | None) -> None:
        assert self._transport is not None
        if self._run.answered(time.perf_counter() - self._sent, fault):
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._run.closed(exc)


def content_length(head: bytes) -> int:
    """The declared length of a body, or -1."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return -1


class _Run:
    """One run against one server, bounded in time and in requests."""

    def __init__(self, target: Target, connections: int, seconds: float) -> None:
        self.target, self._connections, self._seconds = target, connections, seconds
        self.taken = Taken()
        self._open = connections
        self._over = asyncio.Event()
        self._began = self._last = time.perf_counter()

    def answered(self, latency: float, fault: str | None) -> bool:
        """Notes an answer; says whether the connection goes on."""
        self._last = time.perf_counter()
        if fault is None:
            self.taken.latencies.append(latency)
        else:
            self.taken.faults.append(fault)
        return fault is None and self._last - self._began < self._seconds and len(self.taken.latencies) < REQUESTS_MAX

    def closed(self, error: Exception | None) -> None:
        """Notes the end of a connection."""
        if error is not None:
            self.taken.faults.append(f"a connection broke: {error}")
        self._open -= 1
        if self._open == 0:
            self._over.set()

    async def run(self) -> Taken:
        """Opens the connections and returns when every one is done."""
        loop = asyncio.get_running_loop()
        self._began = time.perf_counter()
        opened = [
            (await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self.target.port))[0] for _ in range(self._connections)
        ]
        try:
            async with asyncio.timeout(self._seconds + TIMEOUT_SECONDS):
                await self._over.wait()
        except TimeoutError:
            self.taken.timeouts = self._open
            for transport in opened:
                transport.abort()
        self.taken.seconds = self._last - self._began
        return self.taken


async def run(target: Target, connections: int, seconds: float) -> Taken:
    """Loads a server for some seconds."""
    return await _Run(target, connections, seconds).run()
