"""WCAG 2.2 AA as far as a machine can tell: axe in a real browser on every page and every error, and a narrow screen."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page

from tests.browser.conftest import Site
from tests.db.approvals_world import DEADLINE

pytestmark = pytest.mark.needs("chromium")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LONG = "Averyveryverylongwordwithoutanyspace" * 6


def accessible(page: Page) -> None:
    """No rule is broken, no sideways scroll, a title and one main heading."""
    page.wait_for_load_state("load")  # without its style sheet a page is another page
    found = Axe().run(page, options={"runOnly": RULES})
    broken = [(v["id"], n["target"], n["failureSummary"]) for v in found.response["violations"] for n in v["nodes"]]
    assert broken == [], page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], page.url  # type: ignore[index]
    assert page.get_by_role("heading", level=1).count() == 1


@pytest.fixture(params=[1280, 320])
def sized(request: pytest.FixtureRequest, chromium: Chromium) -> Iterator[Page]:
    """A page on a wide and on a narrow screen."""
    context = chromium.new_context(viewport={"width": request.param, "height": 800})
    yield context.new_page()
    context.close()


def test_every_page_and_every_error_is_accessible(site: Site, sized: Page) -> None:
    page, url = sized, site.world.url
    gated = site.propose("create_deadline", args={**DEADLINE, "source_entry_id": str(uuid.uuid4())}, overrides=["force"], reason=LONG)
    site.propose(args={"title": LONG})
    site.propose("sell_the_firm", args={"price": 1})
    page.goto(url + "/sign-in")
    accessible(page)
    page.get_by_label("Mail address").fill("nobody@firm.example")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    accessible(page)
    site.sign_in(page)
    accessible(page)
    page.get_by_role("button", name="Approve what you selected").click()
    assert page.title().startswith("Error:")
    accessible(page)
    page.goto(f"{url}/proposals/{gated}")
    accessible(page)
    page.get_by_role("button", name="Continue").click()
    accessible(page)
    page.get_by_label("Decline").check()
    page.get_by_role("button", name="Continue").click()
    accessible(page)
    page.get_by_label("Approve").check()
    page.get_by_role("button", name="Continue").click()
    accessible(page)
    page.get_by_role("button", name="Approve and carry out").click()
    accessible(page)
    page.get_by_label("One-time code").fill("000100")
    page.get_by_role("button", name="Approve and carry out").click()
    accessible(page)


def test_results_refusals_and_what_is_missing_are_accessible(site: Site, sized: Page) -> None:
    page, url = sized, site.world.url
    site.sign_in(page)
    accessible(page)
    routine = site.propose(args={"title": LONG})
    failed = site.propose()
    page.goto(url)
    page.get_by_role("checkbox").first.check()
    page.get_by_role("checkbox").last.check()
    page.get_by_role("button", name="Approve what you selected").click()
    accessible(page)
    claim = "INSERT INTO ledger.executions (proposal_id, fence, lease_owner, lease_until, intent, intent_at, outcome, detail, finished_at)"
    site.run(site.world.sql(f"{claim} VALUES ($1, 1, 'x', now(), 'x', now(), 'failed', 'It broke.', now())", failed))
    for path in (f"/proposals/{failed}", "/history", f"/proposals/{uuid.uuid4()}", "/nowhere", "/handoff/none", "/?brk_live_x"):
        page.goto(url + path)
        accessible(page)
    stale = site.propose()
    page.goto(f"{url}/proposals/{stale}")
    site.run(site.world.sql("INSERT INTO ledger.withdrawals (proposal_id, key_id) VALUES ($1, $1)", stale))
    page.get_by_label("Approve").check()
    page.get_by_role("button", name="Continue").click()
    accessible(page)
    site.world.people.up = False
    page.goto(f"{url}/proposals/{routine}")
    assert page.get_by_role("heading", level=1).inner_text() == "Not available now"
    accessible(page)


def test_everything_can_be_reached_and_decided_by_keyboard(site: Site, scripted: Page) -> None:
    id_ = site.propose()
    site.sign_in(scripted)
    scripted.goto(f"{site.world.url}/proposals/{id_}")
    seen = []
    for _ in range(20):
        scripted.keyboard.press("Tab")
        seen.append(scripted.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        assert scripted.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if seen[-1] == "approved":
            break
    assert seen[:3] == ["Skip to the main part", "Today", "History"]
    assert not scripted.get_by_label("Approve").is_checked()
    scripted.keyboard.press("Space")
    assert scripted.get_by_label("Approve").is_checked()


def test_the_checker_finds_what_is_wrong(scripted: Page) -> None:
    """A page that breaks the rules is reported: the checks above are not blind."""
    scripted.set_content('<body><main><h1>x</h1><input><a href="#" style="font-size:5px">y</a></main></body>')
    found = Axe().run(scripted, options={"runOnly": RULES})
    broken = {v["id"] for v in found.response["violations"]}
    assert {"label", "document-title", "html-has-lang"} <= broken
