"""The worker: takes runs under a lease, makes their calls, writes how they ended, and lets go of what is taken from it."""

from __future__ import annotations

import asyncio
import logging
import secrets
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import orjson

from kit import limits
from kit.db import is_passing
from kit.errors import Refusal, internal
from services.tasks import calling
from services.tasks.calling import Asked, Away, Broke, Calling, End, Ended, Launch
from services.tasks.desk import Claim, Desk, Times
from services.tasks.keys import Called, Keys
from services.tasks.progress import Notes, Progress

log = logging.getLogger(__name__)
AGAIN = "A service that it needs did not answer; it is tried again."
STOPPED = "The worker that had it stopped; another takes it up."
LATE = "It did not end within its time."
BACK_OFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)


@dataclass
class Held:
    """A run in hand."""

    claim: Claim
    work: asyncio.Task[None] | None = None
    key_id: uuid.UUID | None = None
    called: Called | None = None
    ending: bool = False  # its end is being written, which nothing interrupts
    instead: End | None = None  # how it ends although the call was interrupted


@dataclass(frozen=True, slots=True)
class Settings:
    """How much a worker takes on, and its times."""

    slots: int = limits.TASKS_RUNNING_PER_WORKER
    sweep_seconds: float = limits.TASK_SWEEP_SECONDS
    times: Times = field(default_factory=Times)


