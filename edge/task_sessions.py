"""Tasks of 2025-11-25: the client asks for one with its call, polls it, waits for its result, lists it and takes it back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons

from edge.call import Handover, ToolCalls
from edge.caller import Caller
from edge.errors import Fault
from edge.handoff import Called, final
from edge.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Id, Response
from edge.sessions import Session
from edge.talk import Talk, Tell, progress_token
from edge.task_faults import Serve, fault, judged, task_id_of
from edge.task_news import TaskNews
from edge.task_questions import Questions
from edge.task_service import NewTask, State, TaskService
from edge.task_shapes import with_related
from edge.task_waits import Waits
from kit import limits
from kit.catalogue import Tool
from kit.errors import Refusal
from kit.results import REFUSAL_META

log = logging.getLogger(__name__)
# What initialize says of tasks in the one revision that has them so.
CAPABILITY: dict[str, Any] = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
IMMEDIATE = "io.modelcontextprotocol/model-immediate-response"
WAITS = "tasks/result"
_UNKNOWN_CURSOR = "Unknown cursor: it is the nextCursor of a list that this key was given, and nothing else."


class SessionTasks:
    """Serves the era's methods. A task belongs to the key that made it, whatever session asks for it."""

    def __init__(self, service: TaskService, news: TaskNews, calls: ToolCalls) -> None:
        self._service, self.news, self._calls = service, news, calls
        self.waits = Waits()
        methods: dict[str, Serve] = {"tasks/get": self._get, "tasks/list": self._list, "tasks/cancel": self._cancel}
        self._methods = {name: judged(serve) for name, serve in methods.items()}

    def method(self, name: str, session: Session, tell: Tell | None) -> Serve | None:
        """What serves a method; None where it is none of tasks. `tell` says something ahead of the answer, where the client takes that."""

        async def result(caller: Caller, params: Mapping[str, Any]) -> Any:
            return await self._result(session, caller, params, tell)

        return judged(result) if name == WAITS else self._methods.get(name)

    async def answered(self, session: Session, caller: Caller, response: Response) -> bool:
        """Takes the client's answer to a question of a task. Whether such a question was being asked."""
        place = next((place for place, parked in session.parked.items() if parked.id == response.id), None)
        if place is None:
            return False
        parked = session.parked.pop(place)
        try:
            await parked.take(caller, response.body)
        except Refusal as refusal:
            if refusal.reason == reasons.ERROR_REASON_UNAUTHENTICATED:
                raise
            if not final(refusal):  # nobody heard it: the question is still open, and is asked again
                log.info("an answer was not taken", extra={"reason": refusal.code.name})
        return True

    async def create(self, call: Augmented, tool: Tool, request: Message) -> dict[str, Any]:
        """A new task for a call that is well formed, once what its tool asks first is told."""
        wanted = NewTask(
            tool=tool.name,
            arguments=call.params.get("arguments", {}),
            revision=call.session.version,
            ttl_ms=_ttl(call.params["task"]),
            progress_token=_token(call.params),
            session=call.session.id,
        )
        given = await self._calls.asked_first(tool, request, call.caller, call.talking)
        assert not isinstance(given, dict)  # in a session what is asked is answered while the call goes on
        task = await self._service.create(call.caller, replace(wanted, given=given))
        self.news.follow(call.session, call.caller, task)
        said = f"{tool.title} runs as task {task.id}. Its answer is not here yet: tasks/result gives it when it is."
        return {"task": task.of_sessions(), "_meta": {IMMEDIATE: said}}

    async def _get(self, caller: Caller, params: Mapping[str, Any]) -> Any:
        return (await self._service.get(caller, task_id_of(params))).task.of_sessions()

    async def _result(self, session: Session, caller: Caller, params: Mapping[str, Any], tell: Tell | None) -> Any:
        task_id = task_id_of(params)
        ended = await self.waits.hold(session.key_id, self._ended(session, caller, task_id, tell))
        if ended.result is None:
            raise ended.error()
        return orjson.Fragment(with_related(ended.result, ended.task.id))

    async def _ended(self, session: Session, caller: Caller, task_id: str, tell: Tell | None) -> State:
        if tell is None:
            return await self._service.ended(caller, task_id)
        questions = Questions(self._service, session, caller, task_id, tell)
        try:
            return await self._service.ended(caller, task_id, questions.ask)
        finally:
            questions.close()

    async def _list(self, caller: Caller, params: Mapping[str, Any]) -> Any:
        cursor = params.get("cursor")
        if cursor is not None and (not isinstance(cursor, str) or not cursor):
            raise Fault(INVALID_PARAMS, _UNKNOWN_CURSOR)
        try:
            tasks, following = await self._service.page(caller, cursor or "")
        except Refusal as refusal:
            if refusal.reason == reasons.ERROR_REASON_INVALID_ARGUMENT:
                raise Fault(INVALID_PARAMS, _UNKNOWN_CURSOR) from None
            raise
        return {"tasks": [task.of_sessions() for task in tasks]} | ({"nextCursor": following} if following else {})

    async def _cancel(self, caller: Caller, params: Mapping[str, Any]) -> Any:
        return (await self._service.cancel(caller, task_id_of(params))).of_sessions()


