"""A real mail server whose mood a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from email.policy import default

from aiosmtpd.smtp import SMTP, Envelope, Session

from services.executor.connectors.smtp import SmtpConfig


@dataclass
class Post:
    """A mail server whose mood a test decides."""

    received: list[Message] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
    answer: str = "250 taken"
    hang_up: bool = False

    async def handle_RCPT(self, _s: SMTP, _n: Session, envelope: Envelope, address: str, _options: list[str]) -> str:  # noqa: N802
        if address in self.refused:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 ok"

    async def handle_DATA(self, server: SMTP, _n: Session, envelope: Envelope) -> str:  # noqa: N802
        assert isinstance(envelope.content, bytes)
        self.received.append(message_from_bytes(envelope.content, policy=default))
        if self.hang_up:
            assert isinstance(server.transport, asyncio.WriteTransport)
            server.transport.abort()
        return self.answer


@asynccontextmanager
async def mail_server(post: Post) -> AsyncIterator[SmtpConfig]:
    """The server, and how an executor is told of it."""
    serving = await asyncio.get_running_loop().create_server(lambda: SMTP(post), "127.0.0.1", 0)
    try:
        yield SmtpConfig(host="127.0.0.1", port=serving.sockets[0].getsockname()[1], security="none", sender="holds@firm.example")
    finally:
        serving.close()
        await serving.wait_closed()
