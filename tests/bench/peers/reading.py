"""What both peer servers do for a call: the statement of this repository on the same database, and the answer as plain Python makes it.

Runs in the environment of the peers, which holds none of this repository's packages. Nobody's authority is checked here.
"""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg

TOOL = "list_docket_entries"
HIDDEN = ("as_of", "notes", "cursor_key", "total_count")
POOL_SIZE = 8


@dataclass
class Orders:
    """What the bench tells a peer on standard input."""

    dsn: str
    sql: str
    parameters: list[str]
    method: str
    settings: dict[str, str]

    @classmethod
    def received(cls) -> Orders:
        """The orders of this process."""
        return cls(**json.load(sys.stdin))


class Reader:
    """Reads pages of docket entries through a pool of its own."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._pool: Any = None

    async def open(self) -> None:
        """Connects; row security sees the matter on every connection, so a call spends nothing on it."""
        self._pool = await asyncpg.create_pool(
            self._orders.dsn, min_size=POOL_SIZE, max_size=POOL_SIZE, server_settings=self._orders.settings
        )

    async def page(self, case_id: str, page_size: int) -> dict[str, Any]:
        """One page with its attestation."""
        given = {"case_id": case_id, "page_limit": page_size + 1}
        values = [given.get(name) for name in self._orders.parameters]
        async with self._pool.acquire() as connection:
            rows = await connection.fetch(self._orders.sql, *values)
        return answer(case_id, [dict(row) for row in rows], page_size, self._orders.method)


def answer(case_id: str, rows: list[dict[str, Any]], page_size: int, method: str) -> dict[str, Any]:
    """The structured content: the same members with the same values as ours, but for the time and the page token."""
    shown, more = rows[:page_size], len(rows) > page_size
    entries = [{k: v for k, v in row.items() if k not in HIDDEN} for row in shown]
    statuses = [entry["verification_status"] for entry in entries]
    counts = {word: statuses.count(word) for word in ("unknown", "ungrounded", "grounded", "verified")}
    for entry in entries:
        entry["id"] = str(entry["id"])
    ids = list(dict.fromkeys(urn for entry in entries for urn in entry["provenance_ids"]))
    notes = list(dict.fromkeys(note for row in shown for note in row["notes"]))
    if more:
        notes.append(f"This page holds {len(shown)} of {shown[0]['total_count']} rows; the rest is behind next_page_token.")
    return {
        "schema_version": "1.0",
        "generated_at": _instant(datetime.now(UTC)),
        "case_id": case_id,
        "provenance_ids": ids,
        "provenance_id_count": len(ids),
        "verification_status": next(word for word, count in counts.items() if count),
        "as_of": _instant(min(row["as_of"] for row in shown)),
        "verification": {"method": method, "counts": counts, "notes": notes},
        "entries": entries,
        "read_state": "read",
        "count": len(entries),
        "total_count": shown[0]["total_count"],
        "next_page_token": shown[-1]["cursor_key"] if more else None,
    }


def _instant(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def listening() -> socket.socket:
    """A socket on a free port of the loopback, told to the bench; callers may connect before the server serves."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(1024)
    print(sock.getsockname()[1], flush=True)
    return sock
