"""What the executor does not carry out: forgeries, decisions of people who may no longer act, and anything from behind a fence."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import shutil
import socket
import uuid
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kit import actions, config, db, decisions, limits
from kit.canonical import canonical
from services.executor import handlers, verify
from services.executor.lease import Claim, Fenced
from services.executor.people import GONE, NOT_THEIRS
from services.executor.run import FORGED, Loop
from tests.cluster import Loaded
from tests.db.executor_world import World, opened, sweep
from tests.poll import until_async

DEADLINE = {"title": "Answer due", "due_date": "2027-08-14"}
TASK = {"title": "Draft the answer"}
OTHER = canonical({"due_date": "2031-01-01", "title": "Answer due"})


@pytest.fixture
async def world(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path, own_loaded.matters["soilworks"]) as made:
        yield made


async def as_superuser(world: World, statement: str, *values: Any) -> None:
    """With every trigger and foreign key off, as only a superuser can."""
    admin = await db.connect_one(world.database.admin_dsn)
    try:
        await admin.execute("SET session_replication_role = replica")
        await admin.execute(statement, *values)
    finally:
        await admin.close()


async def nothing_happened(world: World) -> None:
    assert await world.sql("SELECT id FROM record.deadlines WHERE title = 'Answer due' AND recorded_by LIKE 'decision:%'") == []
    assert await world.sql("SELECT id FROM record.tasks") == []


async def refused(world: World, proposal_id: uuid.UUID, sentence: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not executed, and reported: to the log, to whoever approved it, and to the chain."""
    with caplog.at_level(logging.WARNING):
        await sweep(await world.executor())
    await nothing_happened(world)
    assert await world.outcome(proposal_id) == ("failed", sentence)
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.CRITICAL] == ["decision refused"]
    assert len(await world.sql("SELECT 1 FROM audit.log WHERE actor = 'executor' AND outcome = 'failed'")) == 1


async def test_a_row_that_says_approved_with_a_signature_of_nobody_executes_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    made = await world.propose("create_deadline", DEADLINE)
    digest = (await world.one("SELECT args_digest FROM ledger.proposals"))["args_digest"]
    statement = (
        "INSERT INTO ledger.decisions (proposal_id, args_digest, decision, decided_by, decided_at, shown_sha256, step_up, signature) "
        "VALUES ($1, $2, 'approved', $3, now(), $4, 'totp', $5)"
    )
    await as_superuser(world, statement, made, digest, world.person_id, bytes(32), bytes(64))
    await refused(world, made, verify.UNSIGNED, caplog)


async def test_a_decision_signed_with_another_key_executes_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.key, right = Ed25519PrivateKey.generate(), world.key
    made = await world.decided("create_deadline", DEADLINE)
    world.key = right
    await refused(world, made, verify.UNSIGNED, caplog)


async def test_a_decline_turned_into_an_approval_executes_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    made = await world.propose("create_deadline", DEADLINE)
    await world.approve(made, decision="declined", reason="No.")
    await as_superuser(world, "UPDATE ledger.decisions SET decision = 'approved'")
    await refused(world, made, verify.UNSIGNED, caplog)


async def test_arguments_changed_with_their_digest_execute_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    made = await world.decided("create_deadline", DEADLINE)
    await as_superuser(world, "UPDATE ledger.proposals SET args = $1, args_digest = sha256($1)", OTHER)
    await as_superuser(world, "UPDATE ledger.decisions SET args_digest = sha256($1)", OTHER)
    await refused(world, made, verify.UNSIGNED, caplog)


async def test_arguments_changed_under_a_decision_are_found_and_reported_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    made = await world.decided("create_deadline", DEADLINE)
    await as_superuser(world, "UPDATE ledger.proposals SET args = $1, args_digest = sha256($1)", OTHER)
    await refused(world, made, FORGED, caplog)
    await sweep(await world.executor("two"))
    assert len(await world.sql("SELECT 1 FROM audit.log WHERE actor = 'executor'")) == 1


