"""What happens around them: access and screens change, keys end, time passes, forgers try, executors claim, die, steal and finish."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb

from kit import db, limits
from kit.decisions import Decision
from services.executor.lease import Claim, Fenced
from tests.property.machine.base import AGE, CASES, MOSTLY, PEOPLE, Base
from tests.property.machine.model import DAY, LEASE_SECONDS, Filed
from tests.property.machine.races import RaceRules
from tests.property.machine.world import OPERATOR

EXECUTORS = st.integers(0, 1)
CHANGES = ("GrantMatterAccess", "GrantMatterAccess", "LiftEthicalScreen", "LiftEthicalScreen", "WithdrawMatterAccess", "RaiseEthicalScreen")
# Half a lease; and a lease, a confirmation, a link and, less often, a proposal, each to the very end of it.
SECONDS = (LEASE_SECONDS / 2, LEASE_SECONDS, limits.NONCE_SECONDS, limits.NONCE_SECONDS, limits.HANDOFF_LIVES_SECONDS) * 3
SECONDS_OR_A_LAPSE = st.sampled_from((*SECONDS, limits.PROPOSAL_LAPSES_DAYS * DAY))


class HouseRules(RaceRules):
    """The operator, the clock, forgers, and the executors."""

    @rule(person=PEOPLE, case=CASES, change=st.sampled_from(CHANGES))
    def change_access(self, person: int, case: int, change: str) -> None:
        self.ran("change_access", self._change(person, case, change))

    @precondition(lambda self: any(not p.may(c) for p in self.model.people for c in (0, 1)))
    @rule()
    def restore_access(self) -> None:
        for n, person in enumerate(self.model.people):
            for case in (0, 1):
                if case not in person.cases:
                    self._change(n, case, "GrantMatterAccess")
                if case in person.screened:
                    self._change(n, case, "LiftEthicalScreen")
        self.ran("restore_access", True)

    @precondition(lambda self: any(self._awaits_effect(p) for p in self.model.filed.values()))
    @rule(age=AGE, change=st.sampled_from(("WithdrawMatterAccess", "RaiseEthicalScreen")))
    def shut_out(self, age: int, change: str) -> None:
        """Somebody loses their access between the approval and the effect."""
        p = self.some(age, self._awaits_effect)
        self.ran("shut_out", self._change(p.person, p.case, change))

    def _awaits_effect(self, p: Filed) -> bool:
        return p.ended == "approved" and not p.forged and p.claimable(self.model.now) and self.model.people[p.person].may(p.case)

    def _change(self, person: int, case: int, change: str) -> bool:
        somebody = self.model.people[person]
        values = {"user_id": str(self.world.people[person]), "case_id": str(self.world.matters[case])}
        more = {"reason": "A conflict."} if change == "RaiseEthicalScreen" else {}
        request = getattr(admin_pb, f"{change}Request")(**values, **more)
        change_it: Any = self.world.operator.methods()[change]
        done = self.taken(change_it(request, OPERATOR)) is not None
        stands = case in (somebody.cases if change == "WithdrawMatterAccess" else somebody.screened)
        assert done == (stands or change in ("GrantMatterAccess", "RaiseEthicalScreen"))
        where = somebody.screened if "Screen" in change else somebody.cases
        (where.add if change in ("GrantMatterAccess", "RaiseEthicalScreen") else where.discard)(case)
        return done

    @precondition(lambda self: not self.model.revoked and len(self.model.filed) > 5)
    @rule(key=st.integers(1, 2))
    def revoke_key(self, key: int) -> None:
        request = admin_pb.RevokeKeyRequest(key=str(self.world.keys[key].id))
        assert self.taken(self.world.operator.revoke_key(request, OPERATOR)) is not None
        self.model.revoked.add(key)
        self.ran("revoke_key", True)

    @rule(seconds=SECONDS_OR_A_LAPSE)
    def time_passes(self, seconds: float) -> None:
        self.time_goes_on(seconds)
        self.ran("time_passes", True)

    @precondition(Base.any_filed)
    @rule(age=AGE)
    def forge(self, age: int) -> None:
        """Whoever can write the row but holds no key: the ledger takes it, and no executor does anything about it."""
        p = self.some(age, self.model.undecided)
        who, shown, at = self.world.people[p.person], bytes(32), self.world.clock()
        try:
            self.world.do(
                self.world.ask(
                    "forge", proposal_id=p.id, args_digest=p.digest, decided_by=who, decided_at=at, shown_sha256=shown, signature=bytes(64)
                )
            )
        except db.Error:
            assert not self.model.undecided(p)
            self.ran("forge", False)
            return
        assert self.model.undecided(p)
        self.ran("forge", True)
        p.ended, p.forged = "approved", True

    @precondition(lambda self: any(p.decided() for p in self.model.filed.values()))
    @rule(age=AGE, executor=EXECUTORS)
    def carry_out(self, age: int, executor: int) -> None:
        """The whole way, of whatever was decided."""
        p = self.some(age, lambda p: p.claimable(self.model.now))
        if not p.decided():
            return
        self.world.do(self.world.executors[executor].carry_out(p.id))
        self.ran("carry_out", self._carried_out(p))

    def _carried_out(self, p: Filed) -> bool:
        free = p.claimable(self.model.now)
        if free:
            self.model.claim(p)
            self.model.finish(p)
        return free

    @precondition(lambda self: any(p.decided() for p in self.model.filed.values()))
    @rule(age=AGE)
    def race_of_executors(self, age: int) -> None:
        p = self.some(age, lambda p: p.claimable(self.model.now))
        if not p.decided():
            return

        async def both() -> None:
            await asyncio.gather(*(executor.carry_out(p.id) for executor in self.world.executors))

        self.world.do(both())
        self.ran("race_of_executors", self._carried_out(p))

    @precondition(lambda self: any(p.decided() for p in self.model.filed.values()))
    @rule(executor=EXECUTORS)
    def sweep(self, executor: int) -> None:
        """Everything that waits."""
        self.world.do(self.world.executors[executor].sweep(asyncio.Event()))
        for p in self.model.filed.values():
            if p.ended == "approved":
                self._carried_out(p)
        self.ran("sweep", True)

    @precondition(lambda self: any(p.decided() for p in self.model.filed.values()))
    @rule(age=AGE, executor=EXECUTORS, intends=st.booleans())
    def claim_and_die(self, age: int, executor: int, intends: bool) -> None:
        """A claim whose holder stops before the effect, or goes on later under a lease that may be somebody else's by then."""
        p = self.some(age, lambda p: p.claimable(self.model.now))
        if not p.decided():
            return
        store = self.world.executors[executor].tools.store
        claim = self.world.do(store.claim(p.id))
        guard = p.claimable(self.model.now)
        assert (claim is not None) == guard
        self.ran("claim_and_die", guard)
        if claim is None:
            return
        assert claim.fence == self.model.claim(p).fence
        if intends:
            self.world.do(store.intend(claim, "something"))
        self.claims.append((p.id, executor, claim))

    @precondition(lambda self: bool(self.claims))
    @rule(age=AGE)
    def come_back(self, age: int) -> None:
        """The holder of a claim goes on where it stopped."""
        id_, executor, claim = self.newest(self.claims, age)
        p = self.model.filed[id_]
        held = self.model.holds(p, claim.fence)
        assert self.world.do(self._goes_on(executor, claim)) == held
        self.ran("come_back", held)
        if held:
            self.model.finish(p)

    async def _goes_on(self, executor: int, claim: Claim) -> bool:
        try:
            await self.world.executors[executor]._held(claim)
        except Fenced:
            return False
        return True

    @precondition(lambda self: any(p.execution for p in self.model.filed.values()))
    @rule(age=AGE, person=PEOPLE, own=MOSTLY)
    def retry(self, age: int, person: int, own: bool) -> None:
        """A person asks for what failed to be tried again."""
        p = self.some(age, lambda p: p.execution is not None and p.execution.outcome == "failed" and p.ended == "approved")
        person = p.person if own else person
        done = self.world.do(self.world.desk.retry(self.world.people[person], p.id))
        held = p.execution
        guard = (
            held is not None
            and p.ended == "approved"
            and held.outcome == "failed"
            and held.retry_of != held.attempts
            and self.model.sees(person, p)
        )
        assert done == guard
        self.ran("retry", done)
        if done and held is not None:
            held.retry_of = held.attempts
            self.model.retries += 1


def decision_of(row: db.Record, id_: uuid.UUID) -> Decision:
    """A stored decision, to be verified."""
    names = ("action", "args_digest", "decision", "decided_at", "reason", "shown_sha256", "nonce_hash", "step_up")
    stored: dict[str, Any] = {name: row[name] for name in names}
    return Decision(proposal_id=str(id_), case_id=str(row["case_id"]), decided_by=str(row["decided_by"]), **stored)
