"""The real executor over PostgreSQL, with auth's own PersonService over mutual TLS, and decisions signed as approvals signs them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import grpc
import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kit import actions, config, db, decisions
from kit.actions import ALWAYS
from kit.callers import CallerGate
from kit.clock import system_clock
from kit.server import handlers as bound
from ops import pki
from services.auth import person
from services.auth.store import Store as AuthStore
from services.executor import handlers
from services.executor.connectors.smtp import Mail, SmtpConfig
from services.executor.people import People
from services.executor.run import Executor
from services.executor.store import Store
from tests.cluster import Database

PROPOSAL = """
INSERT INTO ledger.proposals
  (id, key_id, owner_id, case_id, action, args, args_digest, what_will_happen, reason, overrides_ignored, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, 'Something happens.', 'Because.', '{}', now() + interval '7 days')
"""
NONCE = """
INSERT INTO ledger.nonces (nonce_hash, proposal_id, action, case_id, user_id, args_digest, expires_at, used_at)
VALUES ($1, $2, $3, $4, $5, $6, now() + interval '5 minutes', now())
"""
DECISION = """
INSERT INTO ledger.decisions
  (proposal_id, args_digest, decision, decided_by, decided_at, reason, shown_sha256, nonce_hash, step_up, signature)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""
LEASE_SECONDS = 30.0


@dataclass
class World:
    """A record, people, a ledger, and executors to set upon it."""

    database: Database
    key: Ed25519PrivateKey
    auth: config.Peer
    tls: config.Tls
    case_id: uuid.UUID
    person_id: uuid.UUID = field(default_factory=uuid.uuid4)
    _pools: list[db.Database] = field(default_factory=list)
    _people: list[People] = field(default_factory=list)

    async def sql(self, statement: str, *values: Any) -> list[db.Record]:
        """As the superuser: for what a test looks at or changes behind the program's back."""
        admin = await db.connect_one(self.database.admin_dsn)
        try:
            return await admin.fetch(statement, *values)
        finally:
            await admin.close()

    async def one(self, statement: str, *values: Any) -> db.Record:
        """The one row of a statement."""
        (row,) = await self.sql(statement, *values)
        return row

    async def person(self, *case_ids: uuid.UUID) -> uuid.UUID:
        """Somebody who may act in these matters."""
        made = uuid.uuid4()
        await self.sql("INSERT INTO auth.users (id, name, email) VALUES ($1, 'Ada Example', $2)", made, f"{made.hex}@firm.example")
        for case_id in case_ids:
            await self.sql("INSERT INTO auth.matter_access (user_id, case_id) VALUES ($1, $2)", made, case_id)
        return made

    async def propose(self, action: str, args: Mapping[str, Any], case_id: uuid.UUID | None = None) -> uuid.UUID:
        """A stored proposal."""
        accepted = actions.load().by_name[action].accept(orjson.dumps(args))
        made = uuid.uuid4()
        await self.sql(
            PROPOSAL, made, uuid.uuid4(), self.person_id, case_id or self.case_id, action, accepted.args, sha256(accepted.args).digest()
        )
        return made

    async def approve(self, proposal_id: uuid.UUID, **changes: Any) -> uuid.UUID:
        """A person's decision about it, signed; `changes` are made to what is signed."""
        row = await self.one("SELECT * FROM ledger.proposals WHERE id = $1", proposal_id)
        action = actions.load().by_name[row["action"]]
        nonce = sha256(proposal_id.bytes).digest() if action.confirm_required else None
        values: dict[str, Any] = {
            "proposal_id": str(proposal_id),
            "case_id": str(row["case_id"]),
            "action": row["action"],
            "args_digest": row["args_digest"],
            "decision": "approved",
            "decided_by": str(self.person_id),
            "decided_at": datetime.now(UTC),
            "reason": None,
            "shown_sha256": bytes(32),
            "nonce_hash": nonce,
            "step_up": "totp" if action.floor == ALWAYS else None,
            **changes,
        }
        made = decisions.Decision(**values)
        if made.nonce_hash is not None:
            subject = (proposal_id, row["action"], row["case_id"], self.person_id, row["args_digest"])
            await self.sql(NONCE, made.nonce_hash, *subject)
        await self.insert(made, decisions.sign(self.key, made))
        return proposal_id

    async def insert(self, made: decisions.Decision, signature: bytes) -> None:
        """Stores a decision with this signature."""
        await self.sql(
            DECISION, uuid.UUID(made.proposal_id), made.args_digest, made.decision, uuid.UUID(made.decided_by), made.decided_at,
            made.reason, made.shown_sha256, made.nonce_hash, made.step_up, signature,
        )  # fmt: skip

    async def decided(self, action: str, args: Mapping[str, Any], case_id: uuid.UUID | None = None) -> uuid.UUID:
        """Proposed and approved."""
        return await self.approve(await self.propose(action, args, case_id))

    async def executor(
        self, owner: str = "one", lease_seconds: float = LEASE_SECONDS, smtp: SmtpConfig | None = None, auth: config.Peer | None = None
    ) -> Executor:
        """An executor as it starts."""
        pool = await db.connect(self.database.dsn("svc_executor"), 3, wait_seconds=5)
        people = People(auth or self.auth, self.tls)
        self._pools.append(pool)
        self._people.append(people)
        store = Store(pool, owner, lease_seconds)
        known = actions.load()
        found = handlers.find(known)
        for handler in found.values():
            await handler.prepare(store)
        return Executor(known, found, self.key.public_key(), people, handlers.Tools(store, Mail(smtp or SmtpConfig())), 0.05)

    async def carried_out(self, action: str, args: Mapping[str, Any], **executor: Any) -> uuid.UUID:
        """Proposed, approved and taken up; its execution is the caller's to look at."""
        made = await self.decided(action, args)
        await sweep(await self.executor(**executor))
        return made

    async def outcome(self, proposal_id: uuid.UUID) -> tuple[str | None, str | None]:
        """How it ended, in one word and in a sentence."""
        row = await self.one("SELECT outcome, detail FROM ledger.executions WHERE proposal_id = $1", proposal_id)
        return row["outcome"], row["detail"]

    async def retry(self, proposal_id: uuid.UUID) -> None:
        """A person asks for it to be tried again."""
        await self.sql(
            "INSERT INTO ledger.retries (proposal_id, attempt, requested_by) "
            "SELECT proposal_id, attempts, $2 FROM ledger.executions WHERE proposal_id = $1",
            proposal_id,
            self.person_id,
        )

    async def close(self) -> None:
        for people in self._people:
            await people.close()
        for pool in self._pools:
            await pool.close()


