"""Tasks of 2025-11-25 over HTTP. docs/musts/tasks-2025-11-25.md says which requirement of the protocol each of these shows."""

import concurrent.futures
import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp_types import _v2025_11_25 as handshake

from edge.errors import REQUEST_CANCELLED
from kit import limits
from tests.poll import until
from tests.system.edge.tasking import CALL, FORBIDDEN, OPTIONAL, RELATED, REQUIRED, RESULT, asking, last, made, outcome, told
from tests.system.edge.wire import META, Wire, error, messages, valid
from tests.system.edge.world import CASE, World

EARLIER = ["2025-06-18", "2025-03-26"]
METHODS = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"]
OPEN_WORDS = ["PENDING", "QUEUED", "RUNNING", "AWAITING_INPUT"]
ENDED_WORDS = ["DONE", "FAILED", "ABORTED", "DENIED"]


def test_tasks_are_declared_where_the_revision_has_them(tasks: Wire) -> None:
    tasks.session = None
    said = tasks.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}).json()["result"]
    assert said["capabilities"]["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert "extensions" not in said["capabilities"]


@pytest.mark.parametrize("version", EARLIER)
def test_earlier_revisions_are_told_nothing_of_tasks_and_have_no_methods_for_them(tasks: Wire, version: str) -> None:
    tasks.session = None
    said = tasks.call("initialize", {"protocolVersion": version, "capabilities": {}}).json()["result"]
    assert "tasks" not in said["capabilities"]
    tasks.initialize(version)
    for method in METHODS:
        error(tasks.call(method, {"taskId": "x"}), 200, -32601)
    assert not any("execution" in tool for tool in tasks.result("tools/list")["tools"])


@pytest.mark.parametrize("version", EARLIER)
@pytest.mark.parametrize("task", [{}, {"ttl": 60_000}, {"ttl": "long"}, "yes", 1])
def test_where_tasks_are_not_declared_the_wish_for_one_is_ignored(tasks: Wire, world: World, version: str, task: Any) -> None:
    tasks.session = None
    tasks.initialize(version)
    result = tasks.result("tools/call", asking(task))
    assert "content" in result
    assert "task" not in result
    assert world.runs.kept == {}


def test_every_tool_says_whether_it_can_be_a_task_and_most_cannot(tasks: Wire) -> None:
    support = {t["name"]: t["execution"]["taskSupport"] for t in tasks.result("tools/list")["tools"]}
    assert (support[OPTIONAL], support[FORBIDDEN], support[REQUIRED]) == ("optional", "forbidden", "required")
    assert support["propose_action"] == "forbidden"


def test_a_tool_that_is_no_task_is_refused_as_one_and_no_task_is_made(tasks: Wire, world: World) -> None:
    said = error(tasks.call("tools/call", {"name": FORBIDDEN, "arguments": {}, "task": {}}), 200, -32601)
    assert FORBIDDEN in said["error"]["message"]
    assert world.runs.kept == {}


def test_a_tool_that_is_only_a_task_is_refused_as_an_ordinary_call(tasks: Wire) -> None:
    said = error(tasks.call("tools/call", {"name": REQUIRED, "arguments": {}}), 200, -32601)
    assert "params.task" in said["error"]["message"]


def test_a_tool_that_can_be_a_task_is_an_ordinary_call_where_nobody_asks_for_one(tasks: Wire, world: World) -> None:
    result = tasks.result("tools/call", CALL)
    assert result["structuredContent"]["matter"]
    assert world.runs.kept == {}


def test_a_call_that_asks_for_a_task_gets_one_at_once_and_no_answer(tasks: Wire) -> None:
    result = tasks.call("tools/call", asking({"ttl": 60_000})).json()["result"]
    handshake.CreateTaskResult.model_validate(result)
    assert set(result) == {"task", "_meta"}
    assert isinstance(result["_meta"][f"{META}model-immediate-response"], str)
    assert RELATED not in result["_meta"]


def test_the_server_names_each_task_with_a_string_of_its_own(tasks: Wire) -> None:
    ids = [made(tasks, taskId="mine", id_=7)["taskId"] for _ in range(20)]
    assert all(isinstance(id_, str) and len(id_) >= 32 for id_ in ids)
    assert len(set(ids)) == 20


def test_a_task_begins_working(tasks: Wire) -> None:
    assert made(tasks)["status"] == "working"


@pytest.mark.parametrize(("word", "status"), [*((w, "working") for w in OPEN_WORDS[:3]), ("AWAITING_INPUT", "input_required")])
def test_an_open_task_is_told_as_it_is(tasks: Wire, world: World, word: str, status: str) -> None:
    task = made(tasks)
    world.runs.set(task["taskId"], word)
    assert told(tasks, task)["status"] == status


def test_each_end_has_its_status_and_a_failure_says_why(tasks: Wire, world: World) -> None:
    ends: dict[str, Callable[[str], None]] = {
        "completed": lambda id_: world.runs.done(id_, RESULT),
        "failed": lambda id_: world.runs.done(id_, {"content": [{"type": "text", "text": "No."}], "isError": True}, "The tool failed."),
        "cancelled": lambda id_: world.runs.set(id_, "DENIED"),
    }
    for status, end in ends.items():
        task = made(tasks)
        end(task["taskId"])
        assert told(tasks, task)["status"] == status
    for word in ("FAILED", "ABORTED"):
        task = made(tasks)
        world.runs.fail(task["taskId"], -32603, "It broke.", word)
        said = told(tasks, task)
        assert (said["status"], said["statusMessage"]) == ("failed", "It broke.")


def test_a_status_nobody_knows_is_an_internal_error_that_is_logged(tasks: Wire, world: World, caplog: pytest.LogCaptureFixture) -> None:
    task = made(tasks)
    for word in ("", "COMPLETED", "done", "PAUSED"):
        world.runs.set(task["taskId"], word)
        said = [last(tasks.call(method, {"taskId": task["taskId"]}))["error"] for method in ("tasks/get", "tasks/result", "tasks/list")]
        assert [s["code"] for s in said] == [-32603] * 3
        assert all("incident" in s["message"] and (not word or word not in s["message"]) for s in said)
    assert "status of a run that is not known" in caplog.text


def test_times_and_life_are_in_every_word_about_a_task(tasks: Wire) -> None:
    task = made(tasks)
    listed = tasks.call("tasks/list").json()["result"]["tasks"][0]
    cancelled = tasks.call("tasks/cancel", {"taskId": task["taskId"]}).json()["result"]
    for said in (task, told(tasks, task), listed, cancelled):
        for name in ("createdAt", "lastUpdatedAt"):
            assert said[name].endswith("Z")
            assert "T" in said[name]
        assert "ttl" in said


def test_the_life_that_is_told_is_the_one_that_holds(tasks: Wire) -> None:
    assert told(tasks, made(tasks, task={"ttl": 60_000}))["ttl"] == 60_000
    longest = told(tasks, made(tasks, task={"ttl": 10**12}))["ttl"]
    assert longest < 10**12
    assert told(tasks, made(tasks))["ttl"] == longest or told(tasks, made(tasks))["ttl"] > 0


@pytest.mark.parametrize("task", ["yes", 1, True, [], {"ttl": "60000"}, {"ttl": -1}, {"ttl": 1.5}, {"ttl": True}, {"ttl": {}}])
def test_a_wish_for_a_task_that_makes_no_sense_is_refused_by_name(tasks: Wire, world: World, task: Any) -> None:
    said = error(tasks.call("tools/call", CALL | {"task": task}), 200, -32602)
    assert "params.task" in said["error"]["message"]
    assert world.runs.kept == {}


def test_a_call_that_is_wrong_makes_no_task_and_says_what_is_wrong(tasks: Wire, world: World) -> None:
    said = error(tasks.call("tools/call", {"name": OPTIONAL, "arguments": {"case": CASE}, "task": {}}), 200, -32602)
    assert "case_id" in said["error"]["message"]
    assert said["error"]["data"]["fields"]
    error(tasks.call("tools/call", {"name": "nope", "arguments": {}, "task": {}}), 200, -32602)
    assert world.runs.kept == {}


@pytest.mark.parametrize("token", [1.5, True, [], {}])
def test_a_progress_token_is_text_or_a_whole_number(tasks: Wire, token: Any) -> None:
    error(tasks.call("tools/call", asking(_meta={"progressToken": token})), 200, -32602)


def test_the_result_is_the_stored_one_with_its_task_named_and_nothing_else(tasks: Wire, world: World) -> None:
    task = made(tasks)
    world.runs.done(task["taskId"], RESULT)
    answer = tasks.call("tasks/result", {"taskId": task["taskId"]})
    assert answer.headers["content-type"] == "application/json"
    stored = json.dumps(RESULT, separators=(",", ":"))
    related = json.dumps({RELATED: {"taskId": task["taskId"]}}, separators=(",", ":"))
    assert answer.text == f'{{"jsonrpc":"2.0","id":1,"result":{stored[:-1]},"_meta":{related}}}}}'
    valid("tools/call", "2025-11-25", answer.json()["result"])


def test_the_result_of_a_tool_that_failed_is_still_a_result(tasks: Wire, world: World) -> None:
    task = made(tasks)
    refusal = {"content": [{"type": "text", "text": "No."}], "isError": True, "_meta": {"substrate/refusal": {"reason": "not_found"}}}
    world.runs.done(task["taskId"], refusal, "The tool failed.")
    assert told(tasks, task)["status"] == "failed"
    result = outcome(tasks, task["taskId"])["result"]
    assert result["isError"] is True
    assert result["_meta"] == {RELATED: {"taskId": task["taskId"]}, "substrate/refusal": {"reason": "not_found"}}


def test_a_call_that_ended_in_an_error_gives_that_same_error(tasks: Wire, world: World) -> None:
    task = made(tasks)
    world.runs.fail(task["taskId"], -32603, "Something failed inside the service. Report incident 0a1b2c3d.", "FAILED")
    for _ in range(2):
        found = outcome(tasks, task["taskId"])["error"]
        assert (found["code"], found["message"]) == (-32603, "Something failed inside the service. Report incident 0a1b2c3d.")


@pytest.mark.parametrize(("word", "code"), [("ABORTED", -32603), ("DENIED", REQUEST_CANCELLED)])
def test_work_that_never_came_to_a_result_ends_the_wait_with_an_error(tasks: Wire, world: World, word: str, code: int) -> None:
    task = made(tasks)
    world.runs.set(task["taskId"], word)
    assert outcome(tasks, task["taskId"])["error"]["code"] == code


@pytest.mark.parametrize("word", OPEN_WORDS)
def test_waiting_for_a_result_lasts_until_the_task_is_over(tasks: Wire, world: World, word: str) -> None:
    task = made(tasks)
    world.runs.set(task["taskId"], word)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(outcome, tasks, task["taskId"]) for _ in range(3)]
        until(lambda: world.runs.asked.count("AwaitTask") >= 3, "all are waiting")
        assert not any(w.done() for w in waiting)
        assert told(tasks, task)["status"] in ("working", "input_required")
        world.runs.done(task["taskId"], RESULT)
        answers = [w.result(10)["result"] for w in waiting]
    assert answers == [answers[0]] * 3
    assert answers[0]["structuredContent"] == {"a": 1}
    until(lambda: world.runs.waiting == 0, "nobody waits any more")


