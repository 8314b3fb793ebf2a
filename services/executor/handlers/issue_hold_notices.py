"""Sends the notices of a hold by mail: a module, since mail is part of no transaction and each notice needs its own intent and outcome."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.db import Connection, Record, Statement, arguments, load_statements
from services.executor import lease
from services.executor.connectors.smtp import Letter, NotSent, Unknown
from services.executor.lease import Claim, Fenced
from services.executor.store import Store, context
from services.executor.verify import Order, Unsound

if TYPE_CHECKING:
    from services.executor.handlers import Tools

HERE = Path(__file__).parent
REFUSED = "The hold does not stand in this matter, or not every custodian is under it and has a mail address. No notice was sent."
CUT_OFF = "the program stopped while it was sent, so whether it was sent cannot be known"
ASK_FIRST = "Ask the custodian before it is sent again."


def letter(notice: Record, texts: Mapping[str, str]) -> Letter:
    """The message of a notice: the first line of the firm's text is its subject."""
    places = {"caption": notice["caption"], "name": notice["name"], "trigger": notice["trigger_event"]}
    filled = texts[notice["template"]].format(**places, since=notice["effective_from"].isoformat(), scope=notice["scope"])
    subject, _, text = filled.partition("\n")
    return Letter(notice["message_id"], notice["address"], " ".join(subject.split()), text.lstrip("\n"))


def summary(notices: Sequence[Record]) -> tuple[str, str]:
    """How it ended: outcome, and a sentence that names what did not go and why."""
    missed = [n for n in notices if n["status"] != "sent"]
    if not missed:
        return "done", f"{len(notices)} of {len(notices)} notices were sent."
    named = "; ".join(f"{n['name']}: {n['detail']}" for n in missed)
    return "failed", f"{len(notices) - len(missed)} of {len(notices)} notices were sent. Not sent: {named}."


class HoldNotices:
    """The handler of issue_hold_notices."""

    def __init__(self) -> None:
        self._sql: Mapping[str, Statement] = load_statements(HERE / "issue_hold_notices.sql")
        self._texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((HERE / "texts").glob("*.txt"))}

    async def prepare(self, store: Store) -> None:
        """Prepares every statement as the executor's role."""
        async with store.unbound() as connection:
            for statement in self._sql.values():
                await connection.prepare(statement.sql)

    async def _run(self, connection: Connection[Record], name: str, values: Mapping[str, Any]) -> list[Record]:
        statement = self._sql[name]
        return await connection.fetch(statement.sql, *arguments(statement, values))

    async def carry_out(self, order: Order, claim: Claim, tools: Tools) -> str:
        """Sends what is to be sent and records each notice; no notice is sent a second time unless a person asked for it."""
        for notice in await self._prepared(order, claim, tools):
            if notice["status"] == "prepared":
                await self._send(order, claim, tools, notice)
        async with tools.store.fenced(claim, order.case_id) as connection:
            outcome, detail = summary(await self._run(connection, "notices", context(order)))
            await tools.store.finish(connection, claim, order, outcome, detail)
        return detail

    async def _prepared(self, order: Order, claim: Claim, tools: Tools) -> Sequence[Record]:
        """The notices as rows, before the first of them goes. What an earlier run began and did not end is settled as not known."""
        custodians = [uuid.UUID(c) for c in order.values["custodian_ids"]]
        values = {
            **context(order),
            "hold_id": order.values["hold_id"],
            "custodian_ids": custodians,
            "notice_ids": [lease.row_id(order.proposal_id, str(c)) for c in custodians],
            "template": order.values["text_template_id"],
            "domain": tools.mail.domain,
            "unknown": f"{CUT_OFF}. {ASK_FIRST}",
        }
        async with tools.store.fenced(claim, order.case_id) as connection:
            # In this order: what was cut off is settled now, and sent again only when a person has read that and asks for it.
            await self._run(connection, "again", values)
            await self._run(connection, "settle", values)
            await self._run(connection, "prepare", values)
            notices = await self._run(connection, "notices", values)
            if len(notices) != len(custodians):
                raise Unsound(REFUSED)
        return notices

    async def _send(self, order: Order, claim: Claim, tools: Tools, notice: Record) -> None:
        """One notice: intent, mail, outcome. The lease runs anew with each."""
        about = {"id": notice["id"], "case_id": order.case_id}
        async with tools.store.fenced(claim, order.case_id) as connection:
            if not await self._run(connection, "begin", {**about, "attempt": claim.attempt}):
                raise Fenced
            await tools.store.renew(connection, claim)
        status, detail = "sent", None
        try:
            await tools.mail.send(letter(notice, self._texts))
        except NotSent as not_sent:
            status, detail = "failed", str(not_sent)
        except Unknown as unknown:
            status, detail = "failed", f"{unknown}. {ASK_FIRST}"
        async with tools.store.fenced(claim, order.case_id) as connection:
            await self._run(connection, "end", {**about, "status": status, "detail": detail})


def make() -> HoldNotices:
    """The handler."""
    return HoldNotices()
