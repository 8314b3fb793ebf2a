"""Tasks through the whole system: the edge in both eras, the program that keeps them, a tool of the product on a demonstration matter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import jsonschema_rs
import pytest
from mcp_types import _v2025_11_25 as handshake

from kit import credentials
from tests.poll import until
from tests.system.client import call, client
from tests.system.stack import Stack
from tests.system.test_authority import make_key

META = "io.modelcontextprotocol/"
RELATED, EXTENSION = f"{META}related-task", f"{META}tasks"
TOOL = "find_entity_paths"
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
VOLATILE = ("generated_at",)


class Session:
    """A session of 2025-11-25 with one key."""

    def __init__(self, stack: Stack, key: str, http: httpx.Client) -> None:
        self._url, self._http = stack.mcp_url, http
        self._headers = HEADERS | {"authorization": f"Bearer {key}"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        answer = self.post("initialize", params)
        self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self.capabilities = answer.json()["result"]["capabilities"]

    def post(self, method: str, params: dict[str, Any]) -> httpx.Response:
        """The answer to a request."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._http.post(self._url, json=body, headers=self._headers)

    def said(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What it says."""
        answer = self.post(method, params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def begin(self, arguments: dict[str, Any], **task: Any) -> dict[str, Any]:
        """A new task."""
        result = self.said("tools/call", {"name": TOOL, "arguments": arguments, "task": task})["result"]
        handshake.CreateTaskResult.model_validate(result)
        made: dict[str, Any] = result["task"]
        return made


def modern(stack: Stack, key: str, http: httpx.Client, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """What a request of 2026-07-28 is answered with, from a client that knows tasks."""
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {"extensions": {EXTENSION: {}}}}
    routing = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": params.get("name", params.get("taskId", ""))}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
    answer = http.post(stack.mcp_url, json=body, headers=HEADERS | routing | {"authorization": f"Bearer {key}"})
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """An HTTP client."""
    with httpx.Client(timeout=30, verify=False) as made:
        yield made


@pytest.fixture
async def arguments(stack: Stack) -> dict[str, Any]:
    """A question with an answer: a way between two entities of a matter."""
    case_id = stack.matters["mclean"]
    async with client(stack.mcp_url, stack.keys["firm"]) as connected:
        ends = [await call(connected, "search_entities", case_id=case_id, words=name) for name in ("Ellwanger", "Carl Hunt")]
    one, other = (found["entities"][0]["id"] for found in ends)
    return {"case_id": case_id, "from_entity_id": one, "to_entity_id": other}


def stable(result: dict[str, Any]) -> dict[str, Any]:
    """An answer without what says when it was made."""
    return {name: value for name, value in result["structuredContent"].items() if name not in VOLATILE}


async def test_a_task_ends_with_what_its_call_would_have_said(stack: Stack, http: httpx.Client, arguments: dict[str, Any]) -> None:
    session = Session(stack, stack.keys["firm"], http)
    assert set(session.capabilities["tasks"]) == {"list", "cancel", "requests"}
    at_once = session.said("tools/call", {"name": TOOL, "arguments": arguments})["result"]
    task = session.begin(arguments, ttl=60_000)
    assert (task["status"], task["ttl"]) == ("working", 60_000)
    ended = session.said("tasks/result", {"taskId": task["taskId"]})["result"]
    assert ended.pop("_meta") == {RELATED: {"taskId": task["taskId"]}}
    assert set(ended) == set(at_once)
    assert stable(ended) == stable(at_once)
    assert json.loads(ended["content"][0]["text"]) == ended["structuredContent"]
    schema = next(t["outputSchema"] for t in session.said("tools/list", {})["result"]["tools"] if t["name"] == TOOL)
    jsonschema_rs.validate(schema, ended["structuredContent"])
    told = session.said("tasks/get", {"taskId": task["taskId"]})["result"]
    handshake.GetTaskResult.model_validate(told)
    assert told["status"] == "completed"
    again = session.post("tasks/result", {"taskId": task["taskId"]}).content
    assert again == session.post("tasks/result", {"taskId": task["taskId"]}).content


async def test_the_extension_tells_of_the_same_work(stack: Stack, http: httpx.Client, arguments: dict[str, Any]) -> None:
    key = stack.keys["firm"]
    made = modern(stack, key, http, "tools/call", {"name": TOOL, "arguments": arguments})["result"]
    assert (made["resultType"], made["status"]) == ("task", "working")

    def completed() -> dict[str, Any] | None:
        found: dict[str, Any] = modern(stack, key, http, "tasks/get", {"taskId": made["taskId"]})["result"]
        return found if found["status"] == "completed" else None

    found = until(completed, "it completes")
    assert found is not None
    session = Session(stack, key, http)
    older = session.said("tasks/result", {"taskId": made["taskId"]})["result"]
    assert found["result"]["structuredContent"] == older["structuredContent"]
    assert modern(stack, key, http, "tasks/cancel", {"taskId": made["taskId"]})["result"]["resultType"] == "complete"


async def test_a_result_that_is_an_error_failed_in_one_era_and_completed_in_the_other(
    stack: Stack, http: httpx.Client, arguments: dict[str, Any]
) -> None:
    session = Session(stack, stack.keys["firm"], http)
    task = session.begin(arguments | {"max_hops": 9})
    ended = session.said("tasks/result", {"taskId": task["taskId"]})["result"]
    assert ended["isError"] is True
    assert session.said("tasks/get", {"taskId": task["taskId"]})["result"]["status"] == "failed"
    assert modern(stack, stack.keys["firm"], http, "tasks/get", {"taskId": task["taskId"]})["result"]["status"] == "completed"


async def test_a_sibling_key_sees_nothing_of_it(stack: Stack, http: httpx.Client, arguments: dict[str, Any]) -> None:
    own = Session(stack, stack.keys["firm"], http)
    task = own.begin(arguments)
    other = Session(stack, stack.keys["soilworks_only"], http)
    unknown = other.said("tasks/get", {"taskId": "00000000-0000-4000-8000-000000000000"})["error"]
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert other.said(method, {"taskId": task["taskId"]})["error"] == unknown
    assert task["taskId"] not in [t["taskId"] for t in other.said("tasks/list", {})["result"]["tasks"]]
    assert task["taskId"] in [t["taskId"] for t in own.said("tasks/list", {})["result"]["tasks"]]


async def test_a_matter_that_the_key_does_not_reach_makes_no_task(stack: Stack, http: httpx.Client, arguments: dict[str, Any]) -> None:
    session = Session(stack, stack.keys["soilworks_only"], http)
    refused = session.said("tools/call", {"name": TOOL, "arguments": arguments, "task": {}})["error"]
    assert "Matter not found or not accessible" in refused["message"]


async def test_many_tasks_at_once_each_end_with_their_own_answer(stack: Stack, http: httpx.Client, arguments: dict[str, Any]) -> None:
    session = Session(stack, stack.keys["firm"], http)
    tasks = [session.begin(arguments | {"max_hops": 1 + n % 4}) for n in range(12)]
    with ThreadPoolExecutor(12) as pool:
        ended = list(pool.map(lambda task: session.said("tasks/result", {"taskId": task["taskId"]}), tasks))
    assert [e["result"]["_meta"][RELATED]["taskId"] for e in ended] == [t["taskId"] for t in tasks]
    assert all("structuredContent" in e["result"] for e in ended)


async def test_the_tool_says_that_it_can_be_a_task_and_the_others_that_they_cannot(stack: Stack, http: httpx.Client) -> None:
    tools = {
        t["name"]: t["execution"]["taskSupport"] for t in Session(stack, stack.keys["firm"], http).said("tools/list", {})["result"]["tools"]
    }
    assert tools[TOOL] == "optional"
    assert tools["propose_action"] == "forbidden"
    assert tools["get_matter"] == "forbidden"


async def test_two_keys_of_one_person_see_nothing_of_each_others_tasks_and_a_revoked_one_nothing_of_its_own(
    stack: Stack, http: httpx.Client, arguments: dict[str, Any]
) -> None:
    keys = [make_key(stack, "--scopes", "read,kg:read", "--class", "firm") for _ in range(2)]
    own, sibling = (Session(stack, key, http) for key in keys)
    task = own.begin(arguments)
    assert "result" in own.said("tasks/result", {"taskId": task["taskId"]})
    assert sibling.said("tasks/get", {"taskId": task["taskId"]})["error"]["code"] == -32602
    assert sibling.said("tasks/list", {})["result"] == {"tasks": []}
    assert stack.run("keys", "revoke", credentials.parse(keys[0]).public_id).returncode == 0
    for method in ("tasks/get", "tasks/result", "tasks/cancel", "tasks/list"):
        assert own.post(method, {"taskId": task["taskId"]}).status_code == 401


async def test_a_screen_that_goes_up_takes_a_finished_task_out_of_sight(
    stack: Stack, http: httpx.Client, arguments: dict[str, Any]
) -> None:
    session = Session(stack, stack.keys["firm"], http)
    task = session.begin(arguments)
    ended = session.said("tasks/result", {"taskId": task["taskId"]})
    ada = stack.people["Ada Reyes"]["id"]
    assert stack.run("people", "screen", ada, arguments["case_id"], "--reason", "acted for the other side").returncode == 0
    try:
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert session.said(method, {"taskId": task["taskId"]})["error"]["code"] == -32602
        assert task["taskId"] not in [t["taskId"] for t in session.said("tasks/list", {})["result"]["tasks"]]
    finally:
        assert stack.run("people", "lift", ada, arguments["case_id"]).returncode == 0
    assert session.said("tasks/result", {"taskId": task["taskId"]}) == ended
