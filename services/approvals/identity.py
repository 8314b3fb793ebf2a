"""Who a person is. One interface for signing in and one for showing it again; the local accounts of auth stand behind both."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Protocol

from google.protobuf.message import Message
from substrate.auth.v1 import person_service_pb2 as pb

from kit import config
from kit.client import channel, method
from services.approvals.proposal import Person

SERVICE = "/substrate.auth.v1.PersonService/"
_CODE = re.compile(r"[0-9]{6}")
EMAIL_MAX_CHARS, PASSWORD_MAX_CHARS = 320, 1024


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The answer to somebody who signs in: a person, or how long to wait, or neither."""

    person: Person | None
    retry_after_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The answer to somebody who shows again who they are."""

    verified: bool
    retry_after_seconds: int | None = None


class SignIn(Protocol):
    """A way to sign in with what a person types. The firm's identity provider is another, see `firm`."""

    async def sign_in(self, email: str, password: str) -> SignedIn:
        """Who this is."""
        ...


class StepUp(Protocol):
    """A way to show again who one is, bound to what is about to be decided."""

    kind: str

    async def verify(self, user_id: uuid.UUID, answer: str, args_digest: bytes) -> Shown:
        """Whether the answer is theirs, for these arguments. It is asked last, in the same request and transaction as the decision."""
        ...


class Directory(Protocol):
    """Says who somebody is at this moment."""

    async def person(self, user_id: uuid.UUID) -> Person | None:
        """The person and the matters they may act in now."""
        ...

    async def vouched(self, issuer: str, subject: str, email: str) -> Person | None:
        """Whose account at an identity provider this is."""
        ...


def person_of(message: pb.Person) -> Person:
    """A person as this room holds one."""
    cases = frozenset(uuid.UUID(c) for c in message.case_ids)
    return Person(uuid.UUID(message.id), message.name, message.email, cases, message.totp_enrolled)


class LocalAccounts:
    """The accounts that auth keeps: password, one-time code, and access less screens, asked afresh each time."""

    kind = "totp"

    def __init__(self, auth: config.Peer, tls: config.Tls) -> None:
        self._channel = channel(auth.address, "auth", tls)
        self._password = method(self._channel, SERVICE + "VerifyPassword", pb.VerifyPasswordResponse)
        self._totp = method(self._channel, SERVICE + "VerifyTotp", pb.VerifyTotpResponse)
        self._get = method(self._channel, SERVICE + "GetPerson", pb.GetPersonResponse)
        self._find = method(self._channel, SERVICE + "FindPerson", pb.FindPersonResponse)

    async def sign_in(self, email: str, password: str) -> SignedIn:
        """Who has this address and password."""
        if not (0 < len(email) <= EMAIL_MAX_CHARS and 0 < len(password) <= PASSWORD_MAX_CHARS):
            return SignedIn(None)
        answer: Message = await self._password(pb.VerifyPasswordRequest(email=email, password=password))
        assert isinstance(answer, pb.VerifyPasswordResponse)
        wait = answer.retry_after_seconds if answer.HasField("retry_after_seconds") else None
        return SignedIn(person_of(answer.person) if answer.HasField("person") and wait is None else None, wait)

    async def verify(self, user_id: uuid.UUID, answer: str, args_digest: bytes) -> Shown:  # noqa: ARG002 - a code carries no challenge
        """Whether the one-time code is right. Each works once, and it is spent on the one decision that it came with."""
        if not _CODE.fullmatch(answer):
            return Shown(False)
        said = await self._totp(pb.VerifyTotpRequest(user_id=str(user_id), code=answer))
        assert isinstance(said, pb.VerifyTotpResponse)
        wait = said.retry_after_seconds if said.HasField("retry_after_seconds") else None
        return Shown(said.verified and wait is None, wait)

    async def person(self, user_id: uuid.UUID) -> Person | None:
        """The person and the matters they may act in now."""
        answer = await self._get(pb.GetPersonRequest(user_id=str(user_id)))
        assert isinstance(answer, pb.GetPersonResponse)
        return person_of(answer.person) if answer.HasField("person") else None

    async def vouched(self, issuer: str, subject: str, email: str) -> Person | None:
        """Whose account at an identity provider this is. The first time it is told by the address, and from then on by the account."""
        answer = await self._find(pb.FindPersonRequest(issuer=issuer, subject=subject, email=email))
        assert isinstance(answer, pb.FindPersonResponse)
        return person_of(answer.person) if answer.HasField("person") else None

    async def close(self) -> None:
        """Closes the channel."""
        await self._channel.close()
