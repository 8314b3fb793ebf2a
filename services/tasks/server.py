"""TaskService: keeps tasks for the key that made them, and shows them to it for as long as it may make the call that each stands for."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime

from substrate.auth.v1.auth_service_pb2 import Principal
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import limits, paging
from kit.catalogue import Catalogue
from kit.clock import Clock
from kit.errors import FieldError, Refusal, invalid
from kit.server import Call, Handler
from services.tasks import task, watch
from services.tasks.keys import Keys
from services.tasks.news import News
from services.tasks.store import Full, Store
from services.tasks.task import Kept

NAME = "substrate.tasks.v1.TaskService"


def principal(call: Call) -> Principal:
    """Whose call it is; without one no handler of this service runs."""
    assert call.principal is not None
    return call.principal


class TaskService:
    """Decides nothing about keys: each look at a task asks auth whether its key may still make the call."""

    def __init__(
        self,
        store: Store,
        catalogue: Catalogue,
        keys: Keys,
        news: News,
        clock: Clock,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._catalogue, self._keys, self._news = store, catalogue, keys, news
        self._clock, self._new_id, self._now = clock, new_id, now

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {
            "CreateTask": self.create_task,
            "GetTask": self.get_task,
            "AwaitTask": self.await_task,
            "ListTasks": self.list_tasks,
            "CancelTask": self.cancel_task,
            "UpdateTask": self.update_task,
            "WatchTasks": self.watch_tasks,
        }

    async def create_task(self, request: pb.CreateTaskRequest, call: Call) -> pb.CreateTaskResponse:
        """Stores a task that its key could run now; it runs later, with what the key may do then."""
        tool = task.found_tool(self._catalogue.by_name, request.tool)
        arguments = task.check_new(request)
        who, run_id, case_id = principal(call), self._new_id(), task.case_of(tool, arguments)
        await self._keys.require(who.key_id, (tool.path, str(case_id) if case_id else None))
        row = {
            "id": run_id,
            "key_id": who.key_id,
            "owner_id": who.owner_id,
            "case_id": case_id,
            "launch_ctx": task.launch_ctx(request, tool, who.key_id),
            "ttl_ms": task.ttl_ms(request.ttl_ms if request.HasField("ttl_ms") else None),
            "input": request.arguments,
            "input_sha256": request.arguments_sha256,
            "given": request.given,
        }
        try:
            made = await self._store.create(row, _audit(who, f"create_task:{tool.name}", case_id, request.arguments_sha256))
        except Full as full:
            raise _full(full) from None
        return pb.CreateTaskResponse(task=task.shown(made))

    async def get_task(self, request: pb.GetTaskRequest, call: Call) -> pb.GetTaskResponse:
        """How a task stands."""
        one = await self._seen(task.task_id(request.task_id), call)
        answer = pb.GetTaskResponse(task=task.shown(one))
        if request.with_outcome and one.terminal:
            answer.outcome.CopyFrom(await self._outcome(one))
        return answer

    async def await_task(self, request: pb.AwaitTaskRequest, call: Call) -> pb.AwaitTaskResponse:
        """How a task stands once there is something to say, or once the wait is over."""
        run_id, key_id = task.task_id(request.task_id), principal(call).key_id
        until = self._now() + min(request.wait_ms / 1000 or limits.TASK_AWAIT_SECONDS, limits.TASK_AWAIT_SECONDS, _left(call))
        with self._news.about([str(run_id)]) as told:
            while True:
                told.clear()
                one = await self._own(run_id, key_id)
                left = until - self._now()
                if one.terminal or left <= 0 or self._news.closing or (one.status == "AWAITING_INPUT" and not request.through_input):
                    break
                await watch.told_within(told, min(left, limits.TASK_LOOK_SECONDS))
        await self._reviewed([one], key_id)
        answer = pb.AwaitTaskResponse(task=task.shown(one))
        if one.terminal:
            answer.outcome.CopyFrom(await self._outcome(one))
        return answer

    async def list_tasks(self, request: pb.ListTasksRequest, call: Call) -> pb.ListTasksResponse:
        """One page of what the key can get."""
        key_id = principal(call).key_id
        page = paging.opened(request)
        found = await self._store.page(key_id, _after(page.after, key_id), page.size + 1)
        shown = found[: page.size]
        review = await self._keys.review(key_id, [one.call for one in shown])
        answer = pb.ListTasksResponse(tasks=[task.shown(one) for one in shown if one.call in review.allowed])
        if len(found) > page.size:
            last = shown[-1]
            answer.next_page_token = paging.token(request, f"{key_id} {last.row['created_at'].isoformat()} {last.id}")
        return answer

    async def cancel_task(self, request: pb.CancelTaskRequest, call: Call) -> pb.CancelTaskResponse:
        """Takes an open task back."""
        run_id, who = task.task_id(request.task_id), principal(call)
        one = await self._seen(run_id, call)
        audit = _audit(who, "cancel_task", one.case_id, run_id.bytes)
        while not await self._store.cancel(one, audit):
            # It has another status by now; where that one is open too, it is taken back from there.
            one = await self._own(run_id, who.key_id)
            if one.terminal:
                raise Refusal(reasons.ERROR_REASON_CONFLICT, f"The task has ended already: it is {one.status}.")
        return pb.CancelTaskResponse(task=task.shown(await self._own(run_id, who.key_id)))

    async def update_task(self, request: pb.UpdateTaskRequest, call: Call) -> pb.UpdateTaskResponse:
        """Takes answers to what a task asked."""
        responses = task.read_object("responses", request.responses)
        if wrong := sorted(key for key, value in responses.items() if not isinstance(value, dict)):
            raise invalid([FieldError(f"responses.{wrong[0][:64]}", "expected an object")])
        one = await self._seen(task.task_id(request.task_id), call)
        await self._store.answer(one, responses)
        return pb.UpdateTaskResponse(task=task.shown(await self._own(one.id, principal(call).key_id)))

    async def watch_tasks(self, request: pb.WatchTasksRequest, call: Call) -> AsyncIterator[pb.WatchTasksResponse]:
        """News of tasks."""
        watching = watch.Watch(self._store, self._keys, self._news, self._clock, principal(call).key_id, with_outcome=request.with_outcome)
        if request.session_sha256:
            news = watching.session(request.session_sha256)
        else:
            news = watching.tasks([i for i in (_id(text) for text in request.task_ids) if i is not None])
        async for message in news:
            yield message

    async def _own(self, run_id: uuid.UUID, key_id: str) -> Kept:
        """A task of this key. The row is looked at again after it was read: whatever a statement does, a foreign one goes no further."""
        one = (await self._store.find([run_id], key_id)).get(run_id)
        if one is None or str(one.key_id) != key_id:
            raise task.absent()
        return one

    async def _reviewed(self, found: Sequence[Kept], key_id: str) -> None:
        review = await self._keys.review(key_id, [one.call for one in found])
        if not all(one.call in review.allowed for one in found):
            raise task.absent()

    async def _seen(self, run_id: uuid.UUID, call: Call) -> Kept:
        """A task of this key whose call the key may still make."""
        key_id = principal(call).key_id
        one = await self._own(run_id, key_id)
        await self._reviewed([one], key_id)
        return one

    async def _outcome(self, one: Kept) -> pb.Outcome:
        result = await self._store.result(one)
        if one.status == "DONE" and result is None:
            raise task.absent()  # its time was over between the two looks
        return task.outcome(one, result)


def _left(call: Call) -> float:
    """How long the caller still waits for an answer, less what it takes to give one."""
    return max(0.0, call.seconds_left - limits.TASK_ANSWER_SECONDS)


def _id(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def _after(text: str | None, key_id: str) -> tuple[datetime, uuid.UUID] | None:
    """Where a page begins; a token of another key begins nowhere."""
    if text is None:
        return None
    try:
        bound, at, id_ = text.split(" ")
        if bound == key_id:
            return datetime.fromisoformat(at), uuid.UUID(id_)
    except ValueError:
        pass
    raise invalid([FieldError("page_token", "expected the next_page_token of an answer to this key, or nothing for the first page")])


def _audit(who: Principal, action: str, case_id: uuid.UUID | None, detail: bytes) -> Mapping[str, object]:
    return {"actor": f"key:{who.key_id}", "action": action, "case_id": case_id, "outcome": "done", "detail": detail}


def _full(full: Full) -> Refusal:
    if full.open_ones:
        words = f"This key has {full.limit} tasks that have not ended, which is as many as it may. Wait until some end, or cancel some."
    else:
        words = (
            f"{full.limit} tasks of this key are kept, which is as many as it may have. Wait until some are over, or ask for a shorter ttl."
        )
    return Refusal(reasons.ERROR_REASON_CONFLICT, words)
