"""AuthService: translates between the wire and the decision."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping

from substrate.auth.v1 import auth_service_pb2 as pb

from kit import credentials
from kit.catalogue import Catalogue
from kit.credentials import PASS_PREFIX, ApiKey
from kit.errors import Refusal
from kit.rules import field_errors
from kit.server import Call, Handler
from services.auth import decision
from services.auth.passes import Passes
from services.auth.store import Question, Store

NAME = "substrate.auth.v1.AuthService"


class AuthService:
    """Decides calls one by one or together; keeps nothing."""

    def __init__(self, store: Store, catalogue: Catalogue, pepper: bytes, now: Callable[[], float] = time.time) -> None:
        self._store, self._catalogue, self._pepper = store, catalogue, pepper
        self._passes, self._now = Passes(pepper), now

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {"Authenticate": self.authenticate, "Authorize": self.authorize, "AuthorizeBatch": self.authorize_batch}

    async def authenticate(self, request: pb.AuthenticateRequest, _call: Call) -> pb.AuthenticateResponse:
        """Whose key it is."""
        key = self._key(request.api_key)
        row = await self._store.authenticate(key.public_id, credentials.keyed_hash(self._pepper, key)) if key else None
        if row is None:
            return pb.AuthenticateResponse(denial=decision.unauthenticated())
        principal = pb.Principal(
            key_id=str(row["id"]),
            owner_id=str(row["owner_id"]),
            scopes=row["scopes"],
            credential_class=decision.credential_class(row["credential_class"]),
        )
        return pb.AuthenticateResponse(principal=principal)

    async def authorize(self, request: pb.AuthorizeRequest, _call: Call) -> pb.AuthorizeResponse:
        """Decides one call."""
        return (await self._decide([request]))[0]

    async def authorize_batch(self, request: pb.AuthorizeBatchRequest, _call: Call) -> pb.AuthorizeBatchResponse:
        """Decides the calls that came together, each by itself."""
        return pb.AuthorizeBatchResponse(responses=await self._decide(list(request.requests)))

    async def _decide(self, requests: list[pb.AuthorizeRequest]) -> list[pb.AuthorizeResponse]:
        """One answer a request, in order; a key whose checksum fails never reaches the store."""
        answers = [pb.AuthorizeResponse(denial=decision.unauthenticated()) for _ in requests]
        asked: list[tuple[int, Question]] = []
        of_passes = await self._of_passes(requests)
        for index, request in enumerate(requests):
            tool = self._catalogue.by_path.get(request.method)
            if tool is None or field_errors(request):
                answers[index] = pb.AuthorizeResponse(denial=decision.malformed())
            elif known := of_passes.get(index) or self._known(request.api_key):
                case_id = request.case_id if request.HasField("case_id") else None
                asked.append((index, Question(*known, tool, case_id, request.request_sha256)))
        rows = await self._store.decide([question for _, question in asked]) if asked else []
        for (index, question), row in zip(asked, rows, strict=True):
            answers[index] = decision.response(question.tool, row)
        return answers

    async def _of_passes(self, requests: list[pb.AuthorizeRequest]) -> dict[int, tuple[str, bytes]]:
        """What the key of each pass is known by, by index of the request; from there on it is judged like a key that was presented."""
        ids: dict[int, uuid.UUID] = {}
        for index, request in enumerate(requests):
            if request.api_key.startswith(PASS_PREFIX):
                key_id = self._passes.key_id(request.api_key, request.method, request.request_sha256, self._now())
                ids |= {index: key_id} if key_id else {}
        rows = await self._store.by_row(list(ids.values())) if ids else {}
        return {index: (rows[key_id]["public_id"], rows[key_id]["secret_hash"]) for index, key_id in ids.items() if key_id in rows}

    def _known(self, text: str) -> tuple[str, bytes] | None:
        """What a presented key is known by."""
        key = self._key(text)
        return (key.public_id, credentials.keyed_hash(self._pepper, key)) if key else None

    @staticmethod
    def _key(text: str) -> ApiKey | None:
        try:
            return credentials.parse(text)
        except Refusal:
            return None