def test_the_id_in_the_parameters_decides_whatever_the_metadata_says(tasks: Wire, world: World) -> None:
    one, other = made(tasks), made(tasks)
    world.runs.done(one["taskId"], RESULT)
    meta = {RELATED: {"taskId": other["taskId"]}}
    assert tasks.call("tasks/get", {"taskId": one["taskId"], "_meta": meta}).json()["result"]["taskId"] == one["taskId"]
    result = tasks.call("tasks/result", {"taskId": one["taskId"], "_meta": meta}).json()["result"]
    assert result["_meta"] == {RELATED: {"taskId": one["taskId"]}}
    error(tasks.call("tasks/cancel", {"taskId": one["taskId"], "_meta": meta}), 200, -32602)
    assert told(tasks, other)["status"] == "working"


def test_what_names_its_task_already_does_not_name_it_again(tasks: Wire) -> None:
    task = made(tasks)
    listed = tasks.call("tasks/list").json()["result"]
    cancelled = tasks.call("tasks/cancel", {"taskId": task["taskId"]}).json()["result"]
    assert not any("_meta" in said for said in (told(tasks, task), listed, *listed["tasks"], cancelled))


def test_all_that_can_be_got_is_listed_page_by_page(tasks: Wire, world: World) -> None:
    ids = {made(tasks)["taskId"] for _ in range(7)}
    world.runs.page_size = 3
    listed: list[str] = []
    params: dict[str, Any] = {}
    pages = 0
    while True:
        page = tasks.call("tasks/list", params).json()["result"]
        handshake.ListTasksResult.model_validate(page)
        listed += [t["taskId"] for t in page["tasks"]]
        pages += 1
        if "nextCursor" not in page:
            break
        assert isinstance(page["nextCursor"], str)
        params = {"cursor": page["nextCursor"]}
    assert pages == 3
    assert (len(listed), set(listed)) == (7, ids)


