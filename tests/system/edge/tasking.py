"""Making tasks in both eras, and reading what is said of them."""

import json
from typing import Any

import httpx
from mcp_types import _v2025_11_25 as handshake

from tests.system.edge.wire import META, Wire
from tests.system.edge.world import CASE

RELATED = f"{META}related-task"
EXTENSION = f"{META}tasks"
DECLARED: dict[str, Any] = {"extensions": {EXTENSION: {}}}
OPTIONAL, FORBIDDEN, REQUIRED = "get_matter", "list_matters", "get_substrate_contract"
RESULT = {"content": [{"type": "text", "text": "Done."}], "structuredContent": {"a": 1}}
CALL: dict[str, Any] = {"name": OPTIONAL, "arguments": {"case_id": CASE}}


def asking(task: Any = None, **more: Any) -> dict[str, Any]:
    """A call that asks to run as a task."""
    return CALL | {"task": {} if task is None else task} | more


def made(wire: Wire, **more: Any) -> dict[str, Any]:
    """A new task of a session."""
    answer = wire.call("tools/call", asking(**more))
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    handshake.CreateTaskResult.model_validate(result)
    task: dict[str, Any] = result["task"]
    return task


def deferred(wire: Wire, **more: Any) -> dict[str, Any]:
    """A new task of the stateless era."""
    answer = wire.modern("tools/call", CALL | more)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["result"]
    assert result["resultType"] == "task", result
    return result


def told(wire: Wire, task: dict[str, Any]) -> dict[str, Any]:
    """What tasks/get says of a task in a session."""
    result: dict[str, Any] = wire.call("tasks/get", {"taskId": task["taskId"]}).json()["result"]
    handshake.GetTaskResult.model_validate(result)
    return result


def on_task(wire: Wire, method: str, task_id: str, params: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
    """A request of the stateless era on a task, with the header that names it."""
    return wire.modern(method, {"taskId": task_id} | (params or {}), {"mcp-name": task_id} | headers)


def outcome(wire: Wire, task_id: str) -> dict[str, Any]:
    """The answer to tasks/result, whichever form it came in."""
    return last(wire.call("tasks/result", {"taskId": task_id}))


def last(answer: httpx.Response) -> dict[str, Any]:
    """The answer that comes alone, or at the end of a stream on which nothing else was said but that it is open."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"] == "application/json":
        return dict(answer.json())
    *beats, event, rest = answer.text.split("\n\n")
    assert rest == ""
    assert set(beats) <= {": keepalive"}
    return dict(json.loads(event.removeprefix("event: message\ndata: ")))
