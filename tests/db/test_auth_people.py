"""People who sign in: passwords, one-time codes, and what they may reach at this moment."""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import person_service_pb2 as pb

from kit import db, limits
from kit.errors import Refusal
from services.auth import totp
from services.auth.admin import AuthAdminService
from services.auth.person import Passwords, PersonService, Seal
from services.auth.store import Store
from tests.cluster import Database
from tests.db.auth_world import CALL, PEPPER

PASSWORD = "correct horse battery staple"


@dataclass
class People:
    """The service under test, one person, and a clock that tests move."""

    service: PersonService
    admin: AuthAdminService
    user: admin_pb.User
    secret: bytes
    now: list[datetime]

    async def sign_in(self, password: str, email: str | None = None) -> pb.VerifyPasswordResponse:
        return await self.service.verify_password(pb.VerifyPasswordRequest(email=email or self.user.email, password=password), CALL)

    async def code(self, code: str) -> pb.VerifyTotpResponse:
        return await self.service.verify_totp(pb.VerifyTotpRequest(user_id=self.user.id, code=code), CALL)


@asynccontextmanager
async def made(database: Database) -> AsyncIterator[People]:
    pool = await db.connect(database.dsn("svc_auth"), 4)
    store, now = Store(pool), [datetime(2026, 8, 14, 12, tzinfo=UTC)]
    admin = AuthAdminService(store, PEPPER)
    user = (await admin.create_user(admin_pb.CreateUserRequest(name="Ada", email="Ada@firm.example"), CALL)).user
    await admin.set_password(admin_pb.SetPasswordRequest(user_id=user.id, password=PASSWORD), CALL)
    secret = (await admin.enroll_totp(admin_pb.EnrollTotpRequest(user_id=user.id), CALL)).secret
    service = PersonService(store, Passwords(), Seal(PEPPER), lambda: now[0])
    try:
        yield People(service, admin, user, base64.b32decode(secret + "=" * (-len(secret) % 8)), now)
    finally:
        await pool.close()


@pytest.fixture
async def people(database: Database) -> AsyncIterator[People]:
    async with made(database) as world:
        yield world


async def test_the_right_password_finds_the_person_whatever_the_case_of_the_address(people: People) -> None:
    assert (await people.sign_in(PASSWORD, "ada@FIRM.example")).person.id == people.user.id


async def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(people: People) -> None:
    wrong, unknown = await people.sign_in("no"), await people.sign_in(PASSWORD, "nobody@firm.example")
    assert wrong.SerializeToString() == unknown.SerializeToString() == b""


async def test_guessing_is_stopped_for_known_and_unknown_addresses_and_ends_with_the_window(people: People) -> None:
    for email in (people.user.email, "nobody@firm.example"):
        for _ in range(limits.SIGN_IN_FAILURES_MAX):
            assert not (await people.sign_in("no", email)).HasField("retry_after_seconds")
        refused = await people.sign_in(PASSWORD, email)
        assert refused.retry_after_seconds == limits.SIGN_IN_WINDOW_SECONDS
        assert not refused.HasField("person")
    people.now[0] += timedelta(seconds=limits.SIGN_IN_WINDOW_SECONDS)
    assert (await people.sign_in(PASSWORD)).HasField("person")


async def test_a_code_works_once_and_so_does_every_older_one(people: People) -> None:
    step = totp.step(people.now[0])
    assert (await people.code(totp.code(people.secret, step))).verified
    assert not (await people.code(totp.code(people.secret, step))).verified
    assert not (await people.code(totp.code(people.secret, step - 1))).verified
    assert (await people.code(totp.code(people.secret, step + 1))).verified


async def test_of_twenty_at_once_one_uses_the_code(people: People) -> None:
    code = totp.code(people.secret, totp.step(people.now[0]))
    answers = await asyncio.gather(*[people.code(code) for _ in range(5)])
    assert sum(a.verified for a in answers) == 1


