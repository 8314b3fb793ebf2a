"""Notes how far a run has come: in order, not more often than somebody can look, and never further back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kit import limits


@dataclass(frozen=True, slots=True)
class Progress:
    """How far."""

    progress: float
    total: float | None
    message: str


class Notes:
    """Keeps what is worth keeping. What comes too soon after the last note is left out; the next one says more."""

    def __init__(self, write: Callable[[Progress], Awaitable[None]], now: Callable[[], float], from_: float) -> None:
        self._write, self._now = write, now
        self._last, self._at = from_, float("-inf")

    async def note(self, progress: Progress) -> None:
        """One word from the tool."""
        now = self._now()
        if progress.progress > self._last and now - self._at >= limits.TASK_PROGRESS_SECONDS:
            self._last, self._at = progress.progress, now
            words = progress.message.replace("\0", "")[: limits.TASK_PROGRESS_MAX_CHARS]
            await self._write(Progress(progress.progress, progress.total, words))
