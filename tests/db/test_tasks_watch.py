"""News of tasks: each as it stands, how far it has come, and nothing after its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pool
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb
from substrate.tools.v1 import exchange_pb2

from kit import catalogue
from kit.errors import Refusal
from kit.server import Call
from tests.cluster import Database
from tests.db.tasks_world import TERMINAL, Gate, World, opened

NEWS = "fixture.reads.v1.NewsService"
TOOL = "test_tool_with_progress"
SESSION, OTHER = sha256(b"a session").digest(), sha256(b"another").digest()


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(database, tmp_path) as made:
        yield made


class Steps:
    """A tool that speaks while it works, one step each time it is let go on."""

    def __init__(self, steps: list[float]) -> None:
        self._steps, self.next = steps, asyncio.Semaphore(0)

    def go_on(self) -> None:
        """Two steps more."""
        self.next.release()
        self.next.release()

    async def __call__(self, _request: Any, _call: Call) -> AsyncIterator[exchange_pb2.Event]:
        for step in self._steps:
            await self.next.acquire()
            yield exchange_pb2.Event(progress=exchange_pb2.Progress(progress=step, total=10, message=f"step {step:g}"))
            yield exchange_pb2.Event(log=exchange_pb2.LogLine(logger="x", data_json=b'"y"'))
        await self.next.acquire()
        yield exchange_pb2.Event(content=exchange_pb2.Content(blocks=[exchange_pb2.Block(text=exchange_pb2.TextBlock(text="done"))]))


@pytest.fixture
async def speaking(database: Database, tmp_path: Path) -> AsyncIterator[tuple[World, Steps]]:
    """A tool that speaks while it works, and may run as a task."""
    found = catalogue.load("fixture")
    tools = tuple(replace(t, task_support="optional") if t.name == TOOL else t for t in found.tools)
    steps = Steps([1.0, 2.0, 2.0, 1.5, 7.5])
    methods = {m.name: steps for m in descriptor_pool.Default().FindServiceByName(NEWS).methods}
    known = replace(found, tools=tools, by_name={t.name: t for t in tools})
    async with opened(database, tmp_path, known, {NEWS: methods}) as made:
        yield made, steps


async def test_a_stream_tells_what_is_watched_then_how_each_stands_then_what_changes_and_ends_with_the_last(world: World) -> None:
    gate = Gate()
    world.answer = gate
    async with world.instance():
        mine = await world.client()
        one, other = await mine.create(), await mine.create()
        told: list[pb.WatchTasksResponse] = []
        async with mine.watching(task_ids=[one.task_id, other.task_id, "no such task"], with_outcome=True) as news:
            told.append(await anext(news))
            told.extend([await anext(news), await anext(news)])
            await mine.cancel(other.task_id)
            gate.open.set()
            async with asyncio.timeout(10):
                told.extend([message async for message in news])
    assert list(told[0].watched.task_ids) == [one.task_id, other.task_id]
    assert {m.changed.task.task_id for m in told[1:3]} == {one.task_id, other.task_id}
    last = {m.changed.task.task_id: m.changed for m in told[1:]}
    assert last[one.task_id].outcome.result.startswith(b'{"content"')
    assert last[other.task_id].outcome.error.code == -32800
    for task_id in (one.task_id, other.task_id):
        statuses = [m.changed.task.status for m in told[1:] if m.changed.task.task_id == task_id]
        assert [s in TERMINAL for s in statuses] == [False] * (len(statuses) - 1) + [True]


async def test_progress_rises_under_the_token_of_the_creator_and_none_comes_after_the_end(speaking: tuple[World, Steps]) -> None:
    world, steps = speaking
    async with world.instance():
        mine = await world.client()
        task = await mine.create({}, tool=TOOL, progress_token=b"17")
        told: list[pb.WatchTasksResponse] = []
        async with mine.watching(task_ids=[task.task_id]) as news, asyncio.timeout(20):
            async for message in news:
                told.append(message)
                if message.WhichOneof("news") == "progress" or message.changed.task.status == pb.RUN_STATUS_RUNNING:
                    asyncio.get_running_loop().call_later(0.3, steps.go_on)
    progress = [m.progress for m in told if m.WhichOneof("news") == "progress"]
    assert [p.progress for p in progress] == sorted({p.progress for p in progress})
    assert len(progress) >= 2
    assert {(p.progress_token, p.total, p.task_id) for p in progress} == {(b"17", 10.0, task.task_id)}
    assert all(p.message == f"step {p.progress:g}" for p in progress)
    assert told[-1].changed.task.status == pb.RUN_STATUS_DONE
    row = (await world.sql("SELECT progress, result FROM runs.agent_run_steps"))[0]
    assert row["result"] == b'{"content":[{"type":"text","text":"done"}]}'


async def test_a_session_is_told_of_the_tasks_that_are_made_in_it_and_of_no_others(world: World) -> None:
    async with world.instance():
        mine = await world.client()
        before = await mine.create(session_sha256=SESSION)
        await mine.ended(before.task_id)
        async with mine.watching(session_sha256=SESSION) as news:
            assert not (await anext(news)).watched.task_ids
            await mine.create(session_sha256=OTHER)
            await mine.create()
            made = await mine.create(session_sha256=SESSION)
            told: set[tuple[str, int]] = set()
            async with asyncio.timeout(10):
                while (made.task_id, pb.RUN_STATUS_DONE) not in told:
                    task = (await anext(news)).changed.task
                    told.add((task.task_id, task.status))
    assert {task_id for task_id, _ in told} == {made.task_id}


async def test_more_tasks_than_a_stream_may_watch_are_refused_by_name(world: World) -> None:
    async with world.instance(worker=False):
        mine = await world.client()
        async with mine.watching(task_ids=["x"] * 101) as news:
            with pytest.raises(Refusal) as refused:
                await anext(news)
    assert refused.value.reason == reasons.ERROR_REASON_INVALID_ARGUMENT
    assert refused.value.fields[0].path == "task_ids"
