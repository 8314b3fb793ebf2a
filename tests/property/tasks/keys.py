"""What a client does with its key: begins tasks, looks, waits, lists, watches, answers and takes back."""

from __future__ import annotations

import uuid
from hashlib import sha256
from typing import Any

import orjson
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import limits
from kit.results import REQUEST_CANCELLED
from tests.property.tasks.base import AGE, CASES, KEYS, MOSTLY, Base
from tests.property.tasks.model import KEYS_OF, KINDS, QUESTIONS, Filed, Kind, after

TTL_SECONDS = (limits.TASK_TTL_DEFAULT_SECONDS, limits.TASK_TTL_DEFAULT_SECONDS, 20)
ENDS = {"FAILED": -32603, "ABORTED": -32603, "DENIED": REQUEST_CANCELLED}
TOKEN = b'"token of its creator"'
MANY = st.lists(st.tuples(KEYS, CASES, st.sampled_from(KINDS), st.sampled_from(TTL_SECONDS)), min_size=2, max_size=6)


class KeyRules(Base):
    """The path of the API."""

    @initialize(first=MANY)
    def begin(self, first: list[tuple[int, int, Kind, int]]) -> None:
        """Nothing can happen before there is a task."""
        for key, case, kind, ttl in first:
            self.create(key, case, kind, ttl, "right")

    @rule(
        key=KEYS,
        case=CASES,
        kind=st.sampled_from(KINDS),
        ttl=st.sampled_from(TTL_SECONDS),
        how=st.sampled_from(("right", "right", "wrong")),
    )
    def create(self, key: int, case: int, kind: Kind, ttl: int, how: str) -> None:
        named = {"case_id": str(self.world.cases[case]), "from_entity_id": str(uuid.uuid4()), "to_entity_id": str(uuid.uuid4())}
        data = orjson.dumps(named if kind.names_case else {})
        digest = sha256(data).digest() if how == "right" else bytes(32)
        request = pb.CreateTaskRequest(
            tool=kind.tool,
            arguments=data,
            arguments_sha256=digest,
            ttl_ms=ttl * 1000,
            revision="2025-11-25",
            progress_token=TOKEN,
        )

        async def make() -> pb.CreateTaskResponse:
            return await self.world.service.create_task(request, await self.let_in(key, "CreateTask"))

        answer, of = self.taken(make()), case if kind.names_case else None
        opened = sum(t.key == key and t.open() and t.expires_at > self.model.now for t in self.model.tasks.values())
        room = opened < limits.TASKS_OPEN_PER_KEY_MAX
        assert (answer is not None) == (how == "right" and room and self.model.allowed(key, of))
        if answer is not None:
            now, id_ = self.model.now, uuid.UUID(answer.task.task_id)
            assert (answer.task.status, answer.task.ttl_ms, answer.task.progress_token) == (pb.RUN_STATUS_PENDING, ttl * 1000, TOKEN)
            self.model.tasks[id_] = Filed(id_, key, kind, of, data, now, after(now, ttl), now, after(now, limits.TASK_QUEUE_SECONDS))
        self.ran("create", answer is not None)

    def _as_it_stands(self, t: Filed, task: pb.Task, outcome: pb.Outcome | None) -> None:
        """An answer says what is so: a result of a task that is done and of no other, and always the same bytes."""
        assert pb.RunStatus.Name(task.status) == f"RUN_STATUS_{t.status}"
        assert (task.progress_token, task.tool) == (TOKEN, t.kind.tool)
        asked = orjson.loads(task.input_requests) if task.input_requests else {}
        assert set(asked) == (QUESTIONS - (t.answered or set()) if t.status == "AWAITING_INPUT" else set())
        if outcome is None:
            return
        end = outcome.WhichOneof("end")
        assert end == (None if t.open() else "result" if t.status == "DONE" else "error"), "T3, T4"
        if end == "result":
            t.served = t.served or outcome.result
            assert outcome.result == t.served, "T1"
            assert (task.result_is_error, orjson.loads(outcome.result).get("isError", False)) == (t.is_error, t.is_error), "T4"
        elif end == "error":
            assert outcome.error.code == ENDS[t.status], "T3"

    @precondition(Base.any_task)
    @rule(age=AGE, key=KEYS, own=MOSTLY, waits=st.booleans())
    def look(self, age: int, key: int, own: bool, waits: bool) -> None:
        """Asks how a task stands, at once or after a wait that is over at once; by preference one that the key may not see any more."""
        t = self.some(age, lambda t: not self.model.sees(t.key, t) and t.key not in self.model.revoked)
        key = t.key if own else key

        async def ask() -> Any:
            if waits:
                waiting = pb.AwaitTaskRequest(task_id=str(t.id), wait_ms=1, through_input=True)
                return await self.world.service.await_task(waiting, await self.let_in(key, "AwaitTask"))
            getting = pb.GetTaskRequest(task_id=str(t.id), with_outcome=True)
            return await self.world.service.get_task(getting, await self.let_in(key, "GetTask"))

        answer = self.taken(ask())
        assert (answer is not None) == self.model.sees(key, t), "T2, T7"
        if answer is not None:
            self._as_it_stands(t, answer.task, answer.outcome if answer.HasField("outcome") else pb.Outcome())
        self.ran("look", answer is not None)

    @rule(key=KEYS, size=st.sampled_from((1, 2, 50)))
    def list_all(self, key: int, size: int) -> None:
        """Every page: what can be got, newest first, and nothing else."""

        async def walk() -> list[pb.Task]:
            found: list[pb.Task] = []
            token = ""
            while True:
                request = pb.ListTasksRequest(page_size=size, page_token=token)
                page = await self.world.service.list_tasks(request, await self.let_in(key, "ListTasks"))
                found += page.tasks
                token = page.next_page_token
                if not token:
                    return found

        found = self.taken(walk())
        assert (found is not None) == (key not in self.model.revoked)
        if found is not None:
            there = sorted((t for t in self.model.tasks.values() if self.model.sees(key, t)), key=lambda t: t.made_at, reverse=True)
            assert [task.task_id for task in found] == [str(t.id) for t in there], "T2, T11, T12"
            for task, t in zip(found, there, strict=True):
                self._as_it_stands(t, task, None)
        self.ran("list_all", found is not None)

    async def cancels(self, key: int, t: Filed) -> pb.CancelTaskResponse:
        request = pb.CancelTaskRequest(task_id=str(t.id))
        return await self.world.service.cancel_task(request, await self.let_in(key, "CancelTask"))

    @precondition(Base.any_task)
    @rule(age=AGE, key=KEYS, own=MOSTLY)
    def cancel(self, age: int, key: int, own: bool) -> None:
        t = self.some(age)
        key = t.key if own else key
        answer = self.taken(self.cancels(key, t))
        assert (answer is not None) == (self.model.sees(key, t) and t.open()), "T5, T8"
        if answer is not None:
            t.let_go("DENIED")
            self._as_it_stands(t, answer.task, None)
        self.ran("cancel", answer is not None)

    @rule(person=st.integers(0, max(KEYS_OF)), case=CASES, comes_back=MOSTLY, whose_call_runs=st.booleans())
    def change_access(self, person: int, case: int, comes_back: bool, whose_call_runs: bool) -> None:
        """Somebody may act in a matter no more, or again; by preference somebody whose call in that matter is being made, and no more."""
        running = [call.task for call in self.model.ongoing if call.task.case is not None]
        if whose_call_runs and running:
            person, case, comes_back = KEYS_OF[running[-1].key], running[-1].case or 0, False
        self._access(person, case, there=comes_back)
        self.ran("change_access", True)

    def _access(self, person: int, case: int, *, there: bool) -> None:
        self.world.do(self.world.access(person, case, there=there))
        (self.model.cases[person].add if there else self.model.cases[person].discard)(case)

    @precondition(lambda self: not self.model.revoked and len(self.model.tasks) > 4)
    @rule(key=st.integers(1, 2))
    def revoke_key(self, key: int) -> None:
        self.world.do(self.world.revoke(key))
        self.model.revoked.add(key)
        self.ran("revoke_key", True)
