"""The real services over one database, in one process and without hops, and one clock that a test moves for all of them."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import auth_service_pb2 as auth_pb

from kit import actions, catalogue, db
from kit.authority import principal
from kit.server import Call
from services.approvals.desk import Desk
from services.approvals.identity import LocalAccounts
from services.approvals.passkeys import Passkeys
from services.approvals.proposal import Person
from services.approvals.render import Renderer
from services.approvals.step_up import StepUps
from services.approvals.store import Store as ApprovalsStore
from services.auth.admin import AuthAdminService, PeopleSecrets
from services.auth.person import Passwords, PersonService, Seal
from services.auth.server import AuthService
from services.auth.store import Store as AuthStore
from services.executor import handlers
from services.executor.connectors.smtp import Mail, SmtpConfig
from services.executor.people import People
from services.executor.run import Executor
from services.executor.store import Store as ExecutorStore
from services.proposals.handoff import HandoffService
from services.proposals.server import ProposalService
from services.proposals.store import Store as ProposalsStore
from tests.cluster import Database
from tests.property.machine.model import LEASE_SECONDS

Result = TypeVar("Result")
PEPPER = b"a pepper for tests"
OPERATOR = Call("machine", None)
PEOPLE, MATTERS, KEYS_OF = 2, 2, (0, 0, 1)

HERE = Path(__file__).parent
CLOCK, STATEMENTS = HERE / "clock.sql", db.load_statements(HERE / "statements.sql")
START = datetime(2026, 6, 1, 9, tzinfo=UTC)


@dataclass
class Clock:
    """The time of every service."""

    at: datetime = START

    def __call__(self) -> datetime:
        return self.at


class NearAccounts(LocalAccounts):
    """The client that approvals has of auth, with the service itself where the channel was."""

    def __init__(self, service: PersonService) -> None:
        self._get: Any = lambda request: service.get_person(request, OPERATOR)
        self._totp: Any = lambda request: service.verify_totp(request, OPERATOR)


class NearPeople(People):
    """The client that the executor has of auth, likewise."""

    def __init__(self, service: PersonService) -> None:
        self._get: Any = lambda request: service.get_person(request, OPERATOR)


@dataclass(frozen=True)
class SomeKey:
    """A key and whose it is."""

    id: uuid.UUID
    text: str
    person: int


@dataclass
class World:
    """Everything that rules call."""

    runner: asyncio.Runner
    clock: Clock
    admin: db.Connection[db.Record]
    auth: AuthService
    operator: AuthAdminService
    proposals: ProposalService
    handoffs: HandoffService
    desk: Desk
    shelf: ApprovalsStore
    renderer: Renderer
    directory: NearAccounts
    executors: tuple[Executor, Executor]
    key: Ed25519PrivateKey
    known: actions.Actions
    matters: list[uuid.UUID] = field(default_factory=list)
    people: list[uuid.UUID] = field(default_factory=list)
    secrets: list[bytes] = field(default_factory=list)
    keys: list[SomeKey] = field(default_factory=list)
    ran: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Runs one call to its end."""
        return self.runner.run(work)

    @property
    def steps(self) -> int:
        """How many rules were run."""
        return self.ran.total()

    async def call(self, key: SomeKey, service: str, method: str, case_id: uuid.UUID) -> Call:
        """What the guard before every handler of the API makes of a key: the caller, or a refusal."""
        path = f"/substrate.proposals.v1.{service}/{method}"
        asked = auth_pb.AuthorizeRequest(api_key=key.text, method=path, case_id=str(case_id), request_sha256=sha256(b"").digest())
        return Call(path, principal(await self.auth.authorize(asked, OPERATOR)))

    async def pass_time(self, seconds: float) -> None:
        """Moves the one clock."""
        await self._set_clock(self.clock.at + timedelta(seconds=seconds))

    async def _set_clock(self, at: datetime) -> None:
        self.clock.at = at
        await self.ask("move_clock", at=self.clock.at)

    async def ask(self, name: str, **values: Any) -> list[db.Record]:
        """Runs one of the test's own statements as a superuser."""
        statement = STATEMENTS[name]
        return await self.admin.fetch(statement.sql, *db.arguments(statement, values))

    async def reset(self) -> None:
        """An empty ledger at the start of time, and everybody with access to every matter."""
        await self._set_clock(START)
        await self.admin.execute(STATEMENTS["reset"].sql)

    async def populate(self) -> None:
        """People, keys and matters, made once."""
        for n in range(MATTERS):
            self.matters.append(uuid.uuid4())
            await self.admin.execute("SET session_replication_role = replica")
            await self.ask("add_matter", case_id=self.matters[-1], docket_number=f"1:26-cv-{n}")
            await self.admin.execute("SET session_replication_role = origin")
        for n in range(PEOPLE):
            made = await self.operator.create_user(admin_pb.CreateUserRequest(name="A Person", email=f"{n}@firm.example"), OPERATOR)
            self.people.append(uuid.UUID(made.user.id))
            await self.operator.enroll_totp(admin_pb.EnrollTotpRequest(user_id=made.user.id), OPERATOR)
            self.secrets.append(bytes([n + 1]) * 20)
        scopes, firm = ["read", "write", "tasks:read"], auth_pb.CREDENTIAL_CLASS_FIRM
        for person in KEYS_OF:
            request = admin_pb.CreateKeyRequest(
                owner_id=str(self.people[person]), name="test", scopes=scopes, credential_class=firm, read_per_minute=1_000_000
            )
            key = await self.operator.create_key(request, OPERATOR)
            self.keys.append(SomeKey(uuid.UUID(key.key.id), key.api_key, person))

    @asynccontextmanager
    async def holding(self, lock: tuple[uuid.UUID, int]) -> AsyncIterator[None]:
        """Keeps a lock of the ledger and that of the audit chain, so that whoever would end something waits at one of them."""
        async with self.admin.transaction():
            await self.ask("hold", id=str(lock[0]), kind=lock[1])
            yield

    async def queued(self) -> int:
        """How many wait for a lock that somebody holds."""
        (row,) = await self.ask("queued")
        return int(row["number"])

    async def person(self, number: int) -> Person:
        """Somebody as approvals knows them at this moment."""
        person = await self.directory.person(self.people[number])
        assert person is not None
        return person


