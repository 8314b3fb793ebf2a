"""PersonService: who a person is, and where they may act now."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from math import ceil

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from substrate.auth.v1 import person_service_pb2 as pb

from kit import limits
from kit.clock import Clock
from kit.db import Record
from kit.server import Call, Handler
from services.auth import totp
from services.auth.store import Store

NAME = "substrate.auth.v1.PersonService"
NONCE_BYTES = 12


class NotBoundError(Exception):
    """Takes the audit row of a binding back: the person has an account already, or the account a person."""


class Passwords:
    """Argon2id in a thread of its own: it is slow on purpose, and must not stop everybody else."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        # What an unknown address is checked against, so that it takes as long as a known one.
        self._nobody = self._hasher.hash("nobody has this password")

    async def hash(self, password: str) -> str:
        """What is stored of a password."""
        return await asyncio.to_thread(self._hasher.hash, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether it is the password; takes the same time where there is none."""
        right = await asyncio.to_thread(self._check, stored or self._nobody, password)
        return right and stored is not None

    def _check(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False


class Seal:
    """Keeps one-time-password secrets unreadable in the database; the pepper is the key."""

    def __init__(self, pepper: bytes) -> None:
        self._aead = AESGCM(sha256(b"substrate/totp/1:" + pepper).digest())

    def close(self, user_id: str, secret: bytes, nonce: bytes) -> bytes:
        """Seals a secret for one person."""
        return nonce + self._aead.encrypt(nonce, secret, user_id.encode("ascii"))

    def open(self, user_id: str, sealed: bytes) -> bytes | None:
        """The secret, or None where it was sealed for somebody else or under another pepper."""
        try:
            return self._aead.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], user_id.encode("ascii"))
        except InvalidTag:
            return None


def person(row: Record) -> pb.Person:
    """A person as approvals sees one."""
    return pb.Person(
        id=str(row["id"]),
        name=row["name"],
        email=row["email"],
        case_ids=[str(c) for c in row["case_ids"]],
        totp_enrolled=row["totp_enrolled"],
    )


class PersonService:
    """Checks passwords and codes, slowly after wrong ones; keeps nothing between calls."""

    def __init__(self, store: Store, passwords: Passwords, seal: Seal, clock: Clock) -> None:
        self._store, self._passwords, self._seal, self._clock = store, passwords, seal, clock

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {
            "VerifyPassword": self.verify_password,
            "VerifyTotp": self.verify_totp,
            "FindPerson": self.find_person,
            "GetPerson": self.get_person,
        }

    async def verify_password(self, request: pb.VerifyPasswordRequest, _call: Call) -> pb.VerifyPasswordResponse:
        """The person, where address and password belong together."""
        subject = sha256(b"password:" + request.email.lower().encode("utf-8")).digest()
        if wait := await self._wait(subject):
            return pb.VerifyPasswordResponse(retry_after_seconds=wait)
        found = await self._store.read("person_by_email", {"email": request.email})
        right = await self._passwords.verify(found[0]["argon2id"] if found else None, request.password)
        await self._note(subject, right=right)
        return pb.VerifyPasswordResponse(person=person(found[0]) if right else None)

    async def verify_totp(self, request: pb.VerifyTotpRequest, _call: Call) -> pb.VerifyTotpResponse:
        """Whether the code is right and unused; using it is one statement, so two at once cannot both."""
        subject = sha256(b"totp:" + request.user_id.encode("ascii")).digest()
        if wait := await self._wait(subject):
            return pb.VerifyTotpResponse(verified=False, retry_after_seconds=wait)
        found = await self._store.read("totp", {"user_id": request.user_id})
        secret = self._seal.open(request.user_id, found[0]["sealed_secret"]) if found else None
        step = None if secret is None else totp.matching(secret, request.code, self._clock())
        used = await self._store.read("use_totp_step", {"user_id": request.user_id, "step": step}) if step is not None else []
        await self._note(subject, right=bool(used))
        return pb.VerifyTotpResponse(verified=bool(used))

    async def find_person(self, request: pb.FindPersonRequest, _call: Call) -> pb.FindPersonResponse:
        """The person whose account this is; an account that is new is bound to whoever has the address and no other account."""
        account = {"issuer": request.issuer, "subject": request.subject}
        found = await self._store.read("person_by_subject", account)
        if not found:
            await self._bind(request)
            found = await self._store.read("person_by_subject", account)
        return pb.FindPersonResponse(person=person(found[0]) if found else None)

    async def _bind(self, request: pb.FindPersonRequest) -> None:
        """Binds an account, with its audit row, where there is somebody to bind it to."""
        known = await self._store.read("person_by_email", {"email": request.email})
        if not known:
            return
        detail = sha256(request.SerializeToString(deterministic=True)).digest()
        values = {"issuer": request.issuer, "subject": request.subject, "email": request.email}
        with contextlib.suppress(NotBoundError):
            async with self._store.change("bind_account", None, detail, f"person:{known[0]['id']}") as connection:
                if not await self._store.rows(connection, "bind_account", values):
                    raise NotBoundError

    async def get_person(self, request: pb.GetPersonRequest, _call: Call) -> pb.GetPersonResponse:
        """The person, with the matters they may act in at this moment."""
        found = await self._store.read("person_by_id", {"user_id": request.user_id})
        return pb.GetPersonResponse(person=person(found[0]) if found else None)

    async def _wait(self, subject: bytes) -> int:
        """Seconds until another try is taken; 0 where one is welcome."""
        found = await self._store.read("attempts", {"subject": subject})
        if not found or found[0]["failures"] < limits.SIGN_IN_FAILURES_MAX:
            return 0
        started: datetime = found[0]["window_start"]
        over = started + timedelta(seconds=limits.SIGN_IN_WINDOW_SECONDS) - self._clock()
        return max(0, ceil(over.total_seconds()))

    async def _note(self, subject: bytes, *, right: bool) -> None:
        if right:
            await self._store.read("forget_failures", {"subject": subject})
            return
        now = self._clock()
        window_from = now - timedelta(seconds=limits.SIGN_IN_WINDOW_SECONDS)
        await self._store.read("note_failure", {"subject": subject, "now": now, "window_from": window_from})