@pytest.mark.parametrize("cursor", ["nope", "", 1, True, [], {}, "x" * 10_000])
def test_a_cursor_that_was_never_given_out_is_refused(tasks: Wire, cursor: Any) -> None:
    error(tasks.call("tasks/list", {"cursor": cursor}), 200, -32602)


@pytest.mark.parametrize("word", OPEN_WORDS)
def test_taking_a_task_back_ends_it_before_the_answer(tasks: Wire, world: World, word: str) -> None:
    task = made(tasks)
    world.runs.set(task["taskId"], word)
    result = tasks.call("tasks/cancel", {"taskId": task["taskId"]}).json()["result"]
    handshake.CancelTaskResult.model_validate(result)
    assert result["status"] == "cancelled"
    assert world.runs.kept[task["taskId"]].word == "DENIED"
    assert told(tasks, task)["status"] == "cancelled"


@pytest.mark.parametrize("word", ENDED_WORDS)
def test_a_task_that_is_over_cannot_be_taken_back(tasks: Wire, world: World, word: str) -> None:
    task = made(tasks)
    world.runs.set(task["taskId"], word)
    before = told(tasks, task)
    said = error(tasks.call("tasks/cancel", {"taskId": task["taskId"]}), 200, -32602)
    assert said["error"]["message"]
    assert told(tasks, task) == before


