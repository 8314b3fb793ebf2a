"""The stateless era on the wire: discovery, headers that must agree, statuses that follow codes, hints for caches."""

import asyncio
import base64
import threading
from typing import Any

import httpx
import pytest
from google.protobuf.message import Message

from tests.poll import until
from tests.system.edge.wire import JSON_HEADERS, META, MODERN, Wire, auth, error, meta, request
from tests.system.edge.world import CASE, World, one_matter

CALL = {"name": "get_matter", "arguments": {"case_id": CASE}}


def encoded(text: str) -> str:
    """A header value in its wrapped form."""
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def test_discovery_lists_every_revision_and_only_what_is_served(wire: Wire) -> None:
    result = wire.modern_result("server/discover")
    assert result["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
    assert result["capabilities"] == {"tools": {}, "resources": {}}
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    assert result["_meta"][f"{META}serverInfo"]["name"] == "verified-substrate"


def test_every_result_says_its_type_and_its_server(wire: Wire) -> None:
    for method, params in (("tools/list", {}), ("tools/call", CALL), ("tools/call", {"name": "get_matter", "arguments": {}})):
        result = wire.modern_result(method, params)
        assert result["resultType"] == "complete"
        assert f"{META}serverInfo" in result["_meta"]


def test_the_tool_list_may_be_kept_by_its_reader_alone(wire: Wire) -> None:
    result = wire.modern_result("tools/list")
    assert result["cacheScope"] == "private"
    assert isinstance(result["ttlMs"], int)
    assert result["ttlMs"] > 0
    assert all("execution" not in t for t in result["tools"])


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"_meta": None},
        {"_meta": {f"{META}protocolVersion": MODERN}},
        {"_meta": {f"{META}clientCapabilities": {}}},
        {"_meta": {f"{META}protocolVersion": 5, f"{META}clientCapabilities": {}}},
        {"_meta": {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": []}},
    ],
)
def test_a_request_without_its_meta_is_refused_before_its_headers_are_looked_at(wire: Wire, broken: dict[str, Any]) -> None:
    error(wire.send(request("tools/list", broken), {"mcp-protocol-version": MODERN, "mcp-method": "wrong"}), 400, -32602)


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-protocol-version": ""},
        {"mcp-protocol-version": "2025-11-25"},
        {"mcp-protocol-version": "garbage"},
        {"mcp-method": ""},
        {"mcp-method": "Tools/call"},
        {"mcp-method": "tools/list"},
        {"mcp-name": ""},
        {"mcp-name": "list_matters"},
        {"mcp-name": "GET_MATTER"},
        {"mcp-name": "=?base64?Z2V0X21hdHRlcg?="},  # without its padding
        {"mcp-name": "=?base64?Z2V0X21hdHRlcg==?= "[:-2]},
        {"mcp-name": "=?base64?Z2V0X21hdHRlch==?="},  # bits that no encoder sets
        {"mcp-name": "=?base64?Z2V0 X21hdHRlcg==?="},
        {"mcp-name": "=?base64?/w==?="},  # not UTF-8
    ],
)
def test_a_header_that_does_not_agree_with_the_body_is_refused_with_the_id(wire: Wire, headers: dict[str, str]) -> None:
    answer = wire.modern("tools/call", CALL, headers, id_="abc")
    assert error(answer, 400, -32020)["id"] == "abc"
    assert answer.headers["content-type"] == "application/json"


def test_a_name_may_be_wrapped_in_base64(wire: Wire) -> None:
    assert wire.modern("tools/call", CALL, {"mcp-name": encoded("get_matter")}).status_code == 200


def test_a_doubled_routing_header_is_refused(wire: Wire) -> None:
    body = request("tools/list", {"_meta": meta()})
    doubled = [*(JSON_HEADERS | auth(wire.known) | {"mcp-protocol-version": MODERN}).items(), *[("mcp-method", "tools/list")] * 2]
    error(wire.http.post(wire.edge.url, json=body, headers=doubled), 400, -32020)


def test_a_revision_that_is_not_served_is_named_beside_those_that_are(wire: Wire) -> None:
    body = error(wire.modern("tools/list", version="2099-01-01"), 400, -32022)
    assert body["error"]["data"]["requested"] == "2099-01-01"
    assert body["error"]["data"]["supported"] == wire.modern_result("server/discover")["supportedVersions"]
    plain = error(wire.send(request("ping"), {"mcp-protocol-version": "1900-01-01"}), 400, -32022)
    assert "Unsupported protocol version" in plain["error"]["message"]


