"""Guards, each of which can be taken away, in the code or in the test's database, with every sibling that would cover for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from kit import decisions
from services.approvals import gate
from services.approvals import store as shelf
from services.approvals.gate import Status
from services.executor import verify
from services.executor.people import People
from services.proposals.server import ProposalService
from tests.property.machine.world import World

Removal = Callable[[World, pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Plant:
    """A guard to be missed. Its hunt may try some ways of going wrong alone, and leave rules out that would find another thing first."""

    name: str
    remove: Removal
    ways: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


def _function(world: World, name: str, old: str, new: str) -> None:
    """Words of a function of the ledger, replaced."""
    (row,) = world.do(world.admin.fetch("SELECT pg_get_functiondef($1::regproc) AS text", name))
    assert old in row["text"]
    world.do(world.admin.execute(row["text"].replace(old, new)))


def _statement(patch: pytest.MonkeyPatch, statements: dict[str, Any], name: str, *parts: tuple[str, str]) -> None:
    """Words of a statement, replaced. Parameters keep their places."""
    sql = statements[name].sql
    for old, new in parts:
        assert old in sql
        sql = sql.replace(old, new)
    patch.setitem(statements, name, replace(statements[name], sql=sql))


def _parameter(name: str, statement: str) -> str:
    return f"${shelf._SQL[statement].parameters.index(name) + 1}"


def unsigned(_world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verify, "decisions", SimpleNamespace(Decision=decisions.Decision, verify=lambda *_: True))


def access_not_asked_again(_world: World, patch: pytest.MonkeyPatch) -> None:
    async def nothing_against_it(*_: object) -> None:
        return None

    patch.setattr(People, "objection", nothing_against_it)


def _unbound(patch: pytest.MonkeyPatch) -> None:
    """A confirmation is taken for whatever proposal of the person it comes with; used up and over are looked at as before."""
    judged = gate._confirmation

    def confirmation(ask: Any, facts: Any, row: Any, card: Any) -> Status | None:
        nonce = facts.nonce and replace(
            facts.nonce, proposal_id=row.id, action=row.action, case_id=row.case_id, args_digest=row.args_digest
        )
        return judged(ask, replace(facts, nonce=nonce), row, card)

    patch.setattr(gate, "_confirmation", confirmation)
    bound = [(n, _parameter(n, "decide_confirmed")) for n in ("proposal_id", "action", "case_id", "args_digest")]
    _statement(patch, shelf._SQL, "decide_confirmed", *((f"{n} = {p}", f"({n} = {p} OR {n} IS NOT NULL)") for n, p in bound))


def nonce_for_any_proposal(_world: World, patch: pytest.MonkeyPatch) -> None:
    _unbound(patch)


def nonce_used_again(world: World, patch: pytest.MonkeyPatch) -> None:
    """A used confirmation of the same proposal finds it decided, so that this shows only where the binding is gone as well."""
    _unbound(patch)
    unbound = gate._confirmation

    def confirmation(ask: Any, facts: Any, row: Any, card: Any) -> Status | None:
        nonce = facts.nonce and replace(facts.nonce, used_at=None)
        return unbound(ask, replace(facts, nonce=nonce), row, card)

    patch.setattr(gate, "_confirmation", confirmation)
    _statement(patch, shelf._SQL, "decide_confirmed", ("used_at IS NULL AND", ""))


def nonce_for_good(_world: World, patch: pytest.MonkeyPatch) -> None:
    timed = gate._confirmation

    def confirmation(ask: Any, facts: Any, row: Any, card: Any) -> Status | None:
        nonce = facts.nonce and replace(facts.nonce, expires_at=row.expires_at)
        return timed(ask, replace(facts, nonce=nonce), row, card)

    patch.setattr(gate, "_confirmation", confirmation)
    _statement(patch, shelf._SQL, "decide_confirmed", ("expires_at > clock_timestamp() AND", ""))


def no_limit(world: World, _patch: pytest.MonkeyPatch) -> None:
    _function(world, "ledger.guard_proposal", ">= 25", ">= 1000000")


def no_guard_of_replacing(world: World, _patch: pytest.MonkeyPatch) -> None:
    _function(world, "ledger.guard_proposal", "NEW.supersedes IS NOT NULL", "false")


def no_guard_of_ends(world: World, _patch: pytest.MonkeyPatch) -> None:
    world.do(world.admin.execute("DROP TRIGGER guard ON ledger.withdrawals; DROP TRIGGER guard ON ledger.decisions"))


def decided_whatever_its_state(world: World, patch: pytest.MonkeyPatch) -> None:
    """The rule of the gate and the guard of the ledger cover for each other."""
    judged = gate.judge
    patch.setattr("services.approvals.desk.judge", lambda ask, f: judged(ask, _as_undecided(f)))
    world.do(world.admin.execute("DROP TRIGGER guard ON ledger.decisions"))


def _as_undecided(facts: Any) -> Any:
    still = facts.row is None or facts.row.state in ("approved", "declined", "sent_back")
    return facts if still else replace(facts, row=replace(facts.row, state="undecided"))


def any_digest(_world: World, patch: pytest.MonkeyPatch) -> None:
    judged = gate.judge

    def blind(ask: Any, facts: Any) -> gate.Verdict:
        return judged(replace(ask, args_digest=facts.row.args_digest) if facts.row else ask, facts)

    patch.setattr("services.approvals.desk.judge", blind)


def any_kind_in_a_batch(_world: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("services.approvals.card.Card.batch_eligible", True)


def no_fence(world: World, patch: pytest.MonkeyPatch) -> None:
    for executor in world.executors:
        for name in ("hold", "intend"):
            _statement(patch, executor.tools.store._sql, name, (" AND outcome IS NULL AND lease_until > clock_timestamp()", ""))


def claims_of_the_living_taken(world: World, patch: pytest.MonkeyPatch) -> None:
    for executor in world.executors:
        _statement(patch, executor.tools.store._sql, "claim", ("e.lease_until <= clock_timestamp()", "true"))


def screens_overlooked(world: World, _patch: pytest.MonkeyPatch) -> None:
    _function(world, "auth.reachable", "s.lifted_at IS NULL", "false")


def no_lock(world: World, _patch: pytest.MonkeyPatch) -> None:
    world.do(world.admin.execute("CREATE OR REPLACE FUNCTION ledger.hold(p_proposal uuid) RETURNS void LANGUAGE sql AS 'SELECT'"))


def request_ids_forgotten(world: World, patch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object) -> None:
        return None

    patch.setattr(ProposalService, "_known", unknown)
    world.do(world.admin.execute("ALTER TABLE ledger.proposals DROP CONSTRAINT proposals_key_id_request_id_key"))


PLANTS = (
    Plant("the executor looks at no signature", unsigned),
    Plant("the executor does not ask for access again", access_not_asked_again),
    Plant("a confirmation is good for any proposal", nonce_for_any_proposal, ("foreign",)),
    Plant("a confirmation is good twice", nonce_used_again, ("used",)),
    Plant("a confirmation is good for ever", nonce_for_good, ("late",)),
    Plant("a matter holds any number", no_limit),
    Plant("what is replaced is not looked at", no_guard_of_replacing),
    Plant("the ledger ends a proposal twice", no_guard_of_ends),
    Plant("those who end a proposal do not wait for each other", no_lock),
    Plant("a decision is taken whatever the state", decided_whatever_its_state, without=("forge",)),
    Plant("a decision is taken about other arguments", any_digest),
    Plant("a batch takes what is to be decided alone", any_kind_in_a_batch, without=("decide_plainly",)),
    Plant("an executor goes on under a lost lease", no_fence),
    Plant("an executor takes the claim of a living one", claims_of_the_living_taken, without=("race_of_executors",)),
    Plant("a screen is overlooked", screens_overlooked),
    Plant("a request id stands for nothing", request_ids_forgotten),
)
