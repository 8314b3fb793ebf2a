"""The loop: wake, claim, verify, ask whether the person still may, write the intent, act, record. Nothing is ever begun twice."""

from __future__ import annotations

import asyncio
import logging
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from kit import limits
from kit.actions import Actions
from kit.db import Listener, is_passing
from kit.errors import Refusal
from services.executor import verify
from services.executor.handlers import Handler, Tools
from services.executor.lease import Claim, Fenced
from services.executor.people import People
from services.executor.verify import Order, Unsound

log = logging.getLogger(__name__)
FORGED = "The decision does not belong to what was proposed, so nothing was done."
BROKEN = "Something failed inside the program, so this was not carried through. The incident is {incident}."


@dataclass(frozen=True, slots=True)
class Executor:
    """Carries out decisions, one after the other."""

    known: Actions
    handlers: Mapping[str, Handler]
    key: Ed25519PublicKey
    people: People
    tools: Tools
    pause_seconds: float

    async def sweep(self, stopping: asyncio.Event, *, of_all: bool = False) -> None:
        """Takes up everything that waits; what fails is recorded and stops nothing else. `of_all`: of all that was ever decided."""
        for proposal_id in await self.tools.store.mismatched(of_all=of_all):
            await self._reported(proposal_id)
        while not stopping.is_set():
            waiting = await self.tools.store.waiting(of_all=of_all)
            for proposal_id in waiting:
                if not stopping.is_set():
                    await self.carry_out(proposal_id)
            if not waiting:
                return

    async def _reported(self, proposal_id: uuid.UUID) -> None:
        """Says of a decision without its proposal that it was found, once."""
        claim = await self.tools.store.claim(proposal_id)
        if claim is not None:
            log.critical("decision refused", extra={"proposal_id": str(proposal_id), "because": FORGED})
            await self.tools.store.fail(claim, None, FORGED)

    async def carry_out(self, proposal_id: uuid.UUID) -> None:
        """One claim, to its outcome; or given back where what stands in the way will pass."""
        claim = await self.tools.store.claim(proposal_id)
        if claim is None:
            return
        about = {"proposal_id": str(proposal_id), "fence": claim.fence}
        try:
            await self._held(claim)
        except Fenced:
            log.warning("lease lost", extra=about)
        except Exception as error:
            # A connection that broke while it committed may have committed; the next claim finds the outcome, or none.
            if not is_passing(error):
                raise
            log.warning("left for later", extra={**about, "because": type(error).__name__})

    async def _held(self, claim: Claim) -> None:
        order: Order | None = None
        try:
            order = await self._order(claim)
            if await self._may_act(claim, order):
                await self._act(claim, order)
        except Unsound as unsound:
            if order is None:
                log.critical("decision refused", extra={"proposal_id": str(claim.proposal_id), "because": str(unsound)})
            await self.tools.store.fail(claim, order, str(unsound))

    async def _order(self, claim: Claim) -> Order:
        row = await self.tools.store.decided(claim.proposal_id)
        if row is None:
            raise Unsound(FORGED)
        return verify.order(row, self.known, self.key)

    async def _may_act(self, claim: Claim, order: Order) -> bool:
        """Whether the person who decided still may act there. Where auth does not say, nothing is done now and nothing is lost."""
        try:
            objection = await self.people.objection(order.decided_by, order.case_id)
        except Refusal as refusal:
            log.warning("auth did not answer", extra={"proposal_id": str(claim.proposal_id), "code": refusal.code.name})
            await self.tools.store.lay_down(claim, self.pause_seconds)
            return False
        if objection is not None:
            raise Unsound(objection)
        return True

    async def _act(self, claim: Claim, order: Order) -> None:
        name = order.action.name
        await self.tools.store.intend(claim, f"{name} {order.args_digest.hex()}")
        try:
            done = await self.handlers[name].carry_out(order, claim, self.tools)
        except (Unsound, Fenced):
            raise
        except Exception as error:
            if is_passing(error):
                raise
            incident = secrets.token_hex(4)
            log.exception("unexpected", extra={"incident": incident, "proposal_id": str(claim.proposal_id)})
            raise Unsound(BROKEN.format(incident=incident)) from error
        log.info("carried out", extra={"proposal_id": str(claim.proposal_id), "action": name, "outcome": done})


class Loop:
    """Sweeps when a decision is announced and every few seconds, until it is stopped."""

    def __init__(self, executor: Executor, dsn: str, sweep_seconds: float) -> None:
        self._executor, self._sweep_seconds = executor, sweep_seconds
        self._wake, self._stopping = asyncio.Event(), asyncio.Event()
        self._listener = Listener(dsn, "substrate_decided", self._wake.set)
        self._task: asyncio.Task[None] | None = None
        self._look_through_at = 0.0  # all of it at the start, and then now and then

    def start(self) -> None:
        """Begins."""
        self._task = asyncio.create_task(self._run())

    async def alive(self) -> None:
        """Fails when the loop is not running."""
        if self._task is None or self._task.done():
            raise RuntimeError("the loop is not running")

    async def stop(self, grace_seconds: float) -> None:
        """Lets what is in hand come to its end, for a while. What is cut off is taken up again by its lease."""
        self._stopping.set()
        self._wake.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=grace_seconds)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._listener.close()

    async def _look(self, now: float) -> None:
        of_all = now >= self._look_through_at
        await self._executor.sweep(self._stopping, of_all=of_all)
        if of_all:
            self._look_through_at = now + limits.EXECUTION_LOOK_THROUGH_SECONDS

    async def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                await self._listener.renew()
                await self._look(asyncio.get_running_loop().time())
            except Exception:  # the outermost place: whatever went wrong, the next look comes
                log.exception("sweep failed")
            try:
                async with asyncio.timeout(self._sweep_seconds):
                    await self._wake.wait()
            except TimeoutError:
                continue
