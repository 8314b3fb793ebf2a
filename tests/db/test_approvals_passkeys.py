"""Passkeys over the real program, with a device that keeps the protocol and one that does not."""

from __future__ import annotations

import asyncio
import html
import json
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from kit import limits
from kit.config import ConfigError
from kit.decisions import Decision, verify
from services.approvals.incoming import Site
from services.approvals.passkeys import party
from tests.cluster import Database
from tests.db.approvals_world import DEADLINE, PASSWORD, Browser, Somebody, World, hidden, opened
from tests.db.authenticator import PRESENT, Device

ORIGIN = "http://localhost:4711"


def options_of(page: str) -> str:
    found = re.search(r'data-passkey="([^"]*)"', page)
    assert found, page
    return html.unescape(found[1])


@dataclass
class At:
    """Somebody at work in a browser of their own."""

    world: World
    person: Somebody
    browser: Browser
    case: uuid.UUID

    async def begin(self, name: str = "Phone") -> tuple[dict[str, str], str]:
        """The form of a new passkey, and what the browser is asked."""
        page = (await self.browser.get("/passkeys")).text
        token = re.findall(r'action="/passkeys/new">\s*<input type="hidden" name="form_token" value="([0-9a-f]+)"', page)[0]
        code = min(self.world.people.codes)
        answer = await self.browser.post("/passkeys/new", {"form_token": token, "name": name, "code": code})
        assert answer.status_code == 200, answer.text
        return hidden(answer.text), options_of(answer.text)

    async def add(self, device: Device, **changes: Any) -> httpx.Response:
        fields, options = await self.begin()
        return await self.browser.post("/passkeys", {**fields, "passkey": device.make(options, **changes)})

    async def check(self) -> tuple[uuid.UUID, dict[str, str], str]:
        """A proposal led to its confirmation: its id, the form, and what the browser is asked."""
        id_ = await self.world.propose(self.person, self.case, "create_deadline", DEADLINE)
        page = (await self.browser.check(id_)).text
        return id_, hidden(page), options_of(page)

    async def decide(self, id_: uuid.UUID, fields: dict[str, str], credential: str) -> httpx.Response:
        return await self.browser.post(f"/proposals/{id_}/decide", {**fields, "passkey": credential})


async def sign_in(world: World, person: Somebody, case: uuid.UUID) -> At:
    browser = world.browser(Host=ORIGIN.removeprefix("http://"), Origin=ORIGIN)
    answer = await browser.post("/sign-in", {"email": person.email, "password": PASSWORD})
    assert answer.status_code == 303
    return At(world, person, browser, case)


@pytest.fixture
async def at(database: Database, tmp_path: Path) -> AsyncIterator[At]:
    async with opened(database, tmp_path, public_url=ORIGIN) as world:
        case = uuid.uuid4()
        yield await sign_in(world, world.people.add(case), case)


@pytest.fixture
async def device(at: At) -> Device:
    made = Device(ORIGIN)
    assert (await at.add(made)).status_code == 303
    return made


async def kept(at: At) -> list[Any]:
    return await at.world.sql("SELECT * FROM approvals.passkeys WHERE removed_at IS NULL ORDER BY made_at")


async def test_a_decision_records_that_a_passkey_was_shown_and_is_signed_so(at: At, device: Device) -> None:
    id_, fields, options = await at.check()
    assert (await at.decide(id_, fields, device.show(options))).status_code == 303
    (row,) = await at.world.decisions(id_)
    assert row["step_up"] == "webauthn"
    names = ("args_digest", "decision", "decided_at", "reason", "shown_sha256", "nonce_hash", "step_up")
    bound: dict[str, Any] = {"proposal_id": str(id_), "case_id": str(at.case), "action": "create_deadline", "decided_by": str(at.person.id)}
    assert verify(at.world.key.public_key(), Decision(**{n: row[n] for n in names}, **bound), row["signature"])
    other = Decision(**{**{n: row[n] for n in names}, **bound, "step_up": "totp"})
    assert not verify(at.world.key.public_key(), other, row["signature"])
    (passkey,) = await kept(at)
    assert passkey["sign_count"] == 1
    assert "with a passkey" in (await at.browser.get(f"/proposals/{id_}")).text


async def test_an_answer_decides_the_one_proposal_in_the_one_session_that_it_was_asked_in(at: At, device: Device) -> None:
    id_, fields, options = await at.check()
    other_id, other_fields, _ = await at.check()
    answer = device.show(options)
    assert (await at.decide(other_id, other_fields, answer)).status_code == 422
    again = await sign_in(at.world, at.person, at.case)
    shown = await again.browser.check(id_)
    assert (await again.decide(id_, {**hidden(shown.text)}, answer)).status_code == 422
    elsewhere = {**fields, "form_token": hidden(shown.text)["form_token"]}
    assert (await again.decide(id_, elsewhere, answer)).status_code == 422
    assert await at.world.decisions(id_) == await at.world.decisions(other_id) == []
    assert (await at.decide(id_, fields, answer)).status_code == 303


