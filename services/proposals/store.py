"""The statements of proposals, run against its role: it inserts and reads, and can do nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kit.db import Connection, Database, Error, Record, Statement, UniqueViolation, arguments, load_statements

QUERIES = Path(__file__).parent / "sql" / "queries.sql"
MATTER_FULL, NOT_UNDECIDED = "P0025", "P0409"


class MatterFull(Exception):  # the words are the server's
    """The matter holds as many undecided proposals as it may."""


class NotUndecided(Exception):
    """The proposal that is to be replaced or withdrawn is decided, gone or not this key's."""


class Taken(Exception):
    """The request id is taken."""


class Store:
    """Reads and appends ledger rows of proposals and handoffs."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._sql: dict[str, Statement] = load_statements(QUERIES)

    async def rows(self, connection: Connection[Record], name: str, values: Mapping[str, Any]) -> list[Record]:
        """Runs a named statement."""
        statement = self._sql[name]
        return await connection.fetch(statement.sql, *arguments(statement, values))

    async def read(self, name: str, values: Mapping[str, Any]) -> list[Record]:
        """Runs a named statement by itself."""
        async with self._db.connection() as connection:
            return await self.rows(connection, name, values)

    async def append(self, name: str, values: Mapping[str, Any], audit: Mapping[str, Any]) -> None:
        """Inserts a row and its audit row in one transaction; what the ledger's guards refuse is named."""
        try:
            async with self._db.transaction({}, read_only=False) as connection:
                await self.rows(connection, name, values)
                await self.rows(connection, "append_audit", {"outcome": "done", **audit})
        except UniqueViolation as error:
            raise (NotUndecided if "supersedes" in str(error) or "withdrawals" in str(error) else Taken) from error
        except Error as error:
            if error.sqlstate == MATTER_FULL:
                raise MatterFull from error
            if error.sqlstate == NOT_UNDECIDED:
                raise NotUndecided from error
            raise

    async def ready(self) -> None:
        """Fails when the role or its tables are not usable."""
        await self.read("ready", {})
