"""Several who act on one proposal at once. All look at it while nobody has ended it; then they go on, in the order in which they came."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from substrate.proposals.v1 import proposal_service_pb2 as pb

from kit.errors import Refusal
from kit.server import Call
from services.approvals import tokens
from services.approvals.gate import Ask, Status, Verdict
from services.approvals.render import PAGE
from tests.property.machine.base import AGE, CASES, KEYS, Base
from tests.property.machine.model import KINDS, Filed
from tests.property.machine.persons import PersonRules

PLAIN = KINDS[0]
ENDING, FILING = 11, 7  # the locks of the ledger: what ends a proposal, what is filed in a matter


async def _nothing() -> None:
    return None


def _status(answer: Any) -> Status | None:
    return answer.status if isinstance(answer, Verdict) else None


class RaceRules(PersonRules):
    """Races whose order is drawn, so that they come out the same again."""

    async def _all_at_once(self, lock: tuple[uuid.UUID, int], works: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
        """Each is started once the one before it has come to the lock, or to an end; the lock is free when all of them have."""
        async with self.world.holding(lock):
            started: list[asyncio.Task[Any]] = []
            for work in works:
                started.append(asyncio.ensure_future(work))
                while await self.world.queued() + sum(task.done() for task in started) < len(started):
                    await asyncio.sleep(0.0005)
        return await asyncio.gather(*started, return_exceptions=True)

    def _once_let_in(self, method: str, p: Filed, work: Callable[[Call], Coroutine[Any, Any, Any]]) -> Coroutine[Any, Any, Any]:
        """Asks for access before anything is held, which has its own row in the audit chain."""
        call = self.taken(self.call(method, p.key, p.case))
        return _nothing() if call is None else work(call)

    @precondition(Base.any_filed)
    @rule(age=AGE, order=st.permutations(range(3)))
    def race(self, age: int, order: list[int]) -> None:
        """A person declines, the agent withdraws and replaces, all at once: the first of them that may ends it, and nobody else."""
        p = self.some(age, self.model.undecided)
        request = self._request(p.case, p.kind, dict(p.kind.args), supersedes=str(p.id))
        may = (
            self._plainly(p.person, p, "declined"),
            self._may_withdraw(p.key, p),
            self.model.may_replace(p, p.key, p.case) and self._may_file(p.key, p.case, p),
        )
        works = (
            self.world.desk.decide(self.world.people[p.person], self._plain(p.person, p, "declined")),
            self._once_let_in("WithdrawProposal", p, partial(self._let_in_withdraws, p=p)),
            self._once_let_in("ProposeAction", p, partial(self.world.proposals.propose_action, request)),
        )
        done = self.world.do(self._all_at_once((p.id, ENDING), [works[n] for n in order]))
        stood = [_status(d) is Status.RECORDED or isinstance(d, (pb.WithdrawProposalResponse, pb.ProposeActionResponse)) for d in done]
        winner = next((n for n in order if may[n]), None)
        assert [n for n, s in zip(order, stood, strict=True) if s] == [n for n in order if n == winner], done
        self.ran("race", winner is not None)
        if winner == 0:
            self.model.decide(p, "declined", self._plain(p.person, p, "declined").reason)
        elif winner == 1:
            p.ended = "withdrawn"
        elif winner == 2:
            self._keep(done[order.index(2)], p.key, p.case, p.kind, request, p)

    @precondition(Base.any_filed)
    @rule(age=AGE)
    def press_twice(self, age: int) -> None:
        """One confirmation from two windows at once: it is recorded once, and the other window is told that it was."""
        self._come_to_confirm(age)
        if not self.model.nonces:
            return
        nonce = self._of_nonce("right", age)
        p, hashed = self.model.filed[nonce.proposal], tokens.hashed(nonce.text)
        digest, shown = self._shown(nonce.person, p, PAGE)
        code, step = self._code(nonce.person, "right")
        ask = Ask(p.id, "approved", None, digest, shown, PAGE, hashed, code, always_confirm=True)
        sees = self.model.sees(nonce.person, p)
        stands_already = sees and (p.decided_as, p.nonce_hash) == (("approved", None), hashed)
        guard = self._sees_it_undecided(nonce.person, p) and nonce.live(self.model.now)
        guard = guard and self._steps_up(p, nonce.person, "approved", step)
        works = [self.world.desk.decide(self.world.people[nonce.person], ask) for _ in range(2)]
        done = self.world.do(self._all_at_once((p.id, ENDING), works))
        assert [_status(d) is Status.RECORDED for d in done] == [guard, False], done
        assert [_status(d) is Status.ALREADY_RECORDED for d in done] == [stands_already, guard or stands_already], done
        self.ran("press_twice", guard)
        if guard:
            self.model.decide(p, "approved", None, nonce, hashed)

    @precondition(Base.any_filed)
    @rule(age=AGE, key=KEYS, case=CASES, replacing=st.booleans())
    def file_twice_at_once(self, age: int, key: int, case: int, replacing: bool) -> None:
        """A client that tries again before it was answered: one proposal, and both answers name it."""
        old = self.some(age, self.model.undecided) if replacing else None
        key, case = (old.key, old.case) if old else (key, case)
        request = self._request(case, PLAIN, dict(PLAIN.args), request_id=uuid.uuid4().hex, supersedes=str(old.id) if old else None)
        lock = (old.id, ENDING) if old else (self.world.matters[case], FILING)
        calls = [self.taken(self.call("ProposeAction", key, case)) for _ in range(2)]
        works = [_nothing() if call is None else self.world.proposals.propose_action(request, call) for call in calls]
        one, two = self.world.do(self._all_at_once(lock, works))
        guard = (old is None or self.model.may_replace(old, key, case)) and self._may_file(key, case, old)
        self.ran("file_twice_at_once", guard)
        if not guard:
            assert all(answer is None or isinstance(answer, Refusal) for answer in (one, two)), (one, two)
            return
        assert one == two, (one, two)
        self._keep(one, key, case, PLAIN, request, old)
