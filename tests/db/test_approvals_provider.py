"""An identity provider that lies, changes its keys, dawdles or is away: what it says counts only where it can be checked."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from kit import limits
from tests.cluster import Database
from tests.db.firm_world import Firm, firm, nobody
from tests.db.provider_world import CLIENT, SECRET, sent


@pytest.fixture
async def made(database: Database, tmp_path: Path) -> AsyncIterator[Firm]:
    async with firm(database, tmp_path) as found:
        yield found


def signed(claims: dict[str, Any], key: Any, algorithm: str, **header: Any) -> str:
    return jwt.encode({"alg": algorithm, **header}, claims, key, algorithms=[algorithm])


def unsigned(claims: dict[str, Any]) -> str:
    return ".".join(urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in ({"alg": "none"}, claims)) + "."


STRANGE = ECKey.generate_key("P-256")
FORGED: dict[str, Callable[[dict[str, Any]], str]] = {
    "alg none": unsigned,
    "hs256 with the client secret": lambda c: signed(c, OctKey.import_key(SECRET), "HS256", kid="one"),
    "a key of somebody else under the same name": lambda c: signed(c, RSAKey.generate_key(2048), "RS256", kid="one"),
    "a key that is not the provider's": lambda c: signed(c, STRANGE, "ES256", kid="x"),
    "a key that comes with the token": lambda c: signed(c, STRANGE, "ES256", jwk=STRANGE.as_dict(private=False)),
    "not a token": lambda c: "not.a.token",
    "nothing": lambda c: "",
}


async def test_an_id_token_that_the_provider_did_not_sign_opens_nothing(made: Firm) -> None:
    for made.provider.forge in FORGED.values():
        browser = made.world.browser()
        await nobody(made, browser, await made.sign_in(browser))


CLAIMS: list[dict[str, Any]] = [
    {"iss": "https://other.example"},
    {"iss": None},
    {"aud": "another-client"},
    {"aud": "another-client", "azp": CLIENT},
    {"aud": None},
    {"aud": ["another-client", CLIENT]},
    {"aud": ["another-client", CLIENT], "azp": "another-client"},
    {"azp": "another-client"},
    {"nonce": "of another sign-in"},
    {"nonce": None},
    {"exp": 1},
    {"exp": None},
    {"exp": "soon"},
    {"iat": None},
    {"nbf": 99_999_999_999},
    {"iat": 99_999_999_999},
    {"sub": None},
    {"sub": ""},
    {"sub": 7},
    {"sub": "x" * 256},
    {"at_hash": "bm90IHRoZSBoYXNoIG9m"},
    {"email": None},
    {"email": ["ada@firm.example"]},
    {"email": "ada@firm.example, eve@evil.example"},
    {"email": "ada@evil.example"},
    {"email": "ada@firm.example.evil.example"},
    {"email": "ada@evil.example@firm.example"},
    {"email_verified": False},
    {"email_verified": None},
    {"email_verified": "true"},
]


async def test_an_id_token_that_is_not_for_this_sign_in_or_not_of_this_firm_opens_nothing(made: Firm) -> None:
    for made.provider.claims in CLAIMS:
        browser = made.world.browser()
        await nobody(made, browser, await made.sign_in(browser))


async def test_clocks_may_differ_by_a_minute_and_not_by_more(made: Firm) -> None:
    now, skew = int(made.now[0].timestamp()), limits.PROVIDER_CLOCK_SKEW_SECONDS
    for seconds, status in ((1 - skew, 200), (skew - 1, 200), (-1 - skew, 403), (skew + 1, 403)):
        made.provider.claims = {"iat": now + seconds, "exp": now + seconds + (300 if seconds > 0 else 0)}
        assert (await made.sign_in(made.world.browser())).status_code == status, seconds


async def test_an_answer_that_names_another_provider_or_none_signs_nobody_in(made: Firm) -> None:
    """A provider that was mixed up with ours would get our code; it is not taken there."""
    for iss in ("https://other.example", made.provider.issuer + "/", ""):
        browser = made.world.browser()
        given = sent(await made.consent(browser))
        await nobody(made, browser, await browser.http.get("/sign-in/return", params={**given, "iss": iss}))
    browser = made.world.browser()
    given = sent(await made.consent(browser))
    del given["iss"]
    await nobody(made, browser, await browser.http.get("/sign-in/return", params=given))
    assert "/token" not in made.provider.requests


async def test_a_provider_that_names_itself_otherwise_is_not_used(made: Firm) -> None:
    made.provider.metadata = {"issuer": "https://other.example"}
    browser = made.world.browser()
    await nobody(made, browser, await made.leave(browser), 503)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri", "end_session_endpoint"])
async def test_secrets_are_not_sent_over_plain_http(made: Firm, name: str) -> None:
    made.provider.metadata = {name: "http://idp.firm.example/x"}
    browser = made.world.browser()
    await nobody(made, browser, await made.leave(browser), 503)


async def test_the_provider_may_change_its_keys_at_any_time(made: Firm) -> None:
    assert (await made.sign_in(made.world.browser())).status_code == 200
    made.provider.rotate()
    made.later(limits.PROVIDER_PAUSE_SECONDS)
    assert (await made.sign_in(made.world.browser())).status_code == 200
    assert made.provider.requests.count("/keys") == 2


async def test_tokens_that_name_unknown_keys_do_not_make_us_ask_the_provider_each_time(made: Firm) -> None:
    assert (await made.sign_in(made.world.browser())).status_code == 200
    made.later(limits.PROVIDER_PAUSE_SECONDS)
    made.provider.forge = FORGED["a key that is not the provider's"]
    for _ in range(5):
        assert (await made.sign_in(made.world.browser())).status_code == 403
    assert made.provider.requests.count("/keys") == 2


async def test_what_the_provider_says_of_itself_is_kept_for_a_while(made: Firm) -> None:
    for pause in (0, limits.PROVIDER_METADATA_SECONDS - 1, 2):
        made.later(pause)
        assert (await made.sign_in(made.world.browser())).status_code == 200
    assert made.provider.requests.count("/.well-known/openid-configuration") == 2


async def test_a_provider_that_is_down_is_said_to_be_and_passwords_still_work(made: Firm) -> None:
    made.provider.down = True
    browser = made.world.browser()
    for _ in range(3):
        answer = await made.leave(browser)
        assert "does not answer" in answer.text
        await nobody(made, browser, answer, 503)
    assert len(made.provider.requests) == 1  # and it is not asked again at once
    await made.world.client(made.ada)
    made.provider.down = False
    made.later(limits.PROVIDER_PAUSE_SECONDS)
    assert (await made.sign_in(browser)).status_code == 200


ANSWERS: list[tuple[Response, int]] = [
    (PlainTextResponse("down", 500), 503),
    (PlainTextResponse("<html>", 200), 503),
    (JSONResponse([1]), 503),
    (JSONResponse({"access_token": "x", "token_type": "Bearer"}), 403),
    (JSONResponse({"access_token": "x", "id_token": 7}), 403),
    (JSONResponse({"error": "invalid_client"}, 401), 403),
    (JSONResponse({"id_token": "x" * limits.PROVIDER_ANSWER_MAX_BYTES}), 503),
    (PlainTextResponse("", 302, {"Location": "http://127.0.0.1:1/"}), 503),
]


async def test_a_token_endpoint_that_answers_nonsense_opens_nothing(made: Firm) -> None:
    for made.provider.answer, status in ANSWERS:
        browser = made.world.browser()
        await nobody(made, browser, await made.sign_in(browser), status)


async def test_a_provider_that_does_not_end_its_answer_is_let_go(made: Firm, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = made.world.browser()
    back = await made.consent(browser)
    monkeypatch.setattr(limits, "PROVIDER_SECONDS", 0.3)
    made.provider.answer = StreamingResponse(drop_by_drop())
    await nobody(made, browser, await browser.get(back), 503)


async def drop_by_drop() -> AsyncIterator[bytes]:
    """Something now and then, so that no pause is ever long."""
    while True:
        yield b" "
        await asyncio.sleep(0.05)
