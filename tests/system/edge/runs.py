"""Tasks in memory, with the answers and the refusals of the service that keeps them. Tests end, break and change them as they like."""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb

from kit.errors import FieldError, Refusal, internal, invalid, unavailable
from kit.server import Call, Handler

TTL_MAX_MS = 86_400_000
WAIT_SECONDS = 0.5
ENDED = ("DONE", "FAILED", "ABORTED", "DENIED")


@dataclass
class Run:
    """One task."""

    id: str
    key_id: str
    request: pb.CreateTaskRequest
    word: str = "PENDING"
    message: str = ""
    ttl_ms: int = TTL_MAX_MS
    result: bytes = b""
    is_error: bool = False
    failure: tuple[int, str] | None = None
    questions: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    updated_ns: int = field(default_factory=time.time_ns)

    def task(self) -> pb.Task:
        """As it is told."""
        known = f"RUN_STATUS_{self.word}" in list(pb.RunStatus.keys())
        told = pb.Task(
            task_id=self.id,
            status=pb.RunStatus.Value(f"RUN_STATUS_{self.word}") if known else len(self.word) + 90,  # type: ignore[arg-type]
            result_is_error=self.is_error,
            status_message=self.message,
            ttl_ms=self.ttl_ms,
            poll_interval_ms=500,
            tool=self.request.tool,
            progress_token=self.request.progress_token,
        )
        told.created_at.FromJsonString("2026-07-26T17:15:32.186Z")
        told.last_updated_at.FromNanoseconds(self.updated_ns)
        if self.word == "AWAITING_INPUT":
            told.input_requests = json.dumps(self.questions).encode()
        return told

    def outcome(self) -> pb.Outcome | None:
        """How it ended."""
        if self.word == "DONE":
            return pb.Outcome(result=self.result)
        if self.word not in ENDED:
            return None
        taken_back = (-32800, "The task was cancelled.") if self.word == "DENIED" else (-32603, "The work broke off.")
        code, message = self.failure or taken_back
        return pb.Outcome(error=pb.TaskError(code=code, message=message))