async def test_arguments_changed_under_a_digest_that_nobody_checks_any_more_execute_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    made = await world.decided("create_deadline", DEADLINE)
    await world.sql("ALTER TABLE ledger.proposals DROP CONSTRAINT proposals_check")
    await as_superuser(world, "UPDATE ledger.proposals SET args = $1", OTHER)
    await refused(world, made, verify.CHANGED, caplog)


async def test_a_decision_moved_to_another_proposal_executes_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await world.approve(await world.propose("create_deadline", DEADLINE), decision="declined", reason="No.")
    other = await world.propose("create_deadline", DEADLINE)
    await as_superuser(world, "UPDATE ledger.decisions SET proposal_id = $1, decision = 'approved'", other)
    await refused(world, other, verify.UNSIGNED, caplog)


async def test_stored_arguments_that_the_declaration_does_not_take_execute_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    made = await world.propose("create_task", TASK)
    raw = b'{"title":"Draft the answer","override":true}'
    await as_superuser(world, "UPDATE ledger.proposals SET args = $1, args_digest = $2", raw, sha256(raw).digest())
    await world.approve(made)
    await refused(world, made, verify.UNFIT, caplog)


@pytest.mark.parametrize(("missing", "sentence"), [("nonce_hash", verify.UNCONFIRMED), ("step_up", verify.NOT_SHOWN_AGAIN)])
async def test_an_approval_without_its_confirmation_executes_nothing(
    world: World, caplog: pytest.LogCaptureFixture, missing: str, sentence: str
) -> None:
    made = await world.approve(await world.propose("create_deadline", DEADLINE), **{missing: None})
    await refused(world, made, sentence, caplog)


async def test_a_screen_raised_between_decision_and_dispatch_stops_it_and_a_retry_asks_again(world: World) -> None:
    made = await world.decided("create_deadline", DEADLINE)
    await world.sql(
        "INSERT INTO auth.ethical_screens (id, user_id, case_id, reason) VALUES (gen_random_uuid(), $1, $2, 'Adverse')",
        world.person_id,
        world.case_id,
    )
    executor = await world.executor()
    await sweep(executor)
    await nothing_happened(world)
    assert await world.outcome(made) == ("failed", NOT_THEIRS)
    await world.retry(made)
    await sweep(executor)
    assert await world.outcome(made) == ("failed", NOT_THEIRS)
    await world.sql("UPDATE auth.ethical_screens SET lifted_at = now()")
    await sweep(executor)
    assert await world.outcome(made) == ("failed", NOT_THEIRS), "nobody asked"
    await world.retry(made)
    await sweep(executor)
    assert (await world.outcome(made))[0] == "done"
    assert len(await world.sql("SELECT 1 FROM record.deadlines WHERE title = 'Answer due' AND due_date = '2027-08-14'")) == 1


async def test_a_person_who_is_unknown_decides_nothing(world: World) -> None:
    made = await world.approve(await world.propose("create_task", TASK), decided_by=str(uuid.uuid4()))
    await sweep(await world.executor())
    await nothing_happened(world)
    assert await world.outcome(made) == ("failed", GONE)


async def test_while_auth_does_not_answer_nothing_is_done_and_nothing_is_lost(world: World) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        silent = await world.executor("one", auth=config.Peer(f"127.0.0.1:{nobody.getsockname()[1]}"))
        made = await world.decided("create_task", TASK)
        await silent.carry_out(made)
    await nothing_happened(world)
    assert await world.outcome(made) == (None, None)
    speaking = await world.executor("two")

    async def ended() -> bool:
        await sweep(speaking)
        return (await world.outcome(made))[0] == "done"

    await until_async(ended, "the decision is carried out once auth answers")


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
    await nothing_happened(world)
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


def test_a_signature_covers_every_field_of_a_decision() -> None:
    names = {f.name for f in dataclasses.fields(decisions.Decision)}
    assert names >= {
        "proposal_id",
        "args_digest",
        "decision",
        "decided_by",
        "decided_at",
        "shown_sha256",
        "nonce_hash",
        "step_up",
        "reason",
    }
