"""Showing again who one is, for one decision: with a passkey, or with a one-time code."""

from __future__ import annotations

from services.approvals.gate import Ask, Status, Verdict
from services.approvals.identity import StepUp
from services.approvals.passkeys import KIND, Passkeys
from services.approvals.proposal import Person
from services.approvals.store import Work

PASSKEY_WRONG = "The passkey was not accepted. Use it again, or enter a one-time code."


class StepUps:
    """The ways there are; what a decision records is the one that was used."""

    def __init__(self, codes: StepUp, passkeys: Passkeys) -> None:
        self._codes, self.passkeys = codes, passkeys

    async def shown(self, work: Work, person: Person, ask: Ask) -> str | Verdict:
        """The way in which this person showed who they are, or the refusal."""
        if ask.passkey is not None:
            return KIND if await self.passkeys.shown(work, person.id, ask.passkey) else Verdict.of(Status.STEP_UP_WRONG, PASSKEY_WRONG)
        return await self.code(person, ask.code or "", ask.args_digest) or self._codes.kind

    async def code(self, person: Person, code: str, args_digest: bytes) -> Verdict | None:
        """The refusal of a one-time code, or None where it is right."""
        shown = await self._codes.verify(person.id, code, args_digest)
        if shown.retry_after_seconds is not None:
            return Verdict.of(Status.WAIT, f"Too many wrong codes. Try again in {shown.retry_after_seconds} seconds.")
        return None if shown.verified else Verdict.of(Status.STEP_UP_WRONG)
