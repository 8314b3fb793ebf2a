"""What is said of tasks without being asked: progress and changes of status on the stream of the session that made them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp_types import _v2025_11_25 as handshake

from kit import limits
from tests.poll import until
from tests.system.edge.held import Held
from tests.system.edge.tasking import RELATED, RESULT, made, told
from tests.system.edge.wire import Wire, auth
from tests.system.edge.world import World

Hold = Callable[..., Held]


def heard(held: Held) -> list[dict[str, Any]]:
    """The messages on a stream so far."""
    return [json.loads(part[6:]) for part in held.text.split("\n") if part.startswith("data: ")]


def statuses(held: Held, task: dict[str, Any]) -> list[str]:
    """What was said of the status of one task."""
    said = [m["params"] for m in heard(held) if m["method"] == "notifications/tasks/status" and m["params"]["taskId"] == task["taskId"]]
    return [params["status"] for params in said]


def progress(held: Held) -> list[dict[str, Any]]:
    """What was said of progress."""
    return [m["params"] for m in heard(held) if m["method"] == "notifications/progress"]


def watched(world: World) -> None:
    """Until the edge listens to the service."""
    until(lambda: world.runs.watching == 1, "the service is listened to")


def test_a_change_of_status_is_told_with_the_whole_task_and_without_naming_it_twice(tasks: Wire, world: World, hold: Hold) -> None:
    held = hold(tasks)
    task = made(tasks)
    watched(world)
    world.runs.ask(task["taskId"], a={"method": "elicitation/create", "params": {}})
    until(lambda: statuses(held, task) == ["input_required"], "the first change")
    world.runs.set(task["taskId"], "RUNNING")
    until(lambda: statuses(held, task) == ["input_required", "working"], "the second change")
    world.runs.done(task["taskId"], RESULT)
    until(lambda: statuses(held, task) == ["input_required", "working", "completed"], "the end")
    for message in heard(held):
        handshake.TaskStatusNotification.model_validate(message)
        assert "_meta" not in message["params"]
    assert heard(held)[-1]["params"] == told(tasks, task)


@pytest.mark.parametrize("token", ["p-1", "", 7, 0, -3, "7"])
def test_progress_carries_the_creators_token_as_it_was_and_the_task(tasks: Wire, world: World, hold: Hold, token: Any) -> None:
    held = hold(tasks)
    task = made(tasks, _meta={"progressToken": token})
    watched(world)
    world.runs.progress(task["taskId"], 1, 4, "One of four.")
    until(lambda: progress(held), "progress")
    (said,) = progress(held)
    assert (said["progressToken"], type(said["progressToken"])) == (token, type(token))
    assert (said["progress"], said["total"], said["message"]) == (1, 4, "One of four.")
    assert said["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    handshake.ProgressNotification.model_validate(heard(held)[0])


def test_progress_only_rises_and_stops_before_the_end(tasks: Wire, world: World, hold: Hold) -> None:
    held = hold(tasks)
    task = made(tasks, _meta={"progressToken": "t"})
    watched(world)
    for value in (1, 2, 2, 1, 0.5, 3, -1, 3, 4):
        world.runs.progress(task["taskId"], value)
    world.runs.done(task["taskId"], RESULT)
    world.runs.progress(task["taskId"], 5)
    world.runs.set(task["taskId"], "RUNNING")
    until(lambda: statuses(held, task), "the end")
    other = made(tasks, _meta={"progressToken": "u"})
    watched(world)
    world.runs.progress(other["taskId"], 1)
    until(lambda: progress(held)[-1]["progressToken"] == "u", "progress of another task")
    assert [p["progress"] for p in progress(held)] == [1, 2, 3, 4, 1]
    assert statuses(held, task) == ["completed"]


def test_a_call_without_a_token_gets_no_progress(tasks: Wire, world: World, hold: Hold) -> None:
    held = hold(tasks)
    task = made(tasks)
    watched(world)
    world.runs.progress(task["taskId"], 1)
    world.runs.done(task["taskId"], RESULT)
    until(lambda: statuses(held, task), "the end")
    assert progress(held) == []


def test_only_the_session_that_made_a_task_is_told_of_it(tasks: Wire, world: World, hold: Hold) -> None:
    same_key = Wire(tasks.edge, tasks.known, tasks.http).initialize()
    other_key = Wire(tasks.edge, world.new_key(tasks.known.owner), tasks.http).initialize()
    own, beside, other = hold(tasks), hold(same_key), hold(other_key)
    task = made(tasks, _meta={"progressToken": 1})
    watched(world)
    world.runs.progress(task["taskId"], 1)
    world.runs.done(task["taskId"], RESULT)
    until(lambda: statuses(own, task), "the end")
    until(lambda: beside.text.count("keepalive") > 2 and other.text.count("keepalive") > 2, "the others are heard from")
    assert (heard(beside), heard(other)) == ([], [])


def test_one_stream_of_the_service_serves_all_tasks_of_a_session_and_ends_with_the_last(tasks: Wire, world: World, hold: Hold) -> None:
    held = hold(tasks)
    begun = [made(tasks) for _ in range(10)]
    watched(world)
    for task in begun:
        world.runs.done(task["taskId"], RESULT)
    until(lambda: all(statuses(held, task) == ["completed"] for task in begun), "all ends")
    until(lambda: world.runs.watching == 0, "nothing is listened to")


def test_a_task_that_ends_before_its_client_knows_of_it_is_told_once(tasks: Wire, world: World, hold: Hold) -> None:
    held = hold(tasks)
    made(tasks)
    watched(world)
    world.runs.on_create = lambda run: world.runs.done(run.id, RESULT)
    quick = [made(tasks) for _ in range(5)]
    assert all(task["status"] == "working" for task in quick)
    until(lambda: all(statuses(held, task) == ["completed"] for task in quick), "their ends")


def test_a_stream_that_breaks_off_is_opened_again_and_nothing_is_missed(tasks: Wire, world: World, hold: Hold) -> None:
    held = hold(tasks)
    one, two = made(tasks), made(tasks)
    watched(world)
    world.runs.break_off()
    until(lambda: world.runs.watching == 0, "the stream broke off")
    world.runs.done(one["taskId"], RESULT)
    world.runs.fault = ""
    until(lambda: statuses(held, one) == ["completed"], "what was missed")
    world.runs.done(two["taskId"], RESULT)
    until(lambda: statuses(held, two) == ["completed"], "what came later")


def test_nothing_is_listened_to_for_a_session_that_is_over_or_a_key_that_is_revoked(tasks: Wire, world: World) -> None:
    made(tasks)
    watched(world)
    tasks.http.delete(tasks.edge.url, headers=auth(tasks.known) | {"mcp-session-id": str(tasks.session)})
    until(lambda: world.runs.watching == 0, "the session's stream ends")
    other = Wire(tasks.edge, world.new_key(), tasks.http).initialize()
    made(other)
    watched(world)
    other.known.revoked = True
    world.runs.break_off()
    until(lambda: world.runs.watching == 0, "the key's stream breaks off")
    world.runs.fault = ""
    asked = world.runs.asked.count("WatchTasks")
    until(lambda: tasks.edge.following == 0, "it is not opened again")
    assert world.runs.asked.count("WatchTasks") == asked


@pytest.mark.parametrize("limit", ["TASK_FOLLOWED_MAX", "TASK_FOLLOWED_PER_KEY_MAX"])
def test_beyond_a_number_of_sessions_clients_poll(tasks: Wire, world: World, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(limits, limit, 1)
    made(tasks)
    watched(world)
    other = Wire(tasks.edge, tasks.known, tasks.http).initialize()
    task = made(other)
    world.runs.done(task["taskId"], RESULT)
    assert told(other, task)["status"] == "completed"
    assert tasks.edge.following == 1


def test_a_status_nobody_knows_is_not_told(tasks: Wire, world: World, hold: Hold) -> None:
    held = hold(tasks)
    strange, task = made(tasks), made(tasks)
    watched(world)
    world.runs.set(strange["taskId"], "PAUSED")
    world.runs.done(task["taskId"], RESULT)
    until(lambda: statuses(held, task) == ["completed"], "the end of the other")
    assert statuses(held, strange) == []


def test_beyond_a_number_what_ends_early_is_found_by_polling(
    tasks: Wire, world: World, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TASK_EARLY_MAX", 0)
    held = hold(tasks)
    first = made(tasks)
    watched(world)
    world.runs.on_create = lambda run: world.runs.done(run.id, RESULT)
    quick = made(tasks)
    world.runs.on_create = None
    world.runs.done(first["taskId"], RESULT)
    until(lambda: statuses(held, first) == ["completed"], "the end of the first")
    assert told(tasks, quick)["status"] == "completed"
