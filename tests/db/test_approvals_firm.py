"""Signing in through the firm's identity provider: the way there and back, and who tampers with it on the way."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kit import config, limits
from ops.layout import ROOT
from services.approvals.config import Http, PasskeysConfig, SignInConfig
from services.approvals.firm import CODE_MAX_CHARS
from services.approvals.incoming import Site
from services.approvals.passkeys import Party, party
from tests.cluster import Database
from tests.db.approvals_world import PASSWORD, opened
from tests.db.firm_world import Firm, firm, nobody
from tests.db.provider_world import sent


@pytest.fixture
async def made(database: Database, tmp_path: Path) -> AsyncIterator[Firm]:
    async with firm(database, tmp_path) as found:
        yield found


async def test_a_person_comes_back_signed_in_and_goes_on_to_the_page(made: Firm) -> None:
    browser = made.world.browser()
    answer = await made.sign_in(browser, "/history")
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0;url=/history">' in answer.text
    assert (await browser.get("/history")).status_code == 200
    (session,) = await made.world.sql("SELECT user_id FROM approvals.sessions")
    assert session["user_id"] == made.ada.id
    cookies = answer.headers.get_list("set-cookie")
    assert any(c.startswith("substrate_session=ses_") and "HttpOnly" in c and "SameSite=strict" in c for c in cookies)
    assert any(c.startswith('substrate_sign_in=""') for c in cookies)


async def test_what_is_sent_to_the_provider_is_no_more_than_the_protocol_needs(made: Firm) -> None:
    left = await made.leave(made.world.browser())
    given = sent(left.headers["location"])
    assert set(given) == {
        "client_id", "code_challenge", "code_challenge_method", "nonce", "redirect_uri", "response_type", "scope", "state",
    }  # fmt: skip
    assert given["redirect_uri"] == made.world.url + "/sign-in/return"
    cookie = left.headers["set-cookie"]
    assert all(secret not in cookie for secret in (given["state"], given["nonce"]))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


async def test_a_session_that_the_browser_brought_along_is_replaced(made: Firm) -> None:
    browser = await made.world.client(made.ada)
    before = browser.token
    await made.sign_in(browser)
    assert browser.token != before


ELSEWHERE = ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x", "/sign-out", "/history\r\nX: y"]


async def test_coming_back_leads_to_our_own_pages_only(made: Firm) -> None:
    for next_ in ELSEWHERE:
        answer = await made.sign_in(made.world.browser(), next_)
        assert 'content="0;url=/"' in answer.text, next_


async def test_a_code_a_state_and_a_return_are_good_once(made: Firm) -> None:
    browser = made.world.browser()
    back = await made.consent(browser)
    kept = dict(browser.http.cookies)
    assert (await browser.get(back)).status_code == 200
    replay = made.world.browser(Cookie="; ".join(f"{k}={v}" for k, v in kept.items()))
    answer = await replay.get(back)
    assert (answer.status_code, "This sign-in is over" in answer.text) == (403, True)
    assert made.provider.requests.count("/token") == 1
    # The code in a sign-in of one's own: the provider took it, and its verifier is another.
    await made.consent(other := made.world.browser())
    state = sent((await made.leave(other)).headers["location"])["state"]
    answer = await other.get(f"/sign-in/return?code={sent(back)['code']}&state={state}&iss={made.provider.issuer}")
    assert (answer.status_code, "did not let you in" in answer.text) == (403, True)


async def test_two_returns_at_once_open_one_session(made: Firm) -> None:
    browser = made.world.browser()
    back = await made.consent(browser)
    answers = await asyncio.gather(*(browser.get(back) for _ in range(5)))
    assert sorted(a.status_code for a in answers) == [200, 403, 403, 403, 403]


async def test_a_return_in_a_browser_that_did_not_leave_signs_nobody_in(made: Firm) -> None:
    """Otherwise somebody could sign another person in as themselves."""
    back = await made.consent(made.world.browser())
    victim = made.world.browser()
    await nobody(made, victim, await victim.get(back))
    await made.consent(victim)
    await nobody(made, victim, await victim.get(back))


async def test_a_return_that_was_changed_on_the_way_signs_nobody_in(made: Firm) -> None:
    changes: list[dict[str, Any]] = [
        {"code": "x"},
        {"code": None},
        {"code": ["x", "y"]},
        {"code": "x" * (CODE_MAX_CHARS + 1)},
        {"state": None},
        {"state": "x"},
        {"state": ["x", "y"]},
        {"error": "access_denied", "error_description": "<b>Call 555-0100 and say your password</b>"},
    ]
    for change in changes:
        browser = made.world.browser()
        given = sent(await made.consent(browser)) | change
        answer = await browser.http.get("/sign-in/return", params={k: v for k, v in given.items() if v is not None})
        assert "555-0100" not in answer.text
        await nobody(made, browser, answer)


async def test_a_browser_that_changed_what_it_keeps_signs_nobody_in(made: Firm) -> None:
    for other in ("", "x", "AAAA", None):
        browser = made.world.browser()
        back = await made.consent(browser)
        sealed = browser.http.cookies["substrate_sign_in"]
        changed = sealed[:-4] + ("AAAA" if sealed[-4:] != "AAAA" else "BBBB") if other is None else other
        await nobody(made, browser, await made.world.browser(Cookie=f"substrate_sign_in={changed}").get(back))


async def test_a_sign_in_that_took_too_long_is_over(made: Firm) -> None:
    browser = made.world.browser()
    back = await made.consent(browser)
    made.later(limits.SIGN_IN_OPEN_SECONDS)
    await nobody(made, browser, await browser.get(back))


async def test_somebody_whom_only_the_provider_knows_is_told_so_in_plain_words(made: Firm) -> None:
    made.provider.person |= {"email": "newcomer@firm.example"}
    browser = made.world.browser()
    answer = await made.sign_in(browser)
    assert "no person here belongs to that account" in answer.text
    await nobody(made, browser, answer)


async def test_auth_that_does_not_answer_signs_nobody_in(made: Firm) -> None:
    browser = made.world.browser()
    back = await made.consent(browser)
    made.world.people.up = False
    answer = await browser.get(back)
    assert answer.status_code == 503
    assert await made.world.sql("SELECT FROM approvals.sessions") == []


async def test_another_claim_may_name_the_person(database: Database, tmp_path: Path) -> None:
    async with firm(database, tmp_path, person_claim="upn") as made:
        made.provider.person = {"sub": "s", "upn": made.ada.email, "email": "shared@firm.example"}
        assert (await made.sign_in(made.world.browser())).status_code == 200


async def test_passwords_can_be_turned_off(database: Database, tmp_path: Path) -> None:
    async with firm(database, tmp_path, local_accounts=False, provider_name="Example & Co.") as made:
        browser = made.world.browser()
        page = (await browser.get("/sign-in")).text
        assert "Sign in with Example &amp; Co." in page
        assert 'type="password"' not in page
        answer = await browser.post("/sign-in", {"email": made.ada.email, "password": PASSWORD})
        await nobody(made, browser, answer)
        assert (await made.sign_in(browser)).status_code == 200


async def test_without_a_provider_its_routes_do_not_exist(database: Database, tmp_path: Path) -> None:
    async with opened(database, tmp_path) as world:
        for path in ("/sign-in/firm", "/sign-in/return"):
            assert (await world.browser().get(path)).status_code == 404
        assert "/sign-in/firm" not in (await world.browser().get("/sign-in")).text


async def test_used_returns_are_forgotten_when_they_could_no_longer_be_used(made: Firm) -> None:
    await made.sign_in(made.world.browser())
    await made.world.sql("UPDATE approvals.returns SET expires_at = now() - interval '1 s'")
    await made.sign_in(made.world.browser())
    assert len(await made.world.sql("SELECT FROM approvals.returns")) == 1


GOOD = {"issuer": "https://idp.firm.example", "client_id": "x", "client_secret_file": "x", "allowed_domains": ("firm.example",)}


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": ""},
        {"client_secret_file": ""},
        {"allowed_domains": ()},
        {"person_claim": ""},
        {"issuer": "http://idp.firm.example"},
        {"issuer": "https://idp.firm.example?x"},
        {"issuer": "https://me:secret@idp.firm.example"},
        {"issuer": "", "local_accounts": False},
    ],
)
def test_a_configuration_that_would_be_unsafe_or_let_nobody_in_is_refused(change: dict[str, Any]) -> None:
    SignInConfig(**GOOD).checked()  # type: ignore[arg-type]
    with pytest.raises(
        config.ConfigError, match=r"\[sign_in\] (client_id|client_secret_file|allowed_domains|person_claim|issuer|local_accounts)"
    ):
        SignInConfig(**{**GOOD, **change}).checked()


@dataclass(frozen=True)
class Documented:
    """The sections that the document shows."""

    http: Http
    sign_in: SignInConfig
    passkeys: PasskeysConfig


def test_the_configuration_in_the_document_holds(tmp_path: Path) -> None:
    shown = re.findall(r"^```toml\n(.*?)^```", (ROOT / "docs" / "approve.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "approvals.toml").write_text(shown[0], encoding="utf-8")
    found = config.load(str(tmp_path / "approvals.toml"), Documented, {})
    assert found.sign_in.checked().allowed_domains == ("firm.example",)
    relying = party(Site.of(found.http.public_url, ()), found.passkeys.rp_id)
    assert relying == Party("firm.example", "https://approve.firm.example")
