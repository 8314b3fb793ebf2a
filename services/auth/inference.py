"""InferenceService and its administration: sealed credentials are kept and handed on; nothing here can open one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from substrate.auth.v1 import inference_service_pb2 as pb
from substrate.common.v1 import error_reason_pb2 as reasons

from kit.db import ForeignKeyViolation
from kit.errors import Refusal
from kit.server import Call, Handler
from services.auth.store import Store

NAME = "substrate.auth.v1.InferenceService"
ADMIN_NAME = "substrate.auth.v1.InferenceAdminService"
KINDS = {
    pb.INFERENCE_CREDENTIAL_KIND_PERSONAL: "personal",
    pb.INFERENCE_CREDENTIAL_KIND_FIRM: "firm",
    pb.INFERENCE_CREDENTIAL_KIND_PLATFORM: "platform",
}
NUMBERS = {word: number for number, word in KINDS.items()}


class InferenceService:
    """Says which sealed credential pays for a person's questions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {"ResolveInferenceCredential": self.resolve}

    async def resolve(self, request: pb.ResolveInferenceCredentialRequest, _call: Call) -> pb.ResolveInferenceCredentialResponse:
        """The person's own, else the firm's, else the platform's, else none."""
        found = await self._store.read("resolve_inference_credential", {"owner_id": request.owner_id})
        if not found:
            return pb.ResolveInferenceCredentialResponse()
        return pb.ResolveInferenceCredentialResponse(kind=NUMBERS[found[0]["kind"]], sealed=found[0]["sealed"])


class InferenceAdminService:
    """Each change and its audit row are one transaction."""

    def __init__(self, store: Store, new_id: Callable[[], uuid.UUID] = uuid.uuid4) -> None:
        self._store, self._new_id = store, new_id

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {
            "SetInferenceCredential": self.set,
            "RemoveInferenceCredential": self.remove,
            "ListInferenceCredentials": self.list,
        }

    async def set(self, request: pb.SetInferenceCredentialRequest, _call: Call) -> pb.SetInferenceCredentialResponse:
        """Sets or replaces a credential."""
        values = {"id": self._new_id(), "kind": KINDS[request.kind], "owner_id": request.owner_id or None, "sealed": request.sealed}
        try:
            await self._change("set_inference_credential", request, values)
        except ForeignKeyViolation as error:
            raise Refusal(reasons.ERROR_REASON_NOT_FOUND, "No such person.") from error
        return pb.SetInferenceCredentialResponse()

    async def remove(self, request: pb.RemoveInferenceCredentialRequest, _call: Call) -> pb.RemoveInferenceCredentialResponse:
        """Removes a credential."""
        values = {"kind": KINDS[request.kind], "owner_id": request.owner_id or None}
        if not await self._change("remove_inference_credential", request, values):
            raise Refusal(reasons.ERROR_REASON_NOT_FOUND, "No such credential.")
        return pb.RemoveInferenceCredentialResponse()

    async def list(self, _request: pb.ListInferenceCredentialsRequest, _call: Call) -> pb.ListInferenceCredentialsResponse:
        """Whose are set, and since when."""
        listed = []
        for row in await self._store.read("list_inference_credentials", {}):
            since = Timestamp()
            since.FromDatetime(row["set_at"])
            listed.append(pb.InferenceCredential(kind=NUMBERS[row["kind"]], owner_id=str(row["owner_id"] or ""), set_time=since))
        return pb.ListInferenceCredentialsResponse(credentials=listed)

    async def _change(self, statement: str, request: Message, values: Mapping[str, Any]) -> bool:
        detail = sha256(request.SerializeToString(deterministic=True)).digest()
        async with self._store.change(statement, None, detail) as connection:
            return bool(await self._store.rows(connection, statement, values))
