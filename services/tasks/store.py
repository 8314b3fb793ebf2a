"""The statements of tasks, run as its role. Every change of a status names the status that it expects."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from kit import limits
from kit.db import Connection, Database, Record, Statement, arguments, load_statements
from services.tasks.task import OPEN, Kept, kept, with_answers

QUERIES = Path(__file__).parent / "sql" / "queries.sql"


class Full(Exception):  # the words are the server's
    """The key has as many tasks as it may."""

    def __init__(self, limit: int, *, open_ones: bool) -> None:
        super().__init__(limit)
        self.limit, self.open_ones = limit, open_ones


class Store:
    """What the service reads and writes for a key. Each statement names the key; a row of another one is as good as none."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._sql: dict[str, Statement] = load_statements(QUERIES)

    async def rows(self, connection: Connection[Record], name: str, values: Mapping[str, Any]) -> list[Record]:
        """Runs a named statement."""
        statement = self._sql[name]
        return await connection.fetch(statement.sql, *arguments(statement, values))

    async def run(self, name: str, values: Mapping[str, Any]) -> list[Record]:
        """Runs a named statement by itself."""
        async with self._db.connection() as connection:
            return await self.rows(connection, name, values)

    async def create(self, row: Mapping[str, Any], audit: Mapping[str, Any]) -> Kept:
        """Stores a run, its step and its audit row together, within what its key may have. Returns it as it was before anybody took it."""
        values = {**row, "queue_seconds": limits.TASK_QUEUE_SECONDS}
        async with self._db.transaction({}, read_only=False) as connection:
            await self.rows(connection, "hold_key", values)
            (count,) = await self.rows(connection, "count", values)
            if count["open"] >= limits.TASKS_OPEN_PER_KEY_MAX:
                raise Full(limits.TASKS_OPEN_PER_KEY_MAX, open_ones=True)
            if count["kept"] >= limits.TASKS_KEPT_PER_KEY_MAX:
                raise Full(limits.TASKS_KEPT_PER_KEY_MAX, open_ones=False)
            await self.rows(connection, "insert_run", values)
            await self.rows(connection, "insert_step", values)
            await self.rows(connection, "audit", audit)
            (made,) = await self.rows(connection, "find", {"ids": [row["id"]], "key_id": row["key_id"]})
        return kept(made)

    async def find(self, ids: Sequence[uuid.UUID], key_id: str) -> dict[uuid.UUID, Kept]:
        """The tasks of a key among these ids."""
        rows = await self.run("find", {"ids": list(ids), "key_id": key_id}) if ids else []
        return {row["id"]: kept(row) for row in rows}

    async def in_session(self, session: bytes, key_id: str, since: datetime) -> list[uuid.UUID]:
        """Tasks of a key that were made in a session: the open ones, and those that are newer than an instant."""
        values = {"session": session.hex(), "key_id": key_id, "since": since, "limit": limits.TASK_WATCHED_PER_SESSION_MAX}
        return [row["id"] for row in await self.run("in_session", values)]

    async def result(self, one: Kept) -> bytes | None:
        """The bytes of a result."""
        if one.status != "DONE":
            return None
        rows = await self.run("result", {"id": one.id, "key_id": one.key_id})
        return bytes(rows[0]["result"]) if rows else None

    async def page(self, key_id: str, after: tuple[datetime, uuid.UUID] | None, size: int) -> list[Kept]:
        """Tasks of a key, newest first."""
        at, id_ = after or (None, None)
        return [kept(row) for row in await self.run("page", {"key_id": key_id, "after_at": at, "after_id": id_, "limit": size})]

    async def cancel(self, one: Kept, audit: Mapping[str, Any]) -> bool:
        """Ends an open task from the status it was seen in; False where it has another one by now."""
        if one.status not in OPEN:
            return False
        async with self._db.transaction({}, read_only=False) as connection:
            ended = await self.rows(connection, "cancel", {"id": one.id, "key_id": one.key_id, "expected": one.status})
            if ended:
                await self.rows(connection, "audit", audit)
        return bool(ended)

    async def answer(self, one: Kept, responses: Mapping[str, Any]) -> None:
        """Keeps answers that a task waits for; with the last one it goes on."""
        values = {"id": one.id, "key_id": one.key_id, "queue_seconds": limits.TASK_QUEUE_SECONDS}
        async with self._db.transaction({}, read_only=False) as connection:
            found = await self.rows(connection, "lock_for_answers", values)
            if not found:
                return
            answered, waiting = with_answers(found[0]["asked"], found[0]["answered"], responses)
            if answered is not None:
                await self.rows(connection, "keep_answers", {**values, "answered": answered})
            if not waiting:
                await self.rows(connection, "go_on", values)

    async def ready(self) -> None:
        """Fails when the role or its tables are not usable."""
        await self.run("ready", {})
