"""Waiting for a result: heard from while it lasts, taken back by whoever waits, and nothing is left of it, whatever ends it."""

import asyncio
import concurrent.futures
import json
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from edge.config import Timing
from edge.errors import REQUEST_CANCELLED
from kit import limits
from tests.poll import until
from tests.system.edge import raw
from tests.system.edge.running import Site, as_tasks
from tests.system.edge.tasking import CALL, DECLARED, OPTIONAL, RELATED, RESULT, asking, last, made, outcome, told
from tests.system.edge.wire import MODERN, Wire, error, meta, request
from tests.system.edge.world import World


@pytest.fixture
def pool() -> Iterator[concurrent.futures.ThreadPoolExecutor]:
    """Threads for clients that wait."""
    opened = concurrent.futures.ThreadPoolExecutor(24)
    yield opened
    opened.shutdown(wait=False, cancel_futures=True)


def asks(wire: Wire, task_id: str, *lines: str) -> tuple[socket.socket, bytes]:
    """A connection, and the bytes of a request for a result."""
    body = json.dumps(request("tasks/result", {"taskId": task_id}, "w")).encode()
    head = raw.head(wire.edge, wire.known, f"Mcp-Session-Id: {wire.session}", *lines, body=len(body))
    return socket.create_connection((wire.edge.host, wire.edge.port), timeout=20), head + body


def live() -> int:
    """Tasks of the loop that this is run on."""
    return len(asyncio.all_tasks())


def test_whoever_waits_long_is_heard_from_until_the_result_comes(tasks: Wire, world: World) -> None:
    task = made(tasks)
    sock, sent = asks(tasks, task["taskId"], "Accept: application/json, text/event-stream", "Connection: close")
    with sock:
        sock.sendall(sent)
        data = b""
        while data.count(b": keepalive") < 3:
            data += sock.recv(65536)
        assert b"content-type: text/event-stream" in data
        assert b"x-accel-buffering: no" in data
        world.runs.done(task["taskId"], RESULT)
        data += raw.read_all(sock)
    (event,) = [line for line in data.split(b"\r\n") if line.startswith(b"event: message")]
    found = json.loads(event.partition(b"data: ")[2])
    assert (found["id"], found["result"]["_meta"]) == ("w", {RELATED: {"taskId": task["taskId"]}})


def test_a_client_that_takes_no_events_is_answered_in_json_however_long_it_lasts(tasks: Wire, world: World) -> None:
    task = made(tasks)
    sock, sent = asks(tasks, task["taskId"], "Accept: application/json")
    with sock:
        sock.sendall(sent)
        until(lambda: world.runs.waiting == 1, "it waits")
        sock.settimeout(0.7)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        world.runs.done(task["taskId"], RESULT)
        sock.settimeout(20)
        status, body = raw.read_answer(sock)
    assert (status, json.loads(body)["result"]["structuredContent"]) == (200, {"a": 1})


@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
def test_of_a_client_that_went_away_nothing_is_left_and_its_task_goes_on(tasks: Wire, world: World, site: Site, accept: str) -> None:
    async def count() -> int:
        return live()

    task = made(tasks)
    until(lambda: world.runs.watching == 1, "the task is followed")
    before, connections = site.loop.run(count()), tasks.edge.connections
    for _ in range(10):
        sock, sent = asks(tasks, task["taskId"], f"Accept: {accept}")
        sock.sendall(sent)
        until(lambda: world.runs.waiting == 1, "it waits")
        sock.close()
        until(lambda: world.runs.waiting == 0, "the service waits no more")
    until(lambda: site.loop.run(count()) <= before and tasks.edge.connections <= connections, "nothing is left")
    assert told(tasks, task)["status"] == "working"
    world.runs.done(task["taskId"], RESULT)
    assert "result" in outcome(tasks, task["taskId"])


def test_whoever_waits_can_take_the_wait_back_and_the_task_goes_on(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor
) -> None:
    task = made(tasks)
    waiting = pool.submit(tasks.call, "tasks/result", {"taskId": task["taskId"]}, 41)
    until(lambda: world.runs.waiting == 1, "it waits")
    for other in ("41", 41.5, 40, None):
        tasks.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}})
    assert not waiting.done()
    tasks.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 41}})
    assert last(waiting.result(10))["error"]["code"] == REQUEST_CANCELLED
    until(lambda: world.runs.waiting == 0, "the service waits no more")
    assert told(tasks, task)["status"] == "working"


