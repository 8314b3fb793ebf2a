"""Resolves whose credential pays for a call: the key owner's own, else the firm's. The platform's shared one pays for nothing."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Protocol

from substrate.auth.v1 import inference_service_pb2 as pb

from kit import config
from kit.client import channel, method
from kit.errors import Refusal
from kit.sealed_credentials import Unsealable, unseal
from kit.server import Call

log = logging.getLogger(__name__)
RESOLVE = "/substrate.auth.v1.InferenceService/ResolveInferenceCredential"
_KINDS = {pb.INFERENCE_CREDENTIAL_KIND_PERSONAL: "personal", pb.INFERENCE_CREDENTIAL_KIND_FIRM: "firm"}
NONE = "no Anthropic credential is recorded for the owner of this key or for the firm"
PLATFORM_ONLY = "only the shared platform credential is available, and it does not pay for a firm's questions"
NOT_OPENED = "the recorded credential could not be opened by this installation"
NOT_ASKED = "whose credential pays could not be found out just now"


@dataclass(frozen=True, slots=True)
class Resolution:
    """The credential that pays and whose it is, or why there is none."""

    reason: str
    kind: str = ""
    secret: str = field(default="", repr=False)

    @property
    def pays(self) -> bool:
        """Whether there is a credential to pay with."""
        return bool(self.secret)


class Credentials(Protocol):
    """Whoever can say which credential pays."""

    async def resolve_owner_credential(self, call: Call) -> Resolution:
        """The credential of the key's owner."""


class SealedCredentials:
    """Asks auth for the sealed credential, on every call, and opens it here."""

    def __init__(self, auth: config.Peer, tls: config.Tls, key: bytes) -> None:
        self._channel, self._key = channel(auth.address, "auth", tls), key
        self._resolve = method(self._channel, RESOLVE, pb.ResolveInferenceCredentialResponse)

    async def resolve_owner_credential(self, call: Call) -> Resolution:
        """The owner's own, else the firm's; otherwise why not."""
        assert call.principal is not None
        owner = call.principal.owner_id
        try:
            found = await self._resolve(pb.ResolveInferenceCredentialRequest(owner_id=owner))
        except Refusal:
            return Resolution(NOT_ASKED)
        assert isinstance(found, pb.ResolveInferenceCredentialResponse)
        if found.kind == pb.INFERENCE_CREDENTIAL_KIND_PLATFORM:
            return Resolution(PLATFORM_ONLY)
        if found.kind not in _KINDS:
            return Resolution(NONE)
        kind = _KINDS[found.kind]
        try:
            return Resolution("", kind, unseal(self._key, kind, owner if kind == "personal" else "", found.sealed))
        except Unsealable:
            log.warning("inference credential does not open", extra={"kind": kind})
            return Resolution(NOT_OPENED)

    async def close_channel(self) -> None:
        """Closes the channel."""
        await self._channel.close()
