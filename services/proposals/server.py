"""ProposalService: files, lists, withdraws. The executor is not reachable from here, by import, call, grant or image."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from hashlib import sha256

from substrate.auth.v1.auth_service_pb2 import Principal
from substrate.common.v1 import attestation_pb2 as common
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.proposals.v1 import proposal_service_pb2 as pb

from kit import attestation, limits, paging
from kit.actions import Actions
from kit.attestation import Basis, Item
from kit.clock import Clock
from kit.db import Record, why_unreadable
from kit.errors import FieldError, Refusal, invalid, unavailable
from kit.server import Call, Handler
from services.proposals import proposal
from services.proposals.proposal import Proposal
from services.proposals.store import MatterFull, NotUndecided, Store, Taken

NAME = "substrate.proposals.v1.ProposalService"
METHOD = "States were derived from the firm's ledger of proposals, decisions and executions; nothing was checked against a source document."
UNREADABLE = "The ledger of proposals {}. Nothing was read; this is not an empty result."


def principal(call: Call) -> Principal:
    """Whose call it is; without one no handler of this service runs."""
    assert call.principal is not None
    return call.principal


def audit(call: Call, action: str, case_id: str, detail: bytes) -> Mapping[str, object]:
    """The audit row of a change."""
    return {"actor": f"key:{principal(call).key_id}", "action": action, "case_id": case_id, "detail": sha256(detail).digest()}


class ProposalService:
    """Nothing is executed here, and no confirmation token is minted, taken or returned."""

    def __init__(self, store: Store, actions: Actions, clock: Clock, new_id: Callable[[], uuid.UUID] = uuid.uuid4) -> None:
        self._store, self._actions, self._clock, self._new_id = store, actions, clock, new_id

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {
            "ProposeAction": self.propose_action,
            "ListAgentProposals": self.list_agent_proposals,
            "GetProposalStatus": self.get_proposal_status,
            "WithdrawProposal": self.withdraw_proposal,
        }

    async def propose_action(self, request: pb.ProposeActionRequest, call: Call) -> pb.ProposeActionResponse:
        """Validates, stores, reads back, and only then says that it is pending."""
        action = self._actions.find(request.action)
        accepted = action.accept(request.args)
        made = Proposal(
            id=self._new_id(),
            key_id=principal(call).key_id,
            owner_id=principal(call).owner_id,
            case_id=request.case_id,
            action=action.name,
            accepted=accepted,
            what_will_happen=action.sentence(accepted.values),
            reason=request.reason,
            request_id=request.request_id if request.HasField("request_id") else None,
            supersedes=request.supersedes if request.HasField("supersedes") else None,
            expires_at=proposal.expiry(self._clock()),
        )
        row_id = await self._file(made, call)
        back = await self._read_back(row_id, made)
        return proposal.receipt(action, back)

    async def _file(self, made: Proposal, call: Call) -> uuid.UUID:
        """Stores a proposal, or finds the one that the same request id stands for already."""
        if known := await self._known(made):
            return known
        try:
            await self._store.append("insert_proposal", made.row(), audit(call, "propose_action", made.case_id, made.accepted.args))
        except (Taken, MatterFull, NotUndecided) as refused:
            # The same request, sent twice at once: what stands in the way of this one may be the other one, which was filed a moment ago.
            if known := await self._known(made):
                return known
            raise _said(refused) from None
        return made.id

    async def _known(self, made: Proposal) -> uuid.UUID | None:
        if made.request_id is None:
            return None
        found = await self._store.read("by_request_id", {"key_id": made.key_id, "request_id": made.request_id})
        if not found:
            return None
        if not proposal.same(found[0], made):
            raise invalid([FieldError("request_id", "expected a new one: this one stands for a proposal with other arguments")])
        return found[0]["id"]  # type: ignore[no-any-return]

    async def _read_back(self, row_id: uuid.UUID, made: Proposal) -> Record:
        """The row as another transaction sees it; to say pending of a row that is not there would be a fabricated receipt."""
        back = await self._store.read("read_back", {"id": row_id, "key_id": made.key_id, "case_id": made.case_id})
        if not back or (back[0]["args"], back[0]["args_digest"]) != (made.accepted.args, made.accepted.digest):
            raise unavailable(
                "The proposal could not be read back, so it is not certain that it was filed. Send it again with the same request_id."
            )
        return back[0]

    async def withdraw_proposal(self, request: pb.WithdrawProposalRequest, call: Call) -> pb.WithdrawProposalResponse:
        """Withdraws what the same key filed and nobody has decided."""
        key_id = principal(call).key_id
        if not await self._store.read("one_proposal", {"id": request.approval_id, "key_id": key_id, "case_id": request.case_id}):
            raise Refusal(reasons.ERROR_REASON_NOT_FOUND, "This key has filed no such proposal in this matter.")
        values = {"id": request.approval_id, "key_id": key_id}
        try:
            await self._store.append(
                "insert_withdrawal", values, audit(call, "withdraw_proposal", request.case_id, request.approval_id.encode("ascii"))
            )
        except NotUndecided:
            raise Refusal(reasons.ERROR_REASON_CONFLICT, "The proposal is not undecided any more.") from None
        return pb.WithdrawProposalResponse(status="withdrawn")

    async def list_agent_proposals(self, request: pb.ListAgentProposalsRequest, call: Call) -> pb.ListAgentProposalsResponse:
        """One page of what this key filed in a matter."""
        page = paging.opened(request)
        values: dict[str, object] = {"key_id": principal(call).key_id, "case_id": request.case_id, "state": request.state or None}
        values |= {"page_after": page.after, "page_limit": page.size + 1}
        response = pb.ListAgentProposalsResponse()
        notes: list[str] = []
        try:
            rows = await self._store.read("list_proposals", values)
        except Exception as error:  # noqa: BLE001 - raised again unless it says that the ledger is out of reach
            response.read_state, notes = common.READ_STATE_UNREADABLE, [_unreadable(error)]
        else:
            shown = rows[: page.size]
            response.proposals.extend(proposal.shown(row) for row in shown)
            response.read_state = common.READ_STATE_READ if shown else common.READ_STATE_EMPTY
            response.count = len(shown)
            response.total_count = rows[0]["total_count"] if rows else 0
            if len(rows) > page.size:
                response.next_page_token = paging.token(request, shown[-1]["cursor_key"])
                notes.append(f"This page holds {len(shown)} of {response.total_count} rows; the rest is behind next_page_token.")
        items = [Item(p, p.filed_at.ToDatetime()) for p in response.proposals]
        response.attestation.CopyFrom(self._attested(request.case_id, items, notes, unchecked=not response.HasField("count")))
        return response

    async def get_proposal_status(self, request: pb.GetProposalStatusRequest, call: Call) -> pb.GetProposalStatusResponse:
        """What became of one proposal of this key."""
        response = pb.GetProposalStatusResponse()
        notes: list[str] = []
        values = {"id": request.approval_id, "key_id": principal(call).key_id, "case_id": request.case_id}
        try:
            rows = await self._store.read("one_proposal", values)
        except Exception as error:  # noqa: BLE001 - the same
            rows, response.read_state, notes = [], common.READ_STATE_UNREADABLE, [_unreadable(error)]
        else:
            response.read_state = common.READ_STATE_READ if rows else common.READ_STATE_EMPTY
            if rows:
                response.proposal.CopyFrom(proposal.shown(rows[0]))
        items = [Item(response.proposal, rows[0]["filed_at"])] if rows else []
        unchecked = response.read_state == common.READ_STATE_UNREADABLE
        response.attestation.CopyFrom(self._attested(request.case_id, items, notes, unchecked=unchecked))
        return response

    def _attested(self, case_id: str, items: list[Item], notes: list[str], *, unchecked: bool) -> common.Attestation:
        return attestation.make(items, Basis(case_id, self._clock(), METHOD, notes, unchecked=unchecked))


def _said(refused: Exception) -> Refusal:
    """What a caller is told of a proposal that the ledger did not take."""
    if isinstance(refused, MatterFull):
        return Refusal(
            reasons.ERROR_REASON_CONFLICT,
            f"This matter holds {limits.UNDECIDED_PROPOSALS_PER_MATTER} undecided proposals, which is as many as it may. "
            "Wait until a person has decided some, or supersede one of yours.",
        )
    if isinstance(refused, NotUndecided):
        return invalid([FieldError("supersedes", "expected an undecided proposal of this key in this matter")])
    return unavailable()


def _unreadable(error: Exception) -> str:
    """What is said of a ledger that could not be read; a defect of ours is raised instead."""
    words = why_unreadable(error)
    if words is None:
        raise error
    return UNREADABLE.format(words)
