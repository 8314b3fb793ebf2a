"""Bytes on a socket, for what no HTTP client would send."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator

from tests.system.edge.running import Running
from tests.system.edge.wire import Wire, request
from tests.system.edge.world import Known

PING = json.dumps(request("ping")).encode()


@contextlib.contextmanager
def connected(edge: Running) -> Iterator[socket.socket]:
    """A connection."""
    with socket.create_connection((edge.host, edge.port), timeout=20) as sock:
        yield sock


def head(edge: Running, known: Known, *lines: str, target: str = "/mcp", body: int | None = len(PING)) -> bytes:
    """A request line and headers, with these lines added."""
    length = [] if body is None else [f"Content-Length: {body}"]
    fixed = [f"Host: {edge.host}:{edge.port}", f"Authorization: Bearer {known.key.text}", "Content-Type: application/json", *length]
    return "\r\n".join([f"POST {target} HTTP/1.1", *fixed, *lines, "", ""]).encode("latin-1")


def read_all(sock: socket.socket, seconds: float = 20.0) -> bytes:
    """Everything until the other side closes."""
    deadline, data = time.monotonic() + seconds, b""
    while True:
        sock.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            part = sock.recv(65536)
        except ConnectionResetError:
            return data
        if not part:
            return data
        data += part


def read_answer(sock: socket.socket) -> tuple[int, bytes]:
    """Status and body of one answer with a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = sock.recv(65536)
        assert part, data
        data += part
    top, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.partition(b":")[2]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while len(body) < lengths[0]:
        body += sock.recv(65536)
    return int(top.split()[1]), body


def statuses(data: bytes) -> list[int]:
    """Every status line in what came back."""
    return [int(part.split(b" ", 1)[0]) for part in data.split(b"HTTP/1.1 ")[1:]]


def alive(wire: Wire) -> bool:
    """Whether an honest client is served."""
    return wire.modern("server/discover").status_code == 200