@dataclass(frozen=True, slots=True)
class Augmented:
    """One call, which becomes a task where its client asks for one and its tool can be one."""

    tasks: SessionTasks
    inner: Handover
    session: Session
    caller: Caller
    params: Mapping[str, Any]
    talking: Talk

    async def resume(self, tool: Tool, request: Message) -> dict[str, Any] | None:
        """The new task in place of an answer; None where the call is answered as any other."""
        if self.params.get("task") is not None:
            return await self._task(tool, request)
        if tool.task_support == "required":
            await self.caller.authenticate()
            raise Fault(METHOD_NOT_FOUND, f"{tool.name} runs as a task only: call it with params.task.")
        return await self.inner.resume(tool, request)

    async def _task(self, tool: Tool, request: Message) -> dict[str, Any]:
        try:
            if tool.task_support == "forbidden":
                raise Fault(METHOD_NOT_FOUND, f"{tool.name} does not run as a task: call it without params.task.")
            return await self.tasks.create(self, tool, request)
        except Fault:
            await self.caller.authenticate()
            raise
        except Refusal as refusal:
            if refusal.reason == reasons.ERROR_REASON_CONFLICT:
                raise Fault(INVALID_REQUEST, refusal.message, fault(refusal).data) from None
            raise fault(refusal) from None

    async def offer(self, called: Called, receipt: bytes) -> dict[str, Any] | None:
        """A task has no receipt to put anything in place of."""
        return await self.inner.offer(called, receipt)

    def checked(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result of the call. To a client that asked for a task, a refusal in the form of an answer would be neither."""
        if self.params.get("task") is not None and "task" not in result:
            raise Fault(INVALID_PARAMS, result["content"][0]["text"], result["_meta"][REFUSAL_META])
        return result


def _ttl(asked: Any) -> int | None:
    """How long the client wishes the task to be kept, in milliseconds."""
    if not isinstance(asked, dict):
        raise Fault(INVALID_PARAMS, "params.task must be an object.")
    ttl = asked.get("ttl")
    if ttl is None:
        return None
    if isinstance(ttl, bool) or not isinstance(ttl, int) or ttl < 0:
        raise Fault(INVALID_PARAMS, "params.task.ttl must be a whole number of milliseconds, 0 or more.")
    return ttl


def _token(params: Mapping[str, Any]) -> Id | None:
    """What the client calls the progress of this call, for as long as its task is kept."""
    token = progress_token(params)
    if token is not None and len(orjson.dumps(token)) > limits.PROGRESS_TOKEN_MAX_BYTES:
        raise Fault(INVALID_PARAMS, f"params._meta.progressToken may have {limits.PROGRESS_TOKEN_MAX_BYTES} bytes as JSON.")
    return token
