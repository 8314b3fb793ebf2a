"""AuthAdminService: keys, people, access and screens, for the operator's certificate only."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from substrate.auth.v1 import auth_admin_service_pb2 as pb
from substrate.auth.v1 import auth_service_pb2
from substrate.common.v1 import error_reason_pb2 as reasons

from kit import credentials, limits
from kit.clock import Clock, system_clock
from kit.credentials import ApiKey
from kit.db import ForeignKeyViolation, Record, UniqueViolation
from kit.errors import FieldError, Refusal, invalid
from kit.server import Call, Handler
from services.auth import decision, totp
from services.auth.chain import Chain
from services.auth.person import NONCE_BYTES, Passwords, Seal
from services.auth.store import Store

NAME = "substrate.auth.v1.AuthAdminService"
CLASS_WORDS = {number: word for word, number in decision.CLASSES.items()}


def _time(value: datetime | None) -> Timestamp | None:
    """A database instant as a message."""
    if value is None:
        return None
    stamp = Timestamp()
    stamp.FromDatetime(value)
    return stamp


def _instant(request: Any, field: str) -> datetime | None:
    """An optional instant of a request."""
    return getattr(request, field).ToDatetime(tzinfo=UTC) if request.HasField(field) else None


def _number(request: Any, field: str, default: int | None) -> int | None:
    """An optional number of a request."""
    return getattr(request, field) if request.HasField(field) else default


def _allow(request: Any) -> list[str] | None:
    """The allow-list of a request; an empty one reaches nothing, which is not the same as none."""
    return list(request.allow_list.case_ids) if request.HasField("allow_list") else None


def key_message(row: Record) -> pb.Key:
    """A key without its secret."""
    allow = row["allow_list"]
    return pb.Key(
        id=str(row["id"]),
        public_id=row["public_id"],
        environment=row["environment"],
        name=row["name"],
        owner_id=str(row["owner_id"]),
        scopes=row["scopes"],
        credential_class=decision.credential_class(row["credential_class"]),
        allow_list=None if allow is None else pb.MatterAllowList(case_ids=[str(c) for c in allow]),
        create_time=_time(row["created_at"]),
        expire_time=_time(row["expires_at"]),
        revoke_time=_time(row["revoked_at"]),
        read_per_minute=row["read_per_minute"],
        retrieval_per_minute=row["retrieval_per_minute"],
        last_used_time=_time(row["last_used_at"]),
    )


def _missing(what: str) -> Refusal:
    return Refusal(reasons.ERROR_REASON_NOT_FOUND, f"No such {what}.")


@dataclass(frozen=True, slots=True)
class PeopleSecrets:
    """How what people sign in with is hashed, sealed and made."""

    passwords: Passwords
    seal: Seal
    random: Callable[[int], bytes] = secrets.token_bytes


class AuthAdminService:
    """Each change and its audit row are one transaction."""

    def __init__(
        self,
        store: Store,
        pepper: bytes,
        mint: Callable[[str], ApiKey] = credentials.mint,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
        people: PeopleSecrets | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._store, self._pepper, self._mint, self._new_id, self._clock = store, pepper, mint, new_id, clock
        self._people = people or PeopleSecrets(Passwords(), Seal(pepper))

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {
            "CreateKey": self.create_key,
            "ListKeys": self.list_keys,
            "RevokeKey": self.revoke_key,
            "UpdateKey": self.update_key,
            "CreateUser": self.create_user,
            "ListUsers": self.list_users,
            "SetPassword": self.set_password,
            "EnrollTotp": self.enroll_totp,
            "ReleaseAccount": self.release_account,
            "GrantMatterAccess": self._setter("grant_matter_access", pb.GrantMatterAccessResponse),
            "WithdrawMatterAccess": self._setter("withdraw_matter_access", pb.WithdrawMatterAccessResponse, "access"),
            "RaiseEthicalScreen": self.raise_ethical_screen,
            "LiftEthicalScreen": self._setter("lift_ethical_screen", pb.LiftEthicalScreenResponse, "screen"),
            "VerifyAuditChain": self.verify_audit_chain,
        }

    async def set_password(self, request: pb.SetPasswordRequest, _call: Call) -> pb.SetPasswordResponse:
        """Sets a password; only its hash is kept."""
        values = {"user_id": request.user_id, "argon2id": await self._people.passwords.hash(request.password)}
        await self._change("set_password", pb.SetPasswordRequest(user_id=request.user_id), values)
        return pb.SetPasswordResponse()

    async def enroll_totp(self, request: pb.EnrollTotpRequest, _call: Call) -> pb.EnrollTotpResponse:
        """Makes a new secret; it exists in readable form only in this answer."""
        found = await self._store.read("person_by_id", {"user_id": request.user_id})
        if not found:
            raise _missing("person")
        secret = self._people.random(totp.SECRET_BYTES)
        sealed = self._people.seal.close(request.user_id, secret, self._people.random(NONCE_BYTES))
        await self._change("enroll_totp", request, {"user_id": request.user_id, "sealed_secret": sealed})
        return pb.EnrollTotpResponse(secret=totp.base32(secret), uri=totp.uri(secret, found[0]["email"]))

    async def release_account(self, request: pb.ReleaseAccountRequest, _call: Call) -> pb.ReleaseAccountResponse:
        """Forgets a person's account at the identity provider."""
        await self._change("release_account", request, {"user_id": request.user_id}, "account of this person at an identity provider")
        return pb.ReleaseAccountResponse()

    async def _change(self, statement: str, request: Message, values: Mapping[str, Any], ends: str | None = None) -> None:
        """Runs one change with its audit row; where it should end something that does not stand, neither happens."""
        case_id = getattr(request, "case_id", None)
        detail = sha256(request.SerializeToString(deterministic=True)).digest()
        try:
            async with self._store.change(statement, case_id, detail) as connection:
                changed = bool(await self._store.rows(connection, statement, values))
                if ends is not None and not changed:
                    raise _missing(ends)
        except ForeignKeyViolation as error:
            raise _missing("person") from error

    async def _key(self, key: str) -> Record:
        found = await self._store.read("list_keys", {"key": key})
        if not found:
            raise _missing("key")
        return found[0]

    async def create_key(self, request: pb.CreateKeyRequest, _call: Call) -> pb.CreateKeyResponse:
        """Makes a key; its text exists only in this answer."""
        if request.HasField("expire_time") and request.expire_time.ToDatetime(tzinfo=UTC) <= self._clock():
            raise invalid([FieldError("expire_time", "expected a time in the future")])
        key, key_id = self._mint(request.environment or "live"), self._new_id()
        values: dict[str, Any] = {
            "id": key_id,
            "public_id": key.public_id,
            "environment": key.environment,
            "name": request.name,
            "owner_id": request.owner_id,
            "secret_hash": credentials.keyed_hash(self._pepper, key),
            "scopes": list(request.scopes),
            "credential_class": CLASS_WORDS[request.credential_class],
            "allow_list": _allow(request),
            "expires_at": _instant(request, "expire_time"),
            "read_per_minute": _number(request, "read_per_minute", limits.READ_PER_MINUTE_DEFAULT),
            "retrieval_per_minute": _number(request, "retrieval_per_minute", limits.RETRIEVAL_PER_MINUTE_DEFAULT),
        }
        await self._change("insert_key", request, values)
        return pb.CreateKeyResponse(key=key_message(await self._key(str(key_id))), api_key=key.text)

    async def list_keys(self, _request: pb.ListKeysRequest, _call: Call) -> pb.ListKeysResponse:
        """Every key, newest first."""
        return pb.ListKeysResponse(keys=[key_message(row) for row in await self._store.read("list_keys", {"key": None})])

    async def revoke_key(self, request: pb.RevokeKeyRequest, _call: Call) -> pb.RevokeKeyResponse:
        """Revokes a key; when this returns, no further call with it is allowed."""
        row = await self._key(request.key)
        await self._change("revoke_key", request, {"id": row["id"]})
        return pb.RevokeKeyResponse(key=key_message(await self._key(str(row["id"]))))

    async def update_key(self, request: pb.UpdateKeyRequest, _call: Call) -> pb.UpdateKeyResponse:
        """Changes what is set in the request and nothing else."""
        row = await self._key(request.key)
        wanted = request.credential_class
        if wanted not in (auth_service_pb2.CREDENTIAL_CLASS_UNSPECIFIED, *CLASS_WORDS):
            raise invalid([FieldError("credential_class", "expected firm or client_safe")])
        values: dict[str, Any] = {
            "id": row["id"],
            "scopes": list(request.scopes) or None,
            "allow_list": _allow(request),
            "expires_at": _instant(request, "expire_time"),
            "credential_class": CLASS_WORDS.get(wanted),
            "read_per_minute": _number(request, "read_per_minute", None),
            "retrieval_per_minute": _number(request, "retrieval_per_minute", None),
        }
        await self._change("update_key", request, values)
        return pb.UpdateKeyResponse(key=key_message(await self._key(str(row["id"]))))

    async def create_user(self, request: pb.CreateUserRequest, _call: Call) -> pb.CreateUserResponse:
        """Makes a person; one person an address."""
        user_id = self._new_id()
        try:
            await self._change("insert_user", request, {"id": user_id, "name": request.name, "email": request.email})
        except UniqueViolation as error:
            raise Refusal(reasons.ERROR_REASON_CONFLICT, f"A person with the address {request.email} exists already.") from error
        return pb.CreateUserResponse(user=pb.User(id=str(user_id), name=request.name, email=request.email))

    async def list_users(self, _request: pb.ListUsersRequest, _call: Call) -> pb.ListUsersResponse:
        """Every person by name, with access and standing screens."""
        users = [
            pb.User(
                id=str(row["id"]),
                name=row["name"],
                email=row["email"],
                case_ids=[str(c) for c in row["case_ids"]],
                screened_case_ids=[str(c) for c in row["screened_case_ids"]],
            )
            for row in await self._store.read("list_users", {})
        ]
        return pb.ListUsersResponse(users=users)

    def _setter(self, name: str, response: type[Message], ends: str | None = None) -> Handler:
        """Handler of a change that names a person and a matter and answers nothing; what `ends` something needs it to stand."""

        async def handle(request: Any, _call: Call) -> Message:
            ended = f"{ends} of this person in this matter" if ends else None
            await self._change(name, request, {"user_id": request.user_id, "case_id": request.case_id}, ended)
            return response()

        return handle

    async def raise_ethical_screen(self, request: pb.RaiseEthicalScreenRequest, _call: Call) -> pb.RaiseEthicalScreenResponse:
        """Raises a screen; one that stands already is left as it is."""
        values = {"id": self._new_id(), "user_id": request.user_id, "case_id": request.case_id, "reason": request.reason}
        await self._change("raise_ethical_screen", request, values)
        return pb.RaiseEthicalScreenResponse()

    async def verify_audit_chain(self, _request: pb.VerifyAuditChainRequest, _call: Call) -> pb.VerifyAuditChainResponse:
        """Recomputes the whole chain."""
        chain = Chain()
        async for page in self._store.audit_pages():
            chain.follow(page)
        return pb.VerifyAuditChainResponse(rows=chain.rows, broken_at=chain.broken_at)
