"""Web sessions: begun with a sign-in, looked up on each request together with the person's access, ended by time or by hand."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from hashlib import sha256

from kit import limits
from services.approvals import tokens
from services.approvals.identity import Directory
from services.approvals.proposal import Person
from services.approvals.store import Store


class Sessions:
    """The sessions of this room; only the hash of a token is stored."""

    def __init__(self, store: Store, directory: Directory, random: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._store, self._directory, self._random = store, directory, random

    async def begin(self, person: Person) -> str:
        """A new session, whatever the browser held before."""
        token = tokens.session_token(self._random)
        async with self._store.changing() as work:
            await work.rows("forget_sessions", kept_seconds=limits.PERSON_SESSION_KEPT_SECONDS)
            values = {
                "id": uuid.uuid4(),
                "token_hash": tokens.hashed(token),
                "user_id": person.id,
                "seconds": limits.PERSON_SESSION_SECONDS,
            }
            await work.rows("begin_session", **values)
            await work.rows("end_surplus_sessions", user_id=person.id, kept=limits.PERSON_SESSIONS_MAX)
            await work.audit(person.id, "approvals.sign_in", None, "done", sha256(tokens.hashed(token)).digest())
        return token

    async def person(self, token: str) -> Person | None:
        """Who this session belongs to and where they may act now, or None where it is over or they are gone."""
        async with self._store.changing() as work:
            found = await work.rows("use_session", token_hash=tokens.hashed(token), idle_seconds=limits.PERSON_SESSION_IDLE_SECONDS)
        return await self._directory.person(found[0]["user_id"]) if found else None

    async def use_leave(self, state: str) -> bool:
        """Uses up the return from an identity provider; False where it was used before."""
        async with self._store.changing() as work:
            await work.rows("forget_returns")
            return bool(await work.rows("use_return", state_hash=tokens.hashed(state), seconds=limits.SIGN_IN_OPEN_SECONDS))

    async def end(self, token: str) -> None:
        """Signs out."""
        async with self._store.changing() as work:
            for row in await work.rows("end_session", token_hash=tokens.hashed(token)):
                await work.audit(row["user_id"], "approvals.sign_out", None, "done", sha256(tokens.hashed(token)).digest())
