"""Hold notices over a real mail server: each is sent once, what failed says why, and what cannot be known is never sent again unasked."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from services.executor import lease
from services.executor.connectors import smtp
from services.executor.connectors.smtp import SmtpConfig
from services.executor.lease import Fenced
from tests.cluster import Loaded
from tests.db.executor_world import World, opened, sweep, urn
from tests.db.mail_world import Post, mail_server


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


async def hold(world: World, *emails: str | None) -> dict[str, Any]:
    """A hold on these custodians, and the arguments that send its notices."""
    executor = await world.executor()
    for n, email in enumerate(emails):
        await world.decided("add_custodian", {"name": f"Custodian {n}", **({"email": email} if email else {})})
    await sweep(executor)
    ids = [str(r["id"]) for r in await world.sql("SELECT id FROM record.custodians ORDER BY name")]
    await world.decided("set_litigation_hold", {"trigger": "Suit {filed}", "scope": "All mail", "custodian_ids": ids, "from": "2026-01-01"})
    await sweep(executor)
    row = await world.one("SELECT id FROM record.litigation_holds")
    return {"hold_id": str(row["id"]), "custodian_ids": ids, "text_template_id": "standard"}


async def statuses(world: World) -> list[str]:
    return [
        r["status"]
        for r in await world.sql(
            "SELECT status FROM record.hold_notices n JOIN record.custodians c ON c.id = n.custodian_id ORDER BY c.name"
        )
    ]


async def test_notices_go_out_once_each_with_an_id_of_their_own(world: World, post: Post, server: SmtpConfig) -> None:
    args = await hold(world, "jane@client.example", "joe@client.example")
    made = await world.decided("issue_hold_notices", args)
    executor = await world.executor(smtp=server)
    await sweep(executor)
    await sweep(executor)
    assert await world.outcome(made) == ("done", "2 of 2 notices were sent.")
    assert sorted(str(m["To"]) for m in post.received) == ["jane@client.example", "joe@client.example"]
    ids = {f"<{lease.row_id(made, c)}@firm.example>" for c in args["custodian_ids"]}
    assert {str(m["Message-ID"]) for m in post.received} == ids
    text = post.received[0].get_payload()
    assert "Suit {filed}" in str(text)
    assert "2026-01-01" in str(text)
    rows = await world.sql(
        "SELECT n.status, p.decision_id, p.target_id = n.id AS its_own, n.intent_at <= n.finished_at AS in_order, p.urn = $1 AS first "
        "FROM record.hold_notices n JOIN record.provenance p ON p.urn = n.provenance_id ORDER BY first",
        urn(made),
    )
    assert [tuple(r) for r in rows] == [("sent", made, True, True, False), ("sent", made, True, True, True)]


async def test_what_failed_says_why_and_a_persons_retry_sends_only_that_and_once(world: World, post: Post, server: SmtpConfig) -> None:
    args = await hold(world, "jane@client.example", "joe@client.example")
    post.refused.add("joe@client.example")
    made = await world.decided("issue_hold_notices", args)
    executor = await world.executor(smtp=server)
    await sweep(executor)
    detail = f"1 of 2 notices were sent. Not sent: Custodian 1: {smtp.NO_SUCH_ADDRESS}."
    assert await world.outcome(made) == ("failed", detail)
    post.refused.clear()
    await sweep(executor)
    assert len(post.received) == 1, "nobody asked for a retry"
    await world.retry(made)
    await sweep(executor)
    await sweep(executor)
    assert (await world.outcome(made))[0] == "done"
    assert [str(m["To"]) for m in post.received] == ["jane@client.example", "joe@client.example"]


async def test_a_server_that_is_not_there_fails_with_a_sentence_and_nothing_internal(world: World) -> None:
    args = await hold(world, "jane@client.example")
    nowhere = SmtpConfig(host="127.0.0.1", port=9, security="none", sender="holds@firm.example")
    made = await world.decided("issue_hold_notices", args)
    await sweep(await world.executor(smtp=nowhere))
    assert await world.outcome(made) == ("failed", f"0 of 1 notices were sent. Not sent: Custodian 0: {smtp.UNREACHED}.")
    await world.retry(made)
    await sweep(await world.executor("two"))
    assert await world.outcome(made) == ("failed", f"0 of 1 notices were sent. Not sent: Custodian 0: {smtp.NOT_CONFIGURED}.")


async def test_a_connection_that_breaks_after_the_text_leaves_it_unknown_and_it_is_not_repeated(
    world: World, post: Post, server: SmtpConfig
) -> None:
    args = await hold(world, "jane@client.example")
    post.hang_up = True
    made = await world.decided("issue_hold_notices", args)
    executor = await world.executor(smtp=server)
    await sweep(executor)
    await sweep(executor)
    outcome, detail = await world.outcome(made)
    assert (outcome, len(post.received)) == ("failed", 1)
    assert f"{smtp.UNKNOWN}. Ask the custodian before it is sent again." in str(detail)


async def test_a_notice_whose_sender_died_is_settled_as_not_known_and_the_others_still_go(
    world: World, post: Post, server: SmtpConfig
) -> None:
    args = await hold(world, "jane@client.example", "joe@client.example")
    made = await world.decided("issue_hold_notices", args)
    nowhere = await world.executor("old", smtp=SmtpConfig(host="127.0.0.1", port=9, security="none", sender="holds@firm.example"))
    await sweep(nowhere)
    # As a program leaves it that was killed between the intent of the first notice and its outcome.
    await world.sql("UPDATE record.hold_notices SET status = 'prepared', detail = NULL, finished_at = NULL")
    await world.sql("UPDATE record.hold_notices SET status = 'sending' WHERE custodian_id = $1", uuid.UUID(args["custodian_ids"][0]))
    await world.sql(
        "UPDATE ledger.executions SET outcome = NULL, detail = NULL, finished_at = NULL, lease_until = now() WHERE proposal_id = $1", made
    )
    executor = await world.executor("new", smtp=server)
    await sweep(executor)
    outcome, detail = await world.outcome(made)
    assert [str(m["To"]) for m in post.received] == ["joe@client.example"]
    assert outcome == "failed"
    assert "the program stopped while it was sent, so whether it was sent cannot be known. Ask the custodian" in str(detail)
    await world.retry(made)
    await sweep(executor)
    assert [str(m["To"]) for m in post.received] == ["joe@client.example", "jane@client.example"]
    assert (await world.outcome(made))[0] == "done"


async def test_a_sender_that_lost_its_lease_sends_nothing_more(world: World, post: Post, server: SmtpConfig) -> None:
    args = await hold(world, "jane@client.example")
    made = await world.decided("issue_hold_notices", args)
    executor = await world.executor(smtp=server)
    claim = await executor.tools.store.claim(made)
    assert claim is not None
    order = await executor._order(claim)
    await world.sql("UPDATE ledger.executions SET fence = fence + 1 WHERE proposal_id = $1", made)
    with pytest.raises(Fenced):
        await executor.handlers["issue_hold_notices"].carry_out(order, claim, executor.tools)
    assert (post.received, await statuses(world)) == ([], [])


async def test_a_custodian_without_an_address_stops_all_of_them_before_the_first(world: World, post: Post, server: SmtpConfig) -> None:
    args = await hold(world, "jane@client.example", None)
    made = await world.decided("issue_hold_notices", args)
    await sweep(await world.executor(smtp=server))
    outcome, detail = await world.outcome(made)
    assert (outcome, "No notice was sent." in str(detail)) == ("failed", True)
    assert (post.received, await statuses(world)) == ([], [])


async def test_a_second_decision_sends_again_since_a_person_decided_it(world: World, post: Post, server: SmtpConfig) -> None:
    args = await hold(world, "jane@client.example")
    executor = await world.executor(smtp=server)
    for template in ("standard", "reminder"):
        await world.decided("issue_hold_notices", {**args, "text_template_id": template})
        await sweep(executor)
    assert [str(m["Subject"]).partition(":")[0].strip() for m in post.received] == ["Legal hold", "Reminder of the legal hold"]
