"""Decisions over the real program: who may make one, what it is bound to, and that one proposal is ended once."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from kit import db, limits
from kit.decisions import Decision, verify
from tests.cluster import Database
from tests.db.approvals_world import DEADLINE, Browser, Somebody, World, hidden, opened
from tests.poll import until_async

CLAIM = """
INSERT INTO ledger.executions (proposal_id, fence, lease_owner, lease_until, intent, intent_at)
VALUES ($1, 1, 'x', now(), 'x', now())
"""
MANY_NONCES = """
INSERT INTO ledger.nonces (nonce_hash, proposal_id, action, case_id, user_id, args_digest, expires_at)
SELECT sha256(n::text::bytea), p.id, p.action, p.case_id, $2, p.args_digest, now() + interval '1 h'
  FROM ledger.proposals p, generate_series(1, 100) n WHERE p.id = $1
"""


@pytest.fixture
async def world(database: Database, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(database, tmp_path) as made:
        yield made


@pytest.fixture
def case() -> uuid.UUID:
    return uuid.uuid4()


@pytest.fixture
def ada(world: World, case: uuid.UUID) -> Somebody:
    return world.people.add(case)


@pytest.fixture
async def browser(world: World, ada: Somebody) -> Browser:
    return await world.client(ada)


async def test_a_decision_is_stored_signed_with_its_audit_row(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case, "create_deadline", DEADLINE)
    before = len(await world.sql("SELECT * FROM audit.log"))
    assert await world.decisions(id_) == []
    done = await browser.decide(id_, code="000100")
    assert (done.status_code, done.headers["location"]) == (303, f"/proposals/{id_}")
    (row,) = await world.decisions(id_)
    assert (row["decision"], row["decided_by"], row["step_up"]) == ("approved", ada.id, "totp")
    assert row["nonce_hash"]
    fields = {n: row[n] for n in ("args_digest", "decision", "decided_at", "reason", "shown_sha256", "nonce_hash", "step_up")}
    decision = Decision(proposal_id=str(id_), case_id=str(case), action="create_deadline", decided_by=str(ada.id), **fields)
    assert verify(world.key.public_key(), decision, row["signature"])
    audit = await world.sql("SELECT * FROM audit.log ORDER BY seq DESC LIMIT 1")
    assert (audit[0]["action"], audit[0]["outcome"], audit[0]["case_id"]) == ("approvals.decide", "approved", case)
    assert audit[0]["detail_sha256"] == sha256(decision.statement()).digest()
    assert len(await world.sql("SELECT * FROM audit.log")) == before + 1


async def test_what_is_stored_as_shown_is_what_was_served(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    _, page = await browser.form(f"/proposals/{id_}")
    card = page[page.index('<article class="card">') : page.index("</article>") + len("</article>")]
    await browser.decide(id_)
    (row,) = await world.decisions(id_)
    assert row["shown_sha256"] == sha256(card.encode()).digest()


async def test_a_confirmation_is_short_lived_and_only_its_hash_is_kept(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case)
    nonce = hidden((await browser.check(id_)).text)["nonce"]
    assert len(nonce) == 43
    (row,) = await world.sql("SELECT *, extract(epoch FROM expires_at - minted_at) AS seconds FROM ledger.nonces")
    assert row["nonce_hash"] == sha256(nonce.encode()).digest()
    assert nonce not in str(dict(row))
    assert 290 < float(row["seconds"]) <= limits.NONCE_SECONDS


async def test_nothing_is_recorded_before_the_confirmation(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    assert "Check your decision" in (await browser.check(id_)).text
    assert await world.decisions(id_) == []


async def test_of_twenty_racing_decisions_one_wins(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    ways = [("approved", ""), ("declined", "No."), ("sent_back", "Why?")]
    forms = []
    for n in range(20):
        decision, reason = ways[n % 3]
        forms.append(hidden((await browser.check(id_, decision, reason)).text))
    done = await asyncio.gather(*(browser.post(f"/proposals/{id_}/decide", form) for form in forms))
    assert sorted(d.status_code for d in done) == [303] + [409] * 19
    assert len(await world.decisions(id_)) == 1
    used = await world.sql("SELECT * FROM ledger.nonces WHERE used_at IS NOT NULL")
    assert len(used) == 1


async def test_a_button_pressed_twice_records_once_and_says_so(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    done = await asyncio.gather(*(browser.post(f"/proposals/{id_}/decide", form) for _ in range(5)))
    assert {d.status_code for d in done} == {303}
    assert len(await world.decisions(id_)) == 1


async def test_a_confirmation_of_another_proposal_is_refused(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    one, other = await world.propose(ada, case), await world.propose(ada, case)
    foreign = hidden((await browser.check(other)).text)["nonce"]
    form = hidden((await browser.check(one)).text)
    assert (await browser.post(f"/proposals/{one}/decide", {**form, "nonce": foreign})).status_code == 409
    assert await world.decisions(one) == await world.decisions(other) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("user_id", "'6b6f1cb0-7d27-4f0e-9d3d-0d1c6a3c1111'"),
        ("case_id", "'6b6f1cb0-7d27-4f0e-9d3d-0d1c6a3c1111'"),
        ("action", "'add_note'"),
        ("expires_at", "clock_timestamp() - interval '1 second'"),
        ("used_at", "clock_timestamp()"),
    ],
)
async def test_a_confirmation_that_is_not_for_exactly_this_is_refused(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, column: str, value: str
) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    await world.sql(f"UPDATE ledger.nonces SET {column} = {value}")
    assert (await browser.post(f"/proposals/{id_}/decide", form)).status_code == 409
    assert await world.decisions(id_) == []


async def test_the_pages_take_no_decision_without_a_confirmation(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    for nonce in ("", "made-up"):
        assert (await browser.post(f"/proposals/{id_}/decide", {**form, "nonce": nonce})).status_code == 409
    assert await world.decisions(id_) == []


@pytest.mark.parametrize("name", ["args_digest", "shown_sha256"])
@pytest.mark.parametrize("step", ["check", "decide"])
async def test_a_stale_digest_is_refused_at_both_steps(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, name: str, step: str
) -> None:
    id_ = await world.propose(ada, case)
    form, _ = await browser.form(f"/proposals/{id_}")
    if step == "decide":
        form = hidden((await browser.check(id_)).text)
    answer = await browser.post(f"/proposals/{id_}/{step}", {**form, "decision": "approved", name: "00" * 32})
    assert answer.status_code == 409
    assert "has changed since you opened it" in answer.text
    assert await world.decisions(id_) == []


async def test_what_the_record_says_by_now_has_to_be_looked_at_again(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    """A card that names the matter is another card once the matter is called otherwise."""
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    await world.sql("CREATE OR REPLACE FUNCTION approvals.matters(p_cases uuid[]) RETURNS TABLE (case_id uuid, name text) LANGUAGE sql AS "
                    "$$ SELECT c, 'Acme v. Widget' FROM unnest(p_cases) c $$")  # fmt: skip
    answer = await browser.post(f"/proposals/{id_}/decide", form)
    assert "has changed since you opened it" in answer.text
    assert await world.decisions(id_) == []


async def test_a_screen_raised_between_view_and_confirmation_stops_it(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    ada.case_ids.clear()
    assert (await browser.post(f"/proposals/{id_}/decide", form)).status_code == 404
    assert await world.decisions(id_) == []


async def test_a_screen_raised_within_the_last_request_stops_it_too(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    """The request is admitted, and then access is asked for once more under the lock."""
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    asked = []

    def on_ask() -> None:
        asked.append(1)
        if len(asked) == 2:
            ada.case_ids.clear()

    world.people.on_ask = on_ask
    assert (await browser.post(f"/proposals/{id_}/decide", form)).status_code == 404
    assert len(asked) == 2
    assert await world.decisions(id_) == []


async def test_a_screen_raised_while_a_decision_waits_for_its_turn_stops_it(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    admin = await db.connect_one(world.database.admin_dsn)
    try:
        async with admin.transaction():
            await admin.execute("SELECT ledger.hold($1)", id_)
            deciding = asyncio.create_task(browser.post(f"/proposals/{id_}/decide", form))
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            await until_async(lambda: admin.fetchval(waiting), "the decision waits")
            ada.case_ids.clear()
    finally:
        await admin.close()
    assert (await deciding).status_code == 404
    assert await world.decisions(id_) == []


@pytest.mark.parametrize("code", ["", "999999", "12345", "abcdef"])
async def test_an_always_confirm_action_needs_a_right_one_time_code(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, code: str
) -> None:
    id_ = await world.propose(ada, case, "create_deadline", DEADLINE)
    answer = await browser.decide(id_, code=code)
    assert answer.status_code == 422
    assert "<title>Error: Check your decision" in answer.text
    assert await world.decisions(id_) == []
    again = await browser.post(f"/proposals/{id_}/decide", {**hidden(answer.text), "code": "000200"})
    assert again.status_code == 303


async def test_a_one_time_code_is_not_spent_on_a_decision_that_is_refused(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case, "create_deadline", DEADLINE)
    form = hidden((await browser.check(id_)).text)
    await browser.post(f"/proposals/{id_}/decide", {**form, "args_digest": "00" * 32, "code": "000300"})
    assert "000300" in world.people.codes


async def test_without_a_code_device_an_always_confirm_action_can_be_declined_but_not_approved(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    ada.totp_enrolled = False
    id_ = await world.propose(ada, case, "create_deadline", DEADLINE)
    assert (await browser.check(id_)).status_code == 422
    assert (await browser.decide(id_, "declined", "Wrong day.")).status_code == 303
    assert (await world.decisions(id_))[0]["decision"] == "declined"


@pytest.mark.parametrize("decision", ["declined", "sent_back"])
async def test_declining_and_sending_back_need_a_reason(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, decision: str
) -> None:
    id_ = await world.propose(ada, case)
    answer = await browser.check(id_, decision, "  ")
    assert answer.status_code == 422
    assert "<title>Error: " in answer.text
    assert (await browser.check(id_, decision, "x" * 4001)).status_code == 422
    assert (await browser.decide(id_, decision, "Which rule sets the day?")).status_code == 303
    (row,) = await world.decisions(id_)
    assert (row["decision"], row["reason"]) == (decision, "Which rule sets the day?")


async def test_choosing_nothing_is_an_error_and_not_a_decision(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    answer = await browser.check(id_, "")
    assert answer.status_code == 422
    assert "Choose approve, decline, or send back." in answer.text
    assert '" checked' not in answer.text


@pytest.mark.parametrize("how", ["undeclared", "reworded", "unsound"])
async def test_what_the_declaration_does_not_cover_cannot_be_approved(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, how: str
) -> None:
    if how == "undeclared":
        id_ = await world.propose(ada, case, "sell_the_firm", {"price": 1})
    elif how == "reworded":
        id_ = await world.propose(ada, case, sentence="Something harmless happens.")
    else:
        id_ = await world.propose(ada, case)
        raw = b'{"title":"Draft","force":true}'
        await world.sql("ALTER TABLE ledger.proposals DISABLE TRIGGER rows_stand")
        await world.sql("UPDATE ledger.proposals SET args = $2, args_digest = sha256($2) WHERE id = $1", id_, raw)
    answer = await browser.check(id_)
    assert answer.status_code == 422
    assert (await browser.decide(id_, "declined", "No.")).status_code == 303


@pytest.mark.parametrize("end", ["withdrawn", "superseded", "expired"])
async def test_what_no_longer_waits_is_not_decided(world: World, ada: Somebody, browser: Browser, case: uuid.UUID, end: str) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    if end == "withdrawn":
        await world.sql("INSERT INTO ledger.withdrawals (proposal_id, key_id) VALUES ($1, $1)", id_)
    else:
        await world.sql("ALTER TABLE ledger.proposals DISABLE TRIGGER ALL")
        if end == "superseded":
            await world.propose(ada, case, supersedes=id_)
        else:
            await world.sql("UPDATE ledger.proposals SET filed_at = filed_at - interval '9 d', expires_at = now() WHERE id = $1", id_)
    answer = await browser.post(f"/proposals/{id_}/decide", form)
    assert answer.status_code == 409
    assert "no longer waits" in answer.text
    assert await world.decisions(id_) == []


async def test_a_person_has_a_bounded_number_of_open_confirmations(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    await world.sql(MANY_NONCES, id_, ada.id)
    answer = await browser.check(id_)
    assert answer.status_code == 409
    assert "Too many confirmations are open" in answer.text


async def test_where_auth_does_not_answer_nothing_is_decided(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    world.people.up = False
    assert (await browser.post(f"/proposals/{id_}/decide", form)).status_code == 503
    assert await world.decisions(id_) == []


async def test_a_result_follows_the_execution_and_a_failure_can_be_tried_again_once(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case)
    await browser.decide(id_)
    looking = asyncio.create_task(browser.get(f"/proposals/{id_}"))
    await world.sql(CLAIM, id_)
    await world.sql("UPDATE ledger.executions SET outcome = 'failed', detail = 'The calendar is full.', finished_at = now()")
    page = (await looking).text
    if "has not been carried out yet" in page:  # it looked before the execution was claimed, and its moment was over
        page = (await browser.get(f"/proposals/{id_}")).text
    assert "It could not be carried out." in page
    assert "The calendar is full." in page
    form = {"form_token": hidden(page)["form_token"]}
    assert (await browser.post(f"/proposals/{id_}/retry", form)).status_code == 303
    assert (await browser.post(f"/proposals/{id_}/retry", form)).status_code == 409
    (row,) = await world.sql("SELECT * FROM ledger.retries")
    assert (row["proposal_id"], row["attempt"], row["requested_by"]) == (id_, 1, ada.id)


async def test_the_result_page_is_woken_by_the_executor(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    await browser.decide(id_)
    await world.sql(CLAIM, id_)
    loop = asyncio.get_running_loop()
    started = loop.time()
    looking = asyncio.create_task(browser.get(f"/proposals/{id_}"))
    await asyncio.wait([looking], timeout=0.5)
    assert not looking.done()
    await world.sql("UPDATE ledger.executions SET outcome = 'done', finished_at = now()")
    assert "It has been carried out." in (await looking).text
    assert loop.time() - started < 2.5
