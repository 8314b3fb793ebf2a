"""A connection as the owner of the database, for operator commands that look at it or write what no program may."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kit import db
from ops.cli import OperatorError
from ops.database import OWNER, dsn_file
from ops.layout import DataDir


@asynccontextmanager
async def connected(data: DataDir) -> AsyncIterator[db.Connection[db.Record]]:
    """Connects to the database of a stack; refuses where there is none yet."""
    path = dsn_file(data.secrets, OWNER)
    if not path.exists():
        raise OperatorError("there is no database here yet; start it with ./run up.")
    connection = await db.connect_one(path.read_text(encoding="utf-8").strip())
    try:
        yield connection
    finally:
        await connection.close()
