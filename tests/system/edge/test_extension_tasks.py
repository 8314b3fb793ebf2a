"""The tasks extension of 2026-07-28 over HTTP. docs/musts/tasks-2026-07-28.md says which of its requirements each of these shows."""

import json
from typing import Any

import httpx
import jsonschema_rs
import pytest

from tests.system.edge.running import Running
from tests.system.edge.tasking import CALL, DECLARED, EXTENSION, FORBIDDEN, RELATED, REQUIRED, RESULT, deferred, made, on_task
from tests.system.edge.wire import Wire, error, request
from tests.system.edge.world import CASE, World

METHODS = ["tasks/get", "tasks/update", "tasks/cancel"]
QUESTION = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}},
}
TASK: dict[str, Any] = {
    "type": "object",
    "required": ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "resultType"],
    "properties": {
        "taskId": {"type": "string"},
        "statusMessage": {"type": "string"},
        "createdAt": {"type": "string", "format": "date-time"},
        "lastUpdatedAt": {"type": "string", "format": "date-time"},
        "ttlMs": {"type": "integer", "minimum": 1},
        "pollIntervalMs": {"type": "integer", "minimum": 1},
    },
    "not": {"anyOf": [{"required": [name]} for name in ("ttl", "pollInterval", "task", "requestState")]},
}


@pytest.fixture
def plain(tasking: Running, world: World, http: httpx.Client) -> Wire:
    """A client that knows nothing of tasks."""
    return Wire(tasking, world.new_key(), http)


@pytest.fixture
def knows(plain: Wire) -> Wire:
    """A client that says in each request that it knows tasks."""
    plain.capabilities = DECLARED
    return plain


def got(wire: Wire, task_id: str) -> dict[str, Any]:
    """What tasks/get says."""
    answer = on_task(wire, "tasks/get", task_id)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["result"]
    jsonschema_rs.validate(TASK, found)
    assert found["resultType"] == "complete"
    return found


def test_the_extension_is_advertised_and_the_older_form_is_not(plain: Wire) -> None:
    said = plain.modern_result("server/discover")["capabilities"]
    assert said["extensions"][EXTENSION] == {}
    assert "tasks" not in said


def test_the_server_decides_that_a_call_becomes_a_task_and_nobody_has_to_ask(knows: Wire) -> None:
    found = deferred(knows)
    jsonschema_rs.validate(TASK, found)
    assert found["status"] == "working"
    assert not {"result", "error", "inputRequests", "content", "structuredContent"} & set(found)


def test_a_client_that_did_not_say_so_in_this_request_gets_an_answer_and_no_task(knows: Wire, world: World) -> None:
    deferred(knows)
    knows.capabilities = {}
    result = knows.modern_result("tools/call", CALL)
    assert (result["resultType"], "taskId" in result) == ("complete", False)
    assert len(world.runs.kept) == 1


@pytest.mark.parametrize(
    "extensions", [None, [], "x", {EXTENSION: None}, {EXTENSION: []}, {EXTENSION: True}, {"io.modelcontextprotocol/task": {}}]
)
def test_what_only_resembles_the_declaration_is_none(plain: Wire, world: World, extensions: Any) -> None:
    plain.capabilities = {"extensions": extensions, "tasks": {}}
    assert plain.modern_result("tools/call", CALL)["resultType"] == "complete"
    error(on_task(plain, "tasks/get", "x"), 400, -32021)
    assert world.runs.kept == {}


@pytest.mark.parametrize("task", [{}, {"ttl": 1}, "yes", None])
def test_the_wish_of_the_older_form_is_ignored(knows: Wire, world: World, task: Any) -> None:
    result = knows.modern_result("tools/call", {"name": FORBIDDEN, "arguments": {}, "task": task})
    assert (result["resultType"], "taskId" in result) == ("complete", False)
    assert "ttl" not in deferred(knows, task=task)
    assert len(world.runs.kept) == 1
    assert not next(iter(world.runs.kept.values())).request.HasField("ttl_ms")


