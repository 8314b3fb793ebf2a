"""Sends one message to the client by mail, in the words that were decided on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kit.db import Record
from services.executor.connectors.smtp import Letter
from services.executor.handlers.mailing import Mailer
from services.executor.verify import Order


class ClientMessage:
    """The mailing of send_client_message."""

    statements, table = "send_client_message.sql", "record.client_messages"
    refused = "The message could not be kept. It was not sent."
    ask_first = "Ask the client before it is sent again."

    def values(self, order: Order, domain: str) -> Mapping[str, Any]:
        """Address and words."""
        return {**{name: order.values[name] for name in ("to", "subject", "body")}, "domain": domain}

    def expected(self, order: Order) -> int:  # noqa: ARG002 - a mailing of several asks its order
        """One."""
        return 1

    def letter(self, row: Record) -> Letter:
        """The message."""
        return Letter(row["message_id"], row["address"], row["subject"], row["body"])

    def summary(self, rows: Sequence[Record]) -> tuple[str, str]:
        """How it ended."""
        (row,) = rows
        if row["status"] == "sent":
            return "done", f"The message was sent to {row['address']}."
        return "failed", f"The message to {row['address']} was not sent: {row['detail']}."


def make() -> Mailer:
    """The handler."""
    return Mailer(ClientMessage())
