"""The real service and two real workers over one database, in one process and without hops, and one clock that a test moves."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import auth_service_pb2 as auth_pb

from kit import catalogue, db
from kit.authority import principal
from kit.catalogue import Catalogue
from kit.errors import Refusal
from kit.server import Call
from services.auth.admin import AuthAdminService
from services.auth.passes import Passes
from services.auth.server import AuthService
from services.auth.store import Store as AuthStore
from services.auth.worker import WorkerService
from services.tasks.calling import Calling
from services.tasks.desk import Times
from services.tasks.news import News
from services.tasks.server import TaskService
from services.tasks.store import Store
from services.tasks.worker import Held, Settings, Worker
from tests.cluster import Database
from tests.property.machine.world import CLOCK, OPERATOR, PEPPER, START
from tests.property.tasks.model import KEYS_OF, SLOTS, Ongoing
from tests.property.tasks.tools import NearKeys, RecordingDesk, StreamingTool, Tool, both_catalogues

Result = TypeVar("Result")
STATEMENTS = db.load_statements(Path(__file__).parent / "statements.sql")
WORKERS = 2
ORDER = "ORDER BY r.ready_at"


@dataclass
class SomeKey:
    """A key."""

    id: str
    text: str
    person: int


@dataclass
class World:
    """Everything that rules call."""

    runner: asyncio.Runner
    admin: db.Connection[db.Record]
    tools: Catalogue
    auth: AuthService
    operator: AuthAdminService
    near: NearKeys
    service: TaskService
    news: News
    at: datetime = START
    waiting: dict[asyncio.Task[Any], asyncio.Queue[Any]] = field(default_factory=dict)
    cases: list[uuid.UUID] = field(default_factory=lambda: [uuid.UUID(int=100 + n) for n in range(2)])
    people: list[str] = field(default_factory=list)
    keys: list[SomeKey] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)
    desks: list[RecordingDesk] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    started: int = 0
    ran: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs one call to its end. What workers do goes on meanwhile, and at no other time."""
        return self.runner.run(work)

    @property
    def steps(self) -> int:
        """How many rules were run."""
        return self.ran.total()

    async def ask(self, name: str, **values: Any) -> list[db.Record]:
        """Runs one of the test's own statements as a superuser."""
        return await self.admin.fetch(STATEMENTS[name].sql, *db.arguments(STATEMENTS[name], values))

    async def call(self, key: SomeKey, method: str) -> Call:
        """What the guard before every handler makes of a key: the caller, or a refusal."""
        answer = await self.auth.authenticate(auth_pb.AuthenticateRequest(api_key=key.text), OPERATOR)
        return Call(f"/substrate.tasks.v1.TaskService/{method}", principal(answer))

    async def pass_time(self, seconds: float) -> None:
        """Moves the one clock."""
        self.at += timedelta(seconds=seconds)
        await self.ask("move_clock", at=self.at)

    async def reset(self) -> None:
        """No tasks, at the start of time; everybody with access, and fresh workers."""
        for n in range(len(self.workers)):
            await self.kill(n)
        self.at = START
        await self.pass_time(0.0)
        cases = ", ".join(f"'{case}'" for case in self.cases)
        await self.admin.execute(STATEMENTS["reset"].sql.replace("CASES", cases))
        await self.ask("add_run_of_the_firm", owner_id=uuid.UUID(self.people[0]), case_id=self.cases[0])

    def start_worker(self, n: int) -> None:
        """A worker under a name of its own."""
        self.started += 1
        name = f"worker {self.started}"
        methods = {t.path: self._method(t) for t in self.tools.tools}
        desk = RecordingDesk(self.service._store, name)
        worker = Worker(desk, Calling(self.tools, methods, self.near), self.near, Settings(SLOTS, times=Times()))
        self.workers[n : n + 1], self.desks[n : n + 1], self.names[n : n + 1] = [worker], [desk], [name]

    def _method(self, tool: catalogue.Tool) -> Any:
        made = Tool(tool.path, tool.names_case, self.auth, self.waiting)
        return StreamingTool(made) if tool.streams else made

    async def kill(self, n: int) -> None:
        """A worker is gone from one moment to the next: nothing of it is written. Another is started in its place."""
        works = [held.work for held in self.workers[n]._held.values() if held.work is not None]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        self.start_worker(n)

    def held(self, call: Ongoing) -> Held:
        """A call as its worker holds it."""
        return next(h for h in self.workers[call.worker]._held.values() if (h.claim.run_id, h.claim.fence) == (call.task.id, call.fence))

    async def settle(self) -> None:
        """Until whatever is in the hands of a worker waits for the test."""
        for _ in range(4):
            await asyncio.sleep(0)
        while any(held.work not in self.waiting for worker in self.workers for held in worker._held.values()):
            await asyncio.sleep(0.0003)

    async def say(self, call: Ongoing, said: Any) -> None:
        """Lets the tool of a call go on."""
        work = self.held(call).work
        assert work is not None
        queue = self.waiting.pop(work)
        queue.put_nowait(said)

    async def queued_or_done(self, started: Sequence[asyncio.Future[Any]]) -> None:
        """Until each of these waits for a lock, or has come to its end."""
        while (await self.ask("queued"))[0]["number"] + sum(work.done() for work in started) < len(started):
            await asyncio.sleep(0.0003)

    async def access(self, person: int, case: int, *, there: bool) -> None:
        """Gives somebody access to a matter, or takes it away."""
        values = {"user_id": self.people[person], "case_id": str(self.cases[case])}
        try:
            change: Any = self.operator.methods()["GrantMatterAccess" if there else "WithdrawMatterAccess"]
            kind = admin_pb.GrantMatterAccessRequest if there else admin_pb.WithdrawMatterAccessRequest
            await change(kind(**values), OPERATOR)
        except Refusal:
            assert not there

    async def revoke(self, key: int) -> None:
        """Ends a key."""
        await self.operator.revoke_key(admin_pb.RevokeKeyRequest(key=self.keys[key].id), OPERATOR)

    async def populate(self) -> None:
        """People and keys, made once."""
        for n in range(max(KEYS_OF) + 1):
            made = await self.operator.create_user(admin_pb.CreateUserRequest(name="A Person", email=f"{n}@firm.example"), OPERATOR)
            self.people.append(made.user.id)
        for person in KEYS_OF:
            request = admin_pb.CreateKeyRequest(
                owner_id=self.people[person],
                name="test",
                scopes=["read", "kg:read"],
                credential_class=auth_pb.CREDENTIAL_CLASS_FIRM,
                read_per_minute=1_000_000,
            )
            key = await self.operator.create_key(request, OPERATOR)
            self.keys.append(SomeKey(key.key.id, key.api_key, person))
        for n in range(WORKERS):
            self.start_worker(n)


