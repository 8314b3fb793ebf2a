"""Cancelling and completing at once: a task ends once, and has a result if and only if it is done."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

import asyncpg
import orjson
import pytest
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb

from kit import db
from kit.errors import Refusal
from kit.server import Call
from tests.cluster import Database
from tests.db.tasks_world import Client, World, at_once, opened

RACES = 2_000
OPEN = ("PENDING", "QUEUED", "RUNNING", "AWAITING_INPUT")
TERMINAL = ("DONE", "FAILED", "ABORTED", "DENIED")


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(database, tmp_path) as made:
        yield made


class Start:
    """Lets the call of one task and whoever wants to cancel it go at the same time."""

    def __init__(self) -> None:
        self._begun: dict[str, asyncio.Event] = {}
        self._go: dict[str, asyncio.Event] = {}

    def place(self, name: str) -> tuple[asyncio.Event, asyncio.Event]:
        """Where the call waits."""
        return self._begun.setdefault(name, asyncio.Event()), self._go.setdefault(name, asyncio.Event())

    async def __call__(self, request: Any, call: Call) -> Message:
        begun, go = self.place(request.from_entity_id)
        begun.set()
        await go.wait()
        return await at_once(request, call)


class Lead:
    """How long the call waits before it goes on, so that neither side wins too often: whoever lost the last race gets a better start."""

    def __init__(self, dice: random.Random) -> None:
        self._dice, self._seconds = dice, 0.01

    def seconds(self) -> float:
        """The next start."""
        return max(0.0, self._seconds + self._dice.uniform(-0.003, 0.003))

    def note(self, won: str) -> None:
        """Who won."""
        self._seconds = max(0.0, self._seconds + (0.001 if won == "RUN_STATUS_DONE" else -0.001))


async def race(mine: Client, start: Start, lead: Lead) -> str:
    """One race; says who won."""
    arguments = mine.arguments()
    begun, go = start.place(arguments["from_entity_id"])
    task = await mine.create(arguments)
    await begun.wait()
    asyncio.get_running_loop().call_later(lead.seconds(), go.set)
    try:
        said = (await mine.cancel(task.task_id)).status
    except Refusal as refusal:
        if refusal.reason != reasons.ERROR_REASON_CONFLICT:
            raise
        said = pb.RUN_STATUS_DONE
    ended = await mine.ended(task.task_id)
    assert ended.task.status == said
    assert ended.outcome.HasField("result" if said == pb.RUN_STATUS_DONE else "error")
    lead.note(pb.RunStatus.Name(said))
    return pb.RunStatus.Name(said)


async def test_of_2000_races_each_has_one_end_and_a_result_if_and_only_if_it_completed(world: World) -> None:
    start, lead = Start(), Lead(random.Random(4))
    world.answer = start
    won: Counter[str] = Counter()
    async with world.instance(slots=32, lease_seconds=15.0):
        clients = [await world.client() for _ in range(8)]
        left = iter(range(RACES))

        async def lane(mine: Client) -> None:
            for _ in left:
                won[await race(mine, start, lead)] += 1

        await asyncio.gather(*(lane(mine) for mine in clients for _ in range(4)))
    rows = await world.sql(
        "SELECT r.status, s.result IS NOT NULL AS has, count(*)::int AS n "
        "FROM runs.agent_runs r JOIN runs.agent_run_steps s ON s.run_id = r.id GROUP BY 1, 2"
    )
    found = {(row["status"], row["has"]): row["n"] for row in rows}
    assert set(found) == {("DONE", True), ("DENIED", False)}
    assert sum(found.values()) == RACES
    assert found["DONE", True] == won["RUN_STATUS_DONE"] > RACES / 20
    assert found["DENIED", False] == won["RUN_STATUS_DENIED"] > RACES / 20


async def a_run(connection: db.Connection[db.Record], status: str) -> uuid.UUID:
    """A stored task that came to a status by transitions that are allowed."""
    made = uuid.uuid4()
    context = orjson.dumps({"mcp_task": {"key_id": str(uuid.uuid4()), "tool": "t", "method": "/a/b"}}).decode()
    await connection.execute(
        "INSERT INTO runs.agent_runs (id, workflow, owner_id, launch_ctx, deadline_at, expires_at) "
        "VALUES ($1, 'mcp_tool_call', $1, $2, now() + interval '1 hour', now() + interval '1 hour')",
        made,
        context,
    )
    await connection.execute(
        "INSERT INTO runs.agent_run_steps (run_id, position, kind, input, input_sha256) VALUES ($1, 1, 'mcp_tool', '', sha256(''))", made
    )
    ways = {"PENDING": (), "QUEUED": ("QUEUED",), "RUNNING": ("RUNNING",), "AWAITING_INPUT": ("RUNNING", "AWAITING_INPUT")}
    for step in ways.get(status, ("RUNNING", status)):
        await move(connection, made, step)
    return made


async def move(connection: db.Connection[db.Record], run_id: uuid.UUID, status: str) -> None:
    """Sets a status, with all that belongs to it."""
    if status == "DONE":
        await connection.execute("UPDATE runs.agent_run_steps SET result = 'r', result_is_error = false WHERE run_id = $1", run_id)
    await connection.execute(
        "UPDATE runs.agent_runs SET status = $2, fence = fence + ($2 = 'RUNNING')::int, "
        "lease_owner = CASE $2 WHEN 'RUNNING' THEN 'me' END, lease_until = CASE $2 WHEN 'RUNNING' THEN now() END WHERE id = $1",
        run_id,
        status,
    )


ALLOWED = {
    "PENDING": {"QUEUED", "RUNNING", "ABORTED", "DENIED"},
    "QUEUED": {"RUNNING", "ABORTED", "DENIED"},
    "RUNNING": {"QUEUED", "AWAITING_INPUT", "DONE", "FAILED", "ABORTED", "DENIED"},
    "AWAITING_INPUT": {"QUEUED", "ABORTED", "DENIED"},
}


async def test_the_store_refuses_every_transition_that_is_not_listed_whoever_asks(shared_database: Database) -> None:
    connection = await db.connect_one(shared_database.admin_dsn)
    for before in (*OPEN, *TERMINAL):
        for after in (*OPEN, *TERMINAL):
            if before == after:
                continue
            async with Attempt(connection) as attempt:
                await move(connection, await a_run(connection, before), after)
            assert attempt.refused is (after not in ALLOWED.get(before, ())), (before, after)
    await connection.close()


class Attempt:
    """A transaction that may be refused, and is undone."""

    def __init__(self, connection: db.Connection[db.Record]) -> None:
        self._connection, self.refused = connection, False

    async def __aenter__(self) -> Self:
        await self._connection.execute("BEGIN")
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if error is None:
            try:
                await self._connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            except asyncpg.PostgresError as late:
                error = late
        await self._connection.execute("ROLLBACK")
        self.refused = error is not None
        return isinstance(error, asyncpg.PostgresError) or error is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs.agent_runs SET launch_ctx = '{}' WHERE id = $1",
        "UPDATE runs.agent_runs SET launch_ctx = jsonb_set(launch_ctx, '{mcp_task,key_id}', to_jsonb(owner_id)) WHERE id = $1",
        "UPDATE runs.agent_runs SET owner_id = gen_random_uuid() WHERE id = $1",
        "UPDATE runs.agent_runs SET expires_at = expires_at + interval '1 day' WHERE id = $1",
        "UPDATE runs.agent_runs SET fence = fence - 1 WHERE id = $1",
        "UPDATE runs.agent_runs SET status = 'DONE', lease_owner = NULL, lease_until = NULL WHERE id = $1",
        "UPDATE runs.agent_runs SET lease_owner = NULL WHERE id = $1",
        "UPDATE runs.agent_run_steps SET result = 'r', result_is_error = false WHERE run_id = $1",
        "UPDATE runs.agent_run_steps SET result = 'r' WHERE run_id = $1",
        "UPDATE runs.agent_run_steps SET input = 'other' WHERE run_id = $1",
        "UPDATE runs.agent_run_steps SET progress = -1 WHERE run_id = $1",
    ],
)
async def test_what_a_running_task_is_and_its_result_cannot_be_set_at_will(shared_database: Database, statement: str) -> None:
    connection = await db.connect_one(shared_database.admin_dsn)
    async with Attempt(connection) as attempt:
        run_id = await a_run(connection, "RUNNING")
        await connection.execute("UPDATE runs.agent_run_steps SET progress = 1 WHERE run_id = $1", run_id)
        await connection.execute(statement, run_id)
    assert attempt.refused
    await connection.close()


@pytest.mark.parametrize("status", TERMINAL)
async def test_of_an_ended_task_nothing_changes(shared_database: Database, status: str) -> None:
    connection = await db.connect_one(shared_database.admin_dsn)
    for statement in (
        "UPDATE runs.agent_runs SET status_message = 'other' WHERE id = $1",
        "UPDATE runs.agent_run_steps SET result = 'other', result_is_error = true WHERE run_id = $1",
        "UPDATE runs.agent_run_steps SET result = NULL, result_is_error = NULL WHERE run_id = $1 AND result IS NOT NULL RETURNING 1/0",
    ):
        async with Attempt(connection) as attempt:
            await connection.execute(statement, await a_run(connection, status))
        assert attempt.refused or (status != "DONE" and "NULL" in statement)
    await connection.close()
