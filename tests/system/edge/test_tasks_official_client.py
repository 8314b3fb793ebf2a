"""The official client with tasks: asked for by it in a session, and by way of its extensions in the stateless era."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar, Literal

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Result
from pydantic import ConfigDict, Field

from edge.errors import REQUEST_CANCELLED
from tests.poll import until_async
from tests.system.edge.running import Running
from tests.system.edge.tasking import CALL, EXTENSION, RELATED, RESULT
from tests.system.edge.world import World


class Said(Result):
    """A result as it came."""

    model_config = ConfigDict(extra="allow")


@contextlib.asynccontextmanager
async def client(edge: Running, world: World, mode: str, **options: Any) -> AsyncIterator[Client]:
    """A connected client."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {world.new_key().key.text}"}, timeout=20) as http,
        Client(streamable_http_client(edge.url, http_client=http), mode=mode, **options) as connected,
    ):
        yield connected


class Asking(types.Request[dict[str, Any], str]):
    """A request of any kind."""

    params: dict[str, Any]


class OnTask(Asking):
    """A request on a task, which names it in a header."""

    name_param: ClassVar[str | None] = "taskId"


async def begun(connected: Client) -> dict[str, Any]:
    """A task that the client asked for."""
    # The client knows tasks as types alone: it holds a typed call to the form of an answer, so that the call goes out below that.
    made = await connected.session._dispatcher.send_raw_request("tools/call", CALL | {"task": {"ttl": 60_000}}, {})
    return types.CreateTaskResult.model_validate(made).task.model_dump(by_alias=True)


async def test_it_asks_for_a_task_polls_it_and_waits_for_its_result(tasking: Running, world: World) -> None:
    heard: list[Any] = []

    async def hear(message: Any) -> None:
        heard.append(message)

    async with client(tasking, world, "legacy", message_handler=hear) as connected:
        server = connected.session.server_capabilities
        assert server is not None
        assert server.tasks is not None
        listed = {t.name: t for t in (await connected.list_tools()).tools}
        execution = listed[CALL["name"]].execution
        assert execution is not None
        assert execution.task_support == "optional"
        task = await begun(connected)
        got = await connected.session.send_request(Asking(method="tasks/get", params={"taskId": task["taskId"]}), types.GetTaskResult)
        assert (got.status, got.ttl) == ("working", 60_000)
        waiting = asyncio.create_task(
            connected.session.send_request(Asking(method="tasks/result", params={"taskId": task["taskId"]}), Said)
        )

        async def waits() -> bool:
            return world.runs.waiting == 1

        await until_async(waits, "it waits")
        world.runs.done(task["taskId"], RESULT)
        result = (await waiting).model_dump(by_alias=True, exclude_none=True)
        assert result["_meta"][RELATED] == {"taskId": task["taskId"]}
        assert CallToolResult.model_validate(result).structured_content == {"a": 1}
        page = await connected.session.send_request(Asking(method="tasks/list", params={}), Said)
        assert [t["taskId"] for t in page.model_dump(by_alias=True)["tasks"]] == [task["taskId"]]


async def test_it_takes_a_task_back_once(tasking: Running, world: World) -> None:
    async with client(tasking, world, "legacy") as connected:
        task = await begun(connected)
        cancel = Asking(method="tasks/cancel", params={"taskId": task["taskId"]})
        assert (await connected.session.send_request(cancel, types.CancelTaskResult)).status == "cancelled"
        with pytest.raises(MCPError) as caught:
            await connected.session.send_request(cancel, types.CancelTaskResult)
        assert caught.value.code == -32602
        with pytest.raises(MCPError) as caught:
            await connected.session.send_request(Asking(method="tasks/result", params={"taskId": task["taskId"]}), Said)
        assert caught.value.code == REQUEST_CANCELLED


async def test_a_call_of_its_own_is_answered_at_once(tasking: Running, world: World) -> None:
    for mode in ("legacy", "2026-07-28"):
        async with client(tasking, world, mode) as connected:
            assert not (await connected.call_tool(CALL["name"], CALL["arguments"])).is_error
    assert world.runs.kept == {}


class TaskHandle(Result):
    """A task in place of an answer."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")


class Tasks(ClientExtension):
    """What a client makes of tasks: it polls until there is a result."""

    identifier = EXTENSION

    def __init__(self) -> None:
        self.polled: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=self._resolve)]

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return []

    async def _resolve(self, handle: TaskHandle, context: ClaimContext) -> CallToolResult:
        while True:
            answer = await context.session.send_request(OnTask(method="tasks/get", params={"taskId": handle.task_id}), Said)
            found = answer.model_dump(by_alias=True)
            self.polled.append(found["status"])
            if found["status"] == "completed":
                return CallToolResult.model_validate(found["result"])
            await asyncio.sleep(0.02)


async def test_its_extension_finishes_a_call_that_became_a_task(tasking: Running, world: World) -> None:
    tasks = Tasks()
    async with client(tasking, world, "2026-07-28", extensions=[tasks]) as connected:
        calling = asyncio.create_task(connected.session.call_tool(CALL["name"], CALL["arguments"], allow_claimed=True))
        handle = await calling
        assert isinstance(handle, TaskHandle)
        world.runs.done(handle.task_id, {"content": [], "isError": True})
        ended = await tasks._resolve(handle, ClaimContext(session=connected.session, tool_name=CALL["name"], read_timeout_seconds=None))
        assert ended.is_error

        async def finish() -> None:
            async def polled() -> bool:
                return len(tasks.polled) > 3

            await until_async(polled, "it polls")
            (open_task,) = [run.id for run in world.runs.kept.values() if run.word == "PENDING"]
            world.runs.done(open_task, {"content": [{"type": "text", "text": "x"}], "isError": True})

        result, _ = await asyncio.gather(connected.call_tool(CALL["name"], CALL["arguments"]), finish())
        assert result.is_error
        assert set(tasks.polled) == {"working", "completed"}
