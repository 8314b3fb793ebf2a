"""The tasks extension of 2026-07-28: the server decides which call becomes a task; the client polls it, answers it, takes it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons

from edge.call import Handover, ToolCalls
from edge.caller import Caller
from edge.errors import MISSING_CAPABILITY, Fault, internal
from edge.handoff import Called
from edge.jsonrpc import INVALID_PARAMS
from edge.revisions import Revision
from edge.talk import Talk
from edge.task_faults import Serve, judged, task_id_of
from edge.task_service import NewTask, State, TaskService
from edge.task_shapes import EXTENSION, as_complete
from edge.task_status import COMPLETED, FAILED, INPUT_REQUIRED
from kit.catalogue import Tool
from kit.errors import Refusal

# What server/discover says of tasks.
CAPABILITY: dict[str, Any] = {"extensions": {EXTENSION: {}}}

# What a call is told before it is a task, or a result that asks for it.


def declared(capabilities: Mapping[str, Any]) -> bool:
    """Whether this request, and not one before it, says that its client knows tasks."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(EXTENSION), dict)


def missing() -> Fault:
    """The refusal of what a client without the extension cannot be given."""
    return Fault(MISSING_CAPABILITY, "Missing required client capability", {"requiredCapabilities": CAPABILITY})


class ExtensionTasks:
    """Serves the extension's methods."""

    def __init__(self, service: TaskService, calls: ToolCalls) -> None:
        self._service, self._calls = service, calls
        methods: dict[str, Serve] = {"tasks/get": self._get, "tasks/update": self._update, "tasks/cancel": self._cancel}
        self.methods = {name: judged(serve) for name, serve in methods.items()}

    async def create(self, call: Deferred, tool: Tool, request: Message) -> dict[str, Any]:
        """A new task, once what its tool asks first is told. It is kept before its id is told."""
        given, revision = await self._calls.asked_first(tool, request, call.caller, call.talking), call.revision
        if isinstance(given, dict):
            return given
        wanted = NewTask(tool.name, call.params.get("arguments", {}), revision.version, given=given)
        return revision.result({"resultType": "task"} | (await self._service.create(call.caller, wanted)).of_extension())

    async def _get(self, caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
        return detailed(await self._service.get(caller, task_id_of(params), outcome=True))

    async def _update(self, caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
        task_id, responses = task_id_of(params), params.get("inputResponses")
        if not isinstance(responses, dict) or not all(isinstance(given, dict) for given in responses.values()):
            raise Fault(INVALID_PARAMS, "inputResponses must be an object of objects: each key of inputRequests with its answer.")
        await self._service.update(caller, task_id, responses)
        return {}

    async def _cancel(self, caller: Caller, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            await self._service.cancel(caller, task_id_of(params))
        except Refusal as refusal:
            if refusal.reason != reasons.ERROR_REASON_CONFLICT:  # what is over already is acknowledged all the same
                raise
        return {}


def detailed(state: State) -> dict[str, Any]:
    """A task with what its status brings: a result, an error, or the questions that are open."""
    shown = state.task.of_extension()
    if shown["status"] == COMPLETED:
        if state.result is None:
            raise internal(None)
        shown["result"] = orjson.Fragment(as_complete(state.result))
    elif shown["status"] == FAILED:
        failed = state.error()
        shown["error"] = {"code": failed.code, "message": failed.message} | ({} if failed.data is None else {"data": failed.data})
    elif shown["status"] == INPUT_REQUIRED:
        shown["inputRequests"] = orjson.Fragment(state.questions)
    return shown


@dataclass(frozen=True, slots=True)
class Deferred:
    """One call, which becomes a task where its tool can be one and its client knows tasks."""

    tasks: ExtensionTasks
    inner: Handover
    caller: Caller
    params: Mapping[str, Any]
    declared: bool
    revision: Revision
    talking: Talk

    async def resume(self, tool: Tool, request: Message) -> dict[str, Any] | None:
        """The new task in place of an answer; None where the call is answered at once."""
        if (resumed := await self.inner.resume(tool, request)) is not None:
            return resumed
        if tool.task_support == "forbidden" or (tool.task_support == "optional" and not self.declared):
            return None
        if not self.declared:
            await self.caller.authenticate()
            raise missing()
        return await self.tasks.create(self, tool, request)

    async def offer(self, called: Called, receipt: bytes) -> dict[str, Any] | None:
        """A task has no receipt to put anything in place of."""
        return await self.inner.offer(called, receipt)