async def sweep(executor: Executor) -> None:
    """One look at what waits."""
    await executor.sweep(asyncio.Event())


def urn(proposal_id: uuid.UUID) -> str:
    """What the provenance of a decision is called."""
    return f"urn:substrate:ledger:decision:{proposal_id}"


@asynccontextmanager
async def person_service(database: Database, folder: Path) -> AsyncIterator[str]:
    """Auth's own PersonService, open to the executor."""
    pki.ensure(folder, ("auth", "executor"), ("operator",), datetime.now(UTC))
    ca, key, cert = ((folder / name).read_bytes() for name in ("ca.pem", "auth.key", "auth.pem"))
    pool = await db.connect(database.dsn("svc_auth"), 2)
    people = person.PersonService(AuthStore(pool), person.Passwords(), person.Seal(b"a pepper for tests"), system_clock)
    server = grpc.aio.server(interceptors=[CallerGate({person.NAME: frozenset({"executor.substrate"})})])
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, cert)], ca, True))
    server.add_generic_rpc_handlers((bound(person.NAME, people.methods(), None),))
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)
        await pool.close()


@asynccontextmanager
async def opened(database: Database, folder: Path, case_id: str) -> AsyncIterator[World]:
    """The world of one matter."""
    async with person_service(database, folder) as address:
        tls = config.Tls(str(folder / "ca.pem"), str(folder / "executor.pem"), str(folder / "executor.key"))
        world = World(database, Ed25519PrivateKey.generate(), config.Peer(address), tls, uuid.UUID(case_id))
        world.person_id = await world.person(world.case_id)
        try:
            yield world
        finally:
            await world.close()
