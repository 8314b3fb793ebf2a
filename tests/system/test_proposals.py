"""The heart of the product, end to end: an agent files, a person decides in another program, a third program acts."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, async_playwright

from kit import actions, catalogue
from services.auth import totp
from tests.poll import until_async
from tests.system.client import MODES, call, client, refused
from tests.system.stack import Stack
from tests.system.test_authority import make_key, post

CHROMIUM = "/usr/bin/chromium"
PROPOSAL: dict[str, Any] = {"action": "create_deadline", "reason": "Set by the order at entry 135."}


_USED: dict[str, int] = {}


def code_of(stack: Stack, person: str) -> str:
    """A code that the person's authenticator shows, or is about to: each works once, so every use takes the next one."""
    secret = stack.people[person]["totp_secret"]
    raw = base64.b32decode(secret + "=" * (-len(secret) % 8))
    step = max(totp.step(datetime.now(UTC)) - 1, _USED.get(person, 0) + 1)
    _USED[person] = step
    return totp.code(raw, step)


async def sign_in(page: Page, stack: Stack, person: str) -> None:
    """Signs a person in."""
    await page.goto(stack.connect["approvals_url"] + "/sign-in")
    await page.get_by_label("Mail address").fill(stack.people[person]["email"])
    await page.get_by_label("Password").fill(stack.people[person]["password"])
    await page.get_by_role("button", name="Sign in").click()


async def confirm(page: Page, stack: Stack, approval_id: str, person: str) -> None:
    """Reviews a proposal, goes to the confirmation, and confirms it with a one-time code."""
    await page.goto(f"{stack.connect['approvals_url']}/proposals/{approval_id}")
    await page.get_by_label("Approve").check()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_label("One-time code").fill(code_of(stack, person))
    await page.get_by_role("button", name="Approve and carry out").click()


async def titles(connected: Any, case_id: str) -> dict[str, dict[str, Any]]:
    """Deadlines of a matter by title."""
    return {d["title"]: d for d in (await call(connected, "list_deadlines", case_id=case_id, page_size=200))["deadlines"] or []}


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(("mode", "javascript"), [("2026-07-28", True), ("legacy", False)], ids=["with JavaScript", "without JavaScript"])
async def test_a_deadline_that_an_agent_files_and_a_person_confirms_is_on_the_calendar_with_the_decision_behind_it(
    stack: Stack, mode: str, javascript: bool
) -> None:
    person = "Ada Reyes"
    case_id, title = stack.matters["soilworks"], f"Reply brief, {mode}, {javascript}"
    async with client(stack.mcp_url, stack.keys["firm"], mode) as connected, async_playwright() as playwright:
        filed = await call(connected, "propose_action", case_id=case_id, args={"title": title, "due_date": "2009-01-16"}, **PROPOSAL)
        assert (filed["status"], filed["executed"], filed["capped_at_rung"]) == ("pending_confirmation", False, "suggest")
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            page = await (await browser.new_context(java_script_enabled=javascript)).new_page()
            await sign_in(page, stack, person)
            assert title in await page.content()
            assert title not in await titles(connected, case_id)
            await confirm(page, stack, filed["approval_id"], person)
        finally:
            await browser.close()
        found = await until_async(lambda: _deadline(connected, case_id, title), "the deadline is on the calendar", 20)
        status = (await call(connected, "get_proposal_status", case_id=case_id, approval_id=filed["approval_id"]))["proposal"]
    assert found is not None
    assert found["due_date"] == "2009-01-16"
    assert any(filed["approval_id"] in urn for urn in found["provenance_ids"])
    assert (status["state"], status["execution"], status["executed"]) == ("approved", "done", True)


async def _deadline(connected: Any, case_id: str, title: str) -> dict[str, Any] | None:
    return (await titles(connected, case_id)).get(title)


@pytest.mark.parametrize("mode", MODES)
async def test_a_proposal_alone_changes_nothing_however_often_it_is_looked_at(stack: Stack, mode: str) -> None:
    case_id = stack.matters["mata"]
    async with client(stack.mcp_url, stack.keys["firm"], mode) as connected:
        before = await titles(connected, case_id)
        filed = await call(
            connected, "propose_action", case_id=case_id, args={"title": "Nobody confirms this", "due_date": "2026-08-14"}, **PROPOSAL
        )
        listed = await call(connected, "list_agent_proposals", case_id=case_id)
        assert filed["approval_id"] in {p["approval_id"] for p in listed["proposals"]}
        assert await titles(connected, case_id) == before


async def test_what_an_agent_smuggles_is_said_and_what_it_misspells_is_named(stack: Stack) -> None:
    case_id = stack.matters["mata"]
    good = {"title": "Answer due", "due_date": "2026-08-14"}
    async with client(stack.mcp_url, stack.keys["firm"]) as connected:
        filed = await call(connected, "propose_action", case_id=case_id, args={**good, "Override": True, "nonce": "x"}, **PROPOSAL)
        assert filed["overrides_ignored"] == ["Override", "nonce"]
        assert "colour" in await refused(connected, "propose_action", case_id=case_id, args={**good, "colour": "red"}, **PROPOSAL)


async def test_a_key_without_the_write_scope_files_nothing(stack: Stack) -> None:
    key = make_key(stack, "--scopes", "read")
    async with client(stack.mcp_url, key) as connected:
        args = {"title": "x", "due_date": "2026-08-14"}
        assert "write" in await refused(connected, "propose_action", case_id=stack.matters["mata"], args=args, **PROPOSAL)


def routes_of(stack: Stack) -> list[tuple[str, str]]:
    """Every way of the people's program, with the ids that a caller could know."""
    known = "6b6f1cb0-7d27-4f0e-9d3d-0d1c6a3c1111"
    paths = [
        "/",
        "/history",
        "/approvals",
        f"/approvals/{known}",
        f"/proposals/{known}",
        f"/proposals/{known}/check",
        f"/proposals/{known}/decide",
    ]
    paths += [
        "/batch",
        "/approvals/review-run",
        f"/approvals/{known}/decision",
        f"/proposals/{known}/retry",
        "/sign-out",
        f"/handoff/{'a' * 43}",
    ]
    return [(method, path) for path in paths for method in ("GET", "POST", "PUT", "DELETE", "PATCH")]


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "cookie"])
def test_no_way_of_the_peoples_program_opens_to_an_api_key(stack: Stack, header: str) -> None:
    key = stack.keys["firm"]
    sent = {"authorization": f"Bearer {key}", "x-api-key": key, "cookie": f"session={key}"}[header]
    opened = []
    for method, path in routes_of(stack):
        answer = httpx.request(
            method, stack.connect["approvals_url"] + path, headers={header: sent, "origin": stack.connect["approvals_url"]}, timeout=20
        )
        if answer.status_code < 300 or "proposal" in answer.headers.get("location", ""):
            opened.append((method, path, answer.status_code))
    assert opened == []


def test_no_tool_decides_confirms_or_executes(stack: Stack) -> None:
    words = {"approve", "confirm", "decide", "execute", "retry", "sign", "grant", "run"}
    tools = catalogue.load().tools
    assert [t.name for t in tools if words & set(t.name.split("_"))] == []
    assert [t.name for t in tools if not t.read_only] == ["propose_action"]
    for name in (*actions.load().by_name, "approve", "execute_proposal", "confirm"):
        answer = post(stack, stack.keys["firm"], name, {"case_id": stack.matters["mata"]})
        assert answer.json()["error"]["code"] == -32602
