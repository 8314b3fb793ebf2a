"""An action that one statement carries out: effect, provenance, outcome and audit row are one transaction behind the fence."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.actions import Action
from kit.db import IntegrityViolation, Statement, load_statement
from services.executor.lease import Claim
from services.executor.store import Store, context
from services.executor.verify import Order, Unsound

if TYPE_CHECKING:
    from services.executor.handlers import Tools

CONTEXT = frozenset({"proposal_id", "case_id", "decided_by", "decided_at", "new_id", "provenance_id", "recorded_by"})
NEEDED = frozenset({"target_id", "subject", "done"})
OPTIONAL = frozenset({"document_version_id", "page_from", "page_to", "locator", "quote"})
REFUSED = "It does not fit what is in the record."


class Unfit(Exception):
    """A statement that does not fit its action; the text names what is wrong."""


class SqlHandler:
    """Runs the one statement of an action."""

    def __init__(self, action: Action, path: Path) -> None:
        self._action = action
        self._statement: Statement = load_statement(path)
        self._target = self._statement.one("target")
        self._refused = self._statement.one("refused", REFUSED)
        self._days: frozenset[str] = frozenset()
        fields = set(action.message.fields_by_name)
        used = set(self._statement.parameters)
        if not self._target:
            raise Unfit(f"{action.name}: the header lacks '-- target: …'")
        if wrong := sorted(used - fields - CONTEXT) or sorted(fields - used):
            raise Unfit(f"{action.name}: {wrong[0]} is not an argument of the action, or is one that the statement does not use")

    async def prepare(self, store: Store) -> None:
        """Prepares the statement as the executor's role and holds its columns against what is needed of them."""
        async with store.unbound() as connection:
            prepared = await connection.prepare(self._statement.sql)
            columns = {a.name for a in prepared.get_attributes()}
            kinds = [p.name for p in prepared.get_parameters()]
        if wrong := sorted(NEEDED - columns) or sorted(columns - NEEDED - OPTIONAL):
            raise Unfit(f"{self._action.name}: the column {wrong[0]} is missing, or is none that a handler returns")
        self._days = frozenset(name for name, kind in zip(self._statement.parameters, kinds, strict=True) if kind == "date")

    def _arguments(self, order: Order) -> list[Any]:
        given = context(order)
        return [given[name] if name in CONTEXT else self._value(order, name) for name in self._statement.parameters]

    def _value(self, order: Order, name: str) -> Any:
        field = self._action.message.fields_by_name[name]
        value = order.values.get(name, [] if field.is_repeated else None)
        return date.fromisoformat(value) if value is not None and name in self._days else value

    async def carry_out(self, order: Order, claim: Claim, tools: Tools) -> str:
        """Changes the record, or nothing at all."""
        store = tools.store
        try:
            async with store.fenced(claim, order.case_id) as connection:
                rows = await connection.fetch(self._statement.sql, *self._arguments(order))
                if len(rows) != 1:
                    raise Unsound(f"{self._refused} Nothing was changed.")
                await store.lead_to_decision(connection, order, self._target, rows[0])
                done: str = rows[0]["done"]
                await store.finish(connection, claim, order, "done", done)
        except IntegrityViolation:
            raise Unsound(f"{self._refused} Nothing was changed.") from None
        return done
