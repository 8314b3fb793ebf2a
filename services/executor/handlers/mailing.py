"""Actions that send mail: modules, since mail is part of no transaction and each message needs its own intent and outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kit.db import Connection, Record, Statement, arguments, load_statements
from services.executor.connectors.smtp import Letter, NotSent, Unknown
from services.executor.lease import Claim, Fenced
from services.executor.store import Store, context
from services.executor.verify import Order, Unsound

if TYPE_CHECKING:
    from services.executor.handlers import Tools

HERE = Path(__file__).parent
CUT_OFF = "the program stopped while it was sent, so whether it was sent cannot be known"


class Mailing(Protocol):
    """What differs between the actions that send mail."""

    statements: str  # the file with `prepare` and `letters`
    table: str  # where its messages are kept
    refused: str  # said where nothing can be prepared
    ask_first: str  # said of a message of which nobody can know whether it went

    def values(self, order: Order, domain: str) -> Mapping[str, Any]:
        """What `prepare` takes besides what every statement may use."""
        ...

    def expected(self, order: Order) -> int:
        """How many messages there are to be."""
        ...

    def letter(self, row: Record) -> Letter:
        """The message of a row."""
        ...

    def summary(self, rows: Sequence[Record]) -> tuple[str, str]:
        """How it ended: outcome, and a sentence."""
        ...


class Mailer:
    """The handler of an action that sends mail."""

    def __init__(self, mailing: Mailing) -> None:
        self._mailing = mailing
        common = {
            name: replace(s, sql=re.sub(r"\bletters\b", mailing.table, s.sql)) for name, s in load_statements(HERE / "mailing.sql").items()
        }
        self._sql: Mapping[str, Statement] = {**common, **load_statements(HERE / mailing.statements)}

    async def prepare(self, store: Store) -> None:
        """Prepares every statement as the executor's role."""
        async with store.unbound() as connection:
            for statement in self._sql.values():
                await connection.prepare(statement.sql)

    async def _run(self, connection: Connection[Record], name: str, values: Mapping[str, Any]) -> list[Record]:
        statement = self._sql[name]
        return await connection.fetch(statement.sql, *arguments(statement, values))

    async def carry_out(self, order: Order, claim: Claim, tools: Tools) -> str:
        """Sends what is to be sent and records each message; none is sent a second time unless a person asked for it."""
        for row in await self._prepared(order, claim, tools):
            if row["status"] == "prepared":
                await self._send(order, claim, tools, row)
        async with tools.store.fenced(claim, order.case_id) as connection:
            outcome, detail = self._mailing.summary(await self._run(connection, "letters", context(order)))
            await tools.store.finish(connection, claim, order, outcome, detail)
        return detail

    async def _prepared(self, order: Order, claim: Claim, tools: Tools) -> Sequence[Record]:
        """The messages as rows, before the first of them goes. What an earlier run began and did not end is settled as not known."""
        values = {**context(order), **self._mailing.values(order, tools.mail.domain), "unknown": f"{CUT_OFF}. {self._mailing.ask_first}"}
        async with tools.store.fenced(claim, order.case_id) as connection:
            # In this order: what was cut off is settled now, and sent again only when a person has read that and asks for it.
            await self._run(connection, "again", values)
            await self._run(connection, "settle", values)
            await self._run(connection, "prepare", values)
            rows = await self._run(connection, "letters", values)
            if len(rows) != self._mailing.expected(order):
                raise Unsound(self._mailing.refused)
        return rows

    async def _send(self, order: Order, claim: Claim, tools: Tools, row: Record) -> None:
        """One message: intent, mail, outcome. The lease runs anew with each."""
        about = {"id": row["id"], "case_id": order.case_id}
        async with tools.store.fenced(claim, order.case_id) as connection:
            if not await self._run(connection, "begin", {**about, "attempt": claim.attempt}):
                raise Fenced
            await tools.store.renew(connection, claim)
        status, detail = "sent", None
        try:
            await tools.mail.send(self._mailing.letter(row))
        except NotSent as not_sent:
            status, detail = "failed", str(not_sent)
        except Unknown as unknown:
            status, detail = "failed", f"{unknown}. {self._mailing.ask_first}"
        async with tools.store.fenced(claim, order.case_id) as connection:
            await self._run(connection, "end", {**about, "status": status, "detail": detail})
