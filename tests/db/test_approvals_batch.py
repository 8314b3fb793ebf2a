"""Several proposals at once, by page and by JSON: each stands or falls by itself, and nothing gets in that its declaration keeps out."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kit import limits
from tests.cluster import Database
from tests.db.approvals_world import DEADLINE, TASK, Browser, Somebody, World, hidden, opened


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


async def submit(browser: Browser, *ids: uuid.UUID, **more: str) -> str:
    """Selects ids on the page as it is now, whether it has them or not."""
    fields, _ = await browser.form("/")
    return await send(browser, fields, *ids, **more)


async def send(browser: Browser, fields: dict[str, str], *ids: uuid.UUID, **more: str) -> str:
    answer = await browser.http.post("/batch", data={**fields, **more, "selected": [str(i) for i in ids]})
    assert answer.status_code == 200, answer.text
    return answer.text


async def states(world: World) -> dict[uuid.UUID, str]:
    return {r["id"]: r["state"] for r in await world.sql("SELECT id, state FROM ledger.states")}


async def test_only_what_the_declaration_allows_has_a_checkbox_and_none_is_selected(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    routine = await world.propose(ada, case)
    alone = await world.propose(ada, case, "create_deadline", DEADLINE)
    unknown = await world.propose(ada, case, "sell_the_firm", {"price": 1})
    page = (await browser.get("/")).text
    assert re.findall(r'<input type="checkbox"[^>]*value="([^"]+)"', page) == [str(routine)]
    assert not re.search(r"<input[^>]* checked", page)
    for id_ in (routine, alone, unknown):
        assert f'href="/proposals/{id_}"' in page
    assert "It always needs its own confirmation." in page
    assert "It needs a second confirmation." in page
    assert "This action is not declared in this installation" in page
    assert "Calendar the deadline “Answer due” for 2026-08-14" in page


async def test_there_is_no_control_that_selects_or_approves_everything(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    for _ in range(3):
        await world.propose(ada, case)
    page = (await browser.get("/")).text
    assert len(re.findall(r'type="checkbox"', page)) == 3
    assert re.findall(r"<button[^>]*>([^<]+)<", page) == ["Sign out", "Approve what you selected"]
    assert not re.search(r"\b(select|approve|check) all\b", page, re.IGNORECASE)


async def test_what_expires_first_stands_first_and_by_matter(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    other = uuid.uuid4()
    ada.case_ids.add(other)
    now = datetime.now(UTC)
    ids = [await world.propose(ada, c, expires_at=now + timedelta(days=d)) for c, d in ((case, 3), (other, 1), (case, 2), (other, 4))]
    page = (await browser.get("/")).text
    order = [uuid.UUID(i) for i in re.findall(r'class="open" href="/proposals/([^"]+)"', page)]
    assert order == [ids[1], ids[3], ids[2], ids[0]]


async def test_selecting_nothing_is_an_error(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    await world.propose(ada, case)
    fields, _ = await browser.form("/")
    answer = await browser.post("/batch", fields)
    assert answer.status_code == 422
    assert "<title>Error: Today" in answer.text


async def test_each_selected_proposal_has_its_own_decision_and_audit_row(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    ids = [await world.propose(ada, case) for _ in range(4)]
    page = await submit(browser, *ids[:3])
    assert "<h1>3 of 3 recorded</h1>" in page
    found = await states(world)
    assert [found[i] for i in ids] == ["approved"] * 3 + ["undecided"]
    assert len({d["signature"] for i in ids[:3] for d in await world.decisions(i)}) == 3
    assert len(await world.sql("SELECT * FROM audit.log WHERE action = 'approvals.decide'")) == 3


async def test_planted_changed_and_individual_ids_are_refused_one_by_one_and_the_rest_go_on(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    walled_case = uuid.uuid4()
    ada.case_ids.add(walled_case)
    colleague = world.people.add(case)
    good = [await world.propose(ada, case) for _ in range(2)]
    alone = await world.propose(ada, case, "create_deadline", DEADLINE)
    undeclared = await world.propose(ada, case, "sell_the_firm", {"price": 1})
    foreign = await world.propose(colleague, case)
    decided, changed = await world.propose(ada, case), await world.propose(ada, case)
    walled = await world.propose(ada, walled_case)
    fields, _ = await browser.form("/")
    await browser.decide(decided, "declined", "No.")
    ada.case_ids.discard(walled_case)
    fields[f"shown-{changed}"] = "00" * 32
    bad = [alone, undeclared, foreign, decided, changed, walled, uuid.uuid4()]
    page = await send(browser, fields, good[0], *bad, good[1])
    assert "<h1>2 of 9 recorded</h1>" in page
    found = await states(world)
    assert [found[i] for i in good] == ["approved", "approved"]
    assert [found.get(i) for i in bad] == ["undecided", "undecided", "undecided", "declined", "undecided", "undecided", None]


async def test_an_individual_proposal_is_refused_even_with_its_digests_and_a_confirmation(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    alone = await world.propose(ada, case, "create_deadline", DEADLINE)
    form = hidden((await browser.check(alone)).text)
    extra = {f"digest-{alone}": form["args_digest"], f"shown-{alone}": form["shown_sha256"], "nonce": form["nonce"], "code": "000100"}
    for names in ({}, {"confirm": "true", "confirmation_token": form["nonce"], f"nonce-{alone}": form["nonce"]}):
        page = await submit(browser, alone, **extra, **names)
        assert "has to be decided by itself" in page
    assert await world.decisions(alone) == []


async def test_a_page_holds_so_many_and_no_more_are_taken_at_once(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    other = uuid.uuid4()
    ada.case_ids.add(other)
    for number in range(limits.REVIEW_SET_MAX + 2):
        await world.propose(ada, case if number < 20 else other)
    fields, page = await browser.form("/")
    assert len(re.findall(r'type="checkbox"', page)) == limits.REVIEW_SET_MAX
    assert f"{limits.REVIEW_SET_MAX + 2} proposals wait" in page
    too_many = [str(uuid.uuid4()) for _ in range(limits.REVIEW_SET_MAX + 1)]
    assert (await browser.http.post("/batch", data={**fields, "selected": too_many})).status_code == 400


def item(shown: dict[str, Any], **more: str) -> dict[str, Any]:
    """An item of a review run, from what was shown."""
    return {"id": shown["card"]["id"], "args_digest": shown["args_digest"], "shown_sha256": shown["shown_sha256"], **more}


async def test_a_review_run_decides_what_is_routine_and_confirms_the_rest_in_a_second_pass(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    routine = await world.propose(ada, case)
    gated = await world.propose(ada, case, "create_deadline", DEADLINE)
    listed = (await browser.get("/approvals")).json()
    assert listed["count"] == 2
    first = (await browser.json("/approvals/review-run", {"items": [item(s) for s in listed["approvals"]]})).json()["items"]
    by_id = {uuid.UUID(i["id"]): i for i in first}
    assert (by_id[routine]["ok"], by_id[routine]["status"]) == (True, "recorded")
    assert (by_id[gated]["ok"], by_id[gated]["status"]) == (False, "confirmation_required")
    assert by_id[gated]["card"]["what_will_happen"].startswith("Calendar the deadline")
    assert (await states(world))[gated] == "undecided"
    confirmed = item(by_id[gated], nonce=by_id[gated]["nonce"], totp="000100")
    (second,) = (await browser.json("/approvals/review-run", {"items": [confirmed]})).json()["items"]
    assert (second["ok"], second["status"]) == (True, "recorded")
    assert (await states(world))[gated] == "approved"


async def test_a_review_run_of_bare_ids_shows_and_decides_nothing(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    ids = [await world.propose(ada, case), await world.propose(ada, case, "create_deadline", DEADLINE)]
    answer = await browser.json("/approvals/review-run", {"items": [{"id": str(i)} for i in ids]})
    assert [i["status"] for i in answer.json()["items"]] == ["confirmation_required"] * 2
    assert set((await states(world)).values()) == {"undecided"}


async def test_a_denial_in_a_review_run_stops_nothing_else(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    first, last = await world.propose(ada, case), await world.propose(ada, case)
    shown = {s["card"]["id"]: item(s) for s in (await browser.get("/approvals")).json()["approvals"]}
    foreign = await world.propose(world.people.add(case), case)
    items = [shown[str(first)], {"id": str(foreign)}, {**shown[str(last)], "nonce": "made-up"}]
    answer = (await browser.json("/approvals/review-run", {"items": items})).json()["items"]
    assert [(i["ok"], i["status"]) for i in answer] == [(True, "recorded"), (False, "not_found"), (False, "confirmation_invalid")]


async def test_one_decision_by_json(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    shown = (await browser.get(f"/approvals/{id_}")).json()
    body = {"decision": "decline", "args_digest": shown["args_digest"], "shown_sha256": shown["shown_sha256"]}
    assert (await browser.json(f"/approvals/{id_}/decision", body)).json()["status"] == "reason_required"
    answer = await browser.json(f"/approvals/{id_}/decision", {**body, "reason": "Not needed."})
    assert (answer.status_code, answer.json()["ok"]) == (200, True)
    after = (await browser.get(f"/approvals/{id_}")).json()
    assert (after["state"], after["decision_reason"]) == ("declined", "Not needed.")


async def test_a_gated_decision_by_json_needs_the_confirmation_and_the_code(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case, "create_deadline", DEADLINE)
    shown = (await browser.get(f"/approvals/{id_}")).json()
    body = {"decision": "approve", "args_digest": shown["args_digest"], "shown_sha256": shown["shown_sha256"]}
    first = await browser.json(f"/approvals/{id_}/decision", body)
    assert (first.status_code, first.json()["status"]) == (409, "confirmation_required")
    with_nonce = {**body, "nonce": first.json()["nonce"]}
    assert (await browser.json(f"/approvals/{id_}/decision", with_nonce)).json()["status"] == "step_up_required"
    answer = await browser.json(f"/approvals/{id_}/decision", {**with_nonce, "totp": "000500"})
    assert answer.json()["status"] == "recorded"


async def test_a_person_s_session_works_as_a_bearer_token_on_json_only(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case)
    bearer = {"Authorization": f"Bearer {browser.token}"}
    plain = world.browser(**bearer)
    del plain.http.headers["Origin"], plain.http.headers["Sec-Fetch-Site"]
    shown = (await plain.get(f"/approvals/{id_}")).json()
    body = {"decision": "approve", "args_digest": shown["args_digest"], "shown_sha256": shown["shown_sha256"]}
    assert (await plain.json(f"/approvals/{id_}/decision", body)).json()["ok"] is True
    assert (await plain.get("/")).status_code == 303
    assert (await plain.post("/batch", {})).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {"items": []},
        {"items": [{"id": "x"}]},
        {"items": [{"id": str(uuid.uuid4()), "force": "true"}]},
        {"items": [{"id": str(uuid.uuid4())}] * 2},
        {"items": [{"id": str(uuid.uuid4())} for _ in range(26)]},
        {"items": "all"},
        {"approve_all": "true"},
        [],
    ],
)
async def test_a_review_run_takes_no_other_shape(browser: Browser, body: Any) -> None:
    assert (await browser.json("/approvals/review-run", body)).status_code == 400


async def test_another_s_and_a_walled_proposal_are_as_if_absent(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    walled_case = uuid.uuid4()
    foreign = await world.propose(world.people.add(case), case)
    walled = await world.propose(ada, walled_case)
    absent = uuid.uuid4()
    for prefix in ("/proposals/", "/approvals/"):
        answers = [await browser.get(f"{prefix}{i}") for i in (foreign, walled, absent)]
        assert {a.status_code for a in answers} == {404}
        assert len({a.text for a in answers}) == 1


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7*7 }} \u202egnp.exe \u200b**bold** [x](javascript:1) \" ' &amp; '--"


async def test_hostile_text_stays_text_and_the_invisible_is_seen(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case, args={**TASK, "title": HOSTILE[:300]}, reason=HOSTILE, overrides=["<b>force</b>", "no\u200bnce"])
    await browser.check(id_, "declined", HOSTILE)
    pages = [(await browser.get(p)).text for p in ("/", f"/proposals/{id_}")]
    pages.append((await browser.check(id_, "declined", HOSTILE)).text)
    await browser.decide(id_, "declined", HOSTILE)
    pages += [(await browser.get(p)).text for p in ("/history", f"/proposals/{id_}")]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b>" not in page
        assert "49" not in page.partition("gnp.exe")[0][-40:]
        assert "\u202e" not in re.sub(r'<input type="hidden"[^>]*>', "", page)  # what travels with a form is not shown
        assert "⟨U+202E⟩" in page
    assert "&lt;b&gt;force&lt;/b&gt;" in pages[0]
    assert "no⟨U+200B⟩nce" in pages[1]
    assert "Written by the agent and not checked." in pages[1]


async def test_the_history_is_paged_and_follows_access(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    for _ in range(limits.HISTORY_PAGE_ROWS + 1):
        id_ = await world.propose(ada, case)
        await world.sql("INSERT INTO ledger.withdrawals (proposal_id, key_id) VALUES ($1, $1)", id_)
    page = (await browser.get("/history")).text
    assert len(re.findall(r"<li>\s*<p class=\"sentence\"", page)) == limits.HISTORY_PAGE_ROWS
    older = re.findall(r'href="(/history\?before=[^"]+)"', page)[0]
    assert len(re.findall(r"<li>\s*<p class=\"sentence\"", (await browser.get(older)).text)) == 1
    ada.case_ids.clear()
    assert "Nothing here yet." in (await browser.get("/history")).text
    assert (await browser.get("/history?before=yesterday")).status_code == 400