def test_a_cancelled_notification_never_takes_a_task_back(tasks: Wire, world: World) -> None:
    answer = tasks.call("tools/call", {"name": OPTIONAL, "arguments": {"case_id": "11111111-1111-4111-8111-111111111111"}, "task": {}}, 77)
    task = answer.json()["result"]["task"]
    tasks.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}})
    assert told(tasks, task)["status"] == "working"
    assert world.runs.asked.count("CancelTask") == 0


def test_twenty_wait_for_one_task_and_get_the_same(tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor) -> None:
    task = made(tasks)
    waiting = [pool.submit(outcome, tasks, task["taskId"]) for _ in range(20)]
    until(lambda: world.runs.waiting == 20, "all wait")
    world.runs.done(task["taskId"], RESULT)
    answers = [json.dumps(w.result(10)) for w in waiting]
    assert len(set(answers)) == 1
    until(lambda: world.runs.waiting == 0, "nobody waits")


def test_taking_the_task_back_ends_every_wait_for_it(tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor) -> None:
    task = made(tasks)
    waiting = [pool.submit(outcome, tasks, task["taskId"]) for _ in range(3)]
    until(lambda: world.runs.waiting == 3, "all wait")
    assert tasks.call("tasks/cancel", {"taskId": task["taskId"]}).json()["result"]["status"] == "cancelled"
    assert [w.result(10)["error"]["code"] for w in waiting] == [REQUEST_CANCELLED] * 3


def test_a_wait_outlasts_a_service_that_is_away_for_a_moment(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor
) -> None:
    task = made(tasks)
    waiting = pool.submit(outcome, tasks, task["taskId"])
    until(lambda: world.runs.waiting == 1, "it waits")
    world.runs.break_off()
    until(lambda: world.runs.waiting == 0, "it broke off")
    world.runs.fault = ""
    world.runs.done(task["taskId"], RESULT)
    assert waiting.result(10)["result"]["structuredContent"] == {"a": 1}


def test_a_key_that_is_revoked_waits_no_more(tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor) -> None:
    task = made(tasks)
    waiting = pool.submit(tasks.call, "tasks/result", {"taskId": task["taskId"]})
    until(lambda: world.runs.waiting == 1, "it waits")
    tasks.known.revoked = True
    answer = waiting.result(10)
    if answer.headers["content-type"] == "application/json":
        assert answer.status_code == 401
    else:  # the stream had begun, and its status was out
        assert "API key" in last(answer)["error"]["message"]
    until(lambda: world.runs.waiting == 0, "nobody waits")


