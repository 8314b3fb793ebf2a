"""The handshake era on the wire: initialize, ping, tools, notifications, batches, cancellation."""

import asyncio
import concurrent.futures
from typing import Any

import pytest
from google.protobuf.message import Message

from edge.identity import VERSION
from tests.poll import until
from tests.system.edge.wire import Wire, error, request, valid
from tests.system.edge.world import CASE, World, one_matter


def test_initialize_answers_with_the_revision_that_was_asked_for(wire: Wire) -> None:
    for version in ("2025-11-25", "2025-06-18", "2025-03-26"):
        wire.session = None
        assert wire.initialize(version).version == version


@pytest.mark.parametrize("asked", ["2026-07-28", "2024-11-05", "1.0", ""])
def test_initialize_offers_the_newest_handshake_revision_for_any_other(wire: Wire, asked: str) -> None:
    assert wire.initialize(asked).version == "2025-11-25"


def test_initialize_says_who_serves_what_it_can_do_and_how_to_read_answers(wire: Wire) -> None:
    result = wire.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}).json()["result"]
    assert result["serverInfo"] == {"name": "verified-substrate", "version": VERSION, "title": "Verified substrate"}
    assert result["capabilities"] == {"tools": {}, "logging": {}, "resources": {}}
    assert "verification_status" in result["instructions"]


@pytest.mark.parametrize("params", [None, {}, {"protocolVersion": 1}, {"protocolVersion": "2025-11-25", "capabilities": []}])
def test_initialize_without_a_revision_is_refused_and_opens_nothing(wire: Wire, params: Any) -> None:
    before = wire.edge.channel.counts
    answer = wire.call("initialize", params)
    error(answer, 200, -32602)
    assert "mcp-session-id" not in answer.headers
    assert wire.edge.channel.counts == before


def test_a_notification_is_accepted_without_body_or_content_type(legacy: Wire) -> None:
    answer = legacy.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")
    assert "content-type" not in answer.headers


def test_ping_answers_with_nothing_but_its_id(legacy: Wire) -> None:
    assert legacy.call("ping", id_="p").json() == {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.mark.parametrize("id_", [0, 1, -1, 2**53 - 1, -(2**53 - 1), "1", "", "req-abc", "ü" * 500])
def test_an_id_comes_back_as_it_was(legacy: Wire, id_: Any) -> None:
    got = legacy.call("ping", id_=id_).json()["id"]
    assert (got, type(got)) == (id_, type(id_))


@pytest.mark.parametrize("id_", [None, 1.5, 1.0, True, False, [], {}])
def test_what_cannot_be_an_id_is_refused_and_never_taken_for_a_notification(legacy: Wire, id_: Any) -> None:
    body = error(legacy.call("ping", id_=id_), 400, -32600)
    assert "id" not in body


@pytest.mark.parametrize(
    "body",
    [
        {},
        None,
        "text",
        7,
        {"jsonrpc": "2.0"},
        {"jsonrpc": "1.0", "method": "ping", "id": 1},
        {"jsonrpc": "2.0", "method": 1, "id": 1},
        {"jsonrpc": "2.0", "method": ["ping"], "id": 1},
        {"jsonrpc": "2.0", "method": "ping", "params": 1},
        {"jsonrpc": "2.0", "method": "ping", "params": [], "id": 1},
        {"jsonrpc": "2.0", "method": "ping", "params": None, "id": 1},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}},
        [{"jsonrpc": "2.0", "id": 1, "method": "ping"}],
        [],
    ],
)
def test_what_is_no_message_is_an_invalid_request(legacy: Wire, body: Any) -> None:
    error(legacy.send(body), 400, -32600)


def test_a_response_nobody_waits_for_is_not_accepted(legacy: Wire) -> None:
    error(legacy.send({"jsonrpc": "2.0", "id": 9, "result": {}}), 400, -32600)


