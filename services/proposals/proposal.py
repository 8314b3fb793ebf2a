"""What a proposal is and what is said of it, without IO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from substrate.common.v1 import attestation_pb2 as common
from substrate.proposals.v1 import proposal_service_pb2 as pb

from kit import limits
from kit.actions import Accepted, Action
from kit.db import Record

STATUS = "pending_confirmation"
RUNG = "suggest"
NEXT_STEP = (
    "A person at the firm must approve this in the approvals program. This API cannot approve it, cannot obtain a confirmation token, "
    "and returns none."
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal as it is stored, whole and for good."""

    id: UUID
    key_id: str
    owner_id: str
    case_id: str
    action: str
    accepted: Accepted
    what_will_happen: str
    reason: str
    request_id: str | None
    supersedes: str | None
    expires_at: datetime

    def row(self) -> Mapping[str, Any]:
        """The columns."""
        return {
            "id": self.id,
            "key_id": self.key_id,
            "owner_id": self.owner_id,
            "case_id": self.case_id,
            "action": self.action,
            "args": self.accepted.args,
            "args_digest": self.accepted.digest,
            "what_will_happen": self.what_will_happen,
            "reason": self.reason,
            "overrides_ignored": list(self.accepted.overrides_ignored),
            "request_id": self.request_id,
            "supersedes": self.supersedes,
            "expires_at": self.expires_at,
        }


def expiry(filed_at: datetime) -> datetime:
    """When a proposal lapses if nobody decides it."""
    return filed_at + timedelta(days=limits.PROPOSAL_LAPSES_DAYS)


def receipt(action: Action, row: Record) -> pb.ProposeActionResponse:
    """The answer to the agent, made from the row that was read back."""
    made = pb.ProposeActionResponse(
        status=STATUS,
        approval_id=str(row["id"]),
        action=action.name,
        what_will_happen=row["what_will_happen"],
        executed=False,
        capped_at_rung=RUNG,
        supervision_floor=action.floor,
        confirm_required=action.confirm_required,
        next_step=NEXT_STEP,
        overrides_ignored=row["overrides_ignored"],
    )
    made.expires_at.FromDatetime(row["expires_at"])
    return made


def same(stored: Record, proposal: Proposal) -> bool:
    """Whether a request id stands for the very same proposal again."""
    supersedes = None if stored["supersedes"] is None else str(stored["supersedes"])
    return (str(stored["case_id"]), stored["action"], stored["args_digest"], stored["reason"], supersedes) == (
        proposal.case_id,
        proposal.action,
        proposal.accepted.digest,
        proposal.reason,
        proposal.supersedes,
    )


def shown(row: Record) -> pb.AgentProposal:
    """A proposal as its key may see it."""
    made = pb.AgentProposal(
        approval_id=str(row["id"]),
        case_id=str(row["case_id"]),
        action=row["action"],
        what_will_happen=row["what_will_happen"],
        state=row["state"],
        execution=row["execution"],
        executed=row["execution"] == "done",
        decision_reason=row["decision_reason"],
        superseded_by=None if row["superseded_by"] is None else str(row["superseded_by"]),
        provenance_ids=[f"urn:substrate:ledger:proposal:{row['id']}"],
        # The ledger is the firm's own record of what was filed and decided; no source document stands behind it to be checked.
        verification_status=common.VERIFICATION_STATUS_UNKNOWN,
    )
    for name in ("filed_at", "decided_at", "expires_at"):
        if row[name] is not None:
            getattr(made, name).FromDatetime(row[name])
    return made