class Worker:
    """One worker. Any number of them share the work."""

    def __init__(self, desk: Desk, calls: Calling, keys: Keys, settings: Settings) -> None:
        self._desk, self._calls, self._keys, self._settings = desk, calls, keys, settings
        # By claim: a run that was given back and taken again may be in hand twice until the earlier hold is let go of.
        self._held: dict[Claim, Held] = {}
        self._wake, self._beat, self._stopping = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begins."""
        lease, sweep = self._settings.times.lease_seconds / 3, self._settings.sweep_seconds
        self._loops = [
            asyncio.create_task(self._again(self._take, self._wake, sweep)),
            asyncio.create_task(self._again(self._hold, self._beat, lease)),
            asyncio.create_task(self._again(self._sweep, asyncio.Event(), sweep)),
            asyncio.create_task(self._again(self._review, asyncio.Event(), sweep)),
        ]

    @property
    def running(self) -> int:
        """How many runs are in hand."""
        return len(self._held)

    def work_is_there(self) -> None:
        """Looks for work now."""
        self._wake.set()

    def something_was_taken(self) -> None:
        """Looks now whether what is in hand is still held."""
        if self._held:
            self._beat.set()

    async def alive(self) -> None:
        """Fails when a loop is not running."""
        if not self._loops or any(loop.done() for loop in self._loops):
            raise RuntimeError("the worker is not running")

    async def stop(self, grace_seconds: float) -> None:
        """Takes nothing any more, lets what is in hand come to its end for a while, and gives the rest back."""
        self._stopping.set()
        self._wake.set()
        works = [held.work for held in self._held.values() if held.work is not None]
        if works:
            await asyncio.wait(works, timeout=grace_seconds)
        for held in self._held.values():
            self._interrupt(held, None)
        await asyncio.gather(*works, return_exceptions=True)
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)

    async def _again(self, look: Callable[[], Awaitable[None]], told: asyncio.Event, seconds: float) -> None:
        """Looks when told and every so often, whatever went wrong the last time."""
        while True:
            told.clear()
            try:
                await look()
            except Exception as error:  # the outermost place: the next look comes
                if not _passing(error):
                    log.exception("a look failed")
                else:
                    log.warning("a look failed", extra={"because": type(error).__name__})
            try:
                async with asyncio.timeout(seconds):
                    await told.wait()
            except TimeoutError:
                continue

    async def _take(self) -> None:
        while not self._stopping.is_set() and (free := self._settings.slots - len(self._held)) > 0:
            claims = await self._desk.claim(free)
            for claim in claims:
                held = Held(claim)
                self._held[claim] = held
                held.work = asyncio.create_task(self._work(held))
            if len(claims) < free:
                return

    async def _hold(self) -> None:
        """Keeps the leases, and lets go of what somebody else has ended, taken or given to another."""
        before = [held for held in self._held.values() if not held.ending]
        if not before:
            return
        still = await self._desk.renew({held.claim.run_id for held in before})
        for held in before:
            if (held.claim.run_id, held.claim.fence) not in still and not held.ending:
                self._interrupt(held, None)

    async def _sweep(self) -> None:
        found = await self._desk.sweep()
        if any(found.values()):
            log.info("swept", extra=found)

    async def _review(self) -> None:
        """Interrupts what runs for a key that may not make the call any more."""
        by_key: dict[uuid.UUID, list[Held]] = {}
        for held in self._held.values():
            if held.key_id is not None and not held.ending:
                by_key.setdefault(held.key_id, []).append(held)
        for key_id, helds in by_key.items():
            review = await self._keys.review(str(key_id), [held.called for held in helds if held.called is not None])
            for held in helds:
                if held.called not in review.allowed:
                    self._interrupt(held, Broke("ABORTED", calling.KEY_ENDED))

    def _interrupt(self, held: Held, instead: End | None) -> None:
        if held.work is not None and not held.ending:
            held.instead = instead
            held.work.cancel()

    async def _work(self, held: Held) -> None:
        """One run, from its claim to its end."""
        try:
            await self._end(held, await self._made(held))
        except asyncio.CancelledError:
            if held.instead is not None:
                await self._end(held, held.instead)
            elif self._stopping.is_set():
                await self._write(held, lambda: self._desk.put_back(held.claim, STOPPED, 0.0, counted=False))
        except Exception as error:  # noqa: BLE001 - looked at there: what will pass is no end, and the rest is a defect that is logged
            await self._failed(held, error)
        finally:
            self._held.pop(held.claim, None)
            self._wake.set()

    async def _failed(self, held: Held, error: Exception) -> None:
        """What becomes of a run over which something of ours failed: what will pass is no end."""
        if _passing(error):
            pause = self._settings.times.retry_seconds
            await self._write(held, lambda: self._desk.put_back(held.claim, AGAIN, pause, counted=False))
            return
        incident = secrets.token_hex(4)
        log.error("unexpected", exc_info=error, extra={"incident": incident, "run_id": str(held.claim.run_id)})
        await self._end(held, Broke("FAILED", internal(incident).message))

    async def _made(self, held: Held) -> End | None:
        """How the call ended; None where the run is no longer held."""
        row = await self._desk.launch(held.claim)
        if row is None:
            return None
        task = orjson.loads(row["task"])
        held.key_id, held.called = row["key_id"], (task["method"], str(row["case_id"]) if row["case_id"] else None)
        given = calling.composed(row["given"], row["state"], row["answered"])
        launch = Launch(row["id"], row["key_id"], task["tool"], row["input"], given)
        seconds = self._settings.times.run_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._calls.call(launch, seconds, self._notes(held, row["progress"]).note)
        except TimeoutError:
            return Broke("ABORTED", LATE)

    def _notes(self, held: Held, before: float | None) -> Notes:
        async def write(told: Progress) -> None:
            try:
                await self._desk.note_progress(held.claim, told.progress, told.total, told.message)
            except Exception as error:
                # Nobody waits for a note; the call goes on.
                if not _passing(error):
                    raise

        return Notes(write, asyncio.get_running_loop().time, float("-inf") if before is None else before)

    async def _end(self, held: Held, end: End | None) -> None:
        claim, desk = held.claim, self._desk
        match end:
            case Ended(result, is_error) if len(result) <= limits.TASK_RESULT_MAX_BYTES:
                await self._write(held, lambda: desk.complete(claim, result, is_error=is_error))
            case Ended():
                words = "Its result is larger than what is kept of a task. Ask for less, or call the tool without a task."
                await self._write(held, lambda: desk.break_off(claim, "FAILED", words))
            case Asked(questions, state):
                await self._write(held, lambda: desk.ask(claim, questions, state))
            case Broke(status, message):
                await self._write(held, lambda: desk.break_off(claim, status, message))
            case Away(result) if claim.attempt >= limits.TASK_ATTEMPTS_MAX:
                await self._write(held, lambda: desk.complete(claim, result, is_error=True))
            case Away():
                pause = self._settings.times.retry_seconds * claim.attempt
                await self._write(held, lambda: desk.put_back(claim, AGAIN, pause, counted=True))

    async def _write(self, held: Held, write: Callable[[], Awaitable[bool]]) -> None:
        """Writes an end. Where the database is out of reach it is tried again: whether an earlier try went through, the fence knows."""
        held.ending = True
        for pause in (*BACK_OFF_SECONDS, *[BACK_OFF_SECONDS[-1]] * 60):
            try:
                if not await write():
                    log.info("let go", extra={"run_id": str(held.claim.run_id), "fence": held.claim.fence})
                return
            except Exception as error:
                if not _passing(error):
                    raise
                log.warning("an end is written later", extra={"run_id": str(held.claim.run_id), "because": type(error).__name__})
            await asyncio.sleep(pause)


def _passing(error: Exception) -> bool:
    """Whether the same may succeed later."""
    return isinstance(error, Refusal) or is_passing(error)
