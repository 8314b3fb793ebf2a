"""One message over a real mail server: whether it went, did not go, or whether that cannot be known."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kit import config, limits
from services.executor.connectors import smtp
from services.executor.connectors.smtp import Letter, Mail, NotSent, SmtpConfig, Unknown
from tests.db.mail_world import Post, mail_server

LETTER = Letter("<1@firm.example>", "jane@client.example", "Legal hold", "Keep everything.\n")


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
async def server(post: Post) -> AsyncIterator[SmtpConfig]:
    async with mail_server(post) as settings:
        yield settings


@pytest.mark.parametrize(
    "letter",
    [
        Letter("<1@firm.example>", "jane@client.example\r\nBcc: x@y.example", "s", "t"),
        Letter("<1@firm.example>", "jane@client.example", "s\r\nBcc: x@y.example", "t"),
        Letter("<1@firm.example>", "", "s", "t"),
    ],
)
async def test_what_would_make_another_message_is_not_sent(post: Post, server: SmtpConfig, letter: Letter) -> None:
    with pytest.raises(NotSent, match=smtp.UNFIT):
        await Mail(server).send(letter)
    assert post.received == []


async def test_text_beyond_ascii_and_lines_of_one_dot_arrive_as_written(post: Post, server: SmtpConfig) -> None:
    text = "Größe, “quoted”\n.\n..\nend\n"
    await Mail(server).send(Letter("<1@firm.example>", "jane@client.example", "Über", text))
    (got,) = post.received
    body = got.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert (got["Subject"], body.decode("utf-8").replace("\r\n", "\n")) == ("Über", text)


async def test_a_refused_text_is_known_not_to_have_gone(post: Post, server: SmtpConfig) -> None:
    post.answer = "554 looks like spam"
    with pytest.raises(NotSent, match=smtp.REFUSED):
        await Mail(server).send(LETTER)


async def test_a_server_that_hangs_up_after_the_text_is_not_known(post: Post, server: SmtpConfig) -> None:
    post.hang_up = True
    with pytest.raises(Unknown):
        await Mail(server).send(LETTER)


async def test_a_server_without_the_encryption_that_was_asked_for_gets_nothing(post: Post, server: SmtpConfig) -> None:
    for security in ("starttls", "tls"):
        asked = SmtpConfig(host=server.host, port=server.port, security=security, sender=server.sender)
        with pytest.raises(NotSent, match=smtp.UNREACHED):
            await Mail(asked).send(LETTER)
    assert post.received == []


@pytest.mark.parametrize(("settings", "named"), [({"security": "plain"}, "security"), ({"host": "mail"}, "sender")])
def test_a_wrong_mail_configuration_stops_the_start(settings: dict[str, str], named: str) -> None:
    with pytest.raises(config.ConfigError, match=named):
        Mail(SmtpConfig(**settings))  # type: ignore[arg-type]


async def test_a_mail_server_that_says_nothing_is_waited_for_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    monkeypatch.setattr(limits, "SMTP_SECONDS", 0.2)
    serving = await asyncio.start_server(silent, "127.0.0.1", 0)
    settings = SmtpConfig(host="127.0.0.1", port=serving.sockets[0].getsockname()[1], security="none", sender="holds@firm.example")
    with pytest.raises(NotSent, match=smtp.UNREACHED):
        async with asyncio.timeout(5):
            await Mail(settings).send(LETTER)
    serving.close()