async def test_an_answer_is_good_once(at: At, device: Device) -> None:
    """Also from a device that does not count, for which nothing but the challenge tells a replay."""
    device.counts = False
    id_, fields, options = await at.check()
    answer = device.show(options)
    answers = await asyncio.gather(*(at.decide(id_, fields, answer) for _ in range(5)))
    assert {a.status_code for a in answers} == {303}  # a button pressed twice
    assert len(await at.world.decisions(id_)) == 1
    next_id, next_fields, _ = await at.check()
    assert (await at.decide(next_id, next_fields, answer)).status_code == 422
    assert (await at.decide(next_id, {**next_fields, "nonce": fields["nonce"]}, answer)).status_code == 409
    assert await at.world.decisions(next_id) == []


async def test_an_answer_belongs_to_the_one_confirmation_that_asked_for_it(at: At, device: Device) -> None:
    id_, fields, options = await at.check()
    later = hidden((await at.browser.check(id_)).text)
    assert later["nonce"] != fields["nonce"]
    assert (await at.decide(id_, later, device.show(options))).status_code == 422
    assert await at.world.decisions(id_) == []


async def test_an_answer_that_does_not_hold_decides_nothing(at: At, device: Device) -> None:
    id_, fields, options = await at.check()
    stranger = Device(ORIGIN, id=device.id)
    unknown = Device(ORIGIN)
    wrong = {
        "another key": stranger.show(options),
        "an unknown passkey": unknown.show(options),
        "another origin": device.show(options, origin="http://evil.example"),
        "another kind": device.show(options, type="webauthn.create"),
        "another challenge": device.show(json.dumps({"challenge": "AAAA"})),
        "nonsense": "x",
        "a list": "[]",
        "null": "null",
        "empty": "{}",
        "deep": "[" * 5_000,
        "long": "x" * (limits.PASSKEY_CREDENTIAL_MAX_CHARS + 1),
        "surrogates": json.dumps({"id": "\ud800", "rawId": "\ud800", "type": "public-key", "response": {}}),
        "no signature": json.dumps({**json.loads(device.show(options)), "response": {}}),
    }
    good = json.loads(device.show(options))
    for name in good["response"]:
        wrong[f"broken {name}"] = json.dumps({**good, "response": {**good["response"], name: "AAAA"}})
        wrong[f"odd {name}"] = json.dumps({**good, "response": {**good["response"], name: 7}})
    device.flags = PRESENT
    wrong["nobody was verified"] = device.show(options)
    device.flags, device.rp_id = 5, "evil.example"
    wrong["another party"] = device.show(options)
    device.rp_id = "localhost"
    found = {name: (await at.decide(id_, fields, credential)).status_code for name, credential in wrong.items()}
    assert {n: s for n, s in found.items() if s != 422} == {}
    assert await at.world.decisions(id_) == []
    assert (await at.decide(id_, fields, device.show(options))).status_code == 303


async def test_a_count_that_went_back_tells_of_a_copy_and_decides_nothing(at: At, device: Device) -> None:
    device.count = 10
    id_, fields, options = await at.check()
    assert (await at.decide(id_, fields, device.show(options))).status_code == 303
    device.count = 5
    id_, fields, options = await at.check()
    assert (await at.decide(id_, fields, device.show(options))).status_code == 422
    assert await at.world.decisions(id_) == []


async def test_somebody_elses_passkey_decides_nothing(at: At, device: Device) -> None:
    eve = await sign_in(at.world, at.world.people.add(at.case), at.case)
    mine = Device(ORIGIN)
    assert (await eve.add(mine)).status_code == 303
    id_, fields, options = await eve.check()
    assert (await eve.decide(id_, fields, device.show(options))).status_code == 422
    assert (await eve.add(device)).status_code == 409  # nor can it be taken over
    (row,) = [r for r in await kept(at) if r["credential_id"] == device.id]
    assert row["user_id"] == at.person.id
    token = hidden((await eve.browser.get("/passkeys")).text)["form_token"]
    assert (await eve.browser.post(f"/passkeys/{row['id']}/remove", {"form_token": token})).status_code == 403


async def test_a_passkey_that_was_removed_decides_nothing(at: At, device: Device) -> None:
    id_, fields, options = await at.check()
    answer = device.show(options)
    (row,) = await kept(at)
    page = (await at.browser.get("/passkeys")).text
    token = re.findall(r'remove">\s*<input type="hidden" name="form_token" value="([0-9a-f]+)"', page)[0]
    assert (await at.browser.post(f"/passkeys/{row['id']}/remove", {"form_token": token})).status_code == 303
    assert (await at.browser.post(f"/passkeys/{row['id']}/remove", {"form_token": token})).status_code == 404
    assert (await at.decide(id_, fields, answer)).status_code == 422
    rows = await at.world.sql("SELECT action FROM audit.log WHERE action LIKE 'approvals.%passkey' ORDER BY seq")
    assert [r["action"] for r in rows] == ["approvals.add_passkey", "approvals.remove_passkey"]


