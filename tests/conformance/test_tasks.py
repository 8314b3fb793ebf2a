"""Tools that ask, as tasks, through the real edge, the real program that keeps tasks and the real auth, with the fixture behind them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cluster import Database
from tests.conformance.site import serving
from tests.poll import until_async

META = "io.modelcontextprotocol/"
RELATED, EXTENSION = f"{META}related-task", f"{META}tasks"
ABLE: dict[str, Any] = {"elicitation": {"form": {}}, "extensions": {EXTENSION: {}}}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ACCEPT = {"action": "accept", "content": {"name": "Alice", "confirm": True}}


@pytest.fixture
async def url(database: Database, tmp_path: Path) -> AsyncIterator[str]:
    async with serving(database, tmp_path) as served:
        yield served


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=20, verify=False) as made:
        yield made


async def modern(http: httpx.AsyncClient, url: str, method: str, params: dict[str, Any], able: Any = None) -> dict[str, Any]:
    """What a request of the stateless era is answered with."""
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": ABLE if able is None else able}
    routing = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": params.get("name", params.get("taskId", ""))}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
    found: dict[str, Any] = (await http.post(url, json=body, headers=HEADERS | routing)).json()
    return found


async def ended(http: httpx.AsyncClient, url: str, task_id: str, status: str = "completed") -> dict[str, Any]:
    """A task of the stateless era, once it has a status."""

    async def there() -> dict[str, Any] | None:
        found: dict[str, Any] = (await modern(http, url, "tasks/get", {"taskId": task_id}))["result"]
        return found if found["status"] == status else None

    found = await until_async(there, f"it is {status}")
    assert found is not None
    return found


class Session:
    """A session whose client can ask its person."""

    def __init__(self, http: httpx.AsyncClient, url: str) -> None:
        self._http, self._url, self._headers = http, url, dict(HEADERS)
        self.listening = asyncio.Event()

    async def open(self) -> Session:
        """Opens it."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {"form": {}}},
            "clientInfo": {"name": "t", "version": "1"},
        }
        answer = await self.post({"id": 1, "method": "initialize", "params": params})
        self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        return self

    async def heard(self, until: str) -> list[dict[str, Any]]:
        """What is said on the stream of the session, to the first message of which the text is part."""
        messages: list[dict[str, Any]] = []
        async with self._http.stream("GET", self._url, headers=self._headers) as stream:
            self.listening.set()
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    messages.append(json.loads(line[6:]))
                    if until in line:
                        return messages
        return messages

    async def post(self, body: dict[str, Any]) -> httpx.Response:
        """Posts one message."""
        return await self._http.post(self._url, json={"jsonrpc": "2.0"} | body, headers=self._headers)

    async def asked(self, method: str, params: dict[str, Any], answers: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """A request during which the client is asked so many things; the questions and the end."""
        questions: list[dict[str, Any]] = []
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        async with self._http.stream("POST", self._url, json=body, headers=self._headers) as stream:
            async for line in stream.aiter_lines():
                message = json.loads(line.removeprefix("data: ")) if line.startswith(("data: {", "{")) else {}
                if "method" in message and "id" in message:
                    questions.append(message)
                    if len(questions) <= answers:
                        await self.post({"id": message["id"], "result": ACCEPT})
                elif message.get("id") == 7:
                    return questions, message
        raise AssertionError("the stream ended without an answer")


async def test_what_a_tool_asks_first_is_asked_before_there_is_a_task(http: httpx.AsyncClient, url: str) -> None:
    call = {"name": "test_tool_with_task", "arguments": {}}
    first = (await modern(http, url, "tools/call", call))["result"]
    assert (first["resultType"], "taskId" in first) == ("input_required", False)
    again = call | {"inputResponses": dict.fromkeys(first["inputRequests"], ACCEPT)}
    if "requestState" in first:
        again["requestState"] = first["requestState"]
    made = (await modern(http, url, "tools/call", again))["result"]
    assert (made["resultType"], {"requestState", "inputRequests"} & set(made)) == ("task", set())
    assert "Alice" in (await ended(http, url, made["taskId"]))["result"]["content"][0]["text"]
    unable = (await modern(http, url, "tools/call", call, {"extensions": {EXTENSION: {}}}))["error"]
    assert (unable["code"], unable["data"]["requiredCapabilities"]) == (-32021, {"elicitation": {"form": {}}})


async def test_in_a_session_it_is_asked_on_the_stream_of_the_call_that_makes_the_task(http: httpx.AsyncClient, url: str) -> None:
    session = await Session(http, url).open()
    questions, answer = await session.asked("tools/call", {"name": "test_tool_with_task", "arguments": {}, "task": {}}, 1)
    assert len(questions) == 1
    task = answer["result"]["task"]
    assert task["status"] == "working"
    _, result = await session.asked("tasks/result", {"taskId": task["taskId"]}, 0)
    assert "Alice" in result["result"]["content"][0]["text"]


async def test_what_a_task_asks_is_answered_one_by_one_and_takes_it_to_its_end(http: httpx.AsyncClient, url: str) -> None:
    made = (await modern(http, url, "tools/call", {"name": "multi_input", "arguments": {}}))["result"]
    task = await ended(http, url, made["taskId"], "input_required")
    first, second = task["inputRequests"]
    await modern(http, url, "tasks/update", {"taskId": made["taskId"], "inputResponses": {first: ACCEPT}})
    left = (await modern(http, url, "tasks/get", {"taskId": made["taskId"]}))["result"]
    assert (left["status"], set(left["inputRequests"])) == ("input_required", {second})
    await modern(http, url, "tasks/update", {"taskId": made["taskId"], "inputResponses": {second: ACCEPT}})
    assert "result" in await ended(http, url, made["taskId"])


async def test_in_a_session_a_task_asks_whoever_waits_for_its_result(http: httpx.AsyncClient, url: str) -> None:
    session = await Session(http, url).open()
    arguments = {"filename": "brief.txt"}
    _, answer = await session.asked("tools/call", {"name": "confirm_delete", "arguments": arguments, "task": {}}, 0)
    task_id = answer["result"]["task"]["taskId"]
    questions, result = await session.asked("tasks/result", {"taskId": task_id}, 1)
    assert [q["params"]["_meta"][RELATED] for q in questions] == [{"taskId": task_id}]
    assert result["result"]["content"] == [{"type": "text", "text": "Deleted brief.txt."}]
    assert result["result"]["_meta"] == {RELATED: {"taskId": task_id}}


async def test_work_that_is_taken_back_stops_and_work_that_breaks_says_only_that(http: httpx.AsyncClient, url: str) -> None:
    slow = (await modern(http, url, "tools/call", {"name": "slow_compute", "arguments": {"seconds": 60, "label": "x"}}))["result"]
    broken = (await modern(http, url, "tools/call", {"name": "protocol_error_job", "arguments": {}}))["result"]
    await asyncio.sleep(0)
    await modern(http, url, "tasks/cancel", {"taskId": slow["taskId"]})
    assert "result" not in await ended(http, url, slow["taskId"], "cancelled")
    failed = await ended(http, url, broken["taskId"], "failed")
    assert failed["error"]["code"] == -32603
    assert "fixture" not in failed["error"]["message"]


async def test_progress_and_the_end_of_a_task_are_told_on_the_stream_of_its_session(http: httpx.AsyncClient, url: str) -> None:
    session = await Session(http, url).open()
    hearing = asyncio.create_task(session.heard("completed"))
    await session.listening.wait()
    call = {"name": "count_up", "arguments": {"steps": 4, "pause_seconds": 0.35}, "task": {}, "_meta": {"progressToken": "p-1"}}
    _, answer = await session.asked("tools/call", call, 0)
    task_id = answer["result"]["task"]["taskId"]
    async with asyncio.timeout(20):
        said = await hearing
    steps = [m["params"] for m in said if m["method"] == "notifications/progress"]
    assert {(p["progressToken"], p["total"], p["_meta"][RELATED]["taskId"]) for p in steps} == {("p-1", 4, task_id)}
    assert len(steps) >= 2
    assert [p["progress"] for p in steps] == sorted({p["progress"] for p in steps})
    assert [m["params"]["status"] for m in said if m["method"] == "notifications/tasks/status"] == ["completed"]
    assert said[-1]["method"] == "notifications/tasks/status"
    assert (await modern(http, url, "tasks/get", {"taskId": task_id}))["result"]["status"] == "completed"
