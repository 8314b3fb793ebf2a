"""Calls of 2025-11-25 that speak: who loses the stream comes back for the rest, in the same session and with the same key."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from fixture.reads.v1 import talks_pb2  # noqa: F401 - its service is bound by name
from google.protobuf.message import Message
from substrate.tools.v1 import exchange_pb2 as said

from edge.config import Backends, Timing
from kit import callers, catalogue, config, limits, server
from kit.authority import Authority
from tests.conformance.fixture import NEWS, done
from tests.poll import until
from tests.system.edge.held import Held
from tests.system.edge.running import Running, Site
from tests.system.edge.wire import JSON_HEADERS, Wire, auth, error, request
from tests.system.edge.world import World

SERVICE = "fixture.reads.v1.NewsService"
ID = re.compile(r"id: ([\w-]+\.\d+)\n")
CALL = request("tools/call", {"name": "test_reconnection"})


class Speaker:
    """A tool that says what the test lets it say."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[said.Event] = asyncio.Queue()
        self.left, self.pausing = 0, False

    async def speak(self, _request: Any, _call: Any) -> AsyncIterator[Message]:
        """One call."""
        try:
            if self.pausing:
                yield interlude()
            while True:
                event = await self.events.get()
                yield event
                if event.HasField("content"):
                    return
        except (asyncio.CancelledError, GeneratorExit):
            self.left += 1
            raise


@pytest.fixture
def speaker() -> Speaker:
    """The tool."""
    return Speaker()


@pytest.fixture
def speaking(site: Site, speaker: Speaker, world: World) -> Iterator[Running]:
    """An edge in front of that tool."""
    ca, key, cert = (Path(f).read_bytes() for f in vars_of(site.backend.tls("reads")))

    async def start() -> tuple[grpc.aio.Server, Authority, str]:
        made = grpc.aio.server(interceptors=[callers.CallerGate({SERVICE: frozenset({"edge.substrate"})})])
        port = made.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, cert)], ca, True))
        authority = Authority(config.Peer(site.backend.auth_address), site.backend.tls("reads"))
        made.add_generic_rpc_handlers((server.handlers(SERVICE, {**NEWS, "Reconnection": speaker.speak}, authority),))
        await made.start()
        return made, authority, f"127.0.0.1:{port}"

    made, authority, address = site.loop.run(start())
    backends = Backends(site.backend.auth_address, address, "")
    try:
        with site.edge(Timing(heartbeat_seconds=0.1), backends, declared=catalogue.load("fixture")) as edge:
            yield edge
    finally:
        site.loop.run(made.stop(None))
        site.loop.run(authority.close())


def vars_of(tls: config.Tls) -> tuple[str, str, str]:
    """Authority, key and certificate."""
    return tls.ca_file, tls.key_file, tls.cert_file


@pytest.fixture
def say(site: Site, speaker: Speaker) -> Callable[[said.Event], None]:
    """Lets the tool say something."""
    return lambda event: site.loop.run(speaker.events.put(event))


@pytest.fixture
def client(speaking: Running, world: World, http: httpx.Client) -> Wire:
    """A client in a session."""
    return Wire(speaking, world.new_key(), http).initialize()


def interlude() -> said.Event:
    """The tool will be silent."""
    return said.Event(interlude=said.Interlude(retry_ms=250))


def log(words: str) -> said.Event:
    """A line of the log."""
    return said.Event(log=said.LogLine(data_json=f'"{words}"'.encode()))


def resume(wire: Wire, event_id: str, hold: Callable[..., Held]) -> Held:
    """Comes back."""
    return hold(wire, **{"last-event-id": event_id})


def refused(wire: Wire, event_id: str, status: int, **headers: str) -> None:
    """Coming back is refused."""
    sent = auth(wire.known) | {"accept": "text/event-stream", "mcp-session-id": str(wire.session), "last-event-id": event_id} | headers
    error(wire.http.get(wire.edge.url, headers=sent), status, -32600)


def test_an_interlude_ends_the_stream_and_the_answer_is_there_for_who_comes_back(client: Wire, say: Any, hold: Any) -> None:
    say(interlude())
    first = client.send(CALL)
    ids = ID.findall(first.text)
    assert first.text.startswith(f"id: {ids[0]}\ndata: \n\n")
    assert first.text.endswith(f"id: {ids[1]}\nretry: 250\ndata: \n\n")
    again = resume(client, ids[1], hold)
    say(done("Here."))
    assert again.ended.wait(5)
    assert '"id":1,"result"' in again.text
    assert "Here." in again.text
    from_the_start = resume(client, ids[0], hold)
    assert from_the_start.ended.wait(5)
    assert "retry: 250" in from_the_start.text
    assert "Here." not in from_the_start.text


def test_only_the_same_session_and_key_come_back_and_only_with_an_id_that_is_known(client: Wire, say: Any, world: World) -> None:
    say(interlude())
    event_id = ID.findall(client.send(CALL).text)[-1]
    other = Wire(client.edge, client.known, client.http).initialize()
    refused(other, event_id, 400)
    refused(client, event_id, 404, **auth(world.new_key()))
    call_id = event_id.partition(".")[0]
    for wrong in ("5", "", f"{call_id}.9", f"{call_id}.-1", call_id, f"{call_id}.1x", "x" * 5000):
        refused(client, wrong, 400)
    client.http.delete(client.edge.url, headers=auth(client.known) | {"mcp-session-id": str(client.session)})
    refused(client, event_id, 404)
    say(done("Nobody hears it."))


def test_a_client_that_goes_away_ends_no_call_and_the_newest_reader_wins(client: Wire, speaker: Speaker, say: Any, hold: Any) -> None:
    say(log("one"))
    headers = JSON_HEADERS | auth(client.known) | {"mcp-session-id": str(client.session)}
    with client.http.stream("POST", client.edge.url, json=CALL, headers=headers) as answer:
        text = ""
        for part in answer.iter_text():
            text += part
            if "one" in text:
                break
    primed = ID.findall(text)[0]
    old = resume(client, primed, hold)
    until(lambda: "one" in old.text, "what was said already is said again")
    new = resume(client, primed, hold)
    assert old.ended.wait(5)
    say(log("two"))
    say(done("Here."))
    assert new.ended.wait(5)
    assert speaker.left == 0
    assert [word in new.text for word in ("one", "two", "Here.")] == [True] * 3
    assert "two" not in old.text


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26"])
def test_older_revisions_see_no_ids_and_no_empty_event(speaking: Running, world: World, http: httpx.Client, say: Any, version: str) -> None:
    wire = Wire(speaking, world.new_key(), http).initialize(version)
    for event in (log("one"), interlude(), done("Here.")):
        say(event)
    text = wire.send(CALL).text
    assert "Here." in text
    assert "id: " not in text
    assert "retry: " not in text


def test_calls_that_go_on_alone_are_few_a_session_and_the_next_ends_with_its_reader(client: Wire, speaker: Speaker, say: Any) -> None:
    speaker.pausing = True
    for _ in range(limits.REPLAYS_PER_SESSION_MAX):
        assert "retry: " in client.send(CALL).text
    headers = JSON_HEADERS | auth(client.known) | {"mcp-session-id": str(client.session)}
    with client.http.stream("POST", client.edge.url, json=CALL, headers=headers) as answer:
        assert next(answer.iter_text()) == ": keepalive\n\n"
    until(lambda: speaker.left == 1, "it was taken back")
    for _ in range(limits.REPLAYS_PER_SESSION_MAX):
        say(done("Here."))
