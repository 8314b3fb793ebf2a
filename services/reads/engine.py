"""Answers every read tool from its declaration and its statement; there is no code for any one tool here."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from substrate.auth.v1 import auth_service_pb2
from substrate.common.v1 import attestation_pb2 as pb

from kit import attestation, limits, paging
from kit.attestation import Basis, Item
from kit.clock import Clock
from kit.db import Connection, Database, Record, Statement, is_absent, is_misnamed, is_outdated, why_unreadable
from kit.paging import Page
from kit.server import Call
from services.reads import binding
from services.reads.tool import Query, ReadTool

log = logging.getLogger(__name__)
STORE_REFRESH = "SELECT max(refreshed_at) FROM record.store_refreshes WHERE store = $1"


@dataclass(frozen=True, slots=True)
class Rows:
    """What came back, or why nothing could."""

    rows: Sequence[Record]
    statement: Statement
    notes: Sequence[str] = ()
    unchecked: bool = False
    unreadable: bool = False
    more: bool = False


def scope(principal: auth_service_pb2.Principal) -> Mapping[str, str]:
    """Row-security settings of a call: the matters that auth said it may touch, and its lane."""
    lane = "firm" if principal.credential_class == auth_service_pb2.CREDENTIAL_CLASS_FIRM else "client"
    return {"substrate.case_ids": ",".join(principal.case_ids), "substrate.lane": lane}


def unreadable_note(store: str, words: str) -> str:
    """What is said of a store that could not be read."""
    return f"The store of {store} {words}. Nothing was read or checked; this is not an empty result."


class Engine:
    """Runs read tools against the record."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db, self._clock = database, clock

    def now(self) -> datetime:
        """The time of an answer."""
        return self._clock()

    def record(self, call: Call) -> AbstractAsyncContextManager[Connection[Record]]:
        """A read-only transaction in which row security shows this call's matters and nothing else."""
        assert call.principal is not None
        return self._db.transaction(scope(call.principal), read_only=True)

    async def refreshed(self, call: Call, store: str) -> datetime | None:
        """When a store was last filled; None where that is not known or cannot be read."""
        try:
            async with self.record(call) as connection:
                found: datetime | None = await connection.fetchval(STORE_REFRESH, store)
                return found
        except Exception as error:
            if why_unreadable(error) is None:
                raise
            return None

    def connection(self) -> AbstractAsyncContextManager[Connection[Record]]:
        """A connection outside any transaction, for preparing statements."""
        return self._db.connection()

    async def ready(self) -> None:
        """Fails when the database does not answer."""
        async with self._db.connection() as connection:
            await connection.fetchval("SELECT 1")

    async def verify(self, tool: ReadTool) -> None:
        """Prepares a tool's statements. A statement that does not fit stops the start; a store that is out of reach does not."""
        for query in (tool.main, tool.fallback, tool.empty):
            if query is None:
                continue
            try:
                async with self._db.connection() as connection:
                    await tool.fit(connection, query)
            except Exception as error:
                if query is not tool.fallback and tool.fallback and is_absent(error, tool.absent_names):
                    log.warning("store in an older form", extra={"tool": tool.tool.name, "because": str(error)})
                elif is_misnamed(error):
                    raise binding.Mismatch(f"{query.statement.name}: {error}") from error
                elif why_unreadable(error) is None:
                    raise
                else:
                    log.warning("store unreadable", extra={"tool": tool.tool.name, "because": type(error).__name__})

    async def answer(self, tool: ReadTool, request: Any, call: Call) -> Message:
        """One attested answer."""
        page = paging.opened(request) if tool.paged else Page(None, limits.ROWS_UNPAGED_MAX)
        found = await self._read(tool, request, call, page)
        response: Any = tool.tool.response_class()
        items = self._fill(tool, response, found, page)
        if tool.paged and found.more:
            response.next_page_token = paging.token(request, found.rows[-1]["cursor_key"])
        store_as_of, about_empty = (None, ()) if items or found.unreadable else await self._about_empty(tool, request, call)
        basis = Basis(
            case_id=request.case_id.lower() if tool.tool.names_case else None,
            generated_at=self.now(),
            method=found.statement.one("method"),
            notes=[*found.notes, *found.statement.all("note"), *_row_notes(found), *about_empty, *_page_notes(tool, found, len(items))],
            store_as_of=store_as_of,
            unchecked=found.unchecked or found.unreadable,
        )
        response.attestation.CopyFrom(attestation.make(items, basis))
        return response  # type: ignore[no-any-return]

    @staticmethod
    def _fill(tool: ReadTool, response: Any, found: Rows, page: Page) -> list[Item]:
        """Puts items, read state and counts where the declaration has them, and returns the items as they stand in the response."""
        if found.unreadable:
            response.read_state = pb.READ_STATE_UNREADABLE
            return []
        response.read_state = pb.READ_STATE_READ if found.rows else pb.READ_STATE_EMPTY
        target = getattr(response, tool.item.name)
        if not tool.item.is_repeated:
            for row in found.rows:
                target.CopyFrom(tool.build(type(target), row))
            return [Item(target, row["as_of"]) for row in found.rows]
        items = [Item(tool.build(target.add, row), row["as_of"]) for row in found.rows]
        response.count = len(items)
        if tool.paged and (items or page.after is None):
            response.total_count = found.rows[0]["total_count"] if items else 0
        return items

    async def _read(self, tool: ReadTool, request: Any, call: Call, page: Page) -> Rows:
        """Runs the statement; where what it needs is absent, its fallback; where nothing can be read, says why."""
        try:
            return await self._run_twice(tool, tool.main, request, call, page)
        except Exception as error:  # noqa: BLE001 - re-raised below unless it says that a store is out of reach
            if tool.fallback and is_absent(error, tool.absent_names):
                return await self._read_fallback(tool, tool.fallback, request, call, page)
            return _unreadable(tool, error)

    async def _read_fallback(self, tool: ReadTool, query: Query, request: Any, call: Call, page: Page) -> Rows:
        try:
            found = await self._run_twice(tool, query, request, call, page)
        except Exception as error:  # noqa: BLE001 - re-raised below unless it says that a store is out of reach
            return _unreadable(tool, error)
        return Rows(found.rows, query.statement, (tool.main.statement.one("fallback_note"),), unchecked=True, more=found.more)

    async def _run_twice(self, tool: ReadTool, query: Query, request: Any, call: Call, page: Page) -> Rows:
        """A read may be made again when all that failed is a connection or plan from before a restart or a migration."""
        try:
            return await self._run(tool, query, request, call, page)
        except Exception as error:
            if not is_outdated(error):
                raise
        return await self._run(tool, query, request, call, page)

    async def _run(self, tool: ReadTool, query: Query, request: Any, call: Call, page: Page) -> Rows:
        """One read-only transaction in which row security shows this call's matters and nothing else."""
        async with self.record(call) as connection:
            if query.kinds is None:
                await tool.fit(connection, query)
            assert query.kinds is not None
            extra = {"page_after": page.after, "page_limit": page.size + 1}
            values = binding.arguments(request, query.statement.parameters, query.kinds, extra)
            if tool.paged:
                rows = await connection.fetch(query.statement.sql, *values)
            else:
                bounded = await connection.cursor(query.statement.sql, *values)
                rows = await bounded.fetch(page.size + 1)
        if len(rows) > 1 and not tool.item.is_repeated:
            raise ValueError(f"{query.statement.name}: more than one row for a single record")
        return Rows(rows[: page.size], query.statement, more=len(rows) > page.size)

    async def _about_empty(self, tool: ReadTool, request: Any, call: Call) -> tuple[datetime | None, Sequence[str]]:
        """When the store was last filled, and what its tool says of an answer without rows; nothing where that cannot be read either."""
        try:
            async with self.record(call) as connection:
                refreshed: datetime | None = await connection.fetchval(STORE_REFRESH, tool.main.statement.one("store"))
                if tool.empty is None:
                    return refreshed, ()
                if tool.empty.kinds is None:
                    await tool.fit(connection, tool.empty)
                assert tool.empty.kinds is not None
                values = binding.arguments(request, tool.empty.statement.parameters, tool.empty.kinds, {})
                rows = await connection.fetch(tool.empty.statement.sql, *values)
                return refreshed, [row["note"] for row in rows if row["note"]]
        except Exception as error:
            if why_unreadable(error) is None:
                raise
            return None, ()


def _unreadable(tool: ReadTool, error: Exception) -> Rows:
    """The answer of a store that is out of reach; a defect of ours is raised instead."""
    words = why_unreadable(error)
    if words is None:
        raise error
    log.warning("store unreadable", extra={"tool": tool.tool.name, "because": type(error).__name__})
    return Rows((), tool.main.statement, (unreadable_note(tool.store, words),), unreadable=True)


def _row_notes(found: Rows) -> Sequence[str]:
    return [note for row in found.rows if "notes" in row for note in row["notes"] or ()]


def _page_notes(tool: ReadTool, found: Rows, shown: int) -> Sequence[str]:
    if not found.more:
        return ()
    if tool.paged:
        return (f"This page holds {shown} of {found.rows[0]['total_count']} rows; the rest is behind next_page_token.",)
    return (f"Only the first {shown} rows are in this answer; more exist.",)
