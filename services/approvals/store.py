"""The statements of approvals, run against its role."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from kit import limits
from kit.db import Connection, Database, Record, Statement, arguments, load_statements
from kit.decisions import Decision
from services.approvals.proposal import Nonce, Person, Proposal

QUERIES = Path(__file__).parent / "sql" / "queries.sql"
_SQL: dict[str, Statement] = load_statements(QUERIES)


def _reach(person: Person) -> dict[str, Any]:
    """What every statement about proposals is scoped by."""
    return {"user_id": person.id, "case_ids": sorted(person.case_ids)}


class Work:
    """Statements on one connection: inside a transaction where its maker opened one."""

    def __init__(self, connection: Connection[Record]) -> None:
        self._connection = connection

    async def rows(self, name: str, **values: Any) -> list[Record]:
        """Runs a named statement."""
        statement = _SQL[name]
        return await self._connection.fetch(statement.sql, *arguments(statement, values))

    async def hold(self, id_: uuid.UUID) -> None:
        """Waits until nobody else is about to end this proposal, and keeps others out until the transaction ends."""
        await self.rows("hold", id=id_)

    async def find(self, person: Person, id_: uuid.UUID) -> Proposal | None:
        """A proposal of this person in a matter they may act in."""
        found = await self.rows("find", id=id_, **_reach(person))
        return Proposal(**found[0]) if found else None

    async def waiting(self, person: Person, among: Sequence[uuid.UUID] | None = None) -> list[Proposal]:
        """What waits for this person, or which of these ids do; what expires first at the head."""
        found = await self.rows("waiting", ids=among, limit=limits.REVIEW_SET_MAX, **_reach(person))
        return [Proposal(**r) for r in found]

    async def count_waiting(self, person: Person) -> int:
        """How many wait, whatever fits on a page."""
        return int((await self.rows("count_waiting", **_reach(person)))[0]["number"])

    async def history(self, person: Person, before: datetime | None) -> list[Proposal]:
        """What no longer waits, newest first, and one row more than a page shows."""
        found = await self.rows("history", before=before, limit=limits.HISTORY_PAGE_ROWS + 1, **_reach(person))
        return [Proposal(**r) for r in found]

    async def matters(self, case_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, str]:
        """What matters are called."""
        return {r["case_id"]: r["name"] for r in await self.rows("matters", case_ids=case_ids)}

    async def rows_named(self, case_id: uuid.UUID, ids: Sequence[str]) -> Mapping[str, str]:
        """Rows of the record in words, by id."""
        if not ids:
            return {}
        return {str(r["id"]): r["words"] for r in await self.rows("rows_named", case_id=case_id, ids=[uuid.UUID(i) for i in ids])}

    async def cleared(self, case_id: uuid.UUID, ids: Sequence[str]) -> frozenset[str]:
        """Which of these documents, versions and productions may leave the firm."""
        return frozenset(str(r["id"]) for r in await self.rows("cleared", case_id=case_id, ids=[uuid.UUID(i) for i in ids]))

    async def cited(self, case_id: uuid.UUID, values: Mapping[str, Any]) -> str | None:
        """What becomes of a quote on the pages that it cites; None where the arguments cite nothing of this matter."""
        place = {name: values.get(name) for name in ("document_version_id", "page_from", "page_to", "quote")}
        if None in place.values():
            return None
        found = await self.rows("cited", case_id=case_id, **place)
        return None if found[0]["reason"] is None else str(found[0]["reason"])

    async def nonce(self, nonce_hash: bytes | None) -> Nonce | None:
        """What a confirmation was minted for."""
        found = await self.rows("nonce", nonce_hash=nonce_hash) if nonce_hash else []
        return Nonce(**found[0]) if found else None

    async def mint_nonce(self, row: Proposal, person: Person, nonce_hash: bytes, expires_at: datetime) -> bool:
        """Stores a confirmation; False where this person has too many open."""
        if (await self.rows("count_live_nonces", user_id=person.id))[0]["number"] >= limits.NONCES_LIVE_MAX:
            return False
        bound = {"proposal_id": row.id, "action": row.action, "case_id": row.case_id, "args_digest": row.args_digest}
        await self.rows("mint_nonce", nonce_hash=nonce_hash, user_id=person.id, expires_at=expires_at, **bound)
        return True

    async def decide(self, row: Proposal, decision: Decision, signature: bytes) -> bool:
        """Stores a decision and uses up its confirmation, in one statement; False where the confirmation no longer holds."""
        values = {
            "proposal_id": row.id,
            "args_digest": decision.args_digest,
            "decision": decision.decision,
            "decided_by": uuid.UUID(decision.decided_by),
            "decided_at": decision.decided_at,
            "reason": decision.reason,
            "shown_sha256": decision.shown_sha256,
            "step_up": decision.step_up,
            "signature": signature,
        }
        if decision.nonce_hash is None:
            return bool(await self.rows("decide_plainly", **values))
        bound = {"nonce_hash": decision.nonce_hash, "action": row.action, "case_id": row.case_id}
        return bool(await self.rows("decide_confirmed", **values, **bound))

    async def retry(self, row: Proposal, person: Person) -> bool:
        """Asks for what failed to be tried again; False where somebody asked already."""
        return bool(await self.rows("retry", proposal_id=row.id, attempt=row.attempts, requested_by=person.id))

    async def audit(self, user_id: uuid.UUID, action: str, case_id: uuid.UUID | None, outcome: str, detail: bytes) -> None:
        """Appends to the audit chain; the row stands if and only if this transaction does."""
        await self.rows("append_audit", actor=f"person:{user_id}", action=action, case_id=case_id, outcome=outcome, detail=detail)


class Store:
    """Opens connections and transactions for `Work`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Work]:
        """Statements that change nothing."""
        async with self._db.transaction({}, read_only=True) as connection:
            yield Work(connection)

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[Work]:
        """Statements that stand or fall together."""
        async with self._db.transaction({}, read_only=False) as connection:
            yield Work(connection)

    async def ready(self) -> None:
        """Fails when the role or its tables are not usable."""
        async with self.reading() as work:
            await work.rows("ready")
