"""The record over plain SQL, as one of its roles sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kit import db
from tests.cluster import Database


@asynccontextmanager
async def seen_by(database: Database, role: str, *case_ids: str) -> AsyncIterator[db.Connection[db.Record]]:
    """A connection of a role whose row security shows these matters."""
    connection = await db.connect_one(database.dsn(role))
    try:
        await connection.execute("SELECT set_config('substrate.case_ids', $1, false)", ",".join(case_ids))
        yield connection
    finally:
        await connection.close()


async def status(
    connection: db.Connection[db.Record], version: str, page_from: int | None, page_to: int | None, quote: str | None
) -> tuple[str, str]:
    """Status and reason of one check."""
    row = await connection.fetchrow("SELECT status, reason FROM record.source_status($1, $2, $3, $4)", version, page_from, page_to, quote)
    assert row is not None
    return row["status"], row["reason"]


async def version_of(connection: db.Connection[db.Record], title: str) -> str:
    """The current version of a document."""
    found = await connection.fetchval(
        "SELECT v.id FROM record.document_versions v JOIN record.documents d ON d.id = v.document_id WHERE d.title = $1", title
    )
    assert found is not None, title
    return str(found)
