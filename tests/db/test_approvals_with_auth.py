"""approvals before the real auth: passwords, one-time codes, access and screens as the firm keeps them."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb

from kit import db
from services.auth import totp
from services.auth.admin import AuthAdminService
from services.auth.person import Passwords, PersonService, Seal
from services.auth.store import Store
from tests.cluster import Database
from tests.db.approvals_world import DEADLINE, PASSWORD, Somebody, World, hidden, opened
from tests.db.auth_world import CALL, PEPPER


@dataclass
class Firm:
    """The program, the administration of auth, and a clock for its codes."""

    world: World
    admin: AuthAdminService
    case: uuid.UUID
    ada: Somebody
    secret: bytes
    now: list[datetime]

    def code(self) -> str:
        """A code that was not shown before."""
        self.now[0] += timedelta(seconds=90)
        return totp.code(self.secret, totp.step(self.now[0]))

    async def screen(self) -> None:
        request = admin_pb.RaiseEthicalScreenRequest(user_id=str(self.ada.id), case_id=str(self.case), reason="Former client")
        await self.admin.methods()["RaiseEthicalScreen"](request, CALL)


@asynccontextmanager
async def firm(database: Database, folder: Path) -> AsyncIterator[Firm]:
    pool = await db.connect(database.dsn("svc_auth"), 4)
    store, now, case = Store(pool), [datetime(2026, 8, 14, 12, tzinfo=UTC)], uuid.uuid4()
    admin = AuthAdminService(store, PEPPER)
    user = (await admin.create_user(admin_pb.CreateUserRequest(name="Ada", email="ada@firm.example"), CALL)).user
    await admin.methods()["GrantMatterAccess"](admin_pb.GrantMatterAccessRequest(user_id=user.id, case_id=str(case)), CALL)
    await admin.set_password(admin_pb.SetPasswordRequest(user_id=user.id, password=PASSWORD), CALL)
    secret = (await admin.enroll_totp(admin_pb.EnrollTotpRequest(user_id=user.id), CALL)).secret
    people = PersonService(store, Passwords(), Seal(PEPPER), lambda: now[0])
    ada = Somebody(uuid.UUID(user.id), "ada@firm.example", {case})
    try:
        async with opened(database, folder, people.methods()) as world:
            yield Firm(world, admin, case, ada, base64.b32decode(secret + "=" * (-len(secret) % 8)), now)
    finally:
        await pool.close()


async def test_a_code_of_the_real_auth_decides_once(database: Database, tmp_path: Path) -> None:
    async with firm(database, tmp_path) as made:
        browser = await made.world.client(made.ada)
        first, second = [await made.world.propose(made.ada, made.case, "create_deadline", DEADLINE) for _ in range(2)]
        code = made.code()
        assert (await browser.decide(first, code=code)).status_code == 303
        again = await browser.decide(second, code=code)
        assert again.status_code == 422
        assert "wrong, or was used before" in again.text
        assert (await browser.post(f"/proposals/{second}/decide", {**hidden(again.text), "code": made.code()})).status_code == 303
        assert [r["step_up"] for i in (first, second) for r in await made.world.decisions(i)] == ["totp", "totp"]


async def test_a_screen_of_the_real_auth_takes_effect_on_the_next_request(database: Database, tmp_path: Path) -> None:
    async with firm(database, tmp_path) as made:
        browser = await made.world.client(made.ada)
        id_ = await made.world.propose(made.ada, made.case)
        form = hidden((await browser.check(id_)).text)
        await made.screen()
        assert (await browser.post(f"/proposals/{id_}/decide", form)).status_code == 404
        assert "Nothing waits for you." in (await browser.get("/")).text
        assert await made.world.decisions(id_) == []


async def test_wrong_passwords_are_slowed_by_the_real_auth(database: Database, tmp_path: Path) -> None:
    async with firm(database, tmp_path) as made:
        browser, statuses = made.world.browser(), set()
        for _ in range(20):
            answer = await browser.post("/sign-in", {"email": made.ada.email, "password": "wrong"})
            statuses.add(answer.status_code)
        assert statuses == {422, 429}
