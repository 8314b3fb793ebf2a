"""The edge as a program: configuration, ready file, SIGTERM, and sockets that notice dead peers."""

import asyncio
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.protobuf.message import Message

from kit import listener
from tests.poll import until
from tests.system.edge.running import Running, Site
from tests.system.edge.wire import JSON_HEADERS, Wire, auth, request
from tests.system.edge.world import CASE, World, one_matter

ROOT = Path(__file__).resolve().parents[3]


def config(site: Site, folder: Path, more: str = "") -> Path:
    """A configuration file."""
    tls, backends = site.backend.tls("edge"), site.settings().backends
    text = f"""
[http]
listen = "127.0.0.1:0"
ready_file = "{folder / "edge.ready"}"
{more}
[tls]
ca_file = "{tls.ca_file}"
cert_file = "{tls.cert_file}"
key_file = "{tls.key_file}"
[backends]
auth = "{backends.auth}"
reads = "{backends.reads}"
proposals = "{backends.proposals}"
"""
    path = folder / "edge.toml"
    path.write_text(text, encoding="utf-8")
    return path


def start(path: Path) -> subprocess.Popen[str]:
    """The program."""
    command = [sys.executable, "-m", "edge", "--config", str(path)]
    environ = {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}", "PATH": "/usr/bin:/bin"}
    return subprocess.Popen(command, cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True)


@contextmanager
def program(site: Site, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program, serving, and its endpoint."""
    running = start(config(site, folder))
    try:
        ready = folder / "edge.ready"
        until(lambda: ready.exists() or running.poll() is not None, "the ready file")
        yield running, f"http://{ready.read_text(encoding='utf-8')}/mcp"
    finally:
        running.kill()
        running.communicate()


def test_it_serves_and_on_sigterm_lets_what_is_in_flight_finish(site: Site, world: World, tmp_path: Path, http: httpx.Client) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def slow(_request: Any) -> Message:
        begun.set()
        await asyncio.to_thread(go_on.wait, 20)
        return one_matter()

    world.get_matter = slow
    with program(site, tmp_path) as (running, url):
        known = world.new_key()
        address = url.removeprefix("http://").removesuffix("/mcp")
        host, _, port = address.partition(":")
        wire = Wire(Running(host, int(port), None, None), known, http)  # type: ignore[arg-type]
        wire.initialize()
        answers: list[httpx.Response] = []
        params = {"name": "get_matter", "arguments": {"case_id": CASE}}
        calling = threading.Thread(target=lambda: answers.append(wire.call("tools/call", params)))
        headers = auth(known) | {"mcp-session-id": str(wire.session)}
        with httpx.Client(timeout=20) as held, held.stream("GET", url, headers=headers) as stream:
            parts = stream.iter_text()
            assert next(parts) == ": keepalive\n\n"
            calling.start()
            assert begun.wait(10)
            running.send_signal(signal.SIGTERM)
            assert list(parts) == []  # the stream ends by itself, in an orderly way
        go_on.set()
        calling.join(10)
        assert "isError" not in answers[0].json()["result"]
        _, log = running.communicate(timeout=10)
        assert running.returncode == 0
        assert known.key.secret not in log
        assert "Traceback" not in log


def test_it_cannot_reach_a_database_driver(site: Site, tmp_path: Path) -> None:
    code = "import edge.__main__, sys; sys.exit('asyncpg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("more", "named"), [("colour = 1", "colour"), ('allowed_hosts = "x"', "allowed_hosts"), ("[extra]\na = 1", "extra")]
)
def test_a_wrong_configuration_stops_the_start_naming_the_key(site: Site, tmp_path: Path, more: str, named: str) -> None:
    running = start(config(site, tmp_path, more))
    _, said = running.communicate(timeout=20)
    assert running.returncode == 2
    assert named in said
    assert "Traceback" not in said


def test_it_listens_on_the_machine_itself_unless_told_otherwise_and_on_ipv6_when_told() -> None:
    for listen in ("127.0.0.1:0", "[::1]:0"):
        sock = listener.bind(listen)
        assert listener.address(sock).rpartition(":")[0] == listen.rpartition(":")[0]
        sock.close()


def test_a_connection_notices_a_peer_that_is_gone_without_a_word() -> None:
    sock = listener.bind("127.0.0.1:0")
    sock.listen()
    with socket.create_connection(sock.getsockname()), sock.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 45_000
    sock.close()


def test_a_key_in_the_url_reaches_no_log_of_the_program(site: Site, world: World, tmp_path: Path, http: httpx.Client) -> None:
    known = world.new_key()
    with program(site, tmp_path) as (running, url):
        assert http.post(f"{url}?api_key={known.key.text}", json=request("ping"), headers=JSON_HEADERS).status_code == 401
        running.send_signal(signal.SIGTERM)
        _, log = running.communicate(timeout=10)
    assert '"status": 401' in log
    assert known.key.public_id not in log