def test_what_was_taken_back_stays_so_though_its_work_ends(tasks: Wire, world: World) -> None:
    task = made(tasks)
    tasks.call("tasks/cancel", {"taskId": task["taskId"]})
    world.runs.done(task["taskId"], RESULT)
    assert told(tasks, task)["status"] == "cancelled"
    assert "error" in outcome(tasks, task["taskId"])


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
@pytest.mark.parametrize("task_id", ["nope", "00000000-0000-4000-8000-000000000000", "", "ü\n", "x" * 5_000])
def test_an_id_that_names_nothing_is_refused_alike(tasks: Wire, method: str, task_id: str) -> None:
    said = error(tasks.call(method, {"taskId": task_id}), 200, -32602)
    assert said["error"]["message"] == "Task not found: it is unknown to this key, or its time is over."


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
@pytest.mark.parametrize("params", [{}, {"taskId": None}, {"taskId": 1}, {"taskId": ["x"]}, {"task_id": "x"}])
def test_a_request_on_a_task_names_it_with_a_string(tasks: Wire, method: str, params: Any) -> None:
    said = error(tasks.call(method, params), 200, -32602)
    assert "taskId" in said["error"]["message"]


def test_a_task_belongs_to_the_key_that_made_it_and_to_no_other_of_its_owner(tasks: Wire, world: World) -> None:
    task = made(tasks)
    world.runs.done(task["taskId"], RESULT)
    open_task = made(tasks)
    other = Wire(tasks.edge, world.new_key(tasks.known.owner), tasks.http).initialize()
    absent = {error(other.call(m, {"taskId": "nope"}), 200, -32602)["error"]["message"] for m in METHODS if m != "tasks/list"}
    for task_id in (task["taskId"], open_task["taskId"]):
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert {error(other.call(method, {"taskId": task_id}), 200, -32602)["error"]["message"]} == absent
    assert other.call("tasks/list").json()["result"] == {"tasks": []}
    assert {t["taskId"] for t in tasks.call("tasks/list").json()["result"]["tasks"]} == {task["taskId"], open_task["taskId"]}
    assert told(tasks, open_task)["status"] == "working"