@pytest.mark.parametrize(
    "method",
    [
        "prompts/list",
        "resources/subscribe",
        "tasks/list",
        "roots/list",
        "completion/complete",
        "subscriptions/x",
        "Ping",
        "tools/List",
        "",
    ],
)
def test_what_is_not_advertised_is_an_unknown_method(legacy: Wire, method: str) -> None:
    error(legacy.call(method, {}), 200, -32601)


def test_tools_of_each_revision_use_only_its_words(wire: Wire) -> None:
    shown = {}
    for version in ("2025-11-25", "2025-06-18", "2025-03-26"):
        wire.session = None
        shown[version] = wire.initialize(version).result("tools/list")
    keys = {version: set(result["tools"][0]) for version, result in shown.items()}
    base = {"name", "description", "inputSchema", "annotations"}
    assert keys["2025-03-26"] == base
    assert keys["2025-06-18"] == base | {"title", "outputSchema"}
    assert keys["2025-11-25"] == base | {"title", "outputSchema", "execution"}
    assert {t["execution"]["taskSupport"] for t in shown["2025-11-25"]["tools"]} <= {"forbidden", "optional"}
    assert all(set(result) == {"tools"} for result in shown.values())


def test_a_cursor_that_was_never_given_out_is_refused(legacy: Wire) -> None:
    error(legacy.call("tools/list", {"cursor": "abc"}), 200, -32602)


def test_no_modern_word_leaks_into_a_handshake_answer(legacy: Wire) -> None:
    text = legacy.call("tools/call", {"name": "get_matter", "arguments": {"case_id": CASE}}).text + legacy.call("tools/list").text
    assert not [word for word in ("resultType", "ttlMs", "cacheScope", "serverInfo") if word in text]


def test_the_oldest_revision_gets_its_batches_answered(wire: Wire) -> None:
    wire.initialize("2025-03-26")
    batch = [request("ping", id_=1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, request("nope", id_="b"), {"x": 1}]
    answers = wire.send(batch).json()
    assert answers[0] == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (answers[1]["id"], answers[1]["error"]["code"]) == ("b", -32601)
    assert answers[2]["error"]["code"] == -32600
    assert len(answers) == 3
    quiet = wire.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
    assert (quiet.status_code, quiet.content) == (202, b"")
    error(wire.send([request("ping")] * 21), 400, -32600)
    inner = wire.send([request("initialize", {"protocolVersion": "2025-03-26"}, 5)]).json()
    assert inner[0]["error"]["code"] == -32600


def test_the_oldest_revision_is_answered_in_text_alone(wire: Wire) -> None:
    result = wire.initialize("2025-03-26").result("tools/call", {"name": "get_matter", "arguments": {"case_id": CASE}})
    assert set(result) == {"content"}


def test_a_client_that_takes_only_events_gets_its_answer_as_one(legacy: Wire) -> None:
    answer = legacy.send(request("ping"), {"accept": "text/event-stream"})
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.text == 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'


def test_a_cancelled_call_ends_and_its_service_is_told(legacy: Wire, world: World) -> None:
    begun: list[int] = []

    async def never(_request: Any) -> Message:
        begun.append(1)
        return await asyncio.Future()

    world.get_matter = never
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(legacy.call, "tools/call", {"name": "get_matter", "arguments": {"case_id": CASE}}, 7)
        until(lambda: begun, "the call is running")
        for other in ("7", 7.5, True, None, 8):
            legacy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}})
        assert not waiting.done()
        legacy.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        error(waiting.result(10), 200, -32800)
    until(lambda: world.cancelled == 1, "the service was told")


def test_calls_with_the_same_id_are_answered_each_by_itself(legacy: Wire, world: World) -> None:
    together = asyncio.Barrier(8)

    async def when_all_are_here(_request: Any) -> Message:
        await together.wait()
        return one_matter()

    world.get_matter = when_all_are_here
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(legacy.call, "tools/call", {"name": "get_matter", "arguments": {"case_id": CASE}}, 1) for _ in range(8)]
        results = [c.result(20).json() for c in calls]
    assert [r["id"] for r in results] == [1] * 8
    for r in results:
        valid("tools/call", "2025-11-25", r["result"])
        assert "isError" not in r["result"]
