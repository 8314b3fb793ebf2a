"""What should be so: people, proposals, confirmations, claims and links as plain values, and the guard of every call on them. No IO."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kit import limits

DAY = 86_400.0
LEASE_SECONDS = 60.0


@dataclass(frozen=True)
class Kind:
    """An action as these rules use it."""

    action: str
    args: Mapping[str, Any]
    individual: bool = False
    step_up: bool = False
    fails: bool = False


KINDS = (
    Kind("create_task", {"title": "Draft the answer", "due_date": "2026-08-10"}),
    Kind("create_task", {"title": "For a deadline of nobody", "deadline_id": str(uuid.UUID(int=7))}, fails=True),
    Kind("record_discovery_response", {"request": "RFP 7", "response": "None found.", "withholding": False}, individual=True),
    Kind("create_deadline", {"title": "Answer due", "due_date": "2026-08-14"}, individual=True, step_up=True),
)


@dataclass
class Somebody:
    """A person: where they may act, and what their one-time codes have been used for."""

    cases: set[int] = field(default_factory=lambda: {0, 1})
    screened: set[int] = field(default_factory=set)
    last_step: int = 0
    wrong: int = 0
    wrong_since: float = 0.0

    def may(self, case: int) -> bool:
        return case in self.cases and case not in self.screened

    def must_wait(self, now: float) -> bool:
        return self.wrong >= limits.SIGN_IN_FAILURES_MAX and now < self.wrong_since + limits.SIGN_IN_WINDOW_SECONDS

    def typed_wrong(self, now: float) -> None:
        if self.wrong == 0 or self.wrong_since < now - limits.SIGN_IN_WINDOW_SECONDS:
            self.wrong, self.wrong_since = 0, now
        self.wrong += 1


@dataclass
class Execution:
    """One execution, and the moment at which its lease began to run."""

    fence: int
    leased_at: float
    attempts: int = 1
    outcome: str | None = None
    retry_of: int = 0

    def claimable(self, now: float) -> bool:
        if self.outcome is None:
            return now >= self.leased_at + LEASE_SECONDS
        return self.outcome == "failed" and self.retry_of == self.attempts


@dataclass
class Filed:
    """One proposal that was acknowledged."""

    id: uuid.UUID
    key: int
    person: int
    case: int
    kind: Kind
    args: bytes
    digest: bytes
    filed_at: float
    request: Any
    supersedes: uuid.UUID | None
    ended: str | None = None
    forged: bool = False
    nonce_hash: bytes | None = None
    decided_as: tuple[str, str | None] | None = None
    successor: uuid.UUID | None = None
    execution: Execution | None = None
    effects: int = 0

    def state(self, now: float) -> str:
        if self.ended:
            return self.ended
        return "expired" if now >= self.filed_at + limits.PROPOSAL_LAPSES_DAYS * DAY else "undecided"

    def decided(self) -> bool:
        return self.ended in ("approved", "declined", "sent_back")

    def claimable(self, now: float) -> bool:
        return self.decided() and (self.execution is None or self.execution.claimable(now))


@dataclass
class Minted:
    """One confirmation."""

    text: str
    proposal: uuid.UUID
    person: int
    at: float
    used: bool = False

    def live(self, now: float) -> bool:
        return not self.used and now < self.at + limits.NONCE_SECONDS


@dataclass
class Link:
    """One handoff."""

    text: str
    proposal: uuid.UUID
    key: int
    session: int
    at: float
    answer: str | None = None

    def live(self, now: float) -> bool:
        return now < self.at + limits.HANDOFF_LIVES_SECONDS


@dataclass
class Model:
    """The whole of it."""

    now: float = 0.0
    people: list[Somebody] = field(default_factory=lambda: [Somebody(), Somebody()])
    revoked: set[int] = field(default_factory=set)
    filed: dict[uuid.UUID, Filed] = field(default_factory=dict)
    nonces: list[Minted] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    ballast: dict[int, tuple[int, float]] = field(default_factory=dict)
    decisions: int = 0
    retries: int = 0

    def state(self, p: Filed) -> str:
        return p.state(self.now)

    def undecided(self, p: Filed) -> bool:
        return self.state(p) == "undecided"

    def may_call(self, key: int, person: int, case: int) -> bool:
        """Whether auth lets a key in."""
        return key not in self.revoked and self.people[person].may(case)

    def sees(self, person: int, p: Filed) -> bool:
        """Whether a proposal is one of this person's, in a matter where they may act."""
        return p.person == person and self.people[person].may(p.case)

    def waiting_in(self, case: int) -> int:
        """How many undecided proposals a matter holds."""
        number, since = self.ballast.get(case, (0, 0.0))
        standing = number if self.now < since + limits.PROPOSAL_LAPSES_DAYS * DAY else 0
        return standing + sum(p.case == case and self.undecided(p) for p in self.filed.values())

    def may_replace(self, old: Filed | None, key: int, case: int) -> bool:
        return old is not None and old.key == key and old.case == case and self.undecided(old)

    def has_room(self, case: int, old: Filed | None) -> bool:
        return self.waiting_in(case) - (old is not None) < limits.UNDECIDED_PROPOSALS_PER_MATTER

    def end_of_chain(self, p: Filed) -> Filed:
        while p.successor is not None:
            p = self.filed[p.successor]
        return p

    def decide(self, p: Filed, decision: str, reason: str | None, nonce: Minted | None = None, nonce_hash: bytes | None = None) -> None:
        p.ended, p.nonce_hash, p.decided_as = decision, nonce_hash, (decision, reason)
        self.decisions += 1
        if nonce is not None:
            nonce.used = True

    def claim(self, p: Filed) -> Execution:
        """A new hold."""
        if p.execution is None:
            p.execution = Execution(1, self.now)
        else:
            held = p.execution
            held.fence, held.attempts, held.leased_at, held.outcome = held.fence + 1, held.attempts + 1, self.now, None
        return p.execution

    def holds(self, p: Filed, fence: int) -> bool:
        """Whether a claim is the current one."""
        held = p.execution
        return held is not None and held.fence == fence and held.outcome is None and self.now < held.leased_at + LEASE_SECONDS

    def finish(self, p: Filed) -> None:
        """What becomes of a hold that is carried through."""
        assert p.execution is not None
        sound = p.ended == "approved" and not p.forged and self.people[p.person].may(p.case) and not p.kind.fails
        p.execution.outcome = "done" if sound else "failed"
        p.effects += sound
