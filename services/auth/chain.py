"""The audit chain, recomputed without the database's help."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from kit.db import Record

GENESIS = bytes(32)


class Chain:
    """Follows the chain row by row and remembers where it first broke."""

    def __init__(self) -> None:
        self.rows = 0
        self.broken_at: int | None = None
        self._hash = GENESIS

    def follow(self, page: Iterable[Record]) -> None:
        """Checks the next rows: numbering without a gap, link to the row before, and the row's own hash."""
        for row in page:
            self.rows += 1
            expected = self.link(self._hash, row)
            if self.broken_at is None and (row["seq"] != self.rows or row["prev_hash"] != self._hash or row["hash"] != expected):
                self.broken_at = row["seq"]
            self._hash = row["hash"]

    @staticmethod
    def link(previous: bytes, row: Record) -> bytes:
        """SHA-256 over the previous hash and the row's fields, one a line."""
        case = str(row["case_id"]) if row["case_id"] else "-"
        fields = (row["seq"], row["at_us"], row["actor"], row["action"], case, row["outcome"], row["detail_sha256"].hex())
        return sha256(previous + "\n".join(str(f) for f in fields).encode("utf-8")).digest()
