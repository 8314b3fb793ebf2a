"""Workers, the database and the services behind are killed under load: no task is stuck, no result is lost, and none differs."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from google.protobuf.message import Message
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import catalogue, limits, results
from kit.errors import Refusal
from kit.server import Call
from tests.cluster import Cluster, Database, cluster
from tests.db.tasks_processes import Instance
from tests.db.tasks_processes import instances as running
from tests.db.tasks_world import TOOL, Client, Gate, World, at_once, opened

TASKS = 300
LANES = 6
KILLS = 15


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A server that this test may kill."""
    with cluster(tmp_path / "pg") as made:
        yield made


@pytest.fixture
def own_database(own_cluster: Cluster) -> Iterator[Database]:
    """A database of it."""
    with own_cluster.copy() as made:
        yield made


@dataclass
class Load:
    """Clients that begin tasks and look at what becomes of them, through whatever happens."""

    clients: list[list[Client]]  # by lane, one to each instance
    made: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    seen: dict[str, set[bytes]] = field(default_factory=dict)

    async def lane(self, number: int, left: Iterator[int], dice: random.Random) -> None:
        """One client after the other task."""
        for _ in left:
            arguments = self.clients[number][0].arguments()
            task = await self.persistently(number, dice, lambda c, a=arguments: c.create(a))
            self.made[task.task_id] = (number, arguments)
            if dice.random() < 0.5:
                await self.look(task.task_id, dice)

    async def look(self, task_id: str, dice: random.Random) -> pb.AwaitTaskResponse:
        """How a task ended, as somebody sees it who waits for it."""
        number, _ = self.made[task_id]
        answer = await self.persistently(number, dice, lambda c: c.ended(task_id))
        self.seen.setdefault(task_id, set()).add(bytes(answer.outcome.result))
        return answer  # type: ignore[no-any-return]

    async def persistently(self, number: int, dice: random.Random, ask: Any) -> Any:
        """Asks until there is an answer; what is not there for now is the only refusal."""
        while True:
            try:
                return await ask(dice.choice(self.clients[number]))
            except Refusal as refusal:
                self.refused[refusal.code.name] += 1
                if refusal.code.name != "UNAVAILABLE":
                    raise
                await asyncio.sleep(0.05)


async def slowly(request: Any, call: Call) -> Message:
    """The usual answer, after a moment."""
    await asyncio.sleep(0.02 + (hash(request.from_entity_id) % 50) / 500)
    return await at_once(request, call)


async def kill_things(instances: list[Instance], pg: Cluster, dice: random.Random) -> Counter[str]:
    """Kills one thing after the other, and starts it again."""
    killed: Counter[str] = Counter()
    for turn in range(KILLS):
        await asyncio.sleep(dice.uniform(0.3, 0.8))
        if turn % 5 == 2:
            pid = pg.pg.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            while pg.pg.running:
                await asyncio.sleep(0.01)
            await pg.pg.start()
            killed["postgres"] += 1
        else:
            one = dice.choice(instances)
            await one.kill()
            await one.start()
            killed["tasks"] += 1
    return killed


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_kill_9_of_workers_and_of_the_database_under_load_loses_nothing(
    own_cluster: Cluster, own_database: Database, tmp_path: Path
) -> None:
    dice = random.Random(9)
    async with opened(own_database, tmp_path / "pki") as world, running(world, tmp_path, 2) as instances:
        world.answer = slowly
        clients = []
        for _ in range(LANES):
            first = await world.client(instances[0].address)
            clients.append([first, Client(first.api_key, first.key_id, world.link(instances[1].address), world.case_id)])
        load, over = Load(clients), asyncio.Event()

        def more() -> Iterator[int]:
            while not over.is_set() or len(load.made) < TASKS:
                yield len(load.made)

        lanes = [asyncio.create_task(load.lane(number, more(), random.Random(number))) for number in range(LANES)]
        killed = await kill_things(instances, own_cluster, dice)
        over.set()
        await asyncio.gather(*lanes)
        await check(world, load, killed)


async def check(world: World, load: Load, killed: Counter[str]) -> None:
    """Every task that was acknowledged has its one right result, whoever asks for it."""
    tool, dice = catalogue.load().by_name[TOOL], random.Random(0)
    assert killed == {"tasks": 12, "postgres": 3}
    assert len(load.made) >= TASKS
    for task_id, (_, arguments) in load.made.items():
        answer = await load.look(task_id, dice)
        assert answer.task.status == pb.RUN_STATUS_DONE, (answer.task.status, answer.task.status_message)
        expected = await at_once(tool.request_class(**arguments), Call("", None))
        assert load.seen[task_id] == {orjson.dumps(results.answered(orjson.dumps(tool.encode(expected))))}
    rows = await world.sql("SELECT status, max(attempts) AS attempts, count(*)::int AS n FROM runs.agent_runs GROUP BY 1")
    assert {row["status"] for row in rows} == {"DONE"}
    # What was stored and not acknowledged, because the word of it was lost, ended as well.
    assert sum(row["n"] for row in rows) >= len(load.made)
    assert max(row["attempts"] for row in rows) > 1
    print(f"{len(load.made)} tasks, killed {dict(killed)}, refused meanwhile {dict(load.refused)}")


