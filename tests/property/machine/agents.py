"""What an agent does with its key: files, files again, replaces, withdraws, asks, opens links and answers them."""

from __future__ import annotations

import uuid
from typing import Any

import orjson
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from substrate.proposals.v1 import handoff_service_pb2 as handoff_pb
from substrate.proposals.v1 import proposal_service_pb2 as pb

from kit import limits
from kit.server import Call
from tests.property.machine.base import AGE, CASES, KEYS, MOSTLY, Base
from tests.property.machine.model import KINDS, Filed, Kind, Link

SMUGGLED = {"confirmation_token": "yes", "Override": True, "case_id": str(uuid.UUID(int=1))}
BALLAST_KEY = uuid.UUID(int=99)


class AgentRules(Base):
    """The path of the API."""

    async def call(self, method: str, key: int, case: int, service: str = "ProposalService") -> Call:
        """A key that is let in to a method, or the refusal."""
        return await self.world.call(self.world.keys[key], service, method, self.world.matters[case])

    async def _propose(self, key: int, case: int, request: pb.ProposeActionRequest) -> pb.ProposeActionResponse:
        return await self.world.proposals.propose_action(request, await self.call("ProposeAction", key, case))

    def _request(self, case: int, kind: Kind, args: dict[str, Any], **more: Any) -> pb.ProposeActionRequest:
        return pb.ProposeActionRequest(
            case_id=str(self.world.matters[case]), action=kind.action, args=orjson.dumps(args), reason="Because.", **more
        )

    def _keep(self, receipt: pb.ProposeActionResponse, key: int, case: int, kind: Kind, request: Any, old: Filed | None) -> Filed:
        """Every receipt says that nothing was executed, and stands for a row that the invariants look for."""
        assert (receipt.status, receipt.executed, receipt.capped_at_rung) == ("pending_confirmation", False, "suggest")
        accepted = self.world.known.by_name[kind.action].accept(orjson.dumps(dict(kind.args)))
        made = Filed(
            id=uuid.UUID(receipt.approval_id),
            key=key,
            person=self.world.keys[key].person,
            case=case,
            kind=kind,
            args=accepted.args,
            digest=accepted.digest,
            filed_at=self.model.now,
            request=request,
            supersedes=old.id if old else None,
        )
        assert made.id not in self.model.filed
        self.model.filed[made.id] = made
        if old is not None:
            old.ended, old.successor = "superseded", made.id
        return made

    def _may_file(self, key: int, case: int, old: Filed | None) -> bool:
        return self.model.may_call(key, self.world.keys[key].person, case) and self.model.has_room(case, old)

    @initialize(first=st.lists(st.tuples(KEYS, CASES, st.sampled_from(KINDS), st.booleans()), min_size=2, max_size=4))
    def begin(self, first: list[tuple[int, int, Kind, bool]]) -> None:
        """Nothing can happen before something is filed."""
        for key, case, kind, named in first:
            self.file(key, case, kind, named, "plain")

    @rule(
        key=KEYS, case=CASES, kind=st.sampled_from(KINDS), named=st.booleans(), how=st.sampled_from(("plain", "plain", "smuggled", "wrong"))
    )
    def file(self, key: int, case: int, kind: Kind, named: bool, how: str) -> None:
        args = {**kind.args, **(SMUGGLED if how == "smuggled" else {"due_date": "2026-02-31", "extra": 1} if how == "wrong" else {})}
        request = self._request(case, kind, args, request_id=uuid.uuid4().hex if named else None)
        receipt = self.taken(self._propose(key, case, request))
        assert (receipt is not None) == (how != "wrong" and self._may_file(key, case, None))
        self.ran("file", receipt is not None)
        if receipt is not None:
            assert sorted(receipt.overrides_ignored) == (sorted(SMUGGLED) if how == "smuggled" else [])
            self._keep(receipt, key, case, kind, request, None)

    @precondition(Base.any_filed)
    @rule(age=AGE, key=KEYS, other=st.booleans())
    def file_again(self, age: int, key: int, other: bool) -> None:
        """The same request once more, as the same key or another one; or another one under the same name."""
        p = self.some(age, lambda p: p.request.HasField("request_id"))
        if not p.request.HasField("request_id"):
            return
        request = pb.ProposeActionRequest()
        request.CopyFrom(p.request)
        if other:
            request.reason = "Another reason."
        receipt = self.taken(self._propose(p.key, p.case, request))
        assert (receipt is not None) == (not other and self.model.may_call(p.key, p.person, p.case))
        self.ran("file_again", receipt is not None)
        assert receipt is None or (receipt.approval_id, receipt.executed) == (str(p.id), False)

    @precondition(Base.any_filed)
    @rule(age=AGE, key=KEYS, same_key=MOSTLY, case=CASES, same_case=MOSTLY, kind=st.sampled_from(KINDS))
    def supersede(self, age: int, key: int, same_key: bool, case: int, same_case: bool, kind: Kind) -> None:
        old = self.some(age)
        key, case = old.key if same_key else key, old.case if same_case else case
        request = self._request(case, kind, dict(kind.args), supersedes=str(old.id))
        receipt = self.taken(self._propose(key, case, request))
        assert (receipt is not None) == (self.model.may_replace(old, key, case) and self._may_file(key, case, old))
        self.ran("supersede", receipt is not None)
        if receipt is not None:
            self._keep(receipt, key, case, kind, request, old)

    @precondition(lambda self: not self.model.ballast)
    @rule(key=KEYS, case=CASES)
    def fill_up(self, key: int, case: int) -> None:
        """Others fill a matter up to one place below its limit, and this one would have the last place."""
        number = limits.UNDECIDED_PROPOSALS_PER_MATTER - 1 - self.model.waiting_in(case)
        if number <= 0:
            return
        values = {"key_id": BALLAST_KEY, "case_id": self.world.matters[case], "number": number, "days": limits.PROPOSAL_LAPSES_DAYS}
        self.world.do(self.world.ask("fill_up", **values))
        self.model.ballast[case] = (number, self.model.now)
        self.ran("fill_up", True)
        self.file(key, case, KINDS[0], named=False, how="plain")

    async def _withdraw(self, key: int, p: Filed) -> pb.WithdrawProposalResponse:
        return await self._let_in_withdraws(await self.call("WithdrawProposal", key, p.case), p)

    async def _let_in_withdraws(self, call: Call, p: Filed) -> pb.WithdrawProposalResponse:
        request = pb.WithdrawProposalRequest(case_id=str(self.world.matters[p.case]), approval_id=str(p.id))
        return await self.world.proposals.withdraw_proposal(request, call)

    def _may_withdraw(self, key: int, p: Filed) -> bool:
        return self.model.may_call(key, self.world.keys[key].person, p.case) and key == p.key and self.model.undecided(p)

    @precondition(Base.any_filed)
    @rule(age=AGE, key=KEYS, own=MOSTLY)
    def withdraw(self, age: int, key: int, own: bool) -> None:
        p = self.some(age)
        key = p.key if own else key
        done = self.taken(self._withdraw(key, p)) is not None
        assert done == self._may_withdraw(key, p)
        self.ran("withdraw", done)
        if done:
            p.ended = "withdrawn"

    @precondition(Base.any_filed)
    @rule(age=AGE, key=KEYS, own=MOSTLY)
    def ask_status(self, age: int, key: int, own: bool) -> None:
        """What a key is told is what is so, and nothing to anybody else."""
        p = self.some(age)
        key = p.key if own else key

        async def ask() -> pb.GetProposalStatusResponse:
            case_id = self.world.matters[p.case]
            call = await self.call("GetProposalStatus", key, p.case)
            return await self.world.proposals.get_proposal_status(
                pb.GetProposalStatusRequest(case_id=str(case_id), approval_id=str(p.id)), call
            )

        answer = self.taken(ask())
        assert (answer is not None) == self.model.may_call(key, self.world.keys[key].person, p.case)
        if answer is not None:
            assert answer.HasField("proposal") == (key == p.key)
        self.ran("ask_status", answer is not None and key == p.key)
        if answer is not None and key == p.key:
            assert (answer.proposal.state, answer.proposal.executed) == (self.model.state(p), p.effects == 1)

    @precondition(Base.any_filed)
    @rule(age=AGE, key=KEYS, own=MOSTLY, session=st.integers(0, 1))
    def open_link(self, age: int, key: int, own: bool, session: int) -> None:
        p = self.some(age, self.model.undecided)
        self.ran("open_link", self._links(p.key if own else key, p, session))

    def _links(self, key: int, p: Filed, session: int) -> bool:
        async def ask() -> handoff_pb.OpenHandoffResponse:
            case_id = self.world.matters[p.case]
            call = await self.call("OpenHandoff", key, p.case, "HandoffService")
            request = handoff_pb.OpenHandoffRequest(case_id=str(case_id), approval_id=str(p.id), session_sha256=bytes([session]) * 32)
            return await self.world.handoffs.open_handoff(request, call)

        made = self.taken(ask())
        assert (made is not None) == self._may_withdraw(key, p)
        if made is not None:
            self.model.links.append(Link(made.elicitation_id, p.id, key, session, self.model.now))
        return made is not None

    @precondition(Base.any_filed)
    @rule(
        age=AGE, key=KEYS, own=MOSTLY, session=st.integers(0, 1), answer=st.sampled_from(("accepted", "declined", "cancelled", None, None))
    )
    def answer_link(self, age: int, key: int, own: bool, session: int, answer: str | None) -> None:
        """Notes an answer, of which the first one stands; or follows the link, where there is none."""
        if not any(link.live(self.model.now) for link in self.model.links):
            p = self.some(age, self.model.undecided)
            self._links(p.key, p, session)
        if not self.model.links:
            return
        link = self.newest(self.model.links, age)
        key, session = (link.key, link.session) if own else (key, session)
        p = self.model.filed[link.proposal]
        case_id = self.world.matters[p.case]
        named: dict[str, Any] = {"case_id": str(case_id), "elicitation_id": link.text, "session_sha256": bytes([session]) * 32}

        async def ask() -> handoff_pb.AnswerHandoffResponse | handoff_pb.GetHandoffResponse:
            call = await self.call("AnswerHandoff" if answer else "GetHandoff", key, p.case, "HandoffService")
            if answer:
                return await self.world.handoffs.answer_handoff(handoff_pb.AnswerHandoffRequest(answer=answer, **named), call)
            return await self.world.handoffs.get_handoff(handoff_pb.GetHandoffRequest(**named), call)

        said = self.taken(ask())
        theirs = self.model.may_call(key, self.world.keys[key].person, p.case) and (key, session) == (link.key, link.session)
        assert (said is not None) == (theirs and (answer is None or link.answer is not None or link.live(self.model.now)))
        self.ran("answer_link" if answer else "follow_link", said is not None)
        if isinstance(said, handoff_pb.AnswerHandoffResponse):
            link.answer = link.answer or answer
            assert said.answer == link.answer
        elif said is not None:
            assert said.state == self.model.state(self.model.end_of_chain(p))
