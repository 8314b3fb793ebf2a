"""Client of the service that keeps tasks. Each call carries the caller's own key and is judged afresh; nothing is kept here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb
from substrate.tools.v1 import exchange_pb2 as pb_exchange

from edge.caller import Caller
from edge.errors import Fault, internal
from edge.task_faults import absent
from edge.task_shapes import Task
from edge.task_status import INPUT_REQUIRED
from kit import limits
from kit.client import Method, StreamMethod
from kit.errors import Refusal

SERVICE = pb.DESCRIPTOR.services_by_name["TaskService"]
MethodOf = Callable[[str, type[Message]], Method]
StreamOf = Callable[[str, type[Message]], StreamMethod]
_PREFIX = "RUN_STATUS_"


@dataclass(frozen=True, slots=True)
class NewTask:
    """A call that is to run as a task."""

    tool: str
    arguments: Mapping[str, Any]
    revision: str
    ttl_ms: int | None = None
    progress_token: str | int | None = None
    session: str = ""
    given: pb_exchange.Given | None = None


@dataclass(frozen=True, slots=True)
class State:
    """How a task stands, with how it ended and what it asks."""

    task: Task
    result: bytes | None
    failure: pb.TaskError | None
    questions: bytes

    def error(self) -> Fault:
        """What its call would have been answered with in place of a result."""
        return Fault(self.failure.code, self.failure.message) if self.failure is not None else internal(None)


@dataclass(frozen=True, slots=True)
class Progress:
    """A task has come further."""

    task_id: str
    token: str | int | None
    progress: float
    total: float | None
    message: str


class TaskService:
    """The calls."""

    def __init__(self, method: MethodOf, stream: StreamOf, away_seconds: float = limits.TASK_WAIT_AWAY_SECONDS) -> None:
        def bound(name: str) -> Method:
            return method(f"/{SERVICE.full_name}/{name}Task", getattr(pb, f"{name}TaskResponse"))

        self._away_seconds = away_seconds
        self._orphans: set[asyncio.Task[None]] = set()
        self._create, self._get, self._await, self._cancel, self._update = map(bound, ("Create", "Get", "Await", "Cancel", "Update"))
        self._list = method(f"/{SERVICE.full_name}/ListTasks", pb.ListTasksResponse)
        self._watch = stream(f"/{SERVICE.full_name}/WatchTasks", pb.WatchTasksResponse)

    async def create(self, caller: Caller, wanted: NewTask) -> Task:
        """Keeps a new task; it is there for whoever may see it before this returns. A call that is taken back meanwhile leaves none."""
        making = asyncio.create_task(self._make(caller, wanted))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            if len(self._orphans) < limits.TASK_ORPHANS_MAX:
                orphan = asyncio.create_task(self._take_back(caller, making))
                self._orphans.add(orphan)
                orphan.add_done_callback(self._orphans.discard)
            raise

    async def _take_back(self, caller: Caller, making: asyncio.Task[Task]) -> None:
        """Nobody knows the id of this task, so that nobody else could."""
        with suppress(Refusal):
            await self.cancel(caller, (await making).id)

    async def _make(self, caller: Caller, wanted: NewTask) -> Task:
        arguments = orjson.dumps(wanted.arguments)
        request = pb.CreateTaskRequest(
            tool=wanted.tool,
            arguments=arguments,
            arguments_sha256=sha256(arguments).digest(),
            ttl_ms=wanted.ttl_ms,
            progress_token=b"" if wanted.progress_token is None else orjson.dumps(wanted.progress_token),
            session_sha256=session_digest(wanted.session),
            revision=wanted.revision,
            given=wanted.given.SerializeToString() if wanted.given is not None else b"",
        )
        answer: Any = await self._create(request, metadata=caller.metadata)
        return read(answer.task)

    async def close(self) -> None:
        """Leaves what is being taken back."""
        for orphan in self._orphans:
            orphan.cancel()
        await asyncio.gather(*self._orphans, return_exceptions=True)

    async def get(self, caller: Caller, task_id: str, *, outcome: bool = False) -> State:
        """How a task stands now, and how it ended where that is asked for."""
        return state(await _found(self._get(pb.GetTaskRequest(task_id=task_id, with_outcome=outcome), metadata=caller.metadata)))

    async def ended(self, caller: Caller, task_id: str, ask: Callable[[State], Awaitable[None]] | None = None) -> State:
        """How a task ended, once it has and what it asks was asked. While nobody can say, it is tried again for a while."""
        request, loop, lost = pb.AwaitTaskRequest(task_id=task_id, through_input=ask is None), asyncio.get_running_loop(), None
        while True:
            try:
                found = await _found(self._await(request, metadata=caller.metadata, timeout_seconds=limits.TASK_WAIT_SECONDS))
            except Refusal as refusal:
                lost = loop.time() if lost is None else lost
                if refusal.reason != reasons.ERROR_REASON_UNAVAILABLE or loop.time() - lost >= self._away_seconds:
                    raise
            else:
                if (now := state(found)).task.terminal:
                    return now
                lost = None
                if ask is not None and now.task.status(modern=False) == INPUT_REQUIRED:
                    await ask(now)
                    continue
            await asyncio.sleep(limits.TASK_WAIT_PAUSE_SECONDS)

    async def page(self, caller: Caller, cursor: str) -> tuple[list[Task], str]:
        """One page of the key's tasks, and the cursor of the page after it."""
        answer: Any = await self._list(pb.ListTasksRequest(page_token=cursor), metadata=caller.metadata)
        return [read(task) for task in answer.tasks], str(answer.next_page_token)

    async def cancel(self, caller: Caller, task_id: str) -> Task:
        """Takes a task back; a refusal where it is over already."""
        answer: Any = await _found(self._cancel(pb.CancelTaskRequest(task_id=task_id), metadata=caller.metadata))
        return read(answer.task)

    async def update(self, caller: Caller, task_id: str, responses: Mapping[str, Any]) -> None:
        """Passes answers on to what a task asks."""
        request = pb.UpdateTaskRequest(task_id=task_id, responses=orjson.dumps(responses))
        await _found(self._update(request, metadata=caller.metadata))

    async def watch(
        self, caller: Caller, task_ids: Sequence[str] = (), session: str = "", *, outcomes: bool = False
    ) -> AsyncGenerator[list[str] | State | Progress, None]:
        """First the ids that are watched, then what becomes of them, of these tasks or of all that a session made."""
        request = pb.WatchTasksRequest(task_ids=task_ids, session_sha256=session_digest(session), with_outcome=outcomes)
        async with aclosing(self._watch(request, metadata=caller.metadata)) as messages:
            async for message in messages:
                assert isinstance(message, pb.WatchTasksResponse)
                match message.WhichOneof("news"):
                    case "watched":
                        yield list(message.watched.task_ids)
                    case "changed":
                        yield state(message.changed)
                    case "progress":
                        yield _progress(message.progress)


