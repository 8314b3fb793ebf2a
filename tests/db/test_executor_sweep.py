"""A look at what waits costs what is unfinished, not all that was ever decided."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kit import db, limits
from kit.db import arguments, load_statements
from services.executor.run import Loop
from services.executor.store import QUERIES
from tests.cluster import Loaded
from tests.db.executor_world import World, opened, sweep
from tests.poll import until_async

TASK = {"title": "Draft the answer"}
DECIDED = 5_000
# What was decided and carried out long ago; the signatures do not matter, since nobody looks.
FILL = """
WITH made AS (
  INSERT INTO ledger.proposals
    (id, key_id, owner_id, case_id, action, args, args_digest, what_will_happen, reason, overrides_ignored, expires_at)
  SELECT gen_random_uuid(), gen_random_uuid(), $1, $2, 'create_task', '{}', sha256('{}'), 'x', 'x', '{}', now() + interval '7 days'
    FROM generate_series(1, $3::int)
  RETURNING id, args_digest
), decided AS (
  INSERT INTO ledger.decisions (proposal_id, args_digest, decision, decided_by, decided_at, shown_sha256, signature)
  SELECT id, args_digest, 'approved', $1, now(), sha256(''), '' FROM made RETURNING proposal_id
)
INSERT INTO ledger.executions (proposal_id, fence, lease_owner, lease_until, intent, intent_at, outcome, finished_at)
SELECT proposal_id, 1, 'x', now(), 'x', now(), 'done', now() FROM decided
"""


@pytest.fixture
async def world(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path, own_loaded.matters["soilworks"]) as made:
        yield made


async def fill(world: World) -> None:
    """A ledger with a past."""
    admin = await db.connect_one(world.database.admin_dsn)
    await admin.execute("SET session_replication_role = replica")
    await admin.execute(FILL, world.person_id, world.case_id, DECIDED)
    await admin.execute("DELETE FROM ledger.unfinished")  # each of them was, once
    await admin.execute("ANALYZE ledger.proposals, ledger.decisions, ledger.executions")
    await admin.close()


def touched(plan: Any) -> int:
    """Rows that the nodes of a plan read from a table or an index, those that were thrown away included."""
    own = 0
    if "Relation Name" in plan:
        own = plan["Actual Loops"] * (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0))
    return int(own) + sum(touched(p) for p in plan.get("Plans", ()))


async def cost(world: World, name: str) -> int:
    """How many rows a statement of the executor touches, as its role."""
    statement = load_statements(QUERIES)[name]
    connection = await db.connect_one(world.database.dsn("svc_executor"))
    try:
        explained = await connection.fetchval(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {statement.sql}", *arguments(statement, {"limit": limits.EXECUTION_SWEEP_MAX})
        )
    finally:
        await connection.close()
    return touched(json.loads(explained)[0]["Plan"])


@pytest.mark.parametrize("name", ["waiting", "mismatched"])
async def test_a_look_touches_a_few_rows_for_each_unfinished_decision_whatever_was_decided_before(world: World, name: str) -> None:
    await fill(world)
    assert await cost(world, name) == 0
    for _ in range(3):
        await world.decided("create_task", TASK)
    assert 3 <= await cost(world, name) <= 3 * 6
    assert await cost(world, f"{name}_of_all") >= DECIDED  # what is measured here does see a whole table


async def test_what_is_carried_out_is_off_the_list_and_what_shall_be_tried_again_is_on_it(world: World) -> None:
    refused = {"title": "For nothing", "deadline_id": str(uuid.uuid4())}
    made = await world.decided("create_task", TASK)
    failed = await world.decided("create_task", refused)
    await sweep(await world.executor())
    assert (await world.outcome(made))[0] == "done"
    assert await world.sql("SELECT * FROM ledger.unfinished") == []
    await world.retry(failed)
    assert [r["proposal_id"] for r in await world.sql("SELECT * FROM ledger.unfinished")] == [failed]
    await sweep(await world.executor())
    assert (await world.one("SELECT attempts FROM ledger.executions WHERE proposal_id = $1", failed))["attempts"] == 2
    assert await world.sql("SELECT * FROM ledger.unfinished") == []


async def test_a_program_that_starts_finds_what_the_list_has_lost(world: World) -> None:
    made = await world.decided("create_task", TASK)
    await world.sql("DELETE FROM ledger.unfinished")
    executor = await world.executor()
    await sweep(executor)
    assert await world.sql("SELECT 1 FROM ledger.executions") == []
    loop = Loop(executor, world.database.dsn("svc_executor"), 0.05)
    loop.start()

    async def done() -> bool:
        return await world.sql("SELECT 1 FROM ledger.executions WHERE outcome = 'done' AND proposal_id = $1", made) != []

    assert await until_async(done, "it is carried out", 10)
    await loop.stop(5)
