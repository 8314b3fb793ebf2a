"""Connections that hold on: slow, idle, half-closed, too many of them, and readers that take nothing."""

import contextlib
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from edge.config import Timing
from kit import limits
from tests.poll import until
from tests.system.edge.raw import PING, alive, connected, head, read_all, read_answer, statuses
from tests.system.edge.running import Running, Site
from tests.system.edge.wire import Wire
from tests.system.edge.world import World

HURRIED = Timing(receive_seconds=0.5, idle_seconds=0.5)


@pytest.fixture
def hurried(site: Site, world: World) -> Iterator[Running]:
    """An edge that waits half a second where the usual one waits ten or more."""
    with site.edge(HURRIED) as made:
        yield made


@pytest.mark.parametrize("chunk", [b"zz\r\n", b"-1\r\n", b"ffffffffffffffffff\r\n", b"5;" + b"x" * 100_000 + b"\r\n"])
def test_a_crooked_chunk_ends_the_connection(hurried: Running, world: World, http: httpx.Client, chunk: bytes) -> None:
    known = world.new_key()
    with connected(hurried) as sock:
        sock.sendall(head(hurried, known, "Transfer-Encoding: chunked", body=None) + chunk)
        assert len(statuses(read_all(sock))) <= 1
    assert alive(Wire(hurried, known, http))


@pytest.mark.parametrize("sent", [b"", b"P", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n", None])
def test_a_request_that_does_not_arrive_in_time_ends(hurried: Running, world: World, http: httpx.Client, sent: bytes | None) -> None:
    known = world.new_key()
    begun = time.monotonic()
    with connected(hurried) as sock:
        sock.sendall(head(hurried, known) + PING[:5] if sent is None else sent)
        assert statuses(read_all(sock)) == [408]
    assert 0.3 < time.monotonic() - begun < 5
    assert alive(Wire(hurried, known, http))


def test_dripping_sockets_end_in_time_and_honest_clients_are_served_meanwhile(hurried: Running, world: World, http: httpx.Client) -> None:
    known = world.new_key()
    wire = Wire(hurried, known, http)
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connected(hurried)) for _ in range(300)]
        for number, sock in enumerate(socks):
            sock.sendall(head(hurried, known) if number % 2 else b"POST")
            sock.setblocking(False)
        until(lambda: hurried.connections >= 300, "all are open")
        assert alive(wire)
        deadline = time.monotonic() + 5
        while hurried.connections > 1 and time.monotonic() < deadline:
            for sock in socks:
                with contextlib.suppress(OSError):
                    sock.send(b" ")
            assert alive(wire)
        assert hurried.connections <= 1


def test_idle_connections_end_and_stray_line_ends_do_not_keep_them(hurried: Running, world: World) -> None:
    known = world.new_key()
    with connected(hurried) as quiet, connected(hurried) as stray:
        for sock in (quiet, stray):
            sock.sendall(head(hurried, known) + PING)
            assert read_answer(sock)[0] == 400  # no session, which is an answer like any other
        stray.sendall(b"\r\n")
        assert read_all(quiet) == b""
        assert statuses(read_all(stray)) in ([], [408])


def test_a_client_that_leaves_in_the_middle_of_its_body_harms_nobody(wire: Wire) -> None:
    wire.initialize()
    before = wire.edge.channel.counts
    for _ in range(20):
        with connected(wire.edge) as sock:
            sock.sendall(head(wire.edge, wire.known) + PING[:7])
    with connected(wire.edge) as sock:
        sock.sendall(head(wire.edge, wire.known) + PING[:7])
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b""
    assert wire.call("ping").status_code == 200
    assert wire.edge.channel.counts == before


def test_beyond_the_cap_idle_connections_make_room_and_busy_ones_do_not(
    site: Site, world: World, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HTTP_CONNECTIONS_MAX", 8)
    with site.edge() as edge, contextlib.ExitStack() as stack:
        known = world.new_key()
        idle = [stack.enter_context(connected(edge)) for _ in range(8)]
        for sock in idle:
            sock.sendall(head(edge, known) + PING)
            read_answer(sock)
        assert alive(Wire(edge, known, http))
        assert edge.connections <= 8
        busy = [stack.enter_context(connected(edge)) for _ in range(8)]
        for sock in busy:
            sock.sendall(b"POST /mcp")
        assert [read_all(sock) for sock in idle] == [b""] * 8
        with connected(edge) as one_more:
            assert statuses(read_all(one_more)) == [503]


def test_a_reader_that_takes_nothing_loses_its_stream(site: Site, world: World, http: httpx.Client) -> None:
    with site.edge(Timing(heartbeat_seconds=0.01, stall_seconds=0.3)) as edge:
        wire = Wire(edge, world.new_key(), http).initialize()
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            sock.connect((edge.host, edge.port))
            lines = [f"Host: {edge.host}", f"Authorization: Bearer {wire.known.key.text}", f"Mcp-Session-Id: {wire.session}"]
            sock.sendall("\r\n".join(["GET /mcp HTTP/1.1", *lines, "", ""]).encode())
            until(lambda: edge.channel.counts[1] == 1, "the stream is open")

            def gone() -> bool:
                site.loop.run(edge.channel.deliver(str(wire.session), b'"' + b"x" * 100_000 + b'"'))
                return edge.channel.counts[1] == 0

            until(gone, "the stream is let go")
        assert wire.call("ping").status_code == 200
