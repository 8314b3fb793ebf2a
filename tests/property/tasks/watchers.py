"""Who waits for the end of a task, and who is told of everything until then."""

from __future__ import annotations

import asyncio
import sys
import uuid
from dataclasses import dataclass, field
from typing import Any

from hypothesis.stateful import invariant, precondition, rule
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import limits
from kit.errors import Refusal
from tests.property.tasks.answers import said
from tests.property.tasks.base import AGE, KEYS, WORKER
from tests.property.tasks.keys import TOKEN
from tests.property.tasks.model import Kind
from tests.property.tasks.workers import KIND, WorkerRules

TERMINAL = (pb.RUN_STATUS_DONE, pb.RUN_STATUS_FAILED, pb.RUN_STATUS_ABORTED, pb.RUN_STATUS_DENIED)


@dataclass
class Watcher:
    """A stream of news, and what came on it."""

    key: int
    work: asyncio.Task[None]
    told: list[pb.WatchTasksResponse] = field(default_factory=list)


class WatcherRules(WorkerRules):
    """Streams and waits, over the notifications of the database."""

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.watchers: list[Watcher] = []

    def teardown(self) -> None:
        """Ends the streams and, where nothing went wrong, whatever is left."""

        async def end() -> None:
            for watcher in self.watchers:
                watcher.work.cancel()
            await asyncio.gather(*(watcher.work for watcher in self.watchers), return_exceptions=True)

        self.world.do(end())
        if sys.exc_info()[0] is None:
            self.what_is_left_comes_to_an_end()
        super().teardown()

    def what_is_left_comes_to_an_end(self) -> None:
        """Every worker dies. One that sweeps and does nothing else brings each task to its end within the times that it has."""
        for worker in range(len(self.world.workers)):
            self.world.do(self.world.kill(worker))
        self.model.ongoing.clear()
        for seconds in (limits.TASK_LEASE_SECONDS, limits.TASK_QUEUE_SECONDS):
            self.time_goes_on(seconds)
            self.world.do(self.world.workers[0]._sweep())
            self.model.sweep()
        rows = self.world.do(self.world.ask("everything"))
        assert {row["id"]: row["status"] for row in rows} == {t.id: t.status for t in self.model.tasks.values()}, "T10"
        assert all(not t.open() or t.status == "AWAITING_INPUT" for t in self.model.tasks.values()), "T10"

    @rule(age=AGE, kind=KIND, worker=WORKER)
    def waits_for_the_end(self, age: int, kind: Kind, worker: int) -> None:
        """A call that waits is answered when its task ends, with the result."""
        calls = self._calls(kind, worker)
        if not calls:
            return
        call = self.newest(calls, age)
        t = call.task
        if not (call.held() and self.model.sees(t.key, t)):
            return
        counted = self.world.news.count

        async def wait() -> pb.AwaitTaskResponse:
            request = pb.AwaitTaskRequest(task_id=str(t.id), through_input=True)
            waiting = asyncio.ensure_future(self._waits(t.key, request))
            while self.world.news.count == counted:
                await asyncio.sleep(0.0003)
            await self.world.say(call, said(call, "answers"))
            return await waiting

        answer = self.world.do(wait())
        self.model.drop([call])
        t.end(is_error=False)
        assert answer.HasField("outcome"), "T10"
        self._as_it_stands(t, answer.task, answer.outcome)
        self.ran("waits_for_the_end", True)

    async def _waits(self, key: int, request: pb.AwaitTaskRequest) -> pb.AwaitTaskResponse:
        return await self.world.service.await_task(request, await self.let_in(key, "AwaitTask"))

    @precondition(lambda self: self.any_task() and not self.watchers)
    @rule(key=KEYS)
    def watch(self, key: int) -> None:
        """Everything of a key, until the stream ends or the walk does."""
        if key in self.model.revoked:
            return
        ids = [str(t.id) for t in self.model.tasks.values()]
        told: list[pb.WatchTasksResponse] = []

        async def listen() -> None:
            request = pb.WatchTasksRequest(task_ids=ids, with_outcome=True)
            stream = self.world.service.watch_tasks(request, await self.let_in(key, "WatchTasks"))
            async for news in stream:
                told.append(news)  # noqa: PERF401 - what was told counts also where the stream ends with a refusal

        async def begin() -> asyncio.Task[None]:
            work = asyncio.ensure_future(listen())
            while not told and not work.done():
                await asyncio.sleep(0.0003)
            return work

        self.watchers.append(Watcher(key, self.world.do(begin()), told))
        there = {str(t.id) for t in self.model.tasks.values() if self.model.sees(key, t)}
        assert set(told[0].watched.task_ids) == there, "T2"
        self.ran("watch", True)

    @invariant()
    def what_was_told_is_in_order(self) -> None:
        for watcher in self.watchers:
            if watcher.work.done() and not watcher.work.cancelled():
                assert isinstance(watcher.work.exception(), (Refusal, type(None)))
            over: set[str] = set()
            progress: dict[str, float] = {}
            for news in watcher.told[1:]:
                about = news.progress.task_id or news.changed.task.task_id
                assert about not in over, "T5, T6: nothing follows the end"
                if news.HasField("progress"):
                    assert news.progress.progress > progress.get(about, float("-inf")), "T6"
                    assert news.progress.progress_token == TOKEN, "T6"
                    progress[about] = news.progress.progress
                elif news.changed.task.status in TERMINAL:
                    over.add(about)
                    self._told_its_end(watcher.key, news.changed)

    def _told_its_end(self, key: int, changed: pb.WatchTasksResponse.Changed) -> None:
        t = self.model.tasks.get(uuid.UUID(changed.task.task_id))
        if t is not None:
            assert t.key == key, "T2"
            assert pb.RunStatus.Name(changed.task.status) == f"RUN_STATUS_{t.status}", "T5"
            assert t.served is None or not changed.outcome.result or changed.outcome.result == t.served, "T1"