async def test_a_new_passkey_takes_a_one_time_code(at: At) -> None:
    page = (await at.browser.get("/passkeys")).text
    fields = hidden(page)
    for code, name, said in (("", "x", "six digits"), ("999999", "x", "wrong"), ("000100", "", "name"), ("000100", "x" * 101, "name")):
        answer = await at.browser.post("/passkeys/new", {**fields, "name": name, "code": code})
        assert answer.status_code == 422
        assert said in answer.text
        assert "data-passkey" not in answer.text
    at.person.totp_enrolled = False
    assert "none is set up" in (await at.browser.post("/passkeys/new", {**fields, "name": "x", "code": "000100"})).text
    assert await at.world.sql("SELECT FROM approvals.passkey_challenges") == []


async def test_the_challenge_of_a_new_passkey_is_good_once_for_its_session_and_its_time(at: At) -> None:
    fields, options = await at.begin()
    other = await sign_in(at.world, at.person, at.case)
    theirs, _ = await other.begin()
    made = {"passkey": Device(ORIGIN).make(options)}
    assert (await other.browser.post("/passkeys", {**fields, **made, "form_token": theirs["form_token"]})).status_code == 409
    assert (await at.browser.post("/passkeys", {**fields, **made})).status_code == 303
    assert (await at.browser.post("/passkeys", {**fields, "passkey": Device(ORIGIN).make(options)})).status_code == 409
    fields, options = await at.begin()
    await at.world.sql("UPDATE approvals.passkey_challenges SET expires_at = now()")
    assert (await at.browser.post("/passkeys", {**fields, "passkey": Device(ORIGIN).make(options)})).status_code == 409
    assert len(await kept(at)) == 1


async def test_a_new_passkey_that_does_not_hold_is_not_stored_and_its_challenge_is_used_up(at: At) -> None:
    bad = [Device("http://evil.example"), Device(ORIGIN, rp_id="evil.example"), Device(ORIGIN, flags=PRESENT)]
    for device in bad:
        assert (await at.add(device)).status_code == 409
    assert (await at.add(Device(ORIGIN), type="webauthn.get")).status_code == 409
    for text in ("", "x", "{}", "[]", "null", "x" * (limits.PASSKEY_CREDENTIAL_MAX_CHARS + 1)):
        fields, options = await at.begin()
        assert (await at.browser.post("/passkeys", {**fields, "passkey": text})).status_code == 409
        assert (await at.browser.post("/passkeys", {**fields, "passkey": Device(ORIGIN).make(options)})).status_code == 409
    assert await kept(at) == []


async def test_a_person_has_a_bounded_number_of_passkeys(at: At) -> None:
    begun = [await at.begin() for _ in range(limits.PASSKEYS_MAX + 2)]
    forms = [{**fields, "passkey": Device(ORIGIN).make(options)} for fields, options in begun]
    answers = await asyncio.gather(*(at.browser.post("/passkeys", form) for form in forms))
    assert sorted(a.status_code for a in answers) == [303] * limits.PASSKEYS_MAX + [409] * 2
    assert f"You have {limits.PASSKEYS_MAX} passkeys" in (await at.browser.get("/passkeys")).text


async def test_a_person_without_codes_decides_with_a_passkey_alone(at: At, device: Device) -> None:
    at.person.totp_enrolled = False
    id_, fields, options = await at.check()
    answer = await at.browser.post(f"/proposals/{id_}/decide", {**fields, "code": ""})
    assert answer.status_code == 422
    assert 'name="code"' not in answer.text
    assert (await at.decide(id_, fields, device.show(options))).status_code == 303


async def test_a_challenge_says_nothing_of_what_it_is_made_of(at: At, device: Device) -> None:
    _, fields, options = await at.check()
    assert fields["nonce"] not in options
    assert at.browser.token not in options
    assert sha256(fields["nonce"].encode()).hexdigest() not in options


@pytest.mark.parametrize(
    ("origin", "configured", "expected"),
    [
        ("https://approve.firm.example", "", "approve.firm.example"),
        ("https://approve.firm.example:8443", "firm.example", "firm.example"),
        ("http://localhost:80", "", "localhost"),
        ("http://127.0.0.1:80", "", None),
        ("https://[::1]", "", None),
        ("http://approve.firm.example", "", None),
    ],
)
def test_passkeys_belong_to_the_domain_of_the_public_address(origin: str, configured: str, expected: str | None) -> None:
    found = party(Site.of(origin, ()), configured)
    assert (found.id if found else None) == expected


@pytest.mark.parametrize("configured", ["evil.example", "xfirm.example", "example", "a.approve.firm.example"])
def test_a_domain_that_is_not_ours_is_refused_at_the_start(configured: str) -> None:
    with pytest.raises(ConfigError, match=r"\[passkeys\] rp_id"):
        party(Site.of("https://approve.firm.example", ()), configured)
