"""What workers do, and what happens to them: they take, hold, let go, end, die, freeze, stop and sweep, and time passes."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from substrate.tasks.v1 import task_service_pb2 as pb
from substrate.tools.v1 import exchange_pb2

from kit import limits
from tests.property.tasks.answers import said
from tests.property.tasks.base import AGE, CASES, KEYS, MOSTLY, WORKER, Base
from tests.property.tasks.keys import KeyRules
from tests.property.tasks.model import ASKS, KEYS_OF, KINDS, QUESTIONS, READS, TELLS, Kind, Ongoing
from tests.property.tasks.world import WORKERS

KIND = st.sampled_from(KINDS)
WAYS = ("answers", "answers", "answers", "fails", "away", "breaks", "asks", "asks")
# Half a lease; then what a lease, a run and a wait for a worker last, each to the very end of it.
SECONDS = (limits.TASK_LEASE_SECONDS / 2, limits.TASK_RETRY_SECONDS, limits.TASK_LEASE_SECONDS, limits.TASK_LEASE_SECONDS) * 3
LONG = (limits.TASK_RUN_SECONDS, limits.TASK_QUEUE_SECONDS)


class WorkerRules(KeyRules):
    """Two workers. Their loops do not run; what a loop looks at is a rule."""

    def _any_waiting(self) -> bool:
        return any(t.status in ("PENDING", "QUEUED") for t in self.model.tasks.values())

    @precondition(_any_waiting)
    @rule(worker=WORKER)
    def take(self, worker: int) -> None:
        expected, desk = self.model.to_be_claimed(worker), self.world.desks[worker]
        desk.given.clear()

        async def look() -> None:
            await self.world.workers[worker]._take()
            await self.world.settle()

        self.world.do(look())
        assert len(desk.given) == expected
        for claim in desk.given:
            t = self.model.tasks[claim.run_id]
            assert self.model.claimable(t), "T9"
            call = self.model.claim(t, worker)
            assert (claim.fence, claim.attempt) == (call.fence, call.attempt), "T9"
            self._begins(call)
        self.ran("take", bool(desk.given))

    def _begins(self, call: Ongoing) -> None:
        """A call is made on the authority that its key has by now."""
        t = call.task
        if self.model.allowed(t.key, t.case):
            self.model.ongoing.append(call)
        elif t.key in self.model.revoked:
            t.let_go("ABORTED")
        else:
            t.end(is_error=True)

    def _calls(self, kind: Kind, worker: int, *, of_this: bool = False) -> list[Ongoing]:
        """The calls that are being made, of this tool alone or of any; where there is none a worker begins one."""

        def there() -> list[Ongoing]:
            return [call for call in self.model.ongoing if not of_this or call.task.kind is kind]

        if not there():
            key = next(key for key in range(len(KEYS_OF)) if key not in self.model.revoked)
            self.create(key, 0, kind, limits.TASK_TTL_DEFAULT_SECONDS, "right")
            self.take(worker)
        return there()

    @rule(age=AGE, kind=KIND, worker=WORKER, way=st.sampled_from(WAYS))
    def go_on(self, age: int, kind: Kind, worker: int, way: str) -> None:
        """The tool of a call answers, fails, breaks, is out of reach, or asks."""
        if calls := self._calls(kind, worker):
            self._goes_on(self.newest(calls, age), way)

    def _goes_on(self, call: Ongoing, way: str) -> None:
        way = "answers" if way == "asks" and call.task.kind is not ASKS else way

        async def end() -> None:
            work = self.world.held(call).work
            assert work is not None
            await self.world.say(call, said(call, way))
            await asyncio.gather(work)

        self.world.do(end())
        held = call.held()
        self.model.drop([call])
        if held:
            self._ended(call, way)
        self.ran("go_on", held)

    def _ended(self, call: Ongoing, way: str) -> None:
        t = call.task
        if way in ("answers", "fails") or (way == "away" and call.attempt >= limits.TASK_ATTEMPTS_MAX):
            t.end(is_error=way != "answers")
        elif way == "away":
            t.queue(self.model.now, limits.TASK_RETRY_SECONDS * call.attempt)
        elif way == "breaks":
            t.let_go("FAILED")
        else:
            t.answered, t.deadline_at = set(), t.expires_at
            t.let_go("AWAITING_INPUT")

    @rule(age=AGE, worker=WORKER, words=st.lists(st.integers(1, 6), min_size=1, max_size=3))
    def come_further(self, age: int, worker: int, words: list[int]) -> None:
        """A tool says how far it has come, or says again that it came less far."""
        calls = self._calls(TELLS, worker, of_this=True)
        for progress in words if calls else ():
            self._comes(self.newest(calls, age), progress)

    def _comes(self, call: Ongoing, progress: int) -> None:
        event = exchange_pb2.Event(progress=exchange_pb2.Progress(progress=progress, message="Further."))

        async def tell() -> None:
            await self.world.say(call, event)
            await self.world.settle()

        self.world.do(tell())
        noted = progress > call.told and call.held() and progress > (call.task.progress or 0)
        call.told = max(call.told, progress)
        if noted:
            call.task.progress = progress
        self.ran("come_further", noted)

    @rule(age=AGE, kind=KIND, worker=WORKER, order=st.permutations(("cancel", "complete")))
    def race(self, age: int, kind: Kind, worker: int, order: list[str]) -> None:
        """A task is taken back and completed at once. Both see it running; whoever came first ends it."""
        calls = self._calls(kind, worker)
        if not calls:
            return
        call = self.newest(calls, age)
        t = call.task
        may_cancel, may_complete = self.model.sees(t.key, t) and t.open(), call.held()

        async def completes() -> None:
            work = self.world.held(call).work
            assert work is not None
            await self.world.say(call, said(call, "answers"))
            await asyncio.gather(work)

        async def both() -> list[Any]:
            works = {"cancel": self.cancels(t.key, t), "complete": completes()}
            started: list[asyncio.Future[Any]] = []
            async with self.world.admin.transaction():
                await self.world.ask("lock_run", id=t.id)
                for name in order:
                    started.append(asyncio.ensure_future(works[name]))
                    await self.world.queued_or_done(started)
            return await asyncio.gather(*started, return_exceptions=True)

        done = dict(zip(order, self.world.do(both()), strict=True))
        self.model.drop([call])
        first = next((name for name in order if {"cancel": may_cancel, "complete": may_complete}[name]), None)
        assert isinstance(done["cancel"], pb.CancelTaskResponse) == (may_cancel and (first == "cancel" or not may_complete)), "T5, T9"
        assert done["complete"] is None
        if first == "complete":
            t.end(is_error=False)
        elif first == "cancel":
            t.let_go("DENIED")
        self.ran("race", first is not None)

    @rule(age=AGE, key=KEYS, own=MOSTLY, worker=WORKER, answers=st.sets(st.sampled_from(("first", "second", "never asked")), min_size=1))
    def answer_questions(self, age: int, key: int, own: bool, worker: int, answers: set[str]) -> None:
        """A client answers what a task asks, some of it or all."""
        if not any(t.status == "AWAITING_INPUT" for t in self.model.tasks.values()):
            for call in self._calls(ASKS, worker, of_this=True)[:1]:
                self._goes_on(call, "asks")
        if not self.model.tasks:
            return
        t = self.some(age, lambda t: t.status == "AWAITING_INPUT")
        key = t.key if own else key
        request = pb.UpdateTaskRequest(task_id=str(t.id), responses=orjson.dumps({name: {"action": "accept"} for name in answers}))

        async def update() -> pb.UpdateTaskResponse:
            return await self.world.service.update_task(request, await self.let_in(key, "UpdateTask"))

        answer = self.taken(update())
        assert (answer is not None) == self.model.sees(key, t), "T2"
        went_on = answer is not None and t.status == "AWAITING_INPUT" and bool(answers & QUESTIONS - (t.answered or set()))
        if answer is not None and t.status == "AWAITING_INPUT":
            assert t.answered is not None
            t.answered |= answers & QUESTIONS
            if t.answered == QUESTIONS:
                t.attempts = 0
                t.queue(self.model.now)
        if answer is not None:
            self._as_it_stands(t, answer.task, None)
        self.ran("answer_questions", went_on)

    @precondition(Base.any_call)
    @rule(worker=WORKER)
    def hold(self, worker: int) -> None:
        """A worker renews its leases, and lets go of what is no longer its own."""
        lost = self.model.hold(worker)
        works = [self.world.held(call).work for call in lost]

        async def look() -> None:
            await self.world.workers[worker]._hold()
            await self.world.settle()

        self.world.do(look())
        assert all(work is not None and work.done() for work in works)
        self.model.drop(lost)
        self.ran("hold", bool(lost))

    @precondition(Base.any_call)
    @rule(worker=WORKER, shut_out=MOSTLY)
    def review(self, worker: int, shut_out: bool) -> None:
        """A worker asks whether the keys of what it runs may still make these calls; by preference one of them may not any more."""
        mine = [call for call in self.model.ongoing if call.worker == worker]
        in_matters = [call.task for call in mine if call.task.case is not None]
        if shut_out and in_matters:
            self._access(KEYS_OF[in_matters[-1].key], in_matters[-1].case or 0, there=False)
        lost = [call for call in mine if not self.model.allowed(call.task.key, call.task.case)]
        works = [self.world.held(call).work for call in lost]

        async def look() -> None:
            await self.world.workers[worker]._review()
            await self.world.settle()

        self.world.do(look())
        assert all(work is not None and work.done() for work in works)
        for call in lost:
            if call.held():
                call.task.let_go("ABORTED")
        self.model.drop(lost)
        self.ran("review", bool(lost))

    @rule(key=KEYS, case=CASES)
    def crowd(self, key: int, case: int) -> None:
        """A key begins more than it may have run at once, and both workers look."""
        for _ in range(limits.TASKS_RUNNING_PER_KEY_MAX + 1):
            self.create(key, case, READS, limits.TASK_TTL_DEFAULT_SECONDS, "right")
        for worker in range(WORKERS):
            self.take(worker)
        self.ran("crowd", True)

    @rule(kind=KIND, worker=WORKER, wakes_up=st.booleans())
    def freeze(self, kind: Kind, worker: int, wakes_up: bool) -> None:
        """Nothing is heard of a worker for as long as a lease lasts; the other sweeps and takes. Then it goes on with what it had."""
        self._calls(kind, worker)
        self.time_goes_on(limits.TASK_LEASE_SECONDS)
        self.sweep(1 - worker)
        self.take(1 - worker)
        lost = [call for call in self.model.ongoing if call.worker == worker and not call.held()]
        self.ran("freeze", bool(lost))
        if lost and wakes_up:
            self._goes_on(lost[-1], "answers")
        elif lost:
            self.hold(worker)

    @precondition(Base.any_call)
    @rule(worker=WORKER)
    def die(self, worker: int) -> None:
        self.world.do(self.world.kill(worker))
        gone = [call for call in self.model.ongoing if call.worker == worker]
        self.model.drop(gone)
        for t in self.model.tasks.values():
            t.worker = None if t.worker == worker else t.worker
        self.ran("die", bool(gone))

    @precondition(Base.any_call)
    @rule(worker=WORKER)
    def stop(self, worker: int) -> None:
        """A worker is told to stop, and gives back what it has in hand."""

        async def stops() -> None:
            await self.world.workers[worker].stop(0.0)
            self.world.start_worker(worker)

        self.world.do(stops())
        gone = [call for call in self.model.ongoing if call.worker == worker]
        self.model.drop(gone)
        for call in gone:
            if call.held():
                call.task.attempts -= 1
                call.task.queue(self.model.now)
        self.ran("stop", bool(gone))

    @precondition(lambda self: any(t.status == "RUNNING" or self.model.due(t) for t in self.model.tasks.values()))
    @rule(worker=WORKER)
    def sweep(self, worker: int) -> None:
        due = any(self.model.due(t) for t in self.model.tasks.values())
        self.world.do(self.world.workers[worker]._sweep())
        self.model.sweep()
        self.ran("sweep", due)

    @precondition(Base.any_task)
    @rule(seconds=st.sampled_from((*SECONDS, *LONG)))
    def time_passes(self, seconds: float) -> None:
        self.time_goes_on(seconds)
        self.ran("time_passes", True)
