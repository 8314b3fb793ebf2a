"""Signing in through an identity provider on another site, in a real browser with its own rules for cookies and for going back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NAMED, Site, beside
from tests.browser.test_accessibility import accessible
from tests.cluster import Cluster
from tests.db.firm_world import Firm, firm

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture
def office(pg: Cluster, tmp_path: Path) -> Iterator[tuple[Site, Firm]]:
    """Approvals at one site, its provider at another, which shows a page of its own."""
    with beside(pg, lambda database: firm(database, tmp_path, NAMED, local_accounts=False)) as (loop, made):
        made.provider.asks = True
        made.provider.metadata = {"end_session_endpoint": made.provider.issuer + "/leave"}
        made.world.url = made.world.url.replace("127.0.0.1", "localhost")
        yield Site(loop, made.world), made


def come_in(site: Site, page: Page, path: str) -> None:
    page.goto(site.world.url + path)
    page.get_by_role("link", name="Sign in with your firm's account").click()
    page.get_by_role("link", name="Yes, it is me").click()


def test_a_person_comes_back_to_the_page_that_they_wanted(office: tuple[Site, Firm], page: Page) -> None:
    site, _ = office
    come_in(site, page, "/history")
    expect(page.get_by_role("heading", level=1)).to_have_text("History")
    assert page.url == site.world.url + "/history"


def test_going_back_after_signing_in_and_after_signing_out_opens_nothing(office: tuple[Site, Firm], scripted: Page) -> None:
    site, made = office
    scripted.goto(site.world.url + "/history")
    accessible(scripted)
    come_in(site, scripted, "/history")
    expect(scripted.get_by_role("heading", level=1)).to_have_text("History")
    scripted.go_back()
    scripted.go_back()
    scripted.goto(site.world.url + "/history")
    expect(scripted.get_by_role("heading", level=1)).to_have_text("History")
    scripted.get_by_role("button", name="Sign out").click()
    expect(scripted.get_by_role("heading", level=1)).to_have_text("You are signed out here")
    accessible(scripted)
    scripted.go_back()
    expect(scripted.get_by_role("heading", level=1)).to_have_text("Sign in")
    scripted.goto(site.world.url + "/history")
    expect(scripted.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert made.provider.requests.count("/token") == 1


def test_a_person_can_sign_out_at_the_provider_too(office: tuple[Site, Firm], scripted: Page) -> None:
    site, made = office
    come_in(site, scripted, "/")
    scripted.get_by_role("button", name="Sign out").click()
    scripted.get_by_role("link", name="Sign out of your firm's account too").click()
    expect(scripted.locator("body")).to_have_text("Signed out at the provider")
    assert "/leave" in made.provider.requests


def test_what_goes_wrong_is_said_on_a_page_that_is_accessible(office: tuple[Site, Firm], scripted: Page) -> None:
    site, made = office
    made.provider.claims = {"email": "newcomer@firm.example"}
    come_in(site, scripted, "/")
    expect(scripted.get_by_role("heading", level=1)).to_have_text("You are not known here")
    accessible(scripted)
    scripted.reload()
    expect(scripted.get_by_role("heading", level=1)).to_have_text("This sign-in is over")
    accessible(scripted)
