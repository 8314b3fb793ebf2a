"""Passkeys in a real browser, whose authenticator is a virtual one that keeps the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import CDPSession, Page, expect

from tests.browser.conftest import Site
from tests.browser.test_accessibility import accessible
from tests.db.approvals_world import DEADLINE

pytestmark = pytest.mark.needs("chromium")
WITH = "Approve and carry out with a passkey"


class Device:
    """The authenticators of a browser."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        session.send("WebAuthn.enable")
        self.add()

    def add(self) -> None:
        """A new one, in which nothing is kept yet."""
        options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
        usual = {"isUserVerified": True, "automaticPresenceSimulation": True}
        self.id = self._session.send("WebAuthn.addVirtualAuthenticator", {"options": {**options, **usual}})["authenticatorId"]

    def lose(self) -> None:
        """Takes it away with all that it keeps."""
        self._session.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": self.id})

    def verifies(self, person: bool) -> None:
        """Whether it recognizes the person who holds it."""
        self._session.send("WebAuthn.setUserVerified", {"authenticatorId": self.id, "isUserVerified": person})

    def kept(self) -> list[Any]:
        """What it keeps."""
        found: list[Any] = self._session.send("WebAuthn.getCredentials", {"authenticatorId": self.id})["credentials"]
        return found


@pytest.fixture(params=[1280, 320])
def paged(request: pytest.FixtureRequest, chromium: Chromium) -> Iterator[tuple[Page, Device]]:
    """A page on a wide and on a narrow screen, with an authenticator."""
    context = chromium.new_context(viewport={"width": request.param, "height": 800})
    page = context.new_page()
    yield page, Device(context.new_cdp_session(page))
    context.close()


def add(site: Site, page: Page, name: str, code: str) -> None:
    page.goto(site.world.url + "/passkeys")
    page.get_by_label("Name").fill(name)
    page.get_by_label("One-time code").fill(code)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Make the passkey").click()


def to_confirm(site: Site, page: Page) -> Any:
    id_ = site.propose("create_deadline", args=DEADLINE)
    page.goto(f"{site.world.url}/proposals/{id_}")
    page.get_by_label("Approve").check()
    page.get_by_role("button", name="Continue").click()
    return id_


def step_up(site: Site, id_: Any) -> list[str]:
    return [str(r["step_up"]) for r in site.run(site.world.decisions(id_))]


def test_a_passkey_is_made_after_a_code_and_then_confirms_in_place_of_one(named: Site, paged: tuple[Page, Device]) -> None:
    page, device = paged
    named.sign_in(page)
    page.goto(named.world.url + "/passkeys")
    accessible(page)
    page.get_by_label("Name").fill("My laptop")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("six digits")
    accessible(page)
    page.get_by_label("One-time code").fill("000100")
    page.get_by_role("button", name="Continue").click()
    accessible(page)
    page.get_by_role("button", name="Make the passkey").click()
    expect(page.get_by_role("listitem").filter(has_text="My laptop")).to_contain_text("not used yet")
    accessible(page)
    assert len(device.kept()) == 1
    id_ = to_confirm(named, page)
    accessible(page)
    page.get_by_role("button", name=WITH).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decision recorded")
    expect(page.locator("main")).to_contain_text("with a passkey")
    assert step_up(named, id_) == ["webauthn"]
    again = to_confirm(named, page)
    page.get_by_role("button", name=WITH).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decision recorded")
    assert step_up(named, again) == ["webauthn"]


def test_one_of_several_passkeys_is_removed_and_the_others_stay(named: Site, scripted: Page) -> None:
    device = Device(scripted.context.new_cdp_session(scripted))
    named.sign_in(scripted)
    add(named, scripted, "Old phone", "000101")
    expect(scripted.get_by_role("listitem").filter(has_text="Old phone")).to_be_visible()
    device.lose()
    device.add()
    add(named, scripted, "New phone", "000102")
    expect(scripted.get_by_role("listitem").filter(has_text="New phone")).to_be_visible()
    scripted.get_by_role("button", name="Remove Old phone").click()
    expect(scripted.get_by_role("listitem").filter(has_text="Old phone")).to_have_count(0)
    id_ = to_confirm(named, scripted)
    scripted.get_by_role("button", name=WITH).click()
    expect(scripted.get_by_role("heading", level=1)).to_have_text("Decision recorded")
    assert step_up(named, id_) == ["webauthn"]


def test_a_device_that_does_not_recognize_its_holder_decides_nothing_and_a_code_still_does(named: Site, scripted: Page) -> None:
    device = Device(scripted.context.new_cdp_session(scripted))
    named.sign_in(scripted)
    add(named, scripted, "Phone", "000101")
    expect(scripted.get_by_role("listitem").filter(has_text="Phone")).to_be_visible()
    device.verifies(False)
    id_ = to_confirm(named, scripted)
    scripted.get_by_role("button", name=WITH).click()
    expect(scripted.get_by_role("status")).to_contain_text("Nothing was sent")
    assert step_up(named, id_) == []
    scripted.get_by_label("One-time code").fill("000103")
    scripted.get_by_role("button", name="Approve and carry out", exact=True).click()
    expect(scripted.get_by_role("heading", level=1)).to_have_text("Decision recorded")
    assert step_up(named, id_) == ["totp"]


def test_without_javascript_a_person_with_passkeys_confirms_with_a_code(named: Site, chromium: Chromium, scripted: Page) -> None:
    Device(scripted.context.new_cdp_session(scripted))
    named.sign_in(scripted)
    add(named, scripted, "Phone", "000101")
    expect(scripted.get_by_role("listitem").filter(has_text="Phone")).to_be_visible()
    plain = chromium.new_context(java_script_enabled=False).new_page()
    named.sign_in(plain)
    id_ = to_confirm(named, plain)
    assert plain.get_by_role("button", name=WITH).count() == 0
    plain.get_by_label("One-time code").fill("000102")
    plain.get_by_role("button", name="Approve and carry out").click()
    assert step_up(named, id_) == ["totp"]
    plain.context.close()


def test_at_a_bare_address_the_page_says_that_there_are_no_passkeys(site: Site, page: Page) -> None:
    site.sign_in(page)
    page.get_by_role("link", name="Passkeys").click()
    expect(page.locator("main")).to_contain_text("Browsers make no passkeys for this address")
    assert page.get_by_role("button", name="Continue").count() == 0
