"""A statement whose rows a module of custom/ makes the answer of: prepared at the start, and unreadable in the same words."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import attestation_pb2 as pb

from kit import attestation
from kit.attestation import Basis, Item
from kit.db import Record, Statement, is_misnamed, is_outdated, why_unreadable
from kit.server import Call
from services.reads import binding
from services.reads.engine import STORE_REFRESH, Engine, unreadable_note

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of a statement, or why there are none to be had; and of an answer without rows, when the store was last filled."""

    rows: Sequence[Record] = ()
    unreadable: str | None = None
    refreshed: datetime | None = None


class Reading:
    """One such statement."""

    def __init__(self, engine: Engine, statement: Statement) -> None:
        self.engine, self.statement = engine, statement
        self.store = statement.one("store")
        self._kinds: tuple[str, ...] | None = None

    async def verify(self) -> None:
        """Prepares the statement. One that does not fit stops the start; a store that is out of reach does not."""
        try:
            async with self.engine.connection() as connection:
                prepared = await connection.prepare(self.statement.sql)
                self._kinds = tuple(p.name for p in prepared.get_parameters())
        except Exception as error:
            if is_misnamed(error):
                raise binding.Mismatch(f"{self.statement.name}: {error}") from error
            if why_unreadable(error) is None:
                raise
            log.warning("store unreadable", extra={"tool": self.statement.name, "because": type(error).__name__})

    async def find(self, request: Any, call: Call, extra: Mapping[str, Any] | None = None) -> Found:
        """The rows that a request asks for, in one read-only transaction under row security."""
        try:
            return await self._twice(request, call, extra or {})
        except Exception as error:
            words = why_unreadable(error)
            if words is None:
                raise
            log.warning("store unreadable", extra={"tool": self.statement.name, "because": type(error).__name__})
            return Found(unreadable=unreadable_note(self.store.replace("_", " "), words))

    async def _twice(self, request: Any, call: Call, extra: Mapping[str, Any]) -> Found:
        try:
            return await self._once(request, call, extra)
        except Exception as error:
            if not is_outdated(error):
                raise
        return await self._once(request, call, extra)

    async def _once(self, request: Any, call: Call, extra: Mapping[str, Any]) -> Found:
        async with self.engine.record(call) as connection:
            if self._kinds is None:
                prepared = await connection.prepare(self.statement.sql)
                self._kinds = tuple(p.name for p in prepared.get_parameters())
            values = binding.arguments(request, self.statement.parameters, self._kinds, extra)
            rows = await connection.fetch(self.statement.sql, *values)
            refreshed = None if rows else await connection.fetchval(STORE_REFRESH, self.store)
        return Found(rows, refreshed=refreshed)

    def attest(self, response: Any, request: Any, items: Sequence[Item], found: Found, notes: Sequence[str] = ()) -> Message:
        """Finishes an answer: its read state, and the attestation of its items."""
        if found.unreadable is not None:
            response.read_state = pb.READ_STATE_UNREADABLE
        else:
            response.read_state = pb.READ_STATE_READ if items else pb.READ_STATE_EMPTY
        basis = Basis(
            case_id=request.case_id.lower(),
            generated_at=self.engine.now(),
            method=self.statement.one("method"),
            notes=[*([found.unreadable] if found.unreadable else ()), *self.statement.all("note"), *notes],
            store_as_of=found.refreshed,
            unchecked=found.unreadable is not None,
        )
        response.attestation.CopyFrom(attestation.make(items, basis))
        return response  # type: ignore[no-any-return]
