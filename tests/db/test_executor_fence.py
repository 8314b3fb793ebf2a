"""The fence, the loop and the start: whoever lost the lease does nothing, what fails stops nothing else, and nothing starts half."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kit import actions, db, limits
from services.executor import handlers, verify
from services.executor.lease import Claim, Fenced
from services.executor.run import Loop
from tests.cluster import Loaded
from tests.db.executor_world import World, opened, sweep
from tests.poll import until_async

TASK = {"title": "Draft the answer"}


@pytest.fixture
async def world(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path, own_loaded.matters["soilworks"]) as made:
        yield made


async def test_whoever_lost_the_lease_can_do_nothing_any_more(world: World) -> None:
    made = await world.decided("create_task", TASK)
    old, new = await world.executor("old"), await world.executor("new")
    claim = await old.tools.store.claim(made)
    assert claim is not None
    assert await new.tools.store.claim(made) is None, "the lease still runs"
    row = await old.tools.store.decided(made)
    assert row is not None
    order = verify.order(row, actions.load(), world.key.public_key())
    await world.sql("UPDATE ledger.executions SET lease_until = now()")
    with pytest.raises(Fenced):
        await old.handlers["create_task"].carry_out(order, claim, old.tools)
    with pytest.raises(Fenced):
        await old.tools.store.intend(claim, "create_task")
    later = await new.tools.store.claim(made)
    assert later == Claim(made, "new", claim.fence + 1, claim.attempt + 1)
    for stale in (claim, dataclasses.replace(claim, fence=later.fence), dataclasses.replace(claim, owner="new")):
        with pytest.raises(Fenced):
            await old.handlers["create_task"].carry_out(order, stale, old.tools)
        with pytest.raises(Fenced):
            await old.tools.store.fail(stale, order, "stale")
    assert await world.sql("SELECT 1 FROM record.tasks") == []
    await new.tools.store.intend(later, "create_task")
    await new.handlers["create_task"].carry_out(order, later, new.tools)
    assert (await world.outcome(made))[0] == "done"
    with pytest.raises(Fenced):
        await new.handlers["create_task"].carry_out(order, later, new.tools)
    assert len(await world.sql("SELECT 1 FROM record.tasks")) == 1


async def test_twenty_racing_claims_have_one_winner(world: World) -> None:
    made = await world.decided("create_task", TASK)
    executors = [await world.executor(f"e{n}") for n in range(4)]
    claims = await asyncio.gather(*(e.tools.store.claim(made) for e in executors for _ in range(5)))
    assert len([c for c in claims if c]) == 1


async def test_what_fails_stops_nothing_else(world: World) -> None:
    first = await world.decided("update_deadline", {"deadline_id": str(uuid.uuid4()), "title": "x", "reason": "x"})
    second = await world.decided("create_task", TASK)
    await sweep(await world.executor())
    assert [(await world.outcome(p))[0] for p in (first, second)] == ["failed", "done"]


async def test_more_than_one_look_takes_up_is_taken_up_all_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EXECUTION_SWEEP_MAX", 2)
    made = [await world.decided("create_task", TASK) for _ in range(5)]
    await sweep(await world.executor())
    assert {(await world.outcome(p))[0] for p in made} == {"done"}


async def test_a_long_sentence_is_cut_where_the_limit_is(world: World) -> None:
    made = await world.decided("create_task", TASK)
    store = (await world.executor()).tools.store
    claim = await store.claim(made)
    assert claim is not None
    await store.fail(claim, None, "x" * (limits.EXECUTION_DETAIL_MAX_CHARS + 1))
    assert len(str((await world.outcome(made))[1])) == limits.EXECUTION_DETAIL_MAX_CHARS


async def test_a_decision_wakes_the_loop_and_so_does_a_retry(world: World) -> None:
    loop = Loop(await world.executor(), world.database.dsn("svc_executor"), 600.0)
    loop.start()
    try:
        made = await world.decided("create_task", TASK)

        async def ended() -> bool:
            rows = await world.sql("SELECT outcome FROM ledger.executions WHERE proposal_id = $1 AND outcome IS NOT NULL", made)
            return bool(rows)

        await until_async(ended, "the decision is carried out without waiting for the sweep", 5)
        await loop.alive()
    finally:
        await loop.stop(5)
    with pytest.raises(RuntimeError):
        await loop.alive()


def test_the_start_stops_where_an_action_has_no_handler(tmp_path: Path) -> None:
    folder = tmp_path / "sql"
    shutil.copytree(handlers.SQL, folder)
    (folder / "add_note.sql").unlink()
    with pytest.raises(handlers.NoHandler, match="add_note"):
        handlers.find(actions.load(), folder)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (":title::text", ":titel::text", "titel"),
        (", :assignee::text", ", NULL", "assignee"),
        ("-- target: tasks", "-- tarket: tasks", "target"),
    ],
)
def test_the_start_stops_where_a_statement_does_not_fit_its_action(tmp_path: Path, old: str, new: str, named: str) -> None:
    folder = tmp_path / "sql"
    shutil.copytree(handlers.SQL, folder)
    path = folder / "create_task.sql"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(Exception, match=f"create_task.*{named}"):
        handlers.find(actions.load(), folder)


@pytest.mark.parametrize(("old", "new"), [("record.tasks", "record.tusks"), ("AS done", "AS finished")])
async def test_the_start_stops_where_a_statement_does_not_fit_the_record(world: World, tmp_path: Path, old: str, new: str) -> None:
    folder = tmp_path / "sql"
    shutil.copytree(handlers.SQL, folder)
    path = folder / "create_task.sql"
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    handler = handlers.find(actions.load(), folder)["create_task"]
    with pytest.raises(Exception, match=r"tusks|finished|done"):
        await handler.prepare((await world.executor()).tools.store)


FORBIDDEN = (
    "INSERT INTO ledger.decisions (proposal_id) VALUES (gen_random_uuid())",
    "UPDATE ledger.decisions SET decision = 'approved'",
    "SELECT * FROM ledger.proposals",
    "SELECT * FROM ledger.nonces",
    "INSERT INTO ledger.retries (proposal_id, attempt, requested_by) VALUES (gen_random_uuid(), 1, gen_random_uuid())",
    "DELETE FROM ledger.executions",
    "DELETE FROM record.deadlines",
    "UPDATE record.deadlines SET due_date = '2031-01-01'",
    "UPDATE record.case_fact_records SET posture = 'disputed'",
    "UPDATE record.documents SET privilege_class = 'not_privileged'",
    "INSERT INTO record.documents (id) VALUES (gen_random_uuid())",
    "UPDATE record.provenance SET decision_id = NULL",
    "SELECT * FROM auth.users",
    "SELECT * FROM approvals.sessions",
    "INSERT INTO audit.log SELECT * FROM audit.log",
)


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_the_executors_login_cannot_do_what_is_not_its_duty(shared_database: Any, statement: str) -> None:
    connection = await db.connect_one(shared_database.dsn("svc_executor"))
    try:
        with pytest.raises(db.Error, match="permission denied"):
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_an_execution_sees_and_writes_one_matter_and_none_where_it_names_none(world: World) -> None:
    store = (await world.executor()).tools.store
    claim = await store.claim(await world.decided("create_task", TASK))
    assert claim is not None
    async with store.fenced(claim, world.case_id) as connection:
        assert [r["case_id"] for r in await connection.fetch("SELECT DISTINCT case_id FROM record.deadlines")] == [world.case_id]
    async with store.fenced(claim, None) as connection:
        assert await connection.fetch("SELECT 1 FROM record.matters") == []