async def _found(answer: Any) -> Any:
    """The answer to a request on one task. An id that cannot be one is not there."""
    try:
        return await answer
    except Refusal as refusal:
        if refusal.reason == reasons.ERROR_REASON_INVALID_ARGUMENT:
            raise absent() from None
        raise


def session_digest(session: str) -> bytes:
    """What a service is told of a session."""
    return sha256(session.encode("ascii")).digest() if session else b""


def read(task: pb.Task) -> Task:
    """A task as the service tells it. A status without a name here keeps its number, so that it is refused where it is to be shown."""
    known = task.status in pb.RunStatus.values()
    return Task(
        id=task.task_id,
        run_status=pb.RunStatus.Name(task.status).removeprefix(_PREFIX) if known else str(task.status),
        is_error=task.result_is_error,
        message=task.status_message,
        created_at=task.created_at.ToJsonString(),
        updated_at=task.last_updated_at.ToJsonString(),
        ttl_ms=task.ttl_ms,
        poll_ms=task.poll_interval_ms or None,
    )


def state(found: Any) -> State:
    """A task with its outcome, as the service tells it."""
    outcome = found.outcome
    return State(
        task=read(found.task),
        result=outcome.result if outcome.HasField("result") else None,
        failure=outcome.error if outcome.HasField("error") else None,
        questions=found.task.input_requests or b"{}",
    )


def _progress(news: pb.WatchTasksResponse.Progress) -> Progress:
    return Progress(
        task_id=news.task_id,
        token=orjson.loads(news.progress_token) if news.progress_token else None,
        progress=news.progress,
        total=news.total if news.HasField("total") else None,
        message=news.message,
    )
