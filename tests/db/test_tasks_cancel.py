"""Cancelling a task whose read is running: the statement in PostgreSQL is cancelled too, and whoever ran it goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import catalogue, db
from kit.clock import system_clock
from services.reads.__main__ import handlers
from services.reads.engine import Engine
from tests.cluster import Loaded
from tests.db.reads_world import thinks
from tests.db.tasks_world import World, opened
from tests.poll import until_async

ENDS = {"from_entity_id": "0c48907b-c0ef-5822-9ca3-08132dd0127e", "to_entity_id": "abb61ead-9321-5955-a01f-6db1f603e8ea"}
RUNNING = """
SELECT pid FROM pg_stat_activity
 WHERE usename = 'svc_reads' AND datname = current_database() AND state = 'active' AND wait_event_type = 'Lock' AND query LIKE '%kg_paths%'
"""
OURS = "SELECT state FROM pg_stat_activity WHERE usename = 'svc_reads' AND datname = current_database()"
GONE_SECONDS = 2.0  # well below the statement's own timeout


@pytest.fixture
async def world(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    """The real reads, over a matter, behind the real tasks."""
    pool = await db.connect(own_loaded.database.dsn("svc_reads"), 2)
    services = await handlers(Engine(pool, system_clock), catalogue.load(), thinks())
    async with opened(own_loaded.database, tmp_path, services=services) as made:
        made.case_id = own_loaded.matters["mclean"]
        yield made
    await pool.close()


async def test_a_cancelled_task_takes_its_statement_with_it_in_postgresql(world: World) -> None:
    async with world.instance(lease_seconds=60.0) as here:  # told, and not found out by a heartbeat
        mine = await world.client()
        admin = await db.connect_one(world.database.admin_dsn)
        await admin.execute("BEGIN; LOCK TABLE record.kg_relationships IN ACCESS EXCLUSIVE MODE")
        task = await mine.create(mine.arguments(**ENDS))

        async def running() -> bool:
            return bool(await world.sql(RUNNING))

        await until_async(running, "the statement runs")
        began = time.monotonic()
        assert (await mine.cancel(task.task_id)).status == pb.RUN_STATUS_DENIED

        async def gone() -> bool:
            return not await running()

        await until_async(gone, "the statement is gone", GONE_SECONDS)
        assert time.monotonic() - began < GONE_SECONDS
        await until_async(lambda: asyncio.sleep(0, here.worker.running == 0), "the worker let go")
        # Locks, transactions and connections are as they were: the same read works at once.
        await admin.execute("ROLLBACK")
        await admin.close()
        again = await mine.ended((await mine.create(mine.arguments(**ENDS))).task_id)
        assert again.task.status == pb.RUN_STATUS_DONE
        assert b"Paul Ellwanger" in again.outcome.result
        assert {row["state"] for row in await world.sql(OURS)} == {"idle"}


async def test_a_read_whose_worker_is_told_to_stop_is_cancelled_in_postgresql_and_taken_up_again(world: World) -> None:
    admin = await db.connect_one(world.database.admin_dsn)
    await admin.execute("BEGIN; LOCK TABLE record.kg_relationships IN ACCESS EXCLUSIVE MODE")

    async def running() -> bool:
        return bool(await world.sql(RUNNING))

    async with world.instance():
        mine = await world.client()
        task = await mine.create(mine.arguments(**ENDS))
        await until_async(running, "the statement runs")
    assert not await running()
    await admin.execute("ROLLBACK")
    await admin.close()
    async with world.instance():
        again = await world.sql("SELECT status FROM runs.agent_runs")
        assert [row["status"] for row in again] != ["DENIED"]
        waiting = world.link(world.addresses[-1])
        ended = await type(mine)(mine.api_key, mine.key_id, waiting, mine.case_id).ended(task.task_id)
    assert ended.task.status == pb.RUN_STATUS_DONE
