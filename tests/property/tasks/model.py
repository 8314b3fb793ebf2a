"""What should be so of tasks: keys, people, claims and ends as plain values, and the guard of every call on them. No IO."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

from kit import limits

KEYS_OF = (0, 0, 1)  # whose each key is
QUESTIONS = frozenset({"first", "second"})
OPEN = frozenset({"PENDING", "QUEUED", "RUNNING", "AWAITING_INPUT"})
SLOTS = 3


def after(now: float, seconds: float) -> float:
    """A moment to the millisecond, so that the same moment is the same number."""
    return round(now + seconds, 3)


@dataclass(frozen=True)
class Kind:
    """A tool as these rules use it."""

    tool: str
    read_only: bool = False
    names_case: bool = False


READS, ASKS, TELLS = Kind("find_entity_paths", read_only=True, names_case=True), Kind("multi_input"), Kind("test_tool_with_progress")
KINDS = (READS, ASKS, TELLS)


@dataclass
class Filed:
    """One task that was acknowledged."""

    id: uuid.UUID
    key: int
    kind: Kind
    case: int | None
    input: bytes
    made_at: float
    expires_at: float
    ready_at: float
    deadline_at: float
    status: str = "PENDING"
    fence: int = 0
    attempts: int = 0
    worker: int | None = None
    lease_until: float = 0.0
    answered: set[str] | None = None
    progress: float | None = None
    served: bytes | None = None
    is_error: bool | None = None

    def open(self) -> bool:
        return self.status in OPEN

    def let_go(self, status: str) -> None:
        self.status, self.worker = status, None

    def end(self, *, is_error: bool) -> None:
        self.is_error = is_error
        self.let_go("DONE")

    def queue(self, now: float, pause: float = 0.0) -> None:
        self.ready_at, self.deadline_at = after(now, pause), after(now, limits.TASK_QUEUE_SECONDS)
        self.let_go("QUEUED")


@dataclass
class Ongoing:
    """One call that a worker makes, under the claim that it was begun with."""

    task: Filed
    fence: int
    attempt: int
    worker: int
    told: float

    def held(self) -> bool:
        """Whether its end would be taken."""
        return self.task.status == "RUNNING" and self.task.fence == self.fence


@dataclass
class Model:
    """The whole of it."""

    now: float = 0.0
    cases: list[set[int]] = field(default_factory=lambda: [{0, 1}, {0, 1}])
    revoked: set[int] = field(default_factory=set)
    tasks: dict[uuid.UUID, Filed] = field(default_factory=dict)
    ongoing: list[Ongoing] = field(default_factory=list)

    def allowed(self, key: int, case: int | None) -> bool:
        """Whether a key may make a call now."""
        return key not in self.revoked and (case is None or case in self.cases[KEYS_OF[key]])

    def sees(self, key: int, t: Filed) -> bool:
        """Whether a task is there for a key."""
        return key == t.key and self.now < t.expires_at and self.allowed(key, t.case)

    def claimable(self, t: Filed) -> bool:
        waits = t.status in ("PENDING", "QUEUED")
        return (
            waits and t.ready_at <= self.now < min(t.deadline_at, t.expires_at) and self.running(t.key) < limits.TASKS_RUNNING_PER_KEY_MAX
        )

    def running(self, key: int) -> int:
        return sum(t.key == key and t.status == "RUNNING" for t in self.tasks.values())

    def to_be_claimed(self, worker: int) -> int:
        """How many a worker gets that looks now."""
        free = SLOTS - sum(call.worker == worker for call in self.ongoing)
        waiting = [sum(t.key == key and self.claimable(t) for t in self.tasks.values()) for key in range(len(KEYS_OF))]
        room = [limits.TASKS_RUNNING_PER_KEY_MAX - self.running(key) for key in range(len(KEYS_OF))]
        return max(0, min(free, sum(map(min, waiting, room))))

    def claim(self, t: Filed, worker: int) -> Ongoing:
        t.status, t.worker, t.fence, t.attempts = "RUNNING", worker, t.fence + 1, t.attempts + 1
        t.lease_until, t.deadline_at = after(self.now, limits.TASK_LEASE_SECONDS), after(self.now, limits.TASK_RUN_SECONDS)
        return Ongoing(t, t.fence, t.attempts, worker, float("-inf") if t.progress is None else t.progress)

    def hold(self, worker: int) -> list[Ongoing]:
        """Renews what a worker holds; returns the calls that it lets go of."""
        mine = [call for call in self.ongoing if call.worker == worker]
        for t in [call.task for call in mine]:
            if t.worker == worker and t.status == "RUNNING" and self.now < t.expires_at:
                t.lease_until = after(self.now, limits.TASK_LEASE_SECONDS)
        return [call for call in mine if not call.held() or self.now >= call.task.expires_at]

    def due(self, t: Filed) -> bool:
        """Whether a sweep has something to do about a task."""
        lost = t.status == "RUNNING" and t.lease_until <= self.now
        return lost or (t.status in ("PENDING", "QUEUED") and t.deadline_at <= self.now) or t.expires_at <= self.now

    def sweep(self) -> None:
        """Ends or takes up what nobody holds, ends what waits too long, takes away what is kept no longer."""
        for t in self.tasks.values():
            lost = t.status == "RUNNING" and t.lease_until <= self.now
            late = t.deadline_at <= self.now
            if lost and t.kind.read_only and not late and t.attempts < limits.TASK_ATTEMPTS_MAX:
                t.queue(self.now)
            elif lost or (t.status in ("PENDING", "QUEUED") and late):
                t.let_go("ABORTED")
        for t in [t for t in self.tasks.values() if t.expires_at <= self.now]:
            del self.tasks[t.id]

    def drop(self, calls: Iterable[Ongoing]) -> None:
        """Calls that are made no longer."""
        for call in list(calls):
            self.ongoing.remove(call)