def test_a_task_outlives_its_session_and_is_found_from_another(tasks: Wire, world: World) -> None:
    task = made(tasks)
    later = Wire(tasks.edge, tasks.known, tasks.http).initialize()
    world.runs.done(task["taskId"], RESULT)
    assert told(later, task)["status"] == "completed"
    assert outcome(later, task["taskId"])["result"]["structuredContent"] == {"a": 1}


@pytest.mark.parametrize("method", METHODS)
def test_a_revoked_key_reaches_no_task(tasks: Wire, world: World, method: str) -> None:
    task = made(tasks)
    tasks.known.revoked = True
    assert tasks.call(method, {"taskId": task["taskId"]}).status_code == 401
    assert tasks.call("tools/call", asking()).status_code == 401
    assert tasks.call("tools/call", {"name": FORBIDDEN, "arguments": {}, "task": {}}).status_code == 401
    assert tasks.call("tools/call", asking("wrong")).status_code == 401


def test_a_service_that_is_away_or_broken_says_no_more_than_that(tasks: Wire, world: World) -> None:
    task = made(tasks)
    world.runs.fault = "away"
    for method in METHODS:
        said = last(tasks.call(method, {"taskId": task["taskId"]}))["error"]
        assert (said["code"], said["data"]["retryable"]) == (-32603, True)
    error(tasks.call("tools/call", asking()), 200, -32603)
    world.runs.fault = "broken"
    for method in METHODS:
        said = last(tasks.call(method, {"taskId": task["taskId"]}))["error"]
        assert said == {"code": -32603, "message": "Something failed inside the service. Nothing was changed. Report incident 0a1b2c3d."}


def test_too_many_tasks_are_refused_with_when_to_come_back(tasks: Wire, world: World) -> None:
    world.runs.fault = "full"
    said = error(tasks.call("tools/call", asking()), 200, -32600)
    assert said["error"]["data"]["reason"] == "conflict"
    assert "as many as it may" in said["error"]["message"]


def test_a_client_that_takes_only_events_is_answered_in_them(tasks: Wire, world: World) -> None:
    task = made(tasks)
    world.runs.done(task["taskId"], RESULT)
    for method in METHODS[:3]:
        answer = tasks.send(
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"taskId": task["taskId"]}}, {"accept": "text/event-stream"}
        )
        assert answer.headers["content-type"] == "text/event-stream"
        assert len(messages(answer)) == 1


def test_a_token_that_would_be_kept_too_long_is_refused(tasks: Wire, world: World) -> None:
    longest = "x" * (limits.PROGRESS_TOKEN_MAX_BYTES - 2)
    assert made(tasks, _meta={"progressToken": longest})["status"] == "working"
    said = error(tasks.call("tools/call", asking(_meta={"progressToken": longest + "x"})), 200, -32602)
    assert "progressToken" in said["error"]["message"]


def test_polling_moves_no_result(tasks: Wire, world: World) -> None:
    task = made(tasks)
    world.runs.done(task["taskId"], RESULT)
    assert told(tasks, task)["status"] == "completed"
    assert "GetTask" in world.runs.asked
    assert "GetTask with its outcome" not in world.runs.asked
