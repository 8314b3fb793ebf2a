"""approvals with an identity provider, and somebody whom both know."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from services.approvals.config import SignInConfig
from tests.cluster import Database
from tests.db.approvals_world import Browser, Somebody, World, opened
from tests.db.provider_world import CLIENT, SECRET, Provider, provider


@dataclass
class Firm:
    """approvals, its provider, a person of both, and the clock of both."""

    world: World
    provider: Provider
    ada: Somebody
    now: list[datetime]

    def later(self, seconds: float) -> None:
        self.now[0] += timedelta(seconds=seconds)

    async def leave(self, browser: Browser, next_: str = "/") -> httpx.Response:
        return await browser.http.get("/sign-in/firm", params={"next": next_})

    async def consent(self, browser: Browser, next_: str = "/") -> str:
        """Goes to the provider and signs in there; the address that it sends the browser back to."""
        left = await self.leave(browser, next_)
        assert left.status_code == 303, left.text
        async with httpx.AsyncClient() as elsewhere:
            answer = await elsewhere.get(left.headers["location"])
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"])

    async def sign_in(self, browser: Browser, next_: str = "/") -> httpx.Response:
        return await browser.get(await self.consent(browser, next_))


@asynccontextmanager
async def firm(database: Database, folder: Path, public_url: str = "", **changes: Any) -> AsyncIterator[Firm]:
    now = [datetime.now(UTC)]
    (folder / "client.secret").write_text(SECRET + "\n", encoding="utf-8")
    async with provider(lambda: now[0]) as idp:
        values: dict[str, Any] = {
            "issuer": idp.issuer,
            "client_id": CLIENT,
            "client_secret_file": str(folder / "client.secret"),
            "allowed_domains": ("firm.example",),
            **changes,
        }
        async with opened(database, folder, sign_in=SignInConfig(**values), clock=lambda: now[0], public_url=public_url) as world:
            ada = world.people.add(uuid.uuid4())
            idp.person = {"sub": "ada-at-the-provider", "email": ada.email, "email_verified": True}
            yield Firm(world, idp, ada, now)


async def nobody(made: Firm, browser: Browser, answer: httpx.Response, status: int = 403) -> None:
    """Nobody was signed in, and the answer says so without saying what the provider said."""
    assert answer.status_code == status, answer.text
    assert "substrate_session" not in browser.http.cookies
    assert await made.world.sql("SELECT FROM approvals.sessions") == []
    assert (await browser.get("/")).status_code == 303
