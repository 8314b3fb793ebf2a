"""Proposals and handoffs in memory, with the answers and the refusals of the service that keeps them."""

import secrets
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.proposals.v1 import handoff_service_pb2 as handoff
from substrate.proposals.v1 import proposal_service_pb2 as pb

from kit import limits
from kit.errors import Refusal
from kit.server import Call, Handler

PENDING = "pending_confirmation"


@dataclass
class Filed:
    """One proposal, undecided until a test decides it."""

    receipt: pb.ProposeActionResponse
    key_id: str
    args: bytes
    state: str = "undecided"
    superseded_by: str = ""


@dataclass
class Bound:
    """One link."""

    approval_id: str
    key_id: str
    session: bytes
    answer: str = ""


@dataclass
class Ledger:
    """What was filed, linked and answered."""

    filed: dict[str, Filed] = field(default_factory=dict)
    links: dict[str, Bound] = field(default_factory=dict)
    polled: int = 0
    fault: Callable[[str], Awaitable[None]] | None = None
    status: str = PENDING

    def clear(self) -> None:
        """Forgets everything."""
        self.filed.clear()
        self.links.clear()
        self.polled, self.fault, self.status = 0, None, PENDING

    def only(self) -> tuple[Filed, str, Bound]:
        """The one proposal with its one link."""
        (filed,), ((id_, link),) = self.filed.values(), self.links.items()
        return filed, id_, link

    def supersede(self, old: Filed) -> Filed:
        """Files a proposal in place of another."""
        made = Filed(pb.ProposeActionResponse(approval_id=str(uuid.uuid4())), old.key_id, old.args)
        self.filed[made.receipt.approval_id] = made
        old.state, old.superseded_by = "superseded", made.receipt.approval_id
        return made

    def services(self) -> Mapping[str, Mapping[str, Handler]]:
        """The methods of both services."""
        proposals = {"ProposeAction": self._propose, "ListAgentProposals": self._none, "GetProposalStatus": self._none}
        return {
            "substrate.proposals.v1.ProposalService": {**proposals, "WithdrawProposal": self._none},
            "substrate.proposals.v1.HandoffService": {"OpenHandoff": self._open, "AnswerHandoff": self._answer, "GetHandoff": self._get},
        }

    async def _failing(self, method: str) -> None:
        if self.fault is not None:
            await self.fault(method)

    async def _none(self, _request: Any, _call: Call) -> Message:
        raise _absent()

    async def _propose(self, request: pb.ProposeActionRequest, call: Call) -> Message:
        assert call.principal is not None
        made = pb.ProposeActionResponse(
            status=self.status,
            approval_id=str(uuid.uuid4()),
            action=request.action,
            what_will_happen="Something will.",
            capped_at_rung="suggest",
            supervision_floor="routine",
            next_step="A person decides.",
        )
        made.expires_at.FromSeconds(int(time.time()) + limits.PROPOSAL_LAPSES_DAYS * 86_400)
        self.filed[made.approval_id] = Filed(made, call.principal.key_id, request.args)
        await self._failing("ProposeAction")
        return made

    async def _open(self, request: handoff.OpenHandoffRequest, call: Call) -> Message:
        await self._failing("OpenHandoff")
        assert call.principal is not None
        filed = self.filed.get(request.approval_id)
        if filed is None or filed.key_id != call.principal.key_id or filed.state != "undecided":
            raise _absent()
        id_ = secrets.token_urlsafe(32)
        self.links[id_] = Bound(request.approval_id, filed.key_id, request.session_sha256)
        made = handoff.OpenHandoffResponse(elicitation_id=id_)
        made.expires_at.FromSeconds(int(time.time()) + limits.HANDOFF_LIVES_SECONDS)
        return made

    def _find(self, request: Any, call: Call) -> Bound:
        assert call.principal is not None
        found = self.links.get(request.elicitation_id)
        if found is None or (found.key_id, found.session) != (call.principal.key_id, request.session_sha256):
            raise _absent()
        return found

    async def _answer(self, request: handoff.AnswerHandoffRequest, call: Call) -> Message:
        await self._failing("AnswerHandoff")
        found = self._find(request, call)
        found.answer = found.answer or request.answer
        return handoff.AnswerHandoffResponse(answer=found.answer)

    async def _get(self, request: handoff.GetHandoffRequest, call: Call) -> Message:
        self.polled += 1
        await self._failing("GetHandoff")
        found = self._find(request, call)
        filed = self.filed[found.approval_id]
        while filed.superseded_by:
            filed = self.filed[filed.superseded_by]
        return handoff.GetHandoffResponse(answer=found.answer or None, state=filed.state, terminal=filed.state != "undecided")


def _absent() -> Refusal:
    return Refusal(reasons.ERROR_REASON_NOT_FOUND, "There is no such thing for this key.")


def session_hash(name: str) -> bytes:
    """What a link keeps of its session."""
    return sha256(name.encode()).digest()
