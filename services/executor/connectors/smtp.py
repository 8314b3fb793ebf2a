"""Sends one message by SMTP, and says of each whether it went, did not go, or whether that cannot be known."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage

from kit import config, limits

NOT_CONFIGURED = "no mail server is configured"
UNREACHED = "the mail server could not be reached"
REFUSED = "the mail server did not take it"
NO_SUCH_ADDRESS = "the mail server does not take mail for this address"
UNFIT = "it does not make a message that can be sent"
UNKNOWN = "the connection to the mail server broke while it was handed over, so whether it was sent cannot be known"
OK = 250
_WIRE = policy.SMTP.clone(cte_type="7bit")


@dataclass(frozen=True)
class SmtpConfig:
    """How the firm's mail server is reached; without a host nothing is sent."""

    host: str = ""
    port: int = 587
    security: str = "starttls"  # starttls, tls, or none for a server on this machine
    ca_file: str = ""  # who vouches for the server; empty means the authorities of this machine
    username: str = ""
    password_file: str = ""
    sender: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """One message."""

    message_id: str
    address: str
    subject: str
    text: str


class NotSent(Exception):
    """A message that did not go; the text is a part of a sentence."""


class Unknown(Exception):
    """A message of which nobody can know whether it went."""


class Mail:
    """The firm's mail server."""

    def __init__(self, settings: SmtpConfig) -> None:
        if settings.security not in ("starttls", "tls", "none"):
            raise config.ConfigError(f"[smtp] security: expected starttls, tls or none, got {settings.security!r}")
        if settings.host and not settings.sender:
            raise config.ConfigError("[smtp] sender: missing")
        self._settings = settings
        self._password = config.secret(settings.password_file) if settings.username else ""

    @property
    def domain(self) -> str:
        """Where message ids come from."""
        return self._settings.sender.rpartition("@")[2] or "localhost"

    async def send(self, letter: Letter) -> None:
        """Sends it, once. The standard library's client waits, so it has a thread of its own."""
        if not self._settings.host:
            raise NotSent(NOT_CONFIGURED)
        await asyncio.to_thread(self._send, letter)

    def _send(self, letter: Letter) -> None:
        try:
            content = self._message(letter).as_bytes(policy=_WIRE)
        except (ValueError, IndexError):
            raise NotSent(UNFIT) from None
        try:
            with self._connected() as server:
                if server.mail(self._settings.sender)[0] != OK:
                    raise NotSent(REFUSED)
                if server.rcpt(letter.address)[0] not in (OK, 251):
                    raise NotSent(NO_SUCH_ADDRESS)
                self._hand_over(server, content)
        except (smtplib.SMTPException, OSError):
            raise NotSent(UNREACHED) from None

    @staticmethod
    def _hand_over(server: smtplib.SMTP, content: bytes) -> None:
        """The step after which the server has it. An answer settles it; silence does not."""
        try:
            code, _ = server.data(content)
        except smtplib.SMTPDataError:
            raise NotSent(REFUSED) from None
        except (smtplib.SMTPException, OSError):
            raise Unknown(UNKNOWN) from None
        if code != OK:
            raise NotSent(REFUSED)

    def _message(self, letter: Letter) -> EmailMessage:
        message = EmailMessage()
        message["Message-ID"] = letter.message_id
        message["From"] = Address(addr_spec=self._settings.sender)
        message["To"] = Address(addr_spec=letter.address)
        message["Subject"] = letter.subject
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(letter.text)
        return message

    @contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        """A conversation that got as far as who we are. How it ends does not matter: what counts was answered by then."""
        settings = self._settings
        trust = ssl.create_default_context(cafile=settings.ca_file or None)
        server: smtplib.SMTP
        if settings.security == "tls":
            server = smtplib.SMTP_SSL(settings.host, settings.port, timeout=limits.SMTP_SECONDS, context=trust)
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=limits.SMTP_SECONDS)
        try:
            server.ehlo()
            if settings.security == "starttls":
                server.starttls(context=trust)
                server.ehlo()
            if settings.username:
                server.login(settings.username, self._password)
            yield server
        finally:
            server.close()