class _Secrets:
    """One-time-code secrets that the test knows too."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, size: int) -> bytes:
        if size != 20:
            return bytes(size)
        self.made += 1
        return bytes([self.made]) * size


@asynccontextmanager
async def pools(database: Database) -> AsyncIterator[dict[str, db.Database]]:
    """A pool for every role."""
    names = ("svc_auth", "svc_proposals", "svc_approvals", "svc_executor")
    made = {name: await db.connect(database.dsn(name), 4) for name in names}
    try:
        yield made
    finally:
        for pool in made.values():
            await pool.close()


async def _executor(pool: db.Database, owner: str, key: Ed25519PrivateKey, people: People) -> Executor:
    known, store = actions.load(), ExecutorStore(pool, owner, LEASE_SECONDS)
    found = handlers.find(known)
    for handler in found.values():
        await handler.prepare(store)
    return Executor(known, found, key.public_key(), people, handlers.Tools(store, Mail(SmtpConfig())), 0.0)


async def _made(runner: asyncio.Runner, admin: db.Connection[db.Record], pool: dict[str, db.Database]) -> World:
    clock, key, known, renderer = Clock(), Ed25519PrivateKey.generate(), actions.load(), Renderer()
    auth, passwords, seal = AuthStore(pool["svc_auth"]), Passwords(), Seal(PEPPER)
    people = PersonService(auth, passwords, seal, clock)
    directory, shelf, ledger = NearAccounts(people), ApprovalsStore(pool["svc_approvals"]), ProposalsStore(pool["svc_proposals"])
    secrets = PeopleSecrets(passwords, seal, _Secrets())
    one, two = [await _executor(pool["svc_executor"], name, key, NearPeople(people)) for name in ("one", "two")]
    return World(
        runner=runner,
        clock=clock,
        admin=admin,
        auth=AuthService(auth, catalogue.load(), PEPPER),
        operator=AuthAdminService(auth, PEPPER, people=secrets, clock=clock),
        proposals=ProposalService(ledger, known, clock),
        handoffs=HandoffService(ledger, clock),
        desk=Desk(shelf, directory, StepUps(directory, Passkeys(None)), known, renderer, key, clock),
        shelf=shelf,
        renderer=renderer,
        directory=directory,
        executors=(one, two),
        key=key,
        known=known,
    )


@contextmanager
def opened(database: Database) -> Iterator[World]:
    """The services, over a database of their own."""
    with asyncio.Runner() as runner:
        admin = runner.run(db.connect_one(database.admin_dsn))
        runner.run(admin.execute(CLOCK.read_text(encoding="utf-8")))
        held = pools(database)
        world = runner.run(_made(runner, admin, runner.run(held.__aenter__())))
        runner.run(world.pass_time(0.0))
        runner.run(world.populate())
        try:
            yield world
        finally:
            runner.run(held.__aexit__(None, None, None))
            runner.run(admin.close())
