"""A message to the client over a real mail server: sent once, in the words that were decided on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.executor import lease
from services.executor.connectors import smtp
from services.executor.connectors.smtp import SmtpConfig
from tests.cluster import Loaded
from tests.db.executor_world import World, opened, sweep, urn
from tests.db.mail_world import Post, mail_server

MESSAGE = {"to": "jane@client.example", "subject": "The hearing moved", "body": "Dear Jane,\n\nit is on Monday now.\n.\n"}


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
async def server(post: Post) -> AsyncIterator[SmtpConfig]:
    async with mail_server(post) as settings:
        yield settings


@pytest.fixture
async def world(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path, own_loaded.matters["mclean"]) as made:
        yield made


async def test_a_message_goes_once_as_it_was_decided_and_leads_to_its_decision(world: World, post: Post, server: SmtpConfig) -> None:
    made = await world.decided("send_client_message", MESSAGE)
    executor = await world.executor(smtp=server)
    await sweep(executor)
    await sweep(executor)
    assert await world.outcome(made) == ("done", "The message was sent to jane@client.example.")
    (got,) = post.received
    body = got.get_payload(decode=True)
    assert isinstance(body, bytes)
    assert (got["To"], got["Subject"]) == (MESSAGE["to"], MESSAGE["subject"])
    assert body.decode().replace("\r\n", "\n") == MESSAGE["body"]
    assert got["Message-ID"] == f"<{lease.row_id(made)}@firm.example>"
    row = await world.one(
        "SELECT m.status, p.decision_id FROM record.client_messages m JOIN record.provenance p ON p.urn = m.provenance_id"
    )
    assert tuple(row) == ("sent", made)
    assert await world.sql("SELECT 1 FROM record.provenance WHERE urn = $1 AND target_table = 'client_messages'", urn(made))


async def test_what_failed_says_why_and_goes_when_a_person_asks_again(world: World, post: Post, server: SmtpConfig) -> None:
    post.refused.add(MESSAGE["to"])
    made = await world.decided("send_client_message", MESSAGE)
    executor = await world.executor(smtp=server)
    await sweep(executor)
    assert await world.outcome(made) == ("failed", f"The message to jane@client.example was not sent: {smtp.NO_SUCH_ADDRESS}.")
    post.refused.clear()
    await sweep(executor)
    assert post.received == []
    await world.retry(made)
    await sweep(executor)
    assert ((await world.outcome(made))[0], len(post.received)) == ("done", 1)


async def test_a_message_of_which_nobody_knows_is_not_repeated_unasked(world: World, post: Post, server: SmtpConfig) -> None:
    post.hang_up = True
    made = await world.decided("send_client_message", MESSAGE)
    executor = await world.executor(smtp=server)
    await sweep(executor)
    await sweep(executor)
    outcome, detail = await world.outcome(made)
    assert (outcome, len(post.received)) == ("failed", 1)
    assert f"{smtp.UNKNOWN}. Ask the client before it is sent again." in str(detail)


async def test_a_program_that_was_killed_while_it_sent_leaves_it_as_not_known(world: World, post: Post, server: SmtpConfig) -> None:
    made = await world.decided("send_client_message", MESSAGE)
    await sweep(await world.executor("old"))  # no mail server: it fails
    await world.sql("UPDATE record.client_messages SET status = 'sending', detail = NULL, finished_at = NULL")
    await world.sql("UPDATE ledger.executions SET outcome = NULL, detail = NULL, finished_at = NULL, lease_until = now()")
    await sweep(await world.executor("new", smtp=server))
    outcome, detail = await world.outcome(made)
    assert (outcome, post.received) == ("failed", [])
    assert "the program stopped while it was sent, so whether it was sent cannot be known. Ask the client" in str(detail)
