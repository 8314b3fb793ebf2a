"""Passkeys (WebAuthn): made after a one-time code, shown for one decision in one session, with the person verified on the device."""

from __future__ import annotations

import ipaddress
import logging
import secrets
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlsplit

from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import parse_authentication_credential_json
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import AuthenticatorSelectionCriteria, PublicKeyCredentialDescriptor, UserVerificationRequirement

from kit import limits
from kit.config import ConfigError
from kit.db import Record
from services.approvals import tokens
from services.approvals.incoming import Site
from services.approvals.proposal import Person
from services.approvals.store import Work

log = logging.getLogger(__name__)
KIND = "webauthn"
CHALLENGE_BYTES = 32
# What the library raises over something that no authenticator sent, beside its own.
MALFORMED = (WebAuthnException, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, slots=True)
class Party:
    """Whom browsers make passkeys for: a domain, and the origin that asks."""

    id: str
    origin: str


def party(site: Site, configured: str) -> Party | None:
    """The party of this site, or None where browsers make no passkeys: at a bare address, or over plain HTTP."""
    host = urlsplit(site.origin).hostname or ""
    if configured and host != configured and not (host.endswith("." + configured) and "." in configured):
        raise ConfigError(f"[passkeys] rp_id: expected {host} or a parent domain of it")
    if _is_address(host) or not (site.secure or host == "localhost"):
        return None
    return Party(configured or host, site.origin)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Answer:
    """What a browser answers with a passkey, and the challenge that it has to be an answer to."""

    credential: str
    challenge: bytes


def decision_challenge(session: str, nonce: str, proposal_id: uuid.UUID, args_digest: bytes) -> bytes:
    """The challenge of one decision. It is made of the confirmation, so it is used up with it, and holds nowhere else."""
    parts = (b"substrate/passkey/decision/1", tokens.hashed(session), tokens.hashed(nonce), proposal_id.bytes, args_digest)
    return sha256(b"\n".join(part.hex().encode("ascii") for part in parts)).digest()


def _descriptors(rows: Sequence[Record]) -> list[PublicKeyCredentialDescriptor]:
    return [PublicKeyCredentialDescriptor(id=row["credential_id"]) for row in rows]


class Passkeys:
    """The passkeys of people, over the statements of a caller's transaction."""

    def __init__(self, relying: Party | None, random: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._party, self._random = relying, random

    @property
    def possible(self) -> bool:
        """Whether browsers make passkeys for this site."""
        return self._party is not None

    async def of(self, work: Work, user_id: uuid.UUID) -> list[Record]:
        """A person's passkeys, oldest first; none where browsers would not show them."""
        return await work.rows("passkeys", user_id=user_id) if self._party else []

    async def asking(self, work: Work, user_id: uuid.UUID, challenge: bytes) -> str | None:
        """What a browser is asked for a decision, as JSON; None where the person has no passkey."""
        rows = await self.of(work, user_id)
        if self._party is None or not rows:
            return None
        options = generate_authentication_options(
            rp_id=self._party.id,
            challenge=challenge,
            timeout=int(limits.NONCE_SECONDS * 1000),
            allow_credentials=_descriptors(rows),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json(options)

    async def shown(self, work: Work, user_id: uuid.UUID, answer: Answer) -> bool:
        """Whether a passkey of theirs answers, verified on the device; it counts its use in the transaction of the decision."""
        if self._party is None or len(answer.credential) > limits.PASSKEY_CREDENTIAL_MAX_CHARS:
            return False
        try:
            credential = parse_authentication_credential_json(answer.credential)
            found = await work.rows("passkey", user_id=user_id, credential_id=credential.raw_id)
            if not found:
                return False
            verified = verify_authentication_response(
                credential=credential,
                expected_challenge=answer.challenge,
                expected_rp_id=self._party.id,
                expected_origin=self._party.origin,
                credential_public_key=found[0]["public_key"],
                credential_current_sign_count=found[0]["sign_count"],
                require_user_verification=True,
            )
        except MALFORMED as error:
            log.warning("a passkey was refused", extra={"person": str(user_id), "why": str(error)})
            return False
        await work.rows("use_passkey", id=found[0]["id"], sign_count=verified.new_sign_count)
        return True

    async def begin(self, work: Work, person: Person, session: str, name: str) -> tuple[str, str]:
        """What a browser is asked for a new passkey, as JSON, and the challenge that comes back with it."""
        assert self._party is not None
        challenge = tokens.nonce(self._random)
        await work.rows("forget_passkey_challenges")
        await work.rows(
            "begin_passkey",
            challenge_hash=tokens.hashed(challenge),
            user_id=person.id,
            session_hash=tokens.hashed(session),
            label=name,
            seconds=limits.PASSKEY_MAKING_SECONDS,
        )
        options = generate_registration_options(
            rp_id=self._party.id,
            rp_name="Approvals",
            user_id=person.id.bytes,
            user_name=person.email,
            user_display_name=person.name,
            challenge=challenge.encode("ascii"),
            timeout=int(limits.PASSKEY_MAKING_SECONDS * 1000),
            authenticator_selection=AuthenticatorSelectionCriteria(user_verification=UserVerificationRequirement.REQUIRED),
            exclude_credentials=_descriptors(await self.of(work, person.id)),
        )
        return options_to_json(options), challenge

    async def add(self, work: Work, person: Person, session: str, challenge: str, credential: str) -> bool:
        """Stores a new passkey with its audit row. The challenge is used up whatever comes of it."""
        assert self._party is not None
        begun = await work.rows(
            "use_passkey_challenge", challenge_hash=tokens.hashed(challenge), user_id=person.id, session_hash=tokens.hashed(session)
        )
        if not begun or len(credential) > limits.PASSKEY_CREDENTIAL_MAX_CHARS:
            return False
        try:
            made = verify_registration_response(
                credential=credential,
                expected_challenge=challenge.encode("ascii"),
                expected_rp_id=self._party.id,
                expected_origin=self._party.origin,
                require_user_verification=True,
            )
        except MALFORMED as error:
            log.warning("a new passkey was refused", extra={"person": str(person.id), "why": str(error)})
            return False
        await work.rows("hold_passkeys", user_id=person.id)
        added = await work.rows(
            "add_passkey",
            id=uuid.uuid4(),
            credential_id=made.credential_id,
            user_id=person.id,
            label=begun[0]["name"],
            public_key=made.credential_public_key,
            sign_count=made.sign_count,
            most=limits.PASSKEYS_MAX,
        )
        if added:
            await work.audit(person.id, "approvals.add_passkey", None, "done", sha256(made.credential_id).digest())
        return bool(added)

    async def remove(self, work: Work, person: Person, id_: uuid.UUID) -> bool:
        """Removes a passkey with its audit row; False where it is nobody's or somebody else's."""
        removed = await work.rows("remove_passkey", id=id_, user_id=person.id)
        for row in removed:
            await work.audit(person.id, "approvals.remove_passkey", None, "done", sha256(row["credential_id"]).digest())
        return bool(removed)
