"""HandoffService: what a link to the approval page is bound to. A link is no decision, and an answer is no vote."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from hashlib import sha256

from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.proposals.v1 import handoff_service_pb2 as pb

from kit import limits
from kit.clock import Clock
from kit.db import Record
from kit.errors import Refusal
from kit.server import Call, Handler
from services.proposals.server import audit, principal
from services.proposals.store import Store

NAME = "substrate.proposals.v1.HandoffService"
TERMINAL = frozenset({"approved", "declined", "expired", "withdrawn", "sent_back"})
ID_BYTES = 32


def opaque(random: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """256 bits that mean nothing."""
    return base64.urlsafe_b64encode(random(ID_BYTES)).rstrip(b"=").decode("ascii")


def hashed(elicitation_id: str) -> bytes:
    """What is kept of a link."""
    return sha256(elicitation_id.encode("utf-8")).digest()


def _absent() -> Refusal:
    return Refusal(reasons.ERROR_REASON_NOT_FOUND, "There is no such link for this session.")


class HandoffService:
    """Opens links, notes answers, and follows what became of the proposal."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {"OpenHandoff": self.open_handoff, "AnswerHandoff": self.answer_handoff, "GetHandoff": self.get_handoff}

    async def open_handoff(self, request: pb.OpenHandoffRequest, call: Call) -> pb.OpenHandoffResponse:
        """Binds a new link to owner, key, proposal and session."""
        who = principal(call)
        found = await self._store.read("one_proposal", {"id": request.approval_id, "key_id": who.key_id, "case_id": request.case_id})
        if not found or found[0]["state"] != "undecided":
            raise Refusal(reasons.ERROR_REASON_NOT_FOUND, "This key has no such undecided proposal in this matter.")
        elicitation_id, expires_at = opaque(), self._clock() + timedelta(seconds=limits.HANDOFF_LIVES_SECONDS)
        values = {
            "handoff_hash": hashed(elicitation_id),
            "proposal_id": request.approval_id,
            "key_id": who.key_id,
            "owner_id": who.owner_id,
            "session_hash": request.session_sha256,
            "expires_at": expires_at,
        }
        await self._store.append("insert_handoff", values, audit(call, "open_handoff", request.case_id, hashed(elicitation_id)))
        made = pb.OpenHandoffResponse(elicitation_id=elicitation_id)
        made.expires_at.FromDatetime(expires_at)
        return made

    async def answer_handoff(self, request: pb.AnswerHandoffRequest, call: Call) -> pb.AnswerHandoffResponse:
        """Notes the client's answer; the first one stands."""
        found = await self._find(request.elicitation_id, request.session_sha256, call)
        if not found["live"] and found["answer"] is None:
            raise _absent()
        values = {"handoff_hash": hashed(request.elicitation_id), "answer": request.answer}
        detail = audit(call, f"answer_handoff:{request.answer}", request.case_id, hashed(request.elicitation_id))
        await self._store.append("answer_handoff", values, detail)
        again = await self._find(request.elicitation_id, request.session_sha256, call)
        return pb.AnswerHandoffResponse(answer=again["answer"])

    async def get_handoff(self, request: pb.GetHandoffRequest, call: Call) -> pb.GetHandoffResponse:
        """Where the last proposal of the chain stands."""
        found = await self._find(request.elicitation_id, request.session_sha256, call)
        end = await self._store.read("end_of_chain", {"id": found["proposal_id"]})
        return pb.GetHandoffResponse(answer=found["answer"], state=end[0]["state"], terminal=end[0]["state"] in TERMINAL)

    async def _find(self, elicitation_id: str, session: bytes, call: Call) -> Record:
        """The link, for the key and the session that it is bound to and for nobody else."""
        values = {"handoff_hash": hashed(elicitation_id), "key_id": principal(call).key_id, "session_hash": session}
        found = await self._store.read("find_handoff", values)
        if not found:
            raise _absent()
        return found[0]
