"""The statements of the executor, run as its role: claims behind a fence, effects that stand if and only if their outcome does."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from kit import limits
from kit.canonical import canonical
from kit.db import Connection, Database, Record, Statement, arguments, load_statements
from services.executor import lease
from services.executor.lease import Claim, Fenced
from services.executor.verify import Order

QUERIES = Path(__file__).parent / "sql" / "queries.sql"


class Store:
    """Reads what was decided, keeps what was done, writes the record."""

    def __init__(self, database: Database, owner: str, lease_seconds: float) -> None:
        self._db, self._owner, self._lease_seconds = database, owner, lease_seconds
        self._sql: dict[str, Statement] = load_statements(QUERIES)

    async def rows(self, connection: Connection[Record], name: str, values: Mapping[str, Any]) -> list[Record]:
        """Runs a named statement."""
        statement = self._sql[name]
        return await connection.fetch(statement.sql, *arguments(statement, values))

    async def _alone(self, name: str, values: Mapping[str, Any]) -> list[Record]:
        """The same as a transaction of its own."""
        async with self._db.connection() as connection:
            return await self.rows(connection, name, values)

    def _held(self, claim: Claim) -> dict[str, Any]:
        return {"proposal_id": claim.proposal_id, "fence": claim.fence, "owner": claim.owner, "lease_seconds": self._lease_seconds}

    async def waiting(self, *, of_all: bool = False) -> Sequence[uuid.UUID]:
        """Decisions that nobody carries out: new ones, those whose holder is gone, and those that a person wants tried again."""
        name = "waiting_of_all" if of_all else "waiting"
        return [row["id"] for row in await self._alone(name, {"limit": limits.EXECUTION_SWEEP_MAX})]

    async def mismatched(self, *, of_all: bool = False) -> Sequence[uuid.UUID]:
        """Approved decisions that belong to no stored proposal, and of which nothing was said yet."""
        name = "mismatched_of_all" if of_all else "mismatched"
        return [row["proposal_id"] for row in await self._alone(name, {"limit": limits.EXECUTION_SWEEP_MAX})]

    async def claim(self, proposal_id: uuid.UUID) -> Claim | None:
        """A hold on an execution, or None where somebody else has it or it is over."""
        values = {"proposal_id": proposal_id, "owner": self._owner, "lease_seconds": self._lease_seconds}
        rows = await self._alone("claim", values)
        return Claim(proposal_id, self._owner, rows[0]["fence"], rows[0]["attempts"]) if rows else None

    async def decided(self, proposal_id: uuid.UUID) -> Record | None:
        """What was decided, as stored."""
        rows = await self._alone("decided", {"proposal_id": proposal_id})
        return rows[0] if rows else None

    async def intend(self, claim: Claim, intent: str) -> None:
        """Says what is about to be done, before it is."""
        if not await self._alone("intend", {**self._held(claim), "intent": intent}):
            raise Fenced

    @asynccontextmanager
    async def fenced(self, claim: Claim, case_id: uuid.UUID | None) -> AsyncIterator[Connection[Record]]:
        """A transaction that only the holder of a claim can begin. It sees one matter, and no other works in that matter beside it."""
        async with self._db.transaction({"substrate.case_ids": str(case_id or "")}, read_only=False) as connection:
            if not await self.rows(connection, "hold", self._held(claim)):
                raise Fenced
            await self.rows(connection, "one_at_a_time", {"case_id": str(case_id)})
            yield connection

    async def renew(self, connection: Connection[Record], claim: Claim) -> None:
        """Makes a lease run anew, inside a fenced transaction."""
        await self.rows(connection, "renew", self._held(claim))

    async def lay_down(self, claim: Claim, pause_seconds: float) -> None:
        """Gives a claim back undone, to be taken up after a pause."""
        await self._alone("lay_down", {**self._held(claim), "pause_seconds": pause_seconds})

    async def lead_to_decision(
        self, connection: Connection[Record], order: Order, target_table: str, made: Mapping[str, Any] | Record
    ) -> None:
        """Writes the provenance of a row: the decision, and the place in the record that it cites, if any."""
        place = {name: made.get(name) for name in ("document_version_id", "page_from", "page_to", "locator", "quote")}
        names = {"target_table": target_table, "target_id": made["target_id"], "subject": made["subject"]}
        await self.rows(connection, "lead_to_decision", {**context(order), **names, **place})

    async def finish(self, connection: Connection[Record], claim: Claim, subject: Order | None, outcome: str, detail: str) -> None:
        """Records how an execution ended and accounts for it, inside the transaction of its effect."""
        detail = detail[: limits.EXECUTION_DETAIL_MAX_CHARS]
        await self.rows(connection, "finish", {**self._held(claim), "outcome": outcome, "detail": detail})
        facts: dict[str, Any] = {"proposal_id": str(claim.proposal_id), "fence": claim.fence, "outcome": outcome, "detail": detail}
        if subject is not None:
            facts["args_digest"] = subject.args_digest.hex()
        values = {
            "action": f"execute.{subject.action.name}" if subject else "execute",
            "case_id": subject.case_id if subject else None,
            "outcome": outcome,
            "detail": sha256(canonical(facts)).digest(),
        }
        await self.rows(connection, "audit", values)

    async def fail(self, claim: Claim, subject: Order | None, detail: str) -> None:
        """Records that nothing more comes of this attempt, and why, in words for a person."""
        async with self.fenced(claim, subject.case_id if subject else None) as connection:
            await self.finish(connection, claim, subject, "failed", detail)

    @asynccontextmanager
    async def unbound(self) -> AsyncIterator[Connection[Record]]:
        """A connection on which statements are prepared at start-up."""
        async with self._db.connection() as connection:
            yield connection

    async def ready(self) -> None:
        """Fails when the role or its tables are not usable."""
        await self._alone("ready", {})


def context(order: Order) -> dict[str, Any]:
    """What every statement of a handler may use besides the arguments."""
    return {
        "proposal_id": order.proposal_id,
        "case_id": order.case_id,
        "decided_by": order.decided_by,
        "decided_at": order.decided_at,
        "new_id": lease.row_id(order.proposal_id),
        "provenance_id": lease.urn(order.proposal_id),
        "recorded_by": lease.recorded_by(order.proposal_id),
    }
