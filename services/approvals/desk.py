"""Where decisions are made: everything that counts is read again under one lock, judged, and stored with its audit row, or not at all."""

from __future__ import annotations

import logging
import secrets
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kit import db, limits
from kit.actions import Actions
from kit.clock import Clock
from kit.decisions import Decision, sign
from kit.errors import Refusal
from services.approvals import card as cards
from services.approvals import tokens
from services.approvals.batch import Outcome, refused_before, run
from services.approvals.card import Card, Findings
from services.approvals.gate import Ask, Facts, Status, Verdict, judge
from services.approvals.identity import Directory
from services.approvals.proposal import Person, Proposal
from services.approvals.render import Renderer
from services.approvals.step_up import StepUps
from services.approvals.store import Store, Work

log = logging.getLogger(__name__)
ENDED = "P0409"  # what the ledger says of a proposal that no longer waits


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a person is led to before a decision stands: the verdict so far, and a confirmation where there is none against it."""

    verdict: Verdict
    card: Card | None = None
    nonce: str | None = None


async def attempt(decide: Callable[[Ask], Awaitable[Verdict]], ask: Ask) -> Verdict:
    """A decision of a run: where something that is needed does not answer, that is the outcome of this one and the next is still tried."""
    try:
        return await decide(ask)
    except (Refusal, db.Error, TimeoutError, OSError):
        log.warning("a decision of a run failed", exc_info=True)
        return Verdict.of(Status.UNAVAILABLE)


class Desk:
    """One desk for pages and JSON alike; neither has a way around it."""

    def __init__(
        self,
        store: Store,
        directory: Directory,
        step_ups: StepUps,
        actions: Actions,
        renderer: Renderer,
        key: Ed25519PrivateKey,
        clock: Clock,
    ) -> None:
        self._store, self._directory, self._step_ups = store, directory, step_ups
        self._actions, self._renderer, self._key, self._clock = actions, renderer, key, clock

    async def cards(self, work: Work, rows: Sequence[Proposal]) -> list[Card]:
        """The cards of rows, each with the matter's name and the rows it names in words."""
        names = await work.matters(sorted({r.case_id for r in rows})) if rows else {}
        return [cards.make(row, self._actions, names.get(row.case_id), await self._findings(work, row)) for row in rows]

    async def _findings(self, work: Work, row: Proposal) -> Findings:
        values = cards.values_of(row)
        ids = [one for _, one in cards.ids_named(values)]
        action = self._actions.by_name.get(row.action)
        checks = action.checks if action else frozenset()
        return Findings(
            await work.rows_named(row.case_id, ids),
            await work.cleared(row.case_id, ids) if cards.PRIVILEGE in checks else frozenset(),
            await work.cited(row.case_id, values) if cards.CITATION in checks else None,
        )

    async def _facts(self, work: Work, person: Person, ask: Ask) -> Facts:
        row = await work.find(person, ask.proposal_id)
        card = (await self.cards(work, [row]))[0] if row else None
        shown = self._renderer.shown(ask.view, card)[1] if card else None
        return Facts(self._clock(), person, row, card, shown, await work.nonce(ask.nonce_hash), await self._has_passkeys(work, person))

    async def _has_passkeys(self, work: Work, person: Person) -> bool:
        return bool(await self._step_ups.passkeys.of(work, person.id))

    async def confirmation(self, person: Person, ask: Ask) -> Confirmation:
        """Judges what can be judged before the confirmation, and mints the nonce that the confirmation has to bring."""
        async with self._store.changing() as work:
            facts = await self._facts(work, person, ask)
            verdict = judge(ask, facts)
            if verdict.status is not Status.ALLOWED or facts.row is None:
                return Confirmation(verdict, facts.card)
            return await self._mint(work, person, facts.row, facts.card)

    async def confirmation_of(self, person: Person, id_: uuid.UUID, view: str) -> Confirmation:
        """The first pass of a review run: a card as it is now, with its confirmation. It decides nothing."""
        async with self._store.changing() as work:
            row = await work.find(person, id_)
            if row is None or row.state != "undecided":
                return Confirmation(Verdict.of(Status.NOT_UNDECIDED if row else Status.NOT_FOUND))
            card = (await self.cards(work, [row]))[0]
            shown = self._renderer.shown(view, card)[1]
            ask = Ask(id_, "approved", None, row.args_digest, shown, view, confirming=False)
            verdict = judge(ask, Facts(self._clock(), person, row, card, shown, None, await self._has_passkeys(work, person)))
            return await self._mint(work, person, row, card) if verdict.status is Status.ALLOWED else Confirmation(verdict, card)

    async def _mint(self, work: Work, person: Person, row: Proposal, card: Card | None) -> Confirmation:
        nonce = tokens.nonce(secrets.token_bytes)
        expires_at = min(self._clock() + timedelta(seconds=limits.NONCE_SECONDS), row.expires_at)
        if not await work.mint_nonce(row, person, tokens.hashed(nonce), expires_at):
            return Confirmation(Verdict.of(Status.CONFIRMATIONS_EXHAUSTED), card)
        return Confirmation(Verdict.of(Status.CONFIRMATION_REQUIRED), card, nonce)

    async def decide(self, user_id: uuid.UUID, ask: Ask) -> Verdict:
        """One decision. What ends the proposal in the same instant, e.g. the lapse of its time, wins."""
        try:
            return await self._decide(user_id, ask)
        except db.Error as error:
            if getattr(error, "sqlstate", None) != ENDED:
                raise
            return Verdict.of(Status.NOT_UNDECIDED)

    async def _decide(self, user_id: uuid.UUID, ask: Ask) -> Verdict:
        """Access is asked for again once nobody else can end the proposal, and the passkey or one-time code last of all."""
        async with self._store.changing() as work:
            await work.hold(ask.proposal_id)
            person = await self._directory.person(user_id)
            if person is None:
                return Verdict.of(Status.NOT_FOUND)
            facts = await self._facts(work, person, ask)
            verdict = judge(ask, facts)
            if verdict.status is not Status.ALLOWED:
                return verdict
            assert facts.row is not None
            assert facts.card is not None
            shown = None
            if ask.decision == "approved" and facts.card.needs_step_up:
                shown = await self._step_ups.shown(work, person, ask)
            if isinstance(shown, Verdict):
                return shown
            return await self._store_decision(work, facts, ask, shown)

    async def _store_decision(self, work: Work, facts: Facts, ask: Ask, step_up: str | None) -> Verdict:
        assert facts.row is not None
        decision = Decision(
            proposal_id=str(facts.row.id),
            case_id=str(facts.row.case_id),
            action=facts.row.action,
            args_digest=facts.row.args_digest,
            decision=ask.decision,
            decided_by=str(facts.person.id),
            decided_at=facts.now,
            reason=ask.reason,
            shown_sha256=ask.shown_sha256,
            nonce_hash=ask.nonce_hash,
            step_up=step_up,
        )
        if not await work.decide(facts.row, decision, sign(self._key, decision)):
            return Verdict.of(Status.CONFIRMATION_INVALID)
        detail = sha256(decision.statement()).digest()
        await work.audit(facts.person.id, "approvals.decide", facts.row.case_id, ask.decision, detail)
        return Verdict.of(Status.RECORDED)

    async def decide_selected(self, user_id: uuid.UUID, asks: Sequence[Ask]) -> list[Outcome]:
        """Several that were selected together: held against the set as it stands now, then decided one after the other, each by itself."""
        person = await self._directory.person(user_id)
        visible: dict[uuid.UUID, Card] = {}
        if person is not None:
            async with self._store.reading() as work:
                rows = await work.waiting(person, among=[a.proposal_id for a in asks])
                visible = {uuid.UUID(c.id): c for c in await self.cards(work, rows)}

        async def one(ask: Ask) -> Verdict:
            return refused_before(ask.proposal_id, visible) or await self.decide(user_id, ask)

        return await run([(str(a.proposal_id), a) for a in asks], partial(attempt, one))

    async def retry(self, user_id: uuid.UUID, id_: uuid.UUID) -> bool:
        """Asks for a failed execution to be tried again, with its audit row; False where there is nothing to try again."""
        async with self._store.changing() as work:
            person = await self._directory.person(user_id)
            row = await work.find(person, id_) if person else None
            if person is None or row is None or not row.may_be_retried or not await work.retry(row, person):
                return False
            await work.audit(
                person.id, "approvals.retry", row.case_id, "requested", sha256(row.id.bytes + str(row.attempts).encode()).digest()
            )
            return True