@dataclass
class Runs:
    """What was begun. A change wakes whoever waits; tests make it from their own thread."""

    kept: dict[str, Run] = field(default_factory=dict)
    page_size: int = 50
    waiting: int = 0
    watching: int = 0
    asked: list[str] = field(default_factory=list)
    fault: str = ""
    on_create: Callable[[Run], None] | None = None
    creating: threading.Event | None = None
    _woken: dict[asyncio.Event, asyncio.AbstractEventLoop] = field(default_factory=dict)
    _news: list[tuple[str, pb.WatchTasksResponse]] = field(default_factory=list)

    def clear(self) -> None:
        """Forgets everything."""
        self.kept.clear()
        self._news.clear()
        self.asked.clear()
        self.page_size, self.fault, self.on_create, self.creating = 50, "", None, None
        self._wake()

    def break_off(self) -> None:
        """Answers nobody any more, streams included."""
        self.fault = "away"
        self._wake()

    def set(self, task_id: str, word: str, message: str = "") -> None:
        """Gives it a status, whatever it had."""
        run = self.kept[task_id]
        run.word, run.message, run.updated_ns = word, message, time.time_ns()
        self._changed(run)

    def done(self, task_id: str, result: Mapping[str, Any], message: str = "") -> None:
        """Ends it with a result, where it is not over already."""
        run = self.kept[task_id]
        if run.word not in ENDED:
            run.result = json.dumps(result, separators=(",", ":")).encode()
            run.is_error = bool(result.get("isError"))
            self.set(task_id, "DONE", message)

    def fail(self, task_id: str, code: int, message: str, word: str) -> None:
        """Ends it with an error."""
        self.kept[task_id].failure = (code, message)
        self.set(task_id, word, message)

    def ask(self, task_id: str, **questions: Any) -> None:
        """Lets it wait for answers."""
        self.kept[task_id].questions = questions
        self.set(task_id, "AWAITING_INPUT")

    def progress(self, task_id: str, progress: float, total: float | None = None, message: str = "") -> None:
        """Lets it come further."""
        news = pb.WatchTasksResponse.Progress(task_id=task_id, progress=progress, total=total, message=message)
        news.progress_token = self.kept[task_id].request.progress_token
        self._news.append((task_id, pb.WatchTasksResponse(progress=news)))
        self._wake()

    def _changed(self, run: Run) -> None:
        changed = pb.WatchTasksResponse.Changed(task=run.task(), outcome=run.outcome())
        self._news.append((run.id, pb.WatchTasksResponse(changed=changed)))
        self._wake()

    def _wake(self) -> None:
        for event, loop in list(self._woken.items()):
            loop.call_soon_threadsafe(event.set)

    async def _until_woken(self, event: asyncio.Event, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return
        event.clear()

    def services(self) -> Mapping[str, Mapping[str, Handler]]:
        """The methods of the service."""
        methods: dict[str, Handler] = {
            "CreateTask": self._create,
            "GetTask": self._get,
            "AwaitTask": self._await,
            "ListTasks": self._list,
            "CancelTask": self._cancel,
            "UpdateTask": self._update,
            "WatchTasks": self._watch,
        }
        return {"substrate.tasks.v1.TaskService": methods}

    def _failing(self, method: str) -> None:
        self.asked.append(method)
        if self.fault == "away" or (self.fault == "update" and method == "UpdateTask"):
            raise unavailable()
        if self.fault == "broken":
            raise internal("0a1b2c3d")
        if self.fault == "full":
            raise Refusal(reasons.ERROR_REASON_CONFLICT, "This key has 100 open tasks, as many as it may. Wait for one to end.")

    def _find(self, task_id: str, call: Call) -> Run:
        assert call.principal is not None
        run = self.kept.get(task_id)
        if run is None or run.key_id != call.principal.key_id:
            raise Refusal(reasons.ERROR_REASON_NOT_FOUND, "There is no such task for this key.")
        return run

    async def _create(self, request: pb.CreateTaskRequest, call: Call) -> Message:
        assert call.principal is not None
        self._failing("CreateTask")
        ttl = min(request.ttl_ms, TTL_MAX_MS) if request.HasField("ttl_ms") else TTL_MAX_MS
        run = Run(str(uuid.uuid4()), call.principal.key_id, request, ttl_ms=ttl)
        self.kept[run.id] = run
        if self.creating is not None:
            await asyncio.to_thread(self.creating.wait, 10)
        made = pb.CreateTaskResponse(task=run.task())
        if self.on_create is not None:
            self.on_create(run)
        return made

    async def _get(self, request: pb.GetTaskRequest, call: Call) -> Message:
        self._failing("GetTask" if not request.with_outcome else "GetTask with its outcome")
        run = self._find(request.task_id, call)
        return pb.GetTaskResponse(task=run.task(), outcome=run.outcome() if request.with_outcome else None)

    async def _await(self, request: pb.AwaitTaskRequest, call: Call) -> Message:
        self._failing("AwaitTask")
        run, event = self._find(request.task_id, call), asyncio.Event()
        self._woken[event] = asyncio.get_running_loop()
        self.waiting += 1
        try:
            if run.word not in ENDED and not (run.word == "AWAITING_INPUT" and not request.through_input):
                await self._until_woken(event, WAIT_SECONDS)
        finally:
            self.waiting -= 1
            del self._woken[event]
        if self.fault == "away":
            raise unavailable()
        return pb.AwaitTaskResponse(task=run.task(), outcome=run.outcome())

    async def _list(self, request: pb.ListTasksRequest, call: Call) -> Message:
        assert call.principal is not None
        self._failing("ListTasks")
        own = [run for run in reversed(self.kept.values()) if run.key_id == call.principal.key_id]
        if request.page_token and not (request.page_token.startswith("p-") and request.page_token[2:].isdigit()):
            raise invalid([FieldError("page_token", "expected next_page_token of the page before")])
        start = int(request.page_token[2:]) if request.page_token else 0
        end = start + self.page_size
        return pb.ListTasksResponse(tasks=[run.task() for run in own[start:end]], next_page_token=f"p-{end}" if end < len(own) else "")

    async def _cancel(self, request: pb.CancelTaskRequest, call: Call) -> Message:
        self._failing("CancelTask")
        run = self._find(request.task_id, call)
        if run.word in ENDED:
            raise Refusal(reasons.ERROR_REASON_CONFLICT, "The task is over already and cannot be taken back.")
        self.set(run.id, "DENIED", "Taken back by its client.")
        return pb.CancelTaskResponse(task=run.task())

    async def _update(self, request: pb.UpdateTaskRequest, call: Call) -> Message:
        self._failing("UpdateTask")
        run = self._find(request.task_id, call)
        for key, answer in json.loads(request.responses).items():
            if run.word == "AWAITING_INPUT" and run.questions.pop(key, None) is not None:
                run.answers[key] = answer
        if run.word == "AWAITING_INPUT" and not run.questions:
            self.set(run.id, "QUEUED")
        return pb.UpdateTaskResponse(task=run.task())

    async def _watch(self, request: pb.WatchTasksRequest, call: Call) -> AsyncIterator[Message]:
        assert call.principal is not None
        self._failing("WatchTasks")
        session, key_id, event = bool(request.session_sha256), call.principal.key_id, asyncio.Event()

        def watched(run: Run) -> bool:
            named = run.request.session_sha256 == request.session_sha256 if session else run.id in request.task_ids
            return named and run.key_id == key_id

        self._woken[event] = asyncio.get_running_loop()
        self.watching += 1
        try:
            at = len(self._news)
            runs = [run for run in self.kept.values() if watched(run) and (not session or run.word not in ENDED)]
            yield pb.WatchTasksResponse(watched=pb.WatchTasksResponse.Watched(task_ids=[run.id for run in runs]))
            for run in runs:
                yield pb.WatchTasksResponse(
                    changed=self._told(pb.WatchTasksResponse.Changed(task=run.task(), outcome=run.outcome()), request)
                )
            while True:
                self._failing("")
                for task_id, news in self._news[at:]:
                    if (found := self.kept.get(task_id)) is not None and watched(found):
                        copy = pb.WatchTasksResponse.FromString(news.SerializeToString())
                        if copy.HasField("changed"):
                            self._told(copy.changed, request)
                        yield copy
                at = len(self._news)
                if not session and all(run.word in ENDED for run in runs):
                    return
                await self._until_woken(event, WAIT_SECONDS)
        finally:
            self.watching -= 1
            del self._woken[event]

    @staticmethod
    def _told(changed: pb.WatchTasksResponse.Changed, request: pb.WatchTasksRequest) -> pb.WatchTasksResponse.Changed:
        if not request.with_outcome:
            changed.ClearField("outcome")
        return changed
