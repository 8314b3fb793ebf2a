"""Limits that only show when they are crossed: sessions and streams of the process, the time to stop, the time to say ready."""

import asyncio
import concurrent.futures
import socket
import time
from typing import Any

import httpx
import pytest
from google.protobuf.message import Message

from edge.config import Backends, Timing
from kit import limits
from tests.poll import until
from tests.system.edge.running import Site
from tests.system.edge.wire import Wire, auth, error
from tests.system.edge.world import CASE, World

CALL = {"name": "get_matter", "arguments": {"case_id": CASE}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}}


def test_beyond_the_number_of_sessions_an_idle_one_makes_room(
    site: Site, world: World, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSIONS_MAX", 1)
    with site.edge() as edge:
        first, second = (Wire(edge, world.new_key(), http).initialize() for _ in range(2))
        assert second.call("ping").status_code == 200
        error(first.call("ping"), 404, -32600)
        assert edge.channel.counts == (1, 0)


def test_beyond_the_number_of_sessions_and_none_idle_initialize_is_asked_to_come_back(
    site: Site, world: World, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSIONS_MAX", 1)
    with site.edge() as edge:
        first, second = (Wire(edge, world.new_key(), http) for _ in range(2))
        first.initialize()
        with http.stream("GET", edge.url, headers=auth(first.known) | {"mcp-session-id": str(first.session)}):
            answer = second.call("initialize", HELLO)
            error(answer, 503, -32600)
            assert answer.headers["retry-after"] == "60"
            assert "mcp-session-id" not in answer.headers
            assert edge.channel.counts == (1, 1)
            assert second.modern("server/discover").status_code == 200


def test_beyond_the_number_of_streams_a_get_is_asked_to_come_back(
    site: Site, world: World, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STREAMS_MAX", 0)
    with site.edge() as edge:
        wire = Wire(edge, world.new_key(), http).initialize()
        answer = http.get(edge.url, headers=auth(wire.known) | {"mcp-session-id": str(wire.session)})
        error(answer, 503, -32600)
        assert wire.call("ping").status_code == 200


def test_a_call_that_never_ends_does_not_keep_the_program_from_stopping(site: Site, world: World, http: httpx.Client) -> None:
    begun: list[int] = []

    async def never(_request: Any) -> Message:
        begun.append(1)
        return await asyncio.Future()

    world.get_matter = never
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with site.edge(Timing(drain_seconds=0.3)) as edge:
            wire = Wire(edge, world.new_key(), http).initialize()
            waiting = pool.submit(wire.call, "tools/call", CALL)
            until(lambda: begun, "the call is running")
            stopping = time.monotonic()
        assert time.monotonic() - stopping < 5
        with pytest.raises(httpx.HTTPError):
            waiting.result(10).raise_for_status()
    until(lambda: world.cancelled == 1, "the service was told")


def test_a_program_that_does_not_answer_is_not_waited_for(site: Site, http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "READINESS_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with site.edge(backends=Backends(auth=site.backend.auth_address, reads=address, proposals=site.backend.proposals_address)) as edge:
            began = time.monotonic()
            assert http.get(edge.url.removesuffix("/mcp") + "/readyz").text == "waiting for reads\n"
            assert time.monotonic() - began < 3


def test_a_tool_whose_program_is_away_is_a_refusal_to_try_again(site: Site, world: World, http: httpx.Client) -> None:
    with site.edge(
        backends=Backends(auth=site.backend.auth_address, reads="127.0.0.1:1", proposals=site.backend.proposals_address)
    ) as edge:
        wire = Wire(edge, world.new_key(), http).initialize()
        result = wire.result("tools/call", CALL)
        assert result["isError"] is True
        assert result["_meta"]["substrate/refusal"] == {"reason": "unavailable", "retryable": True}