def test_a_tool_that_is_only_a_task_needs_a_client_that_knows_tasks(plain: Wire, world: World) -> None:
    said = error(plain.modern("tools/call", {"name": REQUIRED, "arguments": {}}), 400, -32021)
    assert said["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
    plain.capabilities = DECLARED
    assert plain.modern("tools/call", {"name": REQUIRED, "arguments": {}}).json()["result"]["resultType"] == "task"


@pytest.mark.parametrize("method", METHODS)
def test_a_client_that_knows_no_tasks_is_told_what_it_lacks(plain: Wire, method: str) -> None:
    said = error(on_task(plain, method, "gate", {"inputResponses": {}}), 400, -32021)
    assert said["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
def test_what_the_extension_took_away_is_an_unknown_method(knows: Wire, method: str) -> None:
    error(on_task(knows, method, "x"), 404, -32601)


def test_a_task_is_there_as_soon_as_its_id_is_told(knows: Wire, world: World) -> None:
    for _ in range(5):
        found = deferred(knows)
        assert got(knows, found["taskId"])["status"] == "working"


def test_a_task_is_told_with_what_its_status_brings_and_nothing_else(knows: Wire, world: World) -> None:
    brought = {"result", "error", "inputRequests"}
    for word in ("PENDING", "QUEUED", "RUNNING"):
        task = deferred(knows)["taskId"]
        world.runs.set(task, word)
        found = got(knows, task)
        assert (found["status"], brought & set(found)) == ("working", set())
    task = deferred(knows)["taskId"]
    world.runs.ask(task, a=QUESTION)
    found = got(knows, task)
    assert (found["status"], found["inputRequests"], brought & set(found)) == ("input_required", {"a": QUESTION}, {"inputRequests"})
    world.runs.set(task, "DENIED")
    found = got(knows, task)
    assert (found["status"], brought & set(found)) == ("cancelled", set())


def test_a_completed_task_has_the_result_of_its_call(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    world.runs.done(task, RESULT)
    found = got(knows, task)
    assert (found["status"], found["result"]) == ("completed", {"resultType": "complete"} | RESULT)
    assert RELATED not in json.dumps(found)


def test_a_tool_that_failed_completed_its_task(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    world.runs.done(task, {"content": [{"type": "text", "text": "No."}], "isError": True}, "The tool failed.")
    found = got(knows, task)
    assert (found["status"], found["result"]["isError"], "error" in found) == ("completed", True, False)


@pytest.mark.parametrize("word", ["FAILED", "ABORTED"])
def test_a_failed_task_has_the_error_and_no_result(knows: Wire, world: World, word: str) -> None:
    task = deferred(knows)["taskId"]
    world.runs.fail(task, -32603, "It broke.", word)
    found = got(knows, task)
    assert (found["status"], found["statusMessage"], "result" in found) == ("failed", "It broke.", False)
    assert found["error"] == {"code": -32603, "message": "It broke."}


def test_a_status_nobody_knows_is_an_internal_error(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    for word in ("", "COMPLETED", "PAUSED"):
        world.runs.set(task, word)
        assert "incident" in error(on_task(knows, "tasks/get", task), 200, -32603)["error"]["message"]


def test_answers_are_acknowledged_and_nothing_more_and_take_the_task_on(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    world.runs.ask(task, a=QUESTION, b=QUESTION)
    some = on_task(knows, "tasks/update", task, {"inputResponses": {"a": {"action": "accept", "content": {"x": 1}}}})
    assert set(some.json()["result"]) == {"resultType", "_meta"}
    assert some.json()["result"]["resultType"] == "complete"
    found = got(knows, task)
    assert (found["status"], set(found["inputRequests"])) == ("input_required", {"b"})
    on_task(knows, "tasks/update", task, {"inputResponses": {"b": {"action": "decline"}, "a": {"action": "cancel"}, "never": {"x": 1}}})
    assert got(knows, task)["status"] == "working"
    assert world.runs.kept[task].answers == {"a": {"action": "accept", "content": {"x": 1}}, "b": {"action": "decline"}}


@pytest.mark.parametrize("responses", [None, [], "x", 1, {"a": None}, {"a": "yes"}, {"a": [1]}])
def test_answers_are_an_object_of_objects(knows: Wire, world: World, responses: Any) -> None:
    task = deferred(knows)["taskId"]
    world.runs.ask(task, a=QUESTION)
    said = error(on_task(knows, "tasks/update", task, {"inputResponses": responses}), 400, -32602)
    assert "inputResponses" in said["error"]["message"]
    assert set(got(knows, task)["inputRequests"]) == {"a"}


def test_taking_back_is_acknowledged_whether_or_not_the_task_is_over(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    for status in ("cancelled", "cancelled"):
        result = on_task(knows, "tasks/cancel", task).json()["result"]
        assert (set(result), result["resultType"]) == ({"resultType", "_meta"}, "complete")
        assert got(knows, task)["status"] == status
    over = deferred(knows)["taskId"]
    world.runs.done(over, RESULT)
    assert on_task(knows, "tasks/cancel", over).json()["result"]["resultType"] == "complete"
    assert got(knows, over)["status"] == "completed"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task_id", ["tasks-nonexistent-12345", "00000000-0000-4000-8000-000000000000", "x" * 300])
def test_an_id_that_names_nothing_is_refused_alike(knows: Wire, method: str, task_id: str) -> None:
    said = error(on_task(knows, method, task_id, {"inputResponses": {}}), 400, -32602)
    assert said["error"]["message"].startswith("Task not found")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task_id", [None, 1, ["x"], {}])
def test_a_request_on_a_task_names_it_with_a_string(knows: Wire, method: str, task_id: Any) -> None:
    assert "taskId" in error(knows.modern(method, {"taskId": task_id, "inputResponses": {}}), 400, -32602)["error"]["message"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("header", ["", "other", "=?base64?!!?="])
def test_the_header_names_the_task_that_the_body_names(knows: Wire, method: str, header: str) -> None:
    task = deferred(knows)["taskId"]
    params = {"taskId": task, "inputResponses": {}}
    error(knows.modern(method, params, {"mcp-name": header}), 400, -32020)
    error(knows.modern(method, params, {"mcp-name": task, "mcp-method": "tools/call"}), 400, -32020)
    assert got(knows, task)["status"] == "working"


def test_a_task_belongs_to_the_key_that_made_it_and_to_no_other_of_its_owner(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    other = Wire(knows.edge, world.new_key(knows.known.owner), knows.http, capabilities=DECLARED)
    absent = error(on_task(other, "tasks/get", "nope"), 400, -32602)["error"]
    for method in METHODS:
        assert error(on_task(other, method, task, {"inputResponses": {}}), 400, -32602)["error"] == absent
    assert got(knows, task)["status"] == "working"


def test_the_key_is_judged_in_every_request_on_a_task(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    knows.known.revoked = True
    for method in METHODS:
        assert on_task(knows, method, task, {"inputResponses": {}}).status_code == 401
        assert on_task(knows, method, task, {"inputResponses": "wrong"}).status_code == 401
    knows.capabilities = {}
    assert on_task(knows, "tasks/get", task).status_code == 401
    assert knows.modern("tools/call", {"name": REQUIRED, "arguments": {}}).status_code == 401


def test_a_call_that_is_wrong_or_one_too_many_is_answered_at_once_for_a_model_to_read(knows: Wire, world: World) -> None:
    wrong = knows.modern_result("tools/call", {"name": CALL["name"], "arguments": {"case": CASE}})
    assert (wrong["resultType"], wrong["isError"]) == ("complete", True)
    world.runs.fault = "full"
    full = knows.modern_result("tools/call", CALL)
    assert (full["resultType"], full["isError"]) == ("complete", True)
    assert "as many as it may" in full["content"][0]["text"]


def test_both_eras_tell_of_the_same_task(knows: Wire, world: World) -> None:
    older = Wire(knows.edge, knows.known, knows.http).initialize()
    begun = made(older)["taskId"]
    world.runs.done(begun, {"content": [], "isError": True})
    assert got(knows, begun)["status"] == "completed"
    assert older.call("tasks/get", {"taskId": begun}).json()["result"]["status"] == "failed"
    later = deferred(knows)["taskId"]
    assert {t["taskId"] for t in older.call("tasks/list").json()["result"]["tasks"]} == {begun, later}


def test_without_the_program_that_keeps_tasks_there_are_none_and_calls_are_answered(
    edge: Running, world: World, http: httpx.Client
) -> None:
    wire = Wire(edge, world.new_key(), http, capabilities=DECLARED)
    assert "extensions" not in wire.modern_result("server/discover")["capabilities"]
    assert wire.modern_result("tools/call", CALL)["resultType"] == "complete"
    error(on_task(wire, "tasks/get", "x"), 404, -32601)
    error(wire.modern("subscriptions/listen", {"notifications": {"taskIds": ["x"]}}), 404, -32601)
    older = Wire(edge, wire.known, http).initialize()
    said = older.send(request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}), {"mcp-session-id": ""}).json()
    assert "tasks" not in said["result"]["capabilities"]
    assert "content" in older.result("tools/call", CALL | {"task": {}})
    error(older.call("tasks/list"), 200, -32601)
