"""Many tasks and many who wait for them: everybody is told, no limit is crossed, and memory stays what it was."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import limits
from kit.errors import Refusal, unavailable
from services.tasks.__main__ import Instance as Parts
from tests.cluster import Database
from tests.db.tasks_processes import Instance, instances
from tests.db.tasks_world import Client, Gate, World, opened
from tests.poll import until_async

KEYS, EACH, WAITERS, WAVES = 6, 84, 20, 3
GROWTH_MIB_MAX = 12.0


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(database, tmp_path) as made:
        yield made


async def waiting_are(here: Parts, count: int) -> bool:
    """Whether so many calls wait."""
    return here.news.count == count


async def wave(world: World, one: Instance, clients: list[Client]) -> float:
    """500 tasks in flight, each waited for, one of them by twenty; says how long it took from the first to the last."""
    gate = Gate()
    world.answer = gate
    began = time.monotonic()
    made = [await asyncio.gather(*(mine.create() for mine in clients)) for _ in range(EACH)]
    tasks = [(clients[number], row[number].task_id) for row in made for number in range(KEYS)]
    waiting = [asyncio.create_task(mine.ended(task_id, 60)) for mine, task_id in tasks]
    many = [asyncio.create_task(clients[0].ended(made[-1][0].task_id, 60)) for _ in range(WAITERS)]
    (row,) = await world.sql("SELECT count(*)::int AS open FROM runs.agent_runs WHERE status IN ('PENDING', 'QUEUED', 'RUNNING')")
    assert row["open"] == KEYS * EACH
    gate.open.set()
    assert {answer.task.status for answer in await asyncio.gather(*waiting)} == {pb.RUN_STATUS_DONE}
    assert len({answer.outcome.result for answer in await asyncio.gather(*many)}) == 1
    return time.monotonic() - began


@pytest.mark.slow
async def test_500_tasks_in_flight_and_twenty_who_wait_for_one_are_all_told_and_memory_stays_flat(world: World, tmp_path: Path) -> None:
    async with instances(world, tmp_path, 1, lease_seconds=15.0) as (one,):
        clients = [await world.client(one.address) for _ in range(KEYS)]
        took, memory = [], []
        for _ in range(WAVES):
            took.append(await wave(world, one, clients))
            memory.append(one.memory_mib)
        open_files = one.open_files
    print(f"{KEYS * EACH} tasks a wave, seconds {[round(t, 1) for t in took]}, MiB {[round(m) for m in memory]}, files {open_files}")
    assert memory[-1] - memory[0] < GROWTH_MIB_MAX
    assert open_files < 100


async def test_a_key_may_have_so_many_open_tasks_and_so_many_kept_and_the_next_is_refused_with_the_number(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TASKS_KEPT_PER_KEY_MAX", limits.TASKS_OPEN_PER_KEY_MAX + 2)
    async with world.instance(worker=False):
        mine, other = await world.client(), await world.client()
        answers = await asyncio.gather(*(mine.create() for _ in range(limits.TASKS_OPEN_PER_KEY_MAX + 20)), return_exceptions=True)
        made = [answer for answer in answers if isinstance(answer, pb.Task)]
        assert len(made) == limits.TASKS_OPEN_PER_KEY_MAX
        for refusal in (answer for answer in answers if not isinstance(answer, pb.Task)):
            assert isinstance(refusal, Refusal)
            assert refusal.reason == reasons.ERROR_REASON_CONFLICT
            assert str(limits.TASKS_OPEN_PER_KEY_MAX) in refusal.message
        await other.create()
        for task in made[:5]:
            await mine.cancel(task.task_id)
        await mine.create()
        await mine.create()
        with pytest.raises(Refusal, match=str(limits.TASKS_KEPT_PER_KEY_MAX)) as full:
            await mine.create()
        assert full.value.reason == reasons.ERROR_REASON_CONFLICT


async def test_an_instance_takes_on_no_more_than_its_slots(world: World) -> None:
    gate = Gate()
    world.answer = gate
    async with world.instance(slots=3) as here:
        for mine in [await world.client() for _ in range(3)]:
            await mine.create()
            await mine.create()
        async with asyncio.timeout(10):
            for _ in range(3):
                await gate.begun.acquire()
        assert gate.begun.locked()
        assert here.worker.running == 3
        gate.open.set()


async def test_a_call_that_runs_too_long_and_a_task_that_waits_too_long_are_ended(world: World) -> None:
    world.answer = Gate()
    async with world.instance(slots=1, run_seconds=0.5, queue_seconds=1.0):
        mine = await world.client()
        first, second = await mine.create(), await mine.create()
        ended = [(await mine.ended(task.task_id)).task for task in (first, second)]
    assert {t.status for t in ended} == {pb.RUN_STATUS_ABORTED}
    assert ended[0].status_message == "It did not end within its time."
    async with world.instance(slots=1):
        blocked = await world.client(world.addresses[-1])
        await blocked.create()
        late = await blocked.create()
        await world.sql("UPDATE runs.agent_runs SET deadline_at = now() WHERE id = $1::text::uuid", late.task_id)
        assert (await blocked.ended(late.task_id)).task.status_message == "No worker took it up within its time."


async def test_a_result_larger_than_what_is_kept_is_an_error_that_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TASK_RESULT_MAX_BYTES", 100)
    async with world.instance():
        mine = await world.client()
        ended = await mine.ended((await mine.create()).task_id)
    assert ended.task.status == pb.RUN_STATUS_FAILED
    assert "larger than what is kept" in ended.outcome.error.message


async def test_more_calls_than_may_wait_are_told_to_come_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TASK_WAITERS_MAX", 2)
    async with world.instance(worker=False) as here:
        mine = await world.client()
        task = await mine.create()
        waiting = [asyncio.create_task(mine.ended(task.task_id)) for _ in range(2)]
        await until_async(lambda: waiting_are(here, 2), "two wait")
        with pytest.raises(Refusal) as refused:
            await mine.ended(task.task_id)
        assert refused.value.reason == unavailable().reason
        await mine.cancel(task.task_id)
        assert {(await one).task.status for one in waiting} == {pb.RUN_STATUS_DENIED}
        await until_async(lambda: waiting_are(here, 0), "nobody waits")


async def test_who_leaves_while_it_waits_is_waited_for_no_more(world: World) -> None:
    async with world.instance(worker=False) as here:
        mine = await world.client()
        task = await mine.create()
        waiting = asyncio.create_task(mine.ended(task.task_id))
        async with mine.watching(task_ids=[task.task_id]) as news:
            await anext(news)
            await until_async(lambda: waiting_are(here, 2), "two wait")
        waiting.cancel()
        await until_async(lambda: waiting_are(here, 0), "nobody waits")


async def terminated(world: World) -> bool:
    """Whether the connection that listens was found and ended."""
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
    return bool(await world.sql(ended))


async def test_what_is_said_while_nobody_listens_is_seen_all_the_same(world: World) -> None:
    async with world.instance(worker=False):
        mine = await world.client()
        task = await mine.create()
        waiting = asyncio.create_task(mine.ended(task.task_id))
        await until_async(lambda: terminated(world), "it listens no more")
        await world.sql("UPDATE runs.agent_runs SET status = 'DENIED'")
        async with asyncio.timeout(limits.TASK_LOOK_SECONDS + 1):
            assert (await waiting).task.status == pb.RUN_STATUS_DENIED


async def test_who_waits_at_an_instance_that_is_told_to_stop_is_answered_and_it_is_soon_gone(world: World, tmp_path: Path) -> None:
    world.answer = Gate()
    async with instances(world, tmp_path, 1, lease_seconds=60.0) as (one,):
        assert one.process is not None
        mine = await world.client(one.address)
        task = await mine.create()
        request = pb.AwaitTaskRequest(task_id=task.task_id)
        waiting = [asyncio.create_task(mine("AwaitTask", request, pb.AwaitTaskResponse)) for _ in range(3)]
        running = "SELECT 1 FROM runs.agent_runs WHERE status <> 'RUNNING'"
        await until_async(lambda: world.empty(running), "it runs")
        async with mine.watching(task_ids=[task.task_id]) as news:
            await anext(news)
            began = time.monotonic()
            one.process.terminate()
            assert {(await answer).task.status for answer in waiting} == {pb.RUN_STATUS_RUNNING}
            with pytest.raises(Refusal) as refused:
                await drained(news)
            assert refused.value.reason == reasons.ERROR_REASON_UNAVAILABLE
            assert time.monotonic() - began < limits.TASK_STOP_SECONDS
        assert await one.process.wait() == 0
        assert time.monotonic() - began < limits.PROGRAM_STOP_SECONDS
        assert (await world.sql("SELECT status FROM runs.agent_runs"))[0]["status"] == "QUEUED"


async def drained(news: AsyncIterator[pb.WatchTasksResponse]) -> None:
    """Takes what comes."""
    async for _ in news:
        pass
