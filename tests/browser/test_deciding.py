"""A person at work in a real browser, with and without JavaScript."""

from __future__ import annotations

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import Site
from tests.db.approvals_world import DEADLINE

pytestmark = pytest.mark.needs("chromium")


def heading(page: Page) -> str:
    return page.get_by_role("heading", level=1).inner_text()


def test_the_whole_way_to_a_decision(site: Site, page: Page) -> None:
    id_ = site.propose("create_deadline", args=DEADLINE)
    site.sign_in(page)
    page.get_by_role("link", name="Decide by itself").click()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose approve")
    assert page.title().startswith("Error:")
    assert page.get_by_role("radio", checked=True).count() == 0
    page.get_by_label("Approve").check()
    page.get_by_role("button", name="Continue").click()
    assert heading(page) == "Check your decision"
    assert site.decisions(id_) == []
    page.get_by_role("button", name="Approve and carry out").click()
    expect(page.get_by_role("alert")).to_contain_text("six digits")
    assert site.decisions(id_) == []
    page.get_by_label("One-time code").fill("000100")
    page.get_by_role("button", name="Approve and carry out").click()
    assert heading(page) == "Decision recorded"
    assert site.decisions(id_) == ["approved"]
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("listitem").filter(has_text="Answer due")).to_contain_text("approved")


def test_declining_with_a_reason(site: Site, page: Page) -> None:
    id_ = site.propose()
    site.sign_in(page)
    page.get_by_role("link", name="Open").click()
    page.get_by_label("Decline").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("Give a reason")
    assert page.get_by_label("Decline").is_checked()
    page.get_by_label("Reason or question").fill("It is done already.")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Decline").click()
    assert heading(page) == "Decision recorded"
    assert site.decisions(id_) == ["declined"]


def test_selecting_some_of_several(site: Site, page: Page) -> None:
    ids = [site.propose(args={"title": f"Task {n}"}) for n in range(3)]
    site.propose("create_deadline", args=DEADLINE)
    site.sign_in(page)
    assert page.get_by_role("checkbox").count() == 3
    assert page.get_by_role("checkbox", checked=True).count() == 0
    page.get_by_label("Task 0").check()
    page.get_by_label("Task 2").check()
    page.get_by_role("button", name="Approve what you selected").click()
    assert heading(page) == "2 of 2 recorded"
    assert [site.decisions(i) for i in ids] == [["approved"], [], ["approved"]]


def test_signing_out(site: Site, page: Page) -> None:
    site.sign_in(page)
    page.get_by_role("button", name="Sign out").click()
    assert heading(page) == "Sign in"
    page.goto(site.world.url + "/history")
    assert heading(page) == "Sign in"


def test_a_proposal_that_ended_meanwhile_says_so(site: Site, page: Page) -> None:
    id_ = site.propose()
    site.sign_in(page)
    page.goto(f"{site.world.url}/proposals/{id_}")
    site.run(site.world.sql("INSERT INTO ledger.withdrawals (proposal_id, key_id) VALUES ($1, $1)", id_))
    page.get_by_label("Approve").check()
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("alert")).to_contain_text("no longer waits")
    assert site.decisions(id_) == []


def test_the_agent_s_script_stays_text(site: Site, scripted: Page) -> None:
    dialogs: list[str] = []

    def seen(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    scripted.on("dialog", seen)
    text = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    id_ = site.propose(args={"title": text}, reason=text)
    site.sign_in(scripted)
    scripted.goto(f"{site.world.url}/proposals/{id_}")
    expect(scripted.get_by_role("blockquote")).to_have_text(text)
    assert dialogs == []


def test_keys_move_and_open_and_can_be_turned_off_and_none_decides(site: Site, scripted: Page) -> None:
    ids = [site.propose(args={"title": f"Task {n}"}) for n in range(2)]
    site.sign_in(scripted)
    for key in "aynsA d":
        scripted.keyboard.press("Space" if key == " " else key)
    scripted.keyboard.press("j")
    scripted.keyboard.press("j")
    scripted.keyboard.press("o")
    expect(scripted.get_by_role("heading", level=1)).to_have_text("Proposal: task")
    assert str(ids[1]) in scripted.url
    scripted.go_back()
    scripted.get_by_role("button", name="Turn off the keys").click()
    scripted.reload()
    scripted.keyboard.press("j")
    assert scripted.evaluate("document.activeElement.tagName") == "BODY"
    assert [site.decisions(i) for i in ids] == [[], []]


def test_a_form_on_another_site_decides_nothing(site: Site, scripted: Page) -> None:
    """The same machine under another name is another site to a browser."""
    id_ = site.propose()
    site.sign_in(scripted)
    scripted.goto(f"{site.world.url}/proposals/{id_}")
    values = {n: scripted.locator(f"main input[name={n}]").get_attribute("value") for n in ("form_token", "args_digest", "shown_sha256")}
    fields = "".join(f'<input name="{n}" value="{v}">' for n, v in {**values, "decision": "approved"}.items())
    target = f"{site.world.url}/proposals/{id_}/check"
    body = f'<form method="post" action="{target}">{fields}<button>Win a prize</button></form>'
    scripted.route("http://evil.example/", lambda r: r.fulfill(body=body, content_type="text/html"))
    scripted.goto("http://evil.example/")
    scripted.get_by_role("button").click()
    expect(scripted.get_by_role("heading", level=1)).to_have_text("Sent from another site")
    assert site.run(site.world.sql("SELECT * FROM ledger.nonces")) == []


def test_the_pages_are_shown_in_no_frame(site: Site, scripted: Page) -> None:
    body = f'<iframe src="{site.world.url}/sign-in"></iframe>'
    scripted.route("http://evil.example/", lambda r: r.fulfill(body=body, content_type="text/html"))
    scripted.goto("http://evil.example/")
    scripted.wait_for_load_state("networkidle")
    assert not [f for f in scripted.frames[1:] if f.get_by_role("heading", name="Sign in").count()]
