"""What a worker does to the store: claims under a lease and a fence, and ends that only the holder of a claim can write."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kit import limits
from kit.db import Record
from services.tasks.store import Store


@dataclass(frozen=True, slots=True)
class Claim:
    """One hold on one run."""

    run_id: uuid.UUID
    fence: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Times:
    """The limits of a worker that are times; a test that has to wait for one passes a shorter one."""

    lease_seconds: float = limits.TASK_LEASE_SECONDS
    run_seconds: float = limits.TASK_RUN_SECONDS
    queue_seconds: float = limits.TASK_QUEUE_SECONDS
    retry_seconds: float = limits.TASK_RETRY_SECONDS


class Desk:
    """The statements of one worker."""

    def __init__(self, store: Store, owner: str, times: Times) -> None:
        self._store, self._owner, self._times = store, owner, times

    def _held(self, claim: Claim, **values: Any) -> dict[str, Any]:
        return {"id": claim.run_id, "owner": self._owner, "fence": claim.fence, "queue_seconds": self._times.queue_seconds, **values}

    async def claim(self, count: int) -> list[Claim]:
        """Up to so many runs that wait."""
        values = {
            "owner": self._owner,
            "count": count,
            "per_key": limits.TASKS_RUNNING_PER_KEY_MAX,
            "lease_seconds": self._times.lease_seconds,
            "run_seconds": self._times.run_seconds,
        }
        return [Claim(r["run_id"], r["run_fence"], r["run_attempts"]) for r in await self._store.run("claim", values)]

    async def launch(self, claim: Claim) -> Record | None:
        """What a claimed run is; None where it is no longer held."""
        rows = await self._store.run("launch", self._held(claim))
        return rows[0] if rows else None

    async def renew(self, ids: Iterable[uuid.UUID]) -> set[tuple[uuid.UUID, int]]:
        """Makes the leases of these runs run anew, and says which are held. One whose claim was never heard of is left to run out."""
        values = {"ids": list(ids), "owner": self._owner, "lease_seconds": self._times.lease_seconds}
        rows = await self._store.run("renew", values)
        return {(row["id"], row["fence"]) for row in rows}

    async def complete(self, claim: Claim, result: bytes, *, is_error: bool) -> bool:
        """Ends a run with its result; False where it is no longer held."""
        rows = await self._store.run("complete", self._held(claim, result=result, is_error=is_error))
        return bool(rows[0]["done"])

    async def ask(self, claim: Claim, asked: bytes, state: bytes) -> bool:
        """Lets a run wait for answers."""
        return bool((await self._store.run("ask", self._held(claim, asked=asked, state=state)))[0]["done"])

    async def break_off(self, claim: Claim, status: str, message: str) -> bool:
        """Ends a run without a result, as FAILED or ABORTED."""
        return bool(await self._store.run("break_off", self._held(claim, status=status, message=message)))

    async def put_back(self, claim: Claim, message: str, pause_seconds: float, *, counted: bool) -> bool:
        """Gives a run back, to be taken up after a pause."""
        values = self._held(claim, message=message, pause_seconds=pause_seconds, uncounted=0 if counted else 1)
        return bool(await self._store.run("put_back", values))

    async def note_progress(self, claim: Claim, progress: float, total: float | None, message: str) -> None:
        """Notes how far a run has come, if it is further than before."""
        await self._store.run("note_progress", self._held(claim, progress=progress, total=total, message=message))

    async def sweep(self) -> dict[str, int]:
        """Ends or takes up what a dead worker held, ends what waits too long, takes away what is kept no longer. Says how many."""
        values = {
            "attempts_max": limits.TASK_ATTEMPTS_MAX,
            "queue_seconds": self._times.queue_seconds,
            "limit": limits.TASK_PURGE_MAX,
        }
        names: Sequence[str] = ("take_up", "abort_dead", "abort_late", "purge")
        return {name: len(await self._store.run(name, values)) for name in names}