async def test_a_secret_moved_to_another_person_does_not_open(people: People, database: Database) -> None:
    other = (await people.admin.create_user(admin_pb.CreateUserRequest(name="Ben", email="ben@firm.example"), CALL)).user
    owner = await db.connect_one(database.dsn())
    await owner.execute(
        "INSERT INTO auth.totp (user_id, sealed_secret) SELECT $1, sealed_secret FROM auth.totp WHERE user_id = $2",
        other.id,
        people.user.id,
    )
    stored = await owner.fetchval("SELECT sealed_secret FROM auth.totp WHERE user_id = $1", people.user.id)
    await owner.close()
    code = totp.code(people.secret, totp.step(people.now[0]))
    assert not (await people.service.verify_totp(pb.VerifyTotpRequest(user_id=other.id, code=code), CALL)).verified
    assert people.secret not in stored


async def test_access_is_afresh_and_screens_are_subtracted(people: People) -> None:
    one, two = str(uuid.uuid4()), str(uuid.uuid4())
    for case_id in (one, two):
        await people.admin.methods()["GrantMatterAccess"](admin_pb.GrantMatterAccessRequest(user_id=people.user.id, case_id=case_id), CALL)
    await people.admin.raise_ethical_screen(admin_pb.RaiseEthicalScreenRequest(user_id=people.user.id, case_id=two, reason="x"), CALL)
    found = await people.service.get_person(pb.GetPersonRequest(user_id=people.user.id), CALL)
    assert list(found.person.case_ids) == [one]
    assert not (await people.service.get_person(pb.GetPersonRequest(user_id=str(uuid.uuid4())), CALL)).HasField("person")


async def found(people: People, subject: str, email: str = "ada@firm.example", issuer: str = "https://idp.firm.example") -> str:
    """The id of the person whose account this is, or nothing."""
    request = pb.FindPersonRequest(issuer=issuer, subject=subject, email=email)
    return (await people.service.find_person(request, CALL)).person.id


async def test_an_account_is_bound_to_the_person_with_its_address_and_from_then_on_counts_alone(people: People) -> None:
    assert await found(people, "1", "ADA@firm.example") == people.user.id
    assert await found(people, "1", "ada.married@firm.example") == people.user.id
    assert await found(people, "1", "nobody@firm.example", "https://other.example") == ""
    assert await found(people, "7", issuer="https://other.example") == people.user.id


async def test_an_address_that_changed_hands_opens_nothing_until_the_operator_releases_it(people: People) -> None:
    assert await found(people, "1") == people.user.id
    assert await found(people, "2") == ""
    release = people.admin.methods()["ReleaseAccount"]
    await release(admin_pb.ReleaseAccountRequest(user_id=people.user.id), CALL)
    assert await found(people, "2") == people.user.id
    assert await found(people, "1") == ""


async def test_releasing_an_account_that_is_not_there_says_so(people: People) -> None:
    with pytest.raises(Refusal, match="No such account"):
        await people.admin.methods()["ReleaseAccount"](admin_pb.ReleaseAccountRequest(user_id=people.user.id), CALL)


async def test_an_account_that_signs_in_twice_at_once_is_bound_once_with_one_audit_row(people: People, database: Database) -> None:
    assert await asyncio.gather(*(found(people, "1") for _ in range(8))) == [people.user.id] * 8
    admin = await db.connect_one(database.admin_dsn)
    rows = await admin.fetch("SELECT actor FROM audit.log WHERE action = 'bind_account'")
    await admin.close()
    assert [r["actor"] for r in rows] == [f"person:{people.user.id}"]


async def test_nobody_is_made_for_an_account_that_nobody_has(people: People, database: Database) -> None:
    assert await found(people, "1", "newcomer@firm.example") == ""
    admin = await db.connect_one(database.admin_dsn)
    assert await admin.fetch("SELECT FROM auth.subjects") == []
    assert len(await admin.fetch("SELECT FROM auth.users")) == 1
    await admin.close()
