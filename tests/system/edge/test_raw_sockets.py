"""Attacks below HTTP clients: smuggled and split requests, heads without end, and what comes before its turn."""

import asyncio
import contextlib
import json
import socket
import threading
from typing import Any

import pytest
from google.protobuf.message import Message

from kit import limits
from tests.system.edge.raw import PING, alive, connected, head, read_all, read_answer, statuses
from tests.system.edge.wire import Wire, request
from tests.system.edge.world import CASE, World, one_matter

CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)
SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    ("lines", "length", "body"),
    [
        (["Transfer-Encoding: chunked"], 4, CHUNKED + SMUGGLED),
        (["Transfer-Encoding: chunked", "Content-Length: 4"], None, CHUNKED + SMUGGLED),
        (["Content-Length: 5"], len(PING), PING + SMUGGLED),
        (["Content-Length: +5"], None, PING),
        (["Content-Length: 5, 5"], None, PING),
        (["Content-Length: -1"], None, PING),
        (["Content-Length: 0x10"], None, PING),
        (["Content-Length: 99999999999999999999999"], None, PING),
        (["Transfer-Encoding: xchunked"], None, CHUNKED),
        (["Transfer-Encoding: gzip, identity"], None, CHUNKED),
        (["Transfer-Encoding : chunked"], None, CHUNKED),
        (["X: a\rb: c"], len(PING), PING),
        (["X: a\nSet-Cookie: b"], len(PING), PING),
        (["X: a\x00b"], len(PING), PING),
        (["X: a", " folded: b"], len(PING), PING),
        (["Bad Name: 1"], len(PING), PING),
        ([": no name"], len(PING), PING),
    ],
)
def test_a_request_that_two_readers_could_cut_differently_gets_one_answer_at_most(
    wire: Wire, lines: list[str], length: int | None, body: bytes
) -> None:
    with connected(wire.edge) as sock:
        sock.sendall(head(wire.edge, wire.known, *lines, body=length) + body)
        sock.shutdown(socket.SHUT_WR)
        answers = statuses(read_all(sock))
    assert len(answers) <= 1
    assert all(400 <= status < 500 for status in answers)
    assert alive(wire)


@pytest.mark.parametrize("target", ["http://evil.example/mcp", "http://127.0.0.1/mcp", "//evil.example/mcp", "*", "mcp"])
def test_a_target_that_could_name_another_host_is_refused(wire: Wire, target: str) -> None:
    with connected(wire.edge) as sock:
        sock.sendall(head(wire.edge, wire.known, "Connection: close", target=target) + PING)
        assert all(status in (400, 404) for status in statuses(read_all(sock)))


def test_two_hosts_and_none_are_refused(wire: Wire) -> None:
    two = head(wire.edge, wire.known, "Host: localhost", "Connection: close")
    none = b"\r\n".join(line for line in head(wire.edge, wire.known, "Connection: close").split(b"\r\n") if not line.startswith(b"Host"))
    for sent in (two, none):
        with connected(wire.edge) as sock:
            sock.sendall(sent + PING)
            assert statuses(read_all(sock)) in ([400], [403])


@pytest.mark.parametrize(
    "sent",
    [
        ["X-Big: " + "a" * 100_000],
        [f"X-{n}: {'a' * 100}" for n in range(400)],
        [f"X-{n}: 1" for n in range(limits.HTTP_HEADERS_MAX + 1)],
    ],
)
def test_a_head_over_its_cap_is_refused(wire: Wire, sent: list[str]) -> None:
    with connected(wire.edge) as sock, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        sock.sendall(head(wire.edge, wire.known, *sent) + PING)
        assert statuses(read_all(sock)) == [431]
    with connected(wire.edge) as sock, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        sock.sendall(head(wire.edge, wire.known, target="/mcp?" + "q" * 100_000) + PING)
        assert statuses(read_all(sock)) == [431]


def test_a_head_that_never_ends_is_cut_off(wire: Wire) -> None:
    with connected(wire.edge) as sock:
        sock.sendall(b"POST /mcp HTTP/1.1\r\nX: ")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1_000):
                sock.sendall(b"a" * 1_000)
        assert statuses(read_all(sock)) in ([431], [])
    assert alive(wire)


def test_a_connection_answers_many_requests_one_after_another(wire: Wire) -> None:
    with connected(wire.edge) as sock:
        for _ in range(5):
            sock.sendall(head(wire.edge, wire.known) + PING)
            assert read_answer(sock)[0] == 400


AFTER = [
    b"\x00\x01garbage\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nX: " + b"a" * 200_000,
    b"GET http://evil/ HTTP/1.1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


@pytest.mark.parametrize("after", AFTER, ids=range(len(AFTER)))
def test_what_comes_before_its_turn_is_neither_answered_nor_taken_for_an_answer(wire: Wire, world: World, after: bytes) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def slow(_request: Any) -> Message:
        begun.set()
        await asyncio.to_thread(go_on.wait, 20)
        return one_matter()

    world.get_matter = slow
    wire.initialize()
    call = json.dumps(request("tools/call", {"name": "get_matter", "arguments": {"case_id": CASE}})).encode()
    with connected(wire.edge) as sock:
        sock.sendall(head(wire.edge, wire.known, f"Mcp-Session-Id: {wire.session}", body=len(call)) + call)
        assert begun.wait(10)
        with contextlib.suppress(ConnectionError):
            sock.sendall(after)
        go_on.set()
        data = read_all(sock)
    assert statuses(data) in ([200], [])
    assert b"garbage" not in data


def test_a_refusal_before_the_body_leaves_the_connection_in_order(wire: Wire) -> None:
    with connected(wire.edge) as sock:
        without_key = b"\r\n".join(x for x in head(wire.edge, wire.known, body=100_000).split(b"\r\n") if not x.startswith(b"Auth"))
        sock.sendall(without_key)
        assert read_answer(sock)[0] == 401
        sock.sendall(b"x" * 100_000 + head(wire.edge, wire.known) + PING)
        assert read_answer(sock)[0] == 400


def test_an_offer_to_change_protocols_is_answered_as_if_it_were_not_there_and_the_connection_ends(wire: Wire) -> None:
    for lines in (
        ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"],
        ["Connection: upgrade", "Upgrade: websocket"],
    ):
        with connected(wire.edge) as sock:
            sock.sendall(head(wire.edge, wire.known, *lines) + PING)
            assert statuses(read_all(sock)) == [400]
