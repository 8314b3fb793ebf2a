"""Bodies over the cap: the refusal reaches whoever is still sending, and nobody can go on sending for long."""

import contextlib
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from kit import limits
from tests.poll import until
from tests.system.edge.raw import connected, head, read_all, read_answer, statuses
from tests.system.edge.wire import JSON_HEADERS, Wire, auth, error

MEBIBYTE = 1024 * 1024


SIZES = pytest.mark.parametrize("size", [MEBIBYTE + 1, 2_000_000, 8_000_000])
DECLARED = pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])


@SIZES
@DECLARED
def test_a_client_that_sends_too_much_reads_why_it_was_refused(wire: Wire, size: int, declared: bool) -> None:
    body = b" " * size
    for _ in range(10):
        parts = (body[n : n + 65536] for n in range(0, size, 65536))
        with httpx.Client(timeout=20, verify=False) as client:
            answer = client.post(wire.edge.url, content=body if declared else parts, headers=JSON_HEADERS | auth(wire.known))
        error(answer, 413, -32600)
        assert answer.headers["connection"] == "close"


async def in_parts(body: bytes) -> AsyncIterator[bytes]:
    """A body without a declared length."""
    for start in range(0, len(body), 65536):
        yield body[start : start + 65536]


@SIZES
@DECLARED
async def test_a_client_that_loses_its_answer_with_its_connection_reads_it_too(wire: Wire, size: int, declared: bool) -> None:
    body = b" " * size
    for _ in range(10):
        async with httpx.AsyncClient(timeout=20, verify=False) as client:
            sent = body if declared else in_parts(body)
            answer = await client.post(wire.edge.url, content=sent, headers=JSON_HEADERS | auth(wire.known))
        error(answer, 413, -32600)


def test_what_follows_a_refused_body_is_read_up_to_a_number_of_bytes(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_LINGER_MAX_BYTES", 100_000)
    monkeypatch.setattr(limits, "HTTP_LINGER_SECONDS", 20.0)
    sent = 0
    with connected(wire.edge) as sock, contextlib.suppress(ConnectionError):
        sock.sendall(head(wire.edge, wire.known, body=1_000_000_000))
        assert read_answer(sock)[0] == 413
        while sent < 100_000_000:
            sent += sock.send(b"x" * 65_536)
    assert sent < 50_000_000  # what was taken, and what the kernel holds


def test_a_refused_sender_that_falls_silent_is_not_waited_for(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_LINGER_SECONDS", 0.3)
    with connected(wire.edge) as sock:
        sock.sendall(head(wire.edge, wire.known, body=1_000_000_000))
        begun = time.monotonic()
        assert statuses(read_all(sock)) == [413]
        assert 0.2 < time.monotonic() - begun < 5


def test_a_refused_sender_that_leaves_is_let_go_at_once(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_LINGER_SECONDS", 20.0)
    before = wire.edge.connections
    with connected(wire.edge) as sock:
        sock.sendall(head(wire.edge, wire.known, body=1_000_000_000))
        assert read_answer(sock)[0] == 413
    until(lambda: wire.edge.connections <= before, "the connection is gone", 5)


@pytest.mark.parametrize(
    "key", ["", "Authorization: Bearer brk_nobody", "Authorization: Bearer {}"], ids=["no key", "no such key", "no JSON"]
)
def test_an_answer_before_the_body_is_read_reaches_whoever_goes_on_sending(wire: Wire, key: str) -> None:
    """Closed over unread bytes a connection is reset, and the reset throws away what the other side has not read yet."""
    size = 3_000_000
    lines = [key.format(wire.known.key.text), f"Content-Length: {size}", "Content-Type: text/plain", "Connection: close"]
    wanted = 415 if "{}" in key else 401
    for _ in range(5):
        with connected(wire.edge) as sock:
            sock.sendall("\r\n".join(["POST /mcp HTTP/1.1", f"Host: {wire.edge.host}", *filter(None, lines), "", ""]).encode())
            for _ in range(0, size, 50_000):
                sock.sendall(b"x" * 50_000)
            status, body = read_answer(sock)
            assert status == wanted
            assert body
            assert sock.recv(1) == b""  # and the connection is over


def test_whoever_gets_an_answer_early_cannot_go_on_for_ever(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HTTP_LINGER_MAX_BYTES", 100_000)
    monkeypatch.setattr(limits, "HTTP_LINGER_SECONDS", 20.0)
    sent, lines = 0, ["POST /mcp HTTP/1.1", f"Host: {wire.edge.host}", "Content-Length: 1000000000", "Connection: close", "", ""]
    with connected(wire.edge) as sock, contextlib.suppress(ConnectionError):
        sock.sendall("\r\n".join(lines).encode())
        assert read_answer(sock)[0] == 401
        while sent < 100_000_000:
            sent += sock.send(b"x" * 65_536)
    assert sent < 50_000_000