def test_a_service_that_answers_at_once_that_there_is_no_end_is_not_asked_in_a_loop(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.system.edge.runs.WAIT_SECONDS", 0.0)
    task = made(tasks)
    waiting = pool.submit(outcome, tasks, task["taskId"])
    started = time.monotonic()
    until(lambda: world.runs.asked.count("AwaitTask") >= 8, "it is asked again")
    assert time.monotonic() - started > 0.5
    world.runs.done(task["taskId"], RESULT)
    assert "result" in waiting.result(10)


def test_the_program_stopping_lets_nobody_wait_for_long(site: Site, world: World, http: httpx.Client) -> None:
    timing = Timing(heartbeat_seconds=0.1, drain_seconds=0.5)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with site.edge(timing, site.with_tasks, declared=as_tasks(**{OPTIONAL: "optional"})) as edge:
            wire = Wire(edge, world.new_key(), http).initialize()
            task = made(wire)
            waiting = pool.submit(wire.call, "tasks/result", {"taskId": task["taskId"]})
            until(lambda: world.runs.waiting == 1, "it waits")
            started = time.monotonic()
        assert time.monotonic() - started < 5
        said = last(waiting.result(10))["error"]
        assert (said["code"], said["data"]["retryable"]) == (-32603, True)
        assert world.runs.kept[task["taskId"]].word == "PENDING"
    until(lambda: world.runs.waiting == 0, "nobody waits")


def test_a_call_that_is_taken_back_before_its_task_is_known_leaves_no_task_running(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor
) -> None:
    world.runs.creating = threading.Event()
    calling = pool.submit(tasks.call, "tools/call", asking(), 9)
    until(lambda: world.runs.kept, "the task is being made")
    tasks.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
    error(calling.result(10), 200, REQUEST_CANCELLED)
    world.runs.creating.set()
    (run,) = world.runs.kept.values()
    until(lambda: run.word == "DENIED", "it is taken back")
    world.runs.creating = None
    assert made(tasks)["status"] == "working"


def test_a_client_of_the_stateless_era_that_goes_away_before_its_task_is_known_leaves_none_running(tasks: Wire, world: World) -> None:
    world.runs.creating = threading.Event()
    body = json.dumps(request("tools/call", CALL | {"_meta": meta(MODERN, DECLARED)})).encode()
    lines = ("Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", f"Mcp-Name: {OPTIONAL}", "Accept: application/json")
    with socket.create_connection((tasks.edge.host, tasks.edge.port), timeout=20) as sock:
        sock.sendall(raw.head(tasks.edge, tasks.known, *lines, body=len(body)) + body)
        until(lambda: world.runs.kept, "the task is being made")
    world.runs.creating.set()
    (run,) = world.runs.kept.values()
    until(lambda: run.word == "DENIED", "it is taken back")


def test_beyond_a_number_a_task_that_nobody_knows_runs_to_its_end(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TASK_ORPHANS_MAX", 0)
    world.runs.creating = threading.Event()
    calling = pool.submit(tasks.call, "tools/call", asking(), 9)
    until(lambda: world.runs.kept, "the task is being made")
    tasks.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
    error(calling.result(10), 200, REQUEST_CANCELLED)
    world.runs.creating.set()
    (run,) = world.runs.kept.values()
    assert told(tasks, {"taskId": run.id})["status"] == "working"


def test_a_wait_is_made_of_bounded_waits_so_that_the_key_is_judged_again(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor
) -> None:
    assert limits.TASK_WAIT_SECONDS > limits.TASK_AWAIT_SECONDS + limits.TASK_ANSWER_SECONDS
    task = made(tasks)
    before = len(world.presented)
    waiting = pool.submit(outcome, tasks, task["taskId"])
    until(lambda: world.runs.asked.count("AwaitTask") >= 3, "three waits")
    assert len(world.presented) - before >= 2
    world.runs.done(task["taskId"], RESULT)
    assert "result" in waiting.result(10)


def test_a_task_that_waits_for_its_client_is_looked_at_now_and_then(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TASK_ASK_PAUSE_SECONDS", 0.2)
    task = made(tasks)
    world.runs.ask(task["taskId"], q={"method": "elicitation/create", "params": {"mode": "form"}})
    waiting = pool.submit(outcome, tasks, task["taskId"])
    started = time.monotonic()
    until(lambda: world.runs.asked.count("AwaitTask") >= 5, "it is looked at")
    assert time.monotonic() - started >= 3 * 0.2
    world.runs.done(task["taskId"], RESULT)
    assert "result" in waiting.result(10)


def test_a_key_waits_so_many_times_at_once_and_can_still_ask(
    tasks: Wire, world: World, pool: concurrent.futures.ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TASK_WAITS_PER_KEY_MAX", 2)
    task = made(tasks)
    other = Wire(tasks.edge, world.new_key(), tasks.http).initialize()
    others = made(other)
    waiting = [pool.submit(outcome, tasks, task["taskId"]) for _ in range(2)]
    until(lambda: world.runs.waiting == 2, "two wait")
    said = error(tasks.call("tasks/result", {"taskId": task["taskId"]}), 200, -32600)
    assert "tasks/get" in said["error"]["message"]
    assert told(tasks, task)["status"] == "working"
    world.runs.done(others["taskId"], RESULT)
    assert "result" in outcome(other, others["taskId"])
    world.runs.done(task["taskId"], RESULT)
    assert all("result" in w.result(10) for w in waiting)
    assert "result" in outcome(tasks, task["taskId"])
