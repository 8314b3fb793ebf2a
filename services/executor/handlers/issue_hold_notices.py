"""Sends the notices of a hold by mail, one to each custodian, in the firm's own texts."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from kit.db import Record
from services.executor import lease
from services.executor.connectors.smtp import Letter
from services.executor.handlers.mailing import HERE, Mailer
from services.executor.verify import Order


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
    """The mailing of issue_hold_notices."""

    statements, table = "issue_hold_notices.sql", "record.hold_notices"
    refused = "The hold does not stand in this matter, or not every custodian is under it and has a mail address. No notice was sent."
    ask_first = "Ask the custodian before it is sent again."

    def __init__(self) -> None:
        self._texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((HERE / "texts").glob("*.txt"))}

    def values(self, order: Order, domain: str) -> Mapping[str, Any]:
        """The hold, and for each custodian the id of the notice that this decision makes."""
        custodians = [uuid.UUID(c) for c in order.values["custodian_ids"]]
        return {
            "hold_id": order.values["hold_id"],
            "custodian_ids": custodians,
            "notice_ids": [lease.row_id(order.proposal_id, str(c)) for c in custodians],
            "template": order.values["text_template_id"],
            "domain": domain,
        }

    def expected(self, order: Order) -> int:
        """One for each custodian."""
        return len(order.values["custodian_ids"])

    def letter(self, row: Record) -> Letter:
        """The message of a notice."""
        return letter(row, self._texts)

    def summary(self, rows: Sequence[Record]) -> tuple[str, str]:
        """How it ended."""
        return summary(rows)


def make() -> Mailer:
    """The handler."""
    return Mailer(HoldNotices())
