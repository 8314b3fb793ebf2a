"""Two executors, one of which is killed at each point between claim and outcome: nothing is done twice and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from kit import db
from ops.files import write_private
from ops.layout import ROOT
from ops.process import python_environ
from tests.cluster import Loaded
from tests.db.executor_world import World, opened
from tests.poll import until_async

STOPS = (
    "in the claim",
    "after the claim",
    "after the intent",
    "after the effect",
    "before the outcome",
    "after the outcome",
    "in the commit",
)
RUNS = 105
LANES = 3
BLOCKED = """
SELECT a.client_port FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'advisory' AND l.classid = 4242 AND l.objid = $1 AND l.objsubid = 2 AND NOT l.granted
"""
CONFIG = """
[server]
listen = "127.0.0.1:0"
[tls]
ca_file = "{folder}/ca.pem"
cert_file = "{folder}/executor.pem"
key_file = "{folder}/executor.key"
[database]
dsn_file = "{dsn}"
pool_size = 2
[auth]
address = "{auth}"
[decision]
public_key_file = "{folder}/decision.pub"
[smtp]
host = "127.0.0.1"
port = {smtp}
security = "none"
sender = "holds@firm.example"
[execution]
lease_seconds = 0.4
sweep_seconds = 0.1
"""


def holder(port: int, pids: set[int]) -> int | None:
    """Which of these processes has the local TCP port."""
    lines = Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    inodes = {f"socket:[{f[9]}]" for f in (line.split() for line in lines) if int(f[1].partition(":")[2], 16) == port}
    for pid in pids:
        try:
            if any(str(entry.readlink()) in inodes for entry in Path(f"/proc/{pid}/fd").iterdir()):
                return pid
        except OSError:
            continue
    return None


@dataclass
class Fleet:
    """The executors that run."""

    nursery: asyncio.subprocess.Process
    alive: set[int] = field(default_factory=set)
    killed: int = 0
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def start(self) -> None:
        """One more."""
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        async with self._asking:
            self.nursery.stdin.write(b"\n")
            self.alive.add(int(await self.nursery.stdout.readline()))

    async def kill(self, pid: int) -> None:
        """One less, and another in its place."""
        self.alive.discard(pid)
        os.kill(pid, signal.SIGKILL)
        self.killed += 1
        await self.start()


@asynccontextmanager
async def fleet(world: World, folder: Path, smtp_port: int = 9) -> AsyncIterator[Fleet]:
    (folder / "decision.pub").write_text(world.key.public_key().public_bytes_raw().hex(), "utf-8")
    path = folder / "executor.toml"
    write_private(path, CONFIG.format(folder=folder, dsn=world.database.dsn_file("svc_executor"), auth=world.auth.address, smtp=smtp_port))
    pipe = asyncio.subprocess.PIPE
    with (folder / "executor.log").open("wb") as log:
        nursery = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.db.executor_nursery",
            str(path),
            stdin=pipe,
            stdout=pipe,
            stderr=log,
            cwd=ROOT,
            env=python_environ(),
        )
        made = Fleet(nursery)
        try:
            await made.start()
            await made.start()
            yield made
        finally:
            for pid in made.alive:
                os.kill(pid, signal.SIGKILL)
            assert nursery.stdin is not None
            nursery.stdin.close()
            await nursery.wait()


async def lane(world: World, ships: Fleet, admin: db.Database, number: int, stops: list[str]) -> list[uuid.UUID]:
    """Kills whoever reaches each of these stops, one decision after the other, and waits until somebody else has carried it out."""
    gate = await db.connect_one(world.database.admin_dsn)
    made = []
    try:
        for stop in stops:
            await gate.execute("SELECT pg_advisory_lock(4242, $1)", number)
            proposal_id = await world.propose("create_task", {"title": f"Killed {stop}"})
            await gate.execute("INSERT INTO stops.armed VALUES ($1, $2, $3)", proposal_id, stop, number)
            await world.approve(proposal_id)

            async def caught() -> int | None:
                async with admin.connection() as connection:
                    port = await connection.fetchval(BLOCKED, number)
                return holder(port, ships.alive) if port else None

            pid = await until_async(caught, f"somebody is held {stop}", 15)
            assert pid is not None
            await ships.kill(pid)
            await gate.execute("DELETE FROM stops.armed WHERE proposal_id = $1", proposal_id)
            await gate.execute("SELECT pg_advisory_unlock(4242, $1)", number)

            async def ended(sought: uuid.UUID = proposal_id) -> bool:
                return bool(await gate.fetchval("SELECT outcome FROM ledger.executions WHERE proposal_id = $1", sought))

            await until_async(ended, f"what was killed {stop} is carried out", 15)
            made.append(proposal_id)
    finally:
        await gate.close()
    return made


@pytest.fixture
async def world(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path, own_loaded.matters["soilworks"]) as made:
        yield made


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_killed_at_every_point_nothing_is_done_twice_and_nothing_is_lost(world: World, tmp_path: Path) -> None:
    admin = await db.connect(world.database.admin_dsn, LANES)
    async with admin.connection() as connection:
        await connection.execute((Path(__file__).parent / "executor_stops.sql").read_text("utf-8"))
    plan = [STOPS[n % len(STOPS)] for n in range(RUNS)]
    try:
        async with fleet(world, tmp_path) as ships:
            made = [p for lot in await asyncio.gather(*(lane(world, ships, admin, n, plan[n::LANES]) for n in range(LANES))) for p in lot]
            killed = ships.killed
    finally:
        await admin.close()
    rows = await world.sql("SELECT recorded_by FROM record.tasks")
    effects = Counter(r["recorded_by"] for r in rows)
    assert (killed, len(made)) == (RUNS, RUNS)
    assert {p: effects[f"decision:{p}"] for p in made if effects[f"decision:{p}"] != 1} == {}, "done twice, or lost"
    outcomes = await world.sql("SELECT outcome, count(*) AS many FROM ledger.executions GROUP BY outcome")
    assert [(r["outcome"], r["many"]) for r in outcomes] == [("done", RUNS)]
    accounts = await world.sql("SELECT outcome, count(*) AS many FROM audit.log WHERE actor = 'executor' GROUP BY outcome")
    assert [(r["outcome"], r["many"]) for r in accounts] == [("done", RUNS)]
    fences = await world.sql("SELECT count(*) AS many FROM ledger.executions WHERE fence > 1")
    assert fences[0]["many"] >= RUNS * 4 // len(STOPS), "somebody else went on after most of the kills"


class Stuck:
    """A mail server that takes a text and never answers."""

    def __init__(self) -> None:
        self.texts = 0
        self.reached, self.over = asyncio.Event(), asyncio.Event()

    async def handle_DATA(self, _server: SMTP, _session: Session, _envelope: Envelope) -> str:  # noqa: N802
        self.texts += 1
        self.reached.set()
        await self.over.wait()
        return "451 too late"


async def test_a_sender_killed_in_the_middle_of_a_message_leaves_it_unknown_and_nobody_repeats_it(world: World, tmp_path: Path) -> None:
    mail = Stuck()
    serving = await asyncio.get_running_loop().create_server(lambda: SMTP(mail), "127.0.0.1", 0)
    async with fleet(world, tmp_path, serving.sockets[0].getsockname()[1]) as ships:

        async def ended(proposal_id: uuid.UUID) -> bool:
            rows = await world.sql("SELECT outcome FROM ledger.executions WHERE proposal_id = $1 AND outcome IS NOT NULL", proposal_id)
            return bool(rows)

        async def carried_out(action: str, args: dict[str, Any]) -> None:
            made = await world.decided(action, args)
            await until_async(lambda: ended(made), action)

        await carried_out("add_custodian", {"name": "Jane Roe", "email": "jane@client.example"})
        custodians = [str(r["id"]) for r in await world.sql("SELECT id FROM record.custodians")]
        await carried_out("set_litigation_hold", {"trigger": "Suit", "scope": "All", "custodian_ids": custodians, "from": "2026-01-01"})
        hold = str((await world.one("SELECT id FROM record.litigation_holds"))["id"])
        made = await world.decided("issue_hold_notices", {"hold_id": hold, "custodian_ids": custodians, "text_template_id": "standard"})
        async with asyncio.timeout(10):
            await mail.reached.wait()
        owner = (await world.one("SELECT lease_owner FROM ledger.executions WHERE proposal_id = $1", made))["lease_owner"]
        await ships.kill(int(owner.split(":")[1]))
        await until_async(lambda: ended(made), "somebody else settles it")
        outcome, detail = await world.outcome(made)
    mail.over.set()
    serving.close()
    assert (outcome, mail.texts) == ("failed", 1)
    assert "whether it was sent cannot be known. Ask the custodian before it is sent again." in str(detail)