async def _made(runner: asyncio.Runner, database: Database, admin: db.Connection[db.Record], pools: list[db.Database]) -> World:
    store, tools = AuthStore(pools[0]), both_catalogues()
    near = NearKeys(WorkerService(store, tools, Passes(PEPPER), time.time))
    news = News(database.dsn("svc_tasks"))
    clock: list[World] = []
    service = TaskService(Store(pools[1]), tools, near, news, lambda: clock[0].at)
    auth = AuthService(store, tools, PEPPER)
    world = World(runner, admin, tools, auth, AuthAdminService(store, PEPPER), near, service, news)
    clock.append(world)
    await world.pass_time(0.0)
    # What has waited equally long is taken in an order that depends on nothing, so that the same walk comes out the same.
    (claim,) = await admin.fetch("SELECT pg_get_functiondef('runs.claim'::regproc) AS text")
    assert ORDER in claim["text"]
    await admin.execute(claim["text"].replace(ORDER, f"{ORDER}, r.created_at"))
    await world.populate()
    return world


@contextmanager
def opened(database: Database) -> Iterator[World]:
    """The service and its workers, over a database of their own."""
    with asyncio.Runner() as runner:
        admin = runner.run(db.connect_one(database.admin_dsn))
        runner.run(admin.execute(CLOCK.read_text(encoding="utf-8")))
        pools = [runner.run(db.connect(database.dsn(name), 4)) for name in ("svc_auth", "svc_tasks")]
        world = runner.run(_made(runner, database, admin, pools))
        listening = runner.get_loop().create_task(world.news.listen())
        try:
            yield world
        finally:
            runner.run(_closed(world, listening, pools))


async def _closed(world: World, listening: asyncio.Task[None], pools: list[db.Database]) -> None:
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    for n in range(WORKERS):
        await world.kill(n)
    for pool in pools:
        await pool.close()
    await world.admin.close()