async def test_a_stopped_worker_gives_back_what_it_has_in_hand_and_another_takes_it_up_at_once(database: Database, tmp_path: Path) -> None:
    gate = Gate()
    async with opened(database, tmp_path) as world:
        world.answer = gate
        async with world.instance(lease_seconds=60.0):
            mine = await world.client()
            task = await mine.create()
            async with asyncio.timeout(10):
                await gate.begun.acquire()
        world.answer = at_once
        async with world.instance(lease_seconds=60.0):
            again = Client(mine.api_key, mine.key_id, world.link(world.addresses[-1]), world.case_id)
            assert (await again.ended(task.task_id, 10)).task.status == pb.RUN_STATUS_DONE
        (row,) = await world.sql("SELECT attempts FROM runs.agent_runs")
        assert row["attempts"] == 1  # what was given back was no failure


async def test_a_worker_that_dies_too_often_over_a_task_takes_it_no_more_and_what_is_no_read_is_not_repeated(
    database: Database, tmp_path: Path
) -> None:
    async with opened(database, tmp_path) as world:
        async with world.instance(worker=False):
            mine = await world.client()
            tasks = [(await mine.create()).task_id for _ in range(3)]
        dead = (
            "UPDATE runs.agent_runs SET status = 'RUNNING', fence = 1, attempts = $2, lease_owner = 'gone', lease_until = now() "
            "WHERE id = $1::text::uuid"
        )
        for task_id, attempts in zip(tasks, (limits.TASK_ATTEMPTS_MAX, 1, 1), strict=True):
            await world.sql(dead, task_id, attempts)
        # A task of a tool that changes something: the same row, begun with another word.
        await world.sql("ALTER TABLE runs.agent_runs DISABLE TRIGGER guard")
        await world.sql(
            "UPDATE runs.agent_runs SET launch_ctx = jsonb_set(launch_ctx, '{mcp_task,read_only}', 'false') WHERE id = $1::text::uuid",
            tasks[1],
        )
        await world.sql("ALTER TABLE runs.agent_runs ENABLE TRIGGER guard")
        async with world.instance():
            again = Client(mine.api_key, mine.key_id, world.link(world.addresses[-1]), world.case_id)
            ended = [(await again.ended(task_id, 10)).task for task_id in tasks]
    assert [t.status for t in ended] == [pb.RUN_STATUS_ABORTED, pb.RUN_STATUS_ABORTED, pb.RUN_STATUS_DONE]
    assert ended[0].status_message == ended[1].status_message == "The worker that had it is gone."


async def test_connections_that_are_cut_while_tasks_run_end_none_of_them(database: Database, tmp_path: Path) -> None:
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'svc_tasks' AND datname = current_database()"
    async with opened(database, tmp_path) as world, world.instance():
        clients = [[await world.client()] for _ in range(4)]
        load = Load(clients)
        lanes = [asyncio.create_task(load.lane(n, iter(range(12)), random.Random(n))) for n in range(4)]
        cuts = 0
        while not all(lane.done() for lane in lanes):
            cuts += len(await world.sql(cut))
            await asyncio.wait(lanes, timeout=0.3)
        await asyncio.gather(*lanes)
        assert cuts > 8
        for task_id in load.made:
            assert (await load.look(task_id, random.Random(0))).task.status == pb.RUN_STATUS_DONE


async def test_a_claim_that_its_worker_never_heard_of_runs_out_although_the_worker_lives(database: Database, tmp_path: Path) -> None:
    gate = Gate()
    async with opened(database, tmp_path) as world:
        async with world.instance(worker=False):
            mine = await world.client()
            lost, other = (await mine.create()).task_id, (await mine.create()).task_id
        claimed = (
            "UPDATE runs.agent_runs SET status = 'RUNNING', fence = 1, attempts = 1, lease_owner = 'here', "
            "lease_until = now() + interval '1 second' WHERE id = $1::text::uuid"
        )
        await world.sql(claimed, lost)
        world.answer = gate
        async with world.instance(owner="here"):
            async with asyncio.timeout(10):
                for _ in (lost, other):  # both run at last, one beside the other
                    await gate.begun.acquire()
            gate.open.set()
            again = Client(mine.api_key, mine.key_id, world.link(world.addresses[-1]), world.case_id)
            assert [(await again.ended(i, 10)).task.status for i in (lost, other)] == [pb.RUN_STATUS_DONE] * 2


async def test_services_that_are_started_again_lose_no_task(database: Database, tmp_path: Path) -> None:
    async with opened(database, tmp_path) as world, world.instance(retry_seconds=0.3) as here:
        mine = await world.client()
        down = asyncio.Event()

        async def away(request: Any, call: Call) -> Message:
            if not down.is_set():
                down.set()
                await asyncio.sleep(60)
            return await at_once(request, call)

        world.answer = away
        task = await mine.create()
        async with asyncio.timeout(10):
            await down.wait()
        assert world.restart_reads is not None
        await world.restart_reads()
        assert (await mine.ended(task.task_id, 20)).task.status == pb.RUN_STATUS_DONE
        assert here.worker.running == 0