def test_header_disagreement_is_told_before_an_unsupported_revision(wire: Wire) -> None:
    answer = wire.modern("tools/list", headers={"mcp-protocol-version": MODERN}, version="2099-01-01")
    error(answer, 400, -32020)


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "prompts/list",
        "subscriptions/listen",
        "tasks/get",
        "tasks/list",
        "no",
    ],
)
def test_removed_and_unserved_methods_are_not_found(wire: Wire, method: str) -> None:
    answer = wire.modern(method, {"taskId": "x"}, {"mcp-name": "x"}, id_=5)
    assert error(answer, 404, -32601)["id"] == 5


def test_get_and_delete_do_not_exist_here(wire: Wire) -> None:
    for method in ("GET", "DELETE"):
        answer = wire.http.request(method, wire.edge.url, headers=auth(wire.known) | {"mcp-protocol-version": MODERN})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_session_header_means_nothing_and_is_not_echoed(wire: Wire) -> None:
    answer = wire.modern("tools/list", headers={"mcp-session-id": "anything", "last-event-id": "1"})
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers


def test_responses_and_batches_are_invalid_requests(wire: Wire) -> None:
    for body in ({"jsonrpc": "2.0", "id": 1, "result": {}}, [request("tools/list", {"_meta": meta()})]):
        error(wire.send(body, {"mcp-protocol-version": MODERN}), 400, -32600)


def test_a_notification_is_accepted_and_dropped(wire: Wire) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": meta()}}
    answer = wire.send(body, {"mcp-protocol-version": MODERN})
    assert (answer.status_code, answer.content) == (202, b"")


def test_unknown_tools_and_malformed_calls_are_errors_of_the_protocol(wire: Wire) -> None:
    for params in ({"name": "nope"}, {"name": 5}, {}, {"name": "get_matter", "arguments": []}, {"name": "get_matter", "arguments": None}):
        error(wire.modern("tools/call", dict(params)), 400, -32602)
    error(wire.modern("tools/list", {"cursor": "x"}), 400, -32602)


@pytest.mark.parametrize(
    ("body", "header", "status", "code"),
    [
        (request("initialize", {"protocolVersion": "2025-11-25"}), MODERN, 400, -32602),  # modern by its header, so _meta is missing
        (request("tools/list", {"_meta": meta()}), "2025-11-25", 400, -32020),  # a shipping client did this
        (request("server/discover", {}), None, 400, -32602),
        (request("tasks/update", {}), None, 400, -32602),
        (request("ping", {"_meta": {f"{META}protocolVersion": {"a": 1}}}), None, 400, -32602),
        (request("ping", {"_meta": {f"{META}protocolVersion": "2025-06-18"}}), None, 400, -32600),  # handshake era: no session
        (request("ping"), "garbage", 400, -32022),
        (request("ping"), "2024-11-05", 400, -32022),
    ],
)
def test_the_era_is_chosen_by_the_body_first(wire: Wire, body: Any, header: str | None, status: int, code: int) -> None:
    error(wire.send(body, {"mcp-protocol-version": header or ""}), status, code)


def test_a_client_that_goes_away_takes_its_call_back(wire: Wire, world: World) -> None:
    begun: list[int] = []

    async def never(_request: Any) -> Message:
        begun.append(1)
        return await asyncio.Future()

    world.get_matter = never
    wire.http.timeout = httpx.Timeout(20, read=0.3)
    with pytest.raises(httpx.ReadTimeout):
        wire.modern("tools/call", CALL)
    until(lambda: begun and world.cancelled == 1, "the service was told")


def test_in_the_handshake_era_a_call_goes_on_when_its_client_is_gone(legacy: Wire, world: World) -> None:
    client_gone, finished = threading.Event(), threading.Event()

    async def slow(_request: Any) -> Message:
        await asyncio.to_thread(client_gone.wait, 20)
        finished.set()
        return one_matter()

    world.get_matter = slow
    before = legacy.edge.connections
    legacy.http.timeout = httpx.Timeout(20, read=0.2)
    with pytest.raises(httpx.ReadTimeout):
        legacy.call("tools/call", CALL)
    until(lambda: legacy.edge.connections < before, "the edge sees the client go")
    client_gone.set()
    until(finished.is_set, "the service finished")
    assert world.cancelled == 0
