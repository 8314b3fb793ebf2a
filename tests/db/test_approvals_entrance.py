"""The entrance of approvals: sessions, forms, origins, links and keys. Nothing but a person who signed in gets past it."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from kit import credentials, limits
from services.approvals.shell import HEADERS, Shell
from tests.cluster import Database
from tests.db.approvals_world import PASSWORD, Browser, Somebody, World, hidden, opened

LINK = "A" * 43
SENT_HERE = "the one that you were sent here for"


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


def table(world: World) -> list[tuple[str, str]]:
    """Every route, with its ids filled in."""
    assert isinstance(world.app, Shell)
    assert isinstance(world.app._app, Starlette)
    routes = [r for r in world.app._app.routes if isinstance(r, Route)]
    filled = [(m, r.path.replace("{id:uuid}", str(uuid.uuid4())).replace("{link:str}", LINK)) for r in routes for m in r.methods or ()]
    return [(m, path) for m, path in filled if m != "HEAD"]


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(world: World, ada: Somebody) -> None:
    answer = await world.browser().post("/sign-in", {"email": ada.email, "password": PASSWORD})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert "domain" not in cookie


async def test_over_https_the_cookie_is_bound_to_the_host(database: Database, tmp_path: Path) -> None:
    async with opened(database, tmp_path, public_url="https://approve.firm.example") as world:
        ada = world.people.add()
        headers = {"Host": "approve.firm.example", "Origin": "https://approve.firm.example"}
        answer = await world.browser().post("/sign-in", {"email": ada.email, "password": PASSWORD}, **headers)
        assert re.match(r"__Host-session=ses_\S+; HttpOnly; Path=/; SameSite=strict; Secure", answer.headers["set-cookie"])


@pytest.mark.parametrize("change", [{"password": "wrong"}, {"email": "nobody@firm.example"}, {"password": ""}])
async def test_a_wrong_address_and_a_wrong_password_get_the_same_answer(world: World, ada: Somebody, change: dict[str, str]) -> None:
    answer = await world.browser().post("/sign-in", {"email": ada.email, "password": PASSWORD, **change})
    assert answer.status_code == 422
    assert "The mail address or the password is wrong." in answer.text
    assert "set-cookie" not in answer.headers


async def test_too_many_wrong_tries_are_answered_with_how_long_to_wait(world: World, ada: Somebody) -> None:
    world.people.wait_seconds = 30
    answer = await world.browser().post("/sign-in", {"email": ada.email, "password": PASSWORD})
    assert answer.status_code == 429
    assert "Try again in 30 seconds" in answer.text


async def test_only_the_hash_of_a_session_is_stored(world: World, browser: Browser) -> None:
    (row,) = await world.sql("SELECT * FROM approvals.sessions")
    assert row["token_hash"] == sha256(browser.token.encode()).digest()
    assert browser.token not in str(dict(row))


async def test_a_session_that_the_browser_brings_is_not_taken_over(world: World, ada: Somebody) -> None:
    browser = world.browser()
    planted = "ses_" + "A" * 43
    browser.http.cookies.set("substrate_session", planted, domain="127.0.0.1")
    answer = await browser.post("/sign-in", {"email": ada.email, "password": PASSWORD})
    assert planted not in answer.headers["set-cookie"]
    assert (await world.browser(Cookie=f"substrate_session={planted}").get("/")).status_code == 303


@pytest.mark.parametrize(
    "change",
    [
        "last_seen_at = clock_timestamp() - interval '30 minutes'",
        "made_at = now() - interval '2 d', expires_at = clock_timestamp()",
        "ended_at = now()",
    ],
)
async def test_a_session_ends_when_it_is_idle_when_its_time_is_over_and_when_it_is_ended(
    world: World, browser: Browser, change: str
) -> None:
    assert (await browser.get("/")).status_code == 200
    await world.sql(f"UPDATE approvals.sessions SET {change}")
    answer = await browser.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/")
    assert (await browser.get("/approvals")).status_code == 401


async def test_signing_out_ends_the_session_itself(browser: Browser) -> None:
    token = browser.token
    page = (await browser.get("/")).text
    form_token = re.findall(r'name="form_token" value="([0-9a-f]+)"', page)[0]
    assert (await browser.post("/sign-out", {"form_token": form_token})).status_code == 303
    assert (await browser.get("/approvals", Authorization=f"Bearer {token}")).status_code == 401


async def test_a_person_has_a_bounded_number_of_sessions(world: World, ada: Somebody, browser: Browser) -> None:
    for _ in range(limits.PERSON_SESSIONS_MAX):
        await world.client(ada)
    assert (await browser.get("/")).status_code == 303
    (row,) = await world.sql("SELECT count(*) AS n FROM approvals.sessions WHERE ended_at IS NULL")
    assert row["n"] == limits.PERSON_SESSIONS_MAX


async def test_sessions_that_are_long_over_are_forgotten(world: World, ada: Somebody, browser: Browser) -> None:
    days = limits.PERSON_SESSION_KEPT_SECONDS / 86400
    change = "UPDATE approvals.sessions SET made_at = made_at - interval '1 y', expires_at = now() - make_interval(days => $1)"
    for age, left in ((days - 1, 2), (days + 1, 1)):
        await world.sql("DELETE FROM approvals.sessions WHERE expires_at > now()")
        await world.client(ada)
        await world.sql(change, int(age))
        await world.client(ada)
        (row,) = await world.sql("SELECT count(*) AS n FROM approvals.sessions")
        assert row["n"] == left


async def test_a_session_lasts_a_working_day_at_most(world: World, browser: Browser) -> None:
    (row,) = await world.sql("SELECT extract(epoch FROM expires_at - made_at) AS seconds FROM approvals.sessions")
    assert abs(float(row["seconds"]) - limits.PERSON_SESSION_SECONDS) < 1


async def test_somebody_who_is_gone_is_signed_out(world: World, ada: Somebody, browser: Browser) -> None:
    world.people.by_id.clear()
    assert (await browser.get("/")).status_code == 303


async def test_an_api_key_is_refused_on_every_route_and_in_every_place(world: World, browser: Browser) -> None:
    key = credentials.mint("live").text
    carriers: list[dict[str, str]] = [
        {"Authorization": f"Bearer {key}"},
        {"Authorization": f"bearer  {key.upper()}"},
        {"Authorization": key},
        {"Authorization": "Bearer brk_anything"},
        {"X-Api-Key": key},
        {"Cookie": f"substrate_session={key}"},
        {"Cookie": f"other={key}; substrate_session={browser.token}"},
    ]
    wrong = []
    routes = table(world)
    assert len(routes) >= 19
    for method, path in routes:
        for headers in carriers:
            answer = await browser.http.request(method, path, headers=headers)
            if answer.status_code != 401 or "API key opens nothing here" not in answer.text:
                wrong.append((method, path, headers, answer.status_code))
        for query in (f"?key={key}", f"?token={key.replace('_', '%5f')}", f"?{key}"):
            answer = await browser.http.request(method, path + query)
            if answer.status_code != 401:
                wrong.append((method, path, {"query": query}, answer.status_code))
    assert wrong == []


async def test_no_route_but_the_open_ones_says_anything_to_a_stranger(world: World) -> None:
    stranger = world.browser()
    opened_to_all = {"/healthz", "/readyz", "/static/style.css", "/static/keys.js", "/static/passkey.js", "/sign-in"}
    for method, path in table(world):
        answer = await stranger.http.request(method, path)
        if path not in opened_to_all:
            assert answer.status_code in (303, 401), (method, path, answer.status_code)
            assert "card" not in answer.text


async def test_every_answer_carries_the_headers_that_shut_it_in(world: World, browser: Browser) -> None:
    paths = [path for _, path in table(world)]
    for path in (*paths, "/nowhere", "/approvals/nowhere", "/proposals/not-an-id", "/?brk_live_x"):
        for method in ("GET", "POST", "DELETE"):
            answer = await browser.http.request(method, path)
            for name, value in HEADERS:
                assert answer.headers.get_list(name.decode()) == [value.decode()], (method, path, name)
            assert "server" not in answer.headers


FOREIGN: list[dict[str, str]] = [
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "same-site"},
    {"Origin": "null", "Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
async def test_a_change_from_another_site_is_refused_on_every_route(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, headers: dict[str, str]
) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    for method, path in table(world):
        if method == "POST":
            assert (await browser.post(path, form, **headers)).status_code == 403, path
    assert (await browser.post(f"/proposals/{id_}/decide", form, **headers)).status_code == 403
    assert await world.decisions(id_) == []


@pytest.mark.parametrize("token", ["", "00" * 32, "other-form", "other-session"])
async def test_a_form_without_its_own_token_is_refused(world: World, ada: Somebody, browser: Browser, case: uuid.UUID, token: str) -> None:
    id_ = await world.propose(ada, case)
    form = hidden((await browser.check(id_)).text)
    if token == "other-form":
        token = (await browser.form(f"/proposals/{id_}"))[0]["form_token"]
    elif token == "other-session":
        token = hidden((await (await world.client(ada)).check(id_)).text)["form_token"]
    assert (await browser.post(f"/proposals/{id_}/decide", {**form, "form_token": token})).status_code == 403
    assert await world.decisions(id_) == []


async def test_a_name_that_was_pointed_here_opens_nothing(world: World, browser: Browser) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", ""):
        assert (await browser.get("/", Host=host)).status_code in (400, 421)


async def test_looking_changes_nothing(world: World, ada: Somebody, browser: Browser, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    tables = ("ledger.decisions", "ledger.nonces", "ledger.retries", "audit.log")

    async def counted() -> list[Any]:
        return [(await world.sql(f"SELECT count(*) AS n FROM {t}"))[0]["n"] for t in tables]

    before = await counted()
    for path in ("/", "/history", f"/proposals/{id_}", f"/proposals/{id_}/check", f"/proposals/{id_}/decide", "/batch", "/sign-out"):
        await browser.get(f"{path}?decision=approved")
    await browser.get("/approvals")
    await browser.get(f"/approvals/{id_}")
    assert await counted() == before


async def test_bodies_have_limits(world: World, browser: Browser) -> None:
    path = f"/proposals/{uuid.uuid4()}/check"
    assert (await browser.post(path, {"reason": "x" * limits.PERSON_BODY_MAX_BYTES})).status_code == 413
    assert (await browser.post(path, {f"f{n}": "x" for n in range(limits.PERSON_FIELDS_MAX + 1)})).status_code == 400
    assert (await browser.json(path, {})).status_code == 415
    for body in (b"a=%ff", b"a=\xff", b"a=%00", b"a"):
        answer = await browser.http.post(path, content=body, headers={"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status_code == 400, body


HANDOFF = """
INSERT INTO ledger.handoffs (handoff_hash, proposal_id, key_id, owner_id, session_hash, expires_at)
VALUES (sha256(convert_to($1, 'UTF8')), $2, $2, $3, sha256('s'), $4)
"""


ANSWER = "INSERT INTO ledger.handoff_answers (handoff_hash, answer) VALUES (sha256(convert_to($1, 'UTF8')), $2)"


async def link(world: World, owner: Somebody, id_: uuid.UUID, text: str = LINK, hours: int = 1, answer: str | None = "accepted") -> str:
    await world.sql(HANDOFF, text, id_, owner.id, datetime.now(UTC) + timedelta(hours=hours))
    if answer:
        await world.sql(ANSWER, text, answer)
    return f"/handoff/{text}"


async def test_a_link_leads_to_sign_in_first_and_then_to_the_review_set(world: World, ada: Somebody, case: uuid.UUID) -> None:
    id_, other = await world.propose(ada, case), await world.propose(ada, case)
    path = await link(world, ada, id_)
    browser = world.browser()
    answer = await browser.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={path}")
    page = await browser.get(answer.headers["location"])
    assert str(id_) not in page.text
    answer = await browser.post("/sign-in", {"email": ada.email, "password": PASSWORD, "next": hidden(page.text)["next"]})
    assert answer.headers["location"] == path
    page = await browser.get(path)
    assert page.status_code == 200
    assert f"/proposals/{id_}" in page.text
    assert f"/proposals/{other}" in page.text
    assert SENT_HERE in page.text
    assert " checked" not in page.text


async def test_a_link_that_is_not_ones_own_says_the_same_as_one_that_is_not_there(world: World, ada: Somebody, case: uuid.UUID) -> None:
    id_ = await world.propose(ada, case)
    path = await link(world, ada, id_)
    colleague = await world.client(world.people.add(case))
    forwarded, absent = await colleague.get(path), await colleague.get("/handoff/" + "B" * 43)
    assert forwarded.status_code == absent.status_code == 403
    assert forwarded.text == absent.text
    assert str(id_) not in forwarded.text


@pytest.mark.parametrize("answer", ["declined", "cancelled", "expired"])
async def test_a_link_that_was_declined_cancelled_or_is_over_leads_nowhere(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, answer: str
) -> None:
    id_ = await world.propose(ada, case)
    over = answer == "expired"
    path = await link(world, ada, id_, hours=-1 if over else 1, answer="accepted" if over else answer)
    assert (await browser.get(path)).status_code == 403


async def test_a_link_that_nobody_has_accepted_leads_its_owner_to_what_waits_and_points_at_nothing(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    id_ = await world.propose(ada, case)
    path = await link(world, ada, id_, answer=None)
    page = await browser.get(path)
    assert (page.status_code, f"/proposals/{id_}" in page.text) == (200, True)
    assert SENT_HERE not in page.text
    assert (await (await world.client(world.people.add(case))).get(path)).status_code == 403
    await world.sql(ANSWER, LINK, "accepted")
    assert SENT_HERE in (await browser.get(path)).text


async def test_a_link_points_at_what_took_the_place_of_its_proposal_and_at_nothing_once_that_is_decided(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID
) -> None:
    first = await world.propose(ada, case)
    path = await link(world, ada, first)
    await world.sql("ALTER TABLE ledger.proposals DISABLE TRIGGER guard")  # which asks for the same key
    second = await world.propose(ada, case, supersedes=first)
    page = (await browser.get(path)).text
    assert f"/proposals/{second}" in page[page.index(SENT_HERE) :]
    assert str(first) not in page
    await browser.decide(second, "declined", "No.")
    page = (await browser.get(path)).text
    assert SENT_HERE not in page


@pytest.mark.parametrize("next_", ["https://evil.example/", "//evil.example", "/\\evil", "/sign-out", "/proposals/../x", "javascript:x"])
async def test_signing_in_leads_to_our_own_pages_only(world: World, ada: Somebody, next_: str) -> None:
    answer = await world.browser().post("/sign-in", {"email": ada.email, "password": PASSWORD, "next": next_})
    assert answer.headers["location"] == "/"


async def test_health_is_open_and_says_no_more(world: World) -> None:
    assert (await world.browser().get("/healthz")).text == "alive\n"
    assert (await world.browser().get("/readyz")).text == "ready\n"
