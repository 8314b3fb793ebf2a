"""What the executor does not carry out: forgeries, decisions of people who may no longer act, and anything from behind a fence."""

from __future__ import annotations

import logging
import socket
import uuid
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kit import config, db
from kit.canonical import canonical
from services.executor import verify
from services.executor.people import GONE, NOT_THEIRS
from services.executor.run import FORGED
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


@pytest.mark.parametrize(("column", "value"), [("action", "create_task"), ("case_id", "other")])
async def test_the_same_arguments_in_another_matter_or_for_another_action_are_another_act(
    world: World, caplog: pytest.LogCaptureFixture, column: str, value: str
) -> None:
    made = await world.decided("create_deadline", DEADLINE)
    wanted = (
        await world.sql("SELECT case_id AS id FROM record.matters WHERE case_id <> $1 LIMIT 1", world.case_id)
        if value == "other"
        else [{"id": value}]
    )
    await as_superuser(world, f"UPDATE ledger.proposals SET {column} = $1", wanted[0]["id"])
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
