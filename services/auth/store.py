"""The statements of auth, run against its role."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.catalogue import Tool
from kit.db import Connection, Database, Record, Statement, arguments, load_statements

QUERIES = Path(__file__).parent / "sql" / "queries.sql"
AUDIT_PAGE_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Question:
    """One call to decide, with what its method declares."""

    public_id: str
    hash: bytes
    tool: Tool
    case_id: str | None
    digest: bytes


class Store:
    """Reads and writes auth.*, appends to audit.*."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._sql: dict[str, Statement] = load_statements(QUERIES)

    async def decide(self, questions: Sequence[Question]) -> list[Record]:
        """One decision row a question, in order, from one statement."""
        columns = {
            "public_ids": [q.public_id for q in questions],
            "hashes": [q.hash for q in questions],
            "methods": [q.tool.path for q in questions],
            "scopes": [q.tool.scope for q in questions],
            "class_refused": [q.tool.client_safe == "refused" for q in questions],
            "lanes": [q.tool.rate_lane for q in questions],
            "names_case": [q.tool.names_case for q in questions],
            "case_ids": [q.case_id for q in questions],
            "digests": [q.digest for q in questions],
        }
        async with self._db.connection() as connection:
            return await self.rows(connection, "authorize", columns)

    async def authenticate(self, public_id: str, hash_: bytes) -> Record | None:
        """The live key with this id and keyed hash."""
        async with self._db.connection() as connection:
            found = await self.rows(connection, "authenticate", {"public_id": public_id, "hash": hash_})
        return found[0] if found else None

    async def by_row(self, key_ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, Record]:
        """What keys are known by, by row id; those that are not there are left out."""
        rows = await self.read("keys_by_row", {"key_ids": list(key_ids)}) if key_ids else []
        return {row["id"]: row for row in rows}

    async def review(self, key_id: str, tools: Sequence[Tool | None], case_ids: Sequence[str | None]) -> tuple[bool, list[str]]:
        """Whether a key is live, and the outcome of each of these calls if it were made now, in order; the rate is not looked at."""
        columns = {
            "key_id": key_id,
            "scopes": [tool.scope if tool else None for tool in tools],
            "class_refused": [tool is None or tool.client_safe == "refused" for tool in tools],
            "case_ids": case_ids,
            "needs_case": [tool is None or tool.names_case for tool in tools],
        }
        rows = await self.read("review", columns)
        return rows[0]["live"], [row["outcome"] for row in rows if row["n"] is not None]

    @asynccontextmanager
    async def change(self, action: str, case_id: str | None, detail: bytes, actor: str = "operator") -> AsyncIterator[Connection[Record]]:
        """A transaction whose audit row stands if and only if its change does."""
        async with self._db.transaction({}, read_only=False) as connection:
            await self.rows(connection, "append_audit", {"actor": actor, "action": action, "case_id": case_id, "detail": detail})
            yield connection

    async def rows(self, connection: Connection[Record], name: str, values: Mapping[str, Any]) -> list[Record]:
        """Runs a named statement."""
        statement = self._sql[name]
        return await connection.fetch(statement.sql, *arguments(statement, values))

    async def read(self, name: str, values: Mapping[str, Any]) -> list[Record]:
        """Runs a named statement that changes nothing."""
        async with self._db.connection() as connection:
            return await self.rows(connection, name, values)

    async def audit_pages(self) -> AsyncIterator[list[Record]]:
        """The whole chain, page by page."""
        after = 0
        while page := await self.read("audit_rows", {"after": after, "limit": AUDIT_PAGE_ROWS}):
            yield page
            after = page[-1]["seq"]

    async def ready(self) -> None:
        """Fails when the role or its tables are not usable."""
        await self.read("ready", {})
