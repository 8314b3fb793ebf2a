"""What a person does in the approvals room: opens a card, is led to the confirmation, decides, alone or several at once."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from kit import limits
from services.approvals import tokens
from services.approvals.gate import Ask, Status
from services.approvals.render import JSON, PAGE, ROW
from services.auth import totp
from tests.property.machine.agents import AgentRules
from tests.property.machine.base import AGE, MOSTLY, PEOPLE, REASON, Base
from tests.property.machine.model import Filed, Minted

NOTHING = bytes(32)
WAYS = ("right", "right", "right", "foreign", "person", "digest", "shown", "used", "late", "unknown", "none", "code", "old code")
DECISIONS = ("approved", "approved", "approved", "declined", "sent_back")


class PersonRules(AgentRules):
    """The path of people. Nothing here is reachable with a key."""

    def _shown(self, person: int, p: Filed, view: str) -> tuple[bytes, bytes]:
        """The digests that this person's form carries: those of what they opened, or nothing that fits."""
        return self.seen.get((person, p.id), {}).get(view, (NOTHING, NOTHING))

    def _sees_it_undecided(self, person: int, p: Filed) -> bool:
        return self.model.sees(person, p) and self.model.undecided(p)

    @precondition(Base.any_filed)
    @rule(age=AGE, person=PEOPLE, own=MOSTLY)
    def open_card(self, age: int, person: int, own: bool) -> None:
        p = self.some(age, lambda p: (p.person, p.id) not in self.seen)
        person = p.person if own else person
        found = self.world.do(self._open(person, p))
        assert found == self.model.sees(person, p)
        self.ran("open_card", found)

    async def _open(self, person: int, p: Filed) -> bool:
        who = await self.world.person(person)
        async with self.world.shelf.reading() as work:
            row = await work.find(who, p.id)
            if row is None:
                return False
            card = (await self.world.desk.cards(work, [row]))[0]
        digest = bytes.fromhex(card.args_digest)
        self.seen[person, p.id] = {view: (digest, self.world.renderer.shown(view, card)[1]) for view in (PAGE, ROW, JSON)}
        return True

    @precondition(Base.any_filed)
    @rule(
        age=AGE, person=PEOPLE, own=MOSTLY, opens=MOSTLY, decision=st.sampled_from(DECISIONS),
        stale=st.sampled_from((False, False, False, True)),
    )  # fmt: skip
    def check(self, age: int, person: int, own: bool, opens: bool, decision: str, stale: bool) -> None:
        """From the card to the confirmation, where a nonce is minted and nothing is decided."""
        p = self.some(age, self.model.undecided)
        person = p.person if own else person
        if opens:
            self.world.do(self._open(person, p))
        self.ran("check", self._leads(person, p, decision, stale))

    def _leads(self, person: int, p: Filed, decision: str, stale: bool) -> bool:
        digest, shown = self._shown(person, p, PAGE)
        ask = Ask(p.id, decision, None if decision == "approved" else REASON, NOTHING if stale else digest, shown, PAGE, confirming=False)

        async def lead() -> Any:
            return await self.world.desk.confirmation(await self.world.person(person), ask)

        made = self.world.do(lead())
        assert (made.nonce is not None) == (self._sees_it_undecided(person, p) and (person, p.id) in self.seen and not stale)
        if made.nonce is not None:
            self.model.nonces.append(Minted(made.nonce, p.id, person, self.model.now))
        return made.nonce is not None

    def _come_to_confirm(self, age: int) -> None:
        """Where nobody has a confirmation that is good, somebody opens a card and is led to one."""
        if not any(self._could_confirm(nonce) for nonce in self.model.nonces):
            p = self.some(age, self.model.undecided)
            self.world.do(self._open(p.person, p))
            self._leads(p.person, p, "approved", stale=False)

    def _waits(self, nonce: Minted) -> bool:
        return self._sees_it_undecided(nonce.person, self.model.filed[nonce.proposal])

    def _could_confirm(self, nonce: Minted) -> bool:
        return nonce.live(self.model.now) and self._waits(nonce)

    def _code(self, person: int, way: str) -> tuple[str, int | None]:
        """What the person's device shows, and the step that it is spent on; None where it is not good."""
        somebody, now = self.model.people[person], totp.step(self.world.clock())
        step = max(now, somebody.last_step + 1)
        good = step <= now + 1 and way not in ("code", "old code")
        typed = step if good else somebody.last_step if way == "old code" else now + 1_000
        return totp.code(self.world.secrets[person], typed), step if good else None

    def _steps_up(self, p: Filed, person: int, decision: str, step: int | None) -> bool:
        """Whether the code is taken, once everything else was found right; notes what auth notes."""
        if decision != "approved" or not p.kind.step_up:
            return True
        somebody = self.model.people[person]
        if somebody.must_wait(self.model.now):
            return False
        if step is None:
            somebody.typed_wrong(self.model.now)
            return False
        somebody.last_step, somebody.wrong = step, 0
        return True

    def _of_nonce(self, way: str, age: int) -> Minted:
        wanted: dict[str, Callable[[Minted], bool]] = {
            "used": lambda nonce: nonce.used,
            "late": lambda nonce: not nonce.used and not nonce.live(self.model.now) and self._waits(nonce),
        }
        pick = wanted.get(way, self._could_confirm)
        return self.newest([n for n in self.model.nonces if pick(n)] or self.model.nonces, age)

    def _foreign(self, p: Filed) -> Filed:
        """Another proposal that the same person could decide now, and whose card they opened."""
        others = [o for o in self.model.filed.values() if o is not p and self._sees_it_undecided(p.person, o)]
        if not others:
            return p
        self.world.do(self._open(p.person, others[-1]))
        return others[-1]

    @precondition(Base.any_filed)
    @rule(age=AGE, way=st.sampled_from(WAYS), decision=st.sampled_from(DECISIONS))
    def decide(self, age: int, way: str, decision: str) -> None:
        """The confirmation, right or with one thing wrong."""
        way = way if not self.ways or way in self.ways else self.ways[0]
        self._come_to_confirm(age)
        if not self.model.nonces:
            return
        if way == "late":
            self.time_goes_on(limits.NONCE_SECONDS)
        if way == "used" and not any(nonce.used for nonce in self.model.nonces):
            self._confirm("right", age, decision)
        self._confirm(way, age, decision)

    def _confirm(self, way: str, age: int, decision: str) -> None:
        nonce = self._of_nonce(way, age)
        bound = self.model.filed[nonce.proposal]
        p = self._foreign(bound) if way in ("foreign", "used") else bound
        person = 1 - nonce.person if way == "person" else nonce.person
        text = "x" * 43 if way == "unknown" else nonce.text
        digest, shown = self._shown(nonce.person, p, PAGE)
        code, step = self._code(person, way)
        hashed, reason = None if way == "none" else tokens.hashed(text), None if decision == "approved" else REASON
        ask = Ask(
            p.id, decision, reason, bytes(32) if way == "digest" else digest, bytes(32) if way == "shown" else shown, PAGE, hashed, code,
            always_confirm=True,
        )  # fmt: skip
        verdict = self.world.do(self.world.desk.decide(self.world.people[person], ask))
        guard = (
            self._sees_it_undecided(person, p)
            and way not in ("digest", "shown", "unknown", "none")
            and (nonce.person, p.id) in self.seen
            and (nonce.proposal, nonce.person) == (p.id, person)
            and nonce.live(self.model.now)
        )
        guard = guard and self._steps_up(p, person, decision, step)
        assert (verdict.status is Status.RECORDED) == guard, (verdict.status, way)
        if verdict.status is Status.ALREADY_RECORDED and not p.forged:  # of a forged row nothing was recorded, and nothing comes of it
            assert (p.decided_as, p.nonce_hash) == ((decision, reason), hashed)
        self.ran("decide", guard)
        if guard:
            self.model.decide(p, decision, reason, nonce, hashed)

    def _plain(self, person: int, p: Filed, decision: str, view: str = JSON, **more: Any) -> Ask:
        digest, shown = self._shown(person, p, view)
        return Ask(p.id, decision, None if decision == "approved" else REASON, digest, shown, view, **more)

    def _plainly(self, person: int, p: Filed, decision: str) -> bool:
        """Whether a decision stands without a confirmation."""
        open_to = decision != "approved" or not p.kind.individual
        return open_to and self._sees_it_undecided(person, p) and (person, p.id) in self.seen

    @precondition(Base.any_filed)
    @rule(age=AGE, person=PEOPLE, own=MOSTLY, opens=MOSTLY, decision=st.sampled_from(("approved", "declined", "sent_back")))
    def decide_plainly(self, age: int, person: int, own: bool, opens: bool, decision: str) -> None:
        """Through JSON, without a confirmation."""
        p = self.some(age, self.model.undecided)
        person = p.person if own else person
        if opens:
            self.world.do(self._open(person, p))
        ask = self._plain(person, p, decision)
        verdict = self.world.do(self.world.desk.decide(self.world.people[person], ask))
        guard = self._plainly(person, p, decision)
        assert (verdict.status is Status.RECORDED) == guard, verdict.status
        self.ran("decide_plainly", guard)
        if guard:
            self.model.decide(p, decision, ask.reason)

    @precondition(Base.any_filed)
    @rule(ages=st.lists(AGE, min_size=1, max_size=4), person=PEOPLE, opens=MOSTLY)
    def decide_selected(self, ages: list[int], person: int, opens: bool) -> None:
        """A batch with whatever ids somebody planted: each stands or falls by itself, and what is to be decided alone never stands."""
        chosen = list({p.id: p for p in (self.some(age) for age in ages)}.values())
        if opens:
            person = chosen[0].person
            for p in chosen:
                self.world.do(self._open(person, p))
        stranger = uuid.uuid4()
        asks = [self._plain(person, p, "approved", ROW, in_batch=True) for p in chosen]
        asks.insert(ages[0] % (len(asks) + 1), Ask(stranger, "approved", None, NOTHING, NOTHING, ROW, in_batch=True))
        done = self.world.do(self.world.desk.decide_selected(self.world.people[person], asks))
        assert [o.id for o in done] == [str(a.proposal_id) for a in asks]
        said = {o.id: o.verdict for o in done}
        assert said[str(stranger)].status is Status.NOT_FOUND
        for p in chosen:
            guard = self._plainly(person, p, "approved")
            assert (said[str(p.id)].status is Status.RECORDED) == guard, said[str(p.id)].status
            self.ran("decide_selected", guard)
            if guard:
                self.model.decide(p, "approved", None)
