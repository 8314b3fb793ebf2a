"""Filing on a real ledger: nothing else happens, nothing acknowledged is lost, and the limits hold under races."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from substrate.auth.v1 import auth_service_pb2 as auth_pb
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.proposals.v1 import handoff_service_pb2 as handoff_pb
from substrate.proposals.v1 import proposal_service_pb2 as pb

from kit import actions, db, limits
from kit.clock import system_clock
from kit.errors import Refusal
from kit.server import Call
from services.proposals import handoff
from services.proposals.handoff import HandoffService
from services.proposals.server import ProposalService
from services.proposals.store import Store
from tests.cluster import Database

ARGS = {"title": "Answer due", "due_date": "2026-08-14"}
SESSION = bytes(32)


@dataclass
class Desk:
    """The service as one key sees it."""

    service: ProposalService
    links: HandoffService
    database: Database
    case_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    owner_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def call(self, key_id: str = "6b6f1cb0-7d27-4f0e-9d3d-0d1c6a3c1111") -> Call:
        return Call("test", auth_pb.Principal(key_id=key_id, owner_id=self.owner_id, case_ids=[self.case_id]))

    async def propose(self, args: Any = ARGS, call: Call | None = None, **changes: Any) -> pb.ProposeActionResponse:
        body = args if isinstance(args, bytes) else orjson.dumps(args)
        values = {"case_id": self.case_id, "action": "create_deadline", "args": body, "reason": "Served on 2026-07-24.", **changes}
        return await self.service.propose_action(pb.ProposeActionRequest(**values), call or self.call())

    async def status(self, approval_id: str, call: Call | None = None) -> pb.GetProposalStatusResponse:
        request = pb.GetProposalStatusRequest(case_id=self.case_id, approval_id=approval_id)
        return await self.service.get_proposal_status(request, call or self.call())

    async def ask_owner(self, statement: str, *values: Any) -> list[db.Record]:
        owner = await db.connect_one(self.database.dsn())
        try:
            return await owner.fetch(statement, *values)
        finally:
            await owner.close()


@asynccontextmanager
async def opened(database: Database, pool_size: int = 8) -> AsyncIterator[Desk]:
    pool = await db.connect(database.dsn("svc_proposals"), pool_size)
    store = Store(pool)
    try:
        yield Desk(ProposalService(store, actions.load(), system_clock), HandoffService(store, system_clock), database)
    finally:
        await pool.close()


@pytest.fixture
async def desk(database: Database) -> AsyncIterator[Desk]:
    async with opened(database) as made:
        yield made


async def test_a_receipt_is_what_the_description_promises(desk: Desk) -> None:
    receipt = await desk.propose()
    assert receipt.status == "pending_confirmation"
    assert receipt.what_will_happen == "Calendar the deadline “Answer due” for 2026-08-14."
    assert (receipt.executed, receipt.capped_at_rung, receipt.supervision_floor) == (False, "suggest", "always-confirm")
    assert receipt.confirm_required
    assert "cannot approve it" in receipt.next_step


async def test_what_was_acknowledged_is_stored_with_its_digest_and_nothing_else_changed(desk: Desk) -> None:
    receipt = await desk.propose()
    row = (await desk.ask_owner("SELECT * FROM ledger.proposals WHERE id = $1", receipt.approval_id))[0]
    assert row["args"] == b'{"due_date":"2026-08-14","title":"Answer due"}'
    for table in ("decisions", "executions", "nonces", "withdrawals"):
        assert await desk.ask_owner(f"SELECT * FROM ledger.{table}") == []
    assert await desk.ask_owner("SELECT 1 FROM audit.log WHERE action = 'propose_action' AND case_id = $1", desk.case_id)


async def test_smuggled_names_are_left_out_of_what_is_stored_and_surfaced(desk: Desk) -> None:
    receipt = await desk.propose({**ARGS, "Override": True, "confirmation_token": "x", "CaseId": "y", "n\u200bonce": 1})
    row = (await desk.ask_owner("SELECT args, overrides_ignored FROM ledger.proposals WHERE id = $1", receipt.approval_id))[0]
    assert row["args"] == b'{"due_date":"2026-08-14","title":"Answer due"}'
    assert list(receipt.overrides_ignored) == row["overrides_ignored"] == ["Override", "confirmation_token", "CaseId", "n\u200bonce"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"args": {**ARGS, "colour": "red"}}, "colour"),
        ({"args": {"due_date": "2026-08-14"}}, "title"),
        ({"args": {**ARGS, "due_date": "2026-02-30"}}, "due_date"),
        ({"args": b'{"title":"a","title":"b","due_date":"2026-08-14"}'}, "args"),
        ({"args": b"[]"}, "args"),
        ({"action": "delete_matter"}, "action"),
        ({"supersedes": str(uuid.uuid4())}, "supersedes"),
    ],
)
async def test_a_wrong_proposal_is_refused_by_name_and_not_stored(desk: Desk, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(Refusal, match=named):
        await desk.propose(**changes)
    assert await desk.ask_owner("SELECT 1 FROM ledger.proposals") == []


async def test_of_a_hundred_at_once_on_one_matter_exactly_25_are_taken(desk: Desk, database: Database) -> None:
    async with opened(database) as second:
        second.case_id, second.owner_id = desk.case_id, desk.owner_id
        keys = [str(uuid.uuid4()) for _ in range(10)]
        asked = [side.propose(call=side.call(keys[n % 10])) for n in range(50) for side in (desk, second)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(a, pb.ProposeActionResponse) for a in answers) == limits.UNDECIDED_PROPOSALS_PER_MATTER
    refused = [a for a in answers if isinstance(a, Refusal)]
    assert len(refused) == 75
    assert {r.reason for r in refused} == {reasons.ERROR_REASON_CONFLICT}
    assert "25 undecided" in refused[0].message


async def test_the_same_request_id_gives_one_proposal_also_when_sent_twenty_times_at_once(desk: Desk) -> None:
    answers = await asyncio.gather(*[desk.propose(request_id="r-1") for _ in range(20)])
    assert len({a.approval_id for a in answers}) == 1
    assert len(await desk.ask_owner("SELECT 1 FROM ledger.proposals")) == 1


async def test_a_request_sent_twice_at_once_does_not_stand_in_its_own_way(desk: Desk) -> None:
    first = await desk.propose()
    replacing = await asyncio.gather(*[desk.propose(request_id="r-1", supersedes=first.approval_id) for _ in range(10)])
    assert len({a.approval_id for a in replacing}) == 1
    for _ in range(limits.UNDECIDED_PROPOSALS_PER_MATTER - 2):
        await desk.propose()
    the_last_place = await asyncio.gather(*[desk.propose(request_id="r-2") for _ in range(10)])
    assert len({a.approval_id for a in the_last_place}) == 1


async def test_a_request_id_with_other_arguments_is_refused_and_another_key_may_use_it(desk: Desk) -> None:
    await desk.propose(request_id="r-1")
    with pytest.raises(Refusal, match="request_id"):
        await desk.propose({**ARGS, "title": "Other"}, request_id="r-1")
    other = await desk.propose({**ARGS, "title": "Other"}, call=desk.call(str(uuid.uuid4())), request_id="r-1")
    assert other.status == "pending_confirmation"


async def test_a_proposal_is_seen_by_its_own_key_only(desk: Desk) -> None:
    receipt = await desk.propose()
    stranger = desk.call(str(uuid.uuid4()))
    assert (await desk.status(receipt.approval_id)).proposal.state == "undecided"
    assert not (await desk.status(receipt.approval_id, stranger)).HasField("proposal")
    listed = await desk.service.list_agent_proposals(pb.ListAgentProposalsRequest(case_id=desk.case_id), stranger)
    assert listed.count == 0
    with pytest.raises(Refusal, match="no such proposal"):
        await desk.service.withdraw_proposal(pb.WithdrawProposalRequest(case_id=desk.case_id, approval_id=receipt.approval_id), stranger)


async def test_withdrawing_frees_a_place_and_happens_once(desk: Desk) -> None:
    receipt = await desk.propose()
    request = pb.WithdrawProposalRequest(case_id=desk.case_id, approval_id=receipt.approval_id)
    answers = await asyncio.gather(*[desk.service.withdraw_proposal(request, desk.call()) for _ in range(5)], return_exceptions=True)
    assert sum(isinstance(a, pb.WithdrawProposalResponse) for a in answers) == 1
    assert (await desk.status(receipt.approval_id)).proposal.state == "withdrawn"


async def test_a_replacement_ends_the_old_one_and_only_one_may_replace_it(desk: Desk) -> None:
    first = await desk.propose()
    answers = await asyncio.gather(*[desk.propose(supersedes=first.approval_id) for _ in range(5)], return_exceptions=True)
    won = [a for a in answers if isinstance(a, pb.ProposeActionResponse)]
    assert len(won) == 1
    old = (await desk.status(first.approval_id)).proposal
    assert (old.state, old.superseded_by) == ("superseded", won[0].approval_id)


async def test_a_page_walk_lists_every_proposal_newest_first(desk: Desk) -> None:
    filed = [(await desk.propose({**ARGS, "title": f"n{n}"})).approval_id for n in range(7)]
    seen: list[str] = []
    token = ""
    while True:
        request = pb.ListAgentProposalsRequest(case_id=desk.case_id, page_size=3, page_token=token)
        page = await desk.service.list_agent_proposals(request, desk.call())
        seen += [p.approval_id for p in page.proposals]
        assert page.total_count == 7
        if not page.HasField("next_page_token"):
            break
        token = page.next_page_token
    assert seen == filed[::-1]


async def test_a_stored_proposal_cannot_be_changed_by_anybody_with_a_login_of_ours(desk: Desk, database: Database) -> None:
    await desk.propose()
    for login in ("svc_proposals", "svc_approvals", "svc_executor", "substrate_owner"):
        connection = await db.connect_one(database.dsn(login))
        for statement in ("UPDATE ledger.proposals SET args = '{}'", "DELETE FROM ledger.proposals", "TRUNCATE ledger.proposals CASCADE"):
            with pytest.raises(db.Error):
                await connection.execute(statement)
        await connection.close()


async def test_a_link_is_bound_to_its_key_and_session_and_the_first_answer_stands(desk: Desk) -> None:
    receipt = await desk.propose()
    opened_ = await desk.links.open_handoff(
        handoff_pb.OpenHandoffRequest(case_id=desk.case_id, approval_id=receipt.approval_id, session_sha256=SESSION), desk.call()
    )
    assert len(opened_.elicitation_id) == 43
    kept = await desk.ask_owner("SELECT * FROM ledger.handoffs")
    assert kept[0]["handoff_hash"] == handoff.hashed(opened_.elicitation_id)

    async def answer(word: str, call: Call, session: bytes = SESSION) -> str:
        values: dict[str, Any] = {"case_id": desk.case_id, "elicitation_id": opened_.elicitation_id, "session_sha256": session}
        return (await desk.links.answer_handoff(handoff_pb.AnswerHandoffRequest(**values, answer=word), call)).answer

    for call, session in ((desk.call(str(uuid.uuid4())), SESSION), (desk.call(), b"x" * 32)):
        with pytest.raises(Refusal, match="no such link"):
            await answer("accepted", call, session)
    assert await answer("declined", desk.call()) == "declined"
    assert await answer("accepted", desk.call()) == "declined"
    stands = await desk.links.get_handoff(
        handoff_pb.GetHandoffRequest(case_id=desk.case_id, elicitation_id=opened_.elicitation_id, session_sha256=SESSION), desk.call()
    )
    assert (stands.state, stands.terminal) == ("undecided", False)
