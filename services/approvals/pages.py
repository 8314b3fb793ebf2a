"""The pages: each shows what is so or takes one form, and decides nothing that the desk does not decide."""

from __future__ import annotations

import hmac
import uuid
from datetime import datetime
from typing import Any

from starlette.responses import RedirectResponse, Response

from kit import limits
from services.approvals import outcomes, tokens
from services.approvals.batch import distinct, grouped
from services.approvals.card import Card
from services.approvals.desk import Desk
from services.approvals.gate import DECISIONS, Ask, Status, Verdict
from services.approvals.incoming import Problem, Visit, bad_request, digest_of, id_of, not_found
from services.approvals.outcomes import Outcomes
from services.approvals.passkeys import Answer, Passkeys, decision_challenge
from services.approvals.proposal import Proposal
from services.approvals.render import PAGE, ROW, Renderer
from services.approvals.shell import html
from services.approvals.store import Store

CHOOSE = "Choose approve, decline, or send back."
SELECT = "Select at least one proposal."
FORM_ERRORS = frozenset({Status.REASON_REQUIRED, Status.REASON_TOO_LONG, Status.CANNOT_BE_APPROVED, Status.STEP_UP_UNAVAILABLE})
CODE_ERRORS = frozenset({Status.STEP_UP_REQUIRED, Status.STEP_UP_WRONG, Status.WAIT})
FORBIDDEN = Problem(
    403, "This link is not for you", "The link is over, or was made for somebody else. What waits for you stands on the page Today."
)


class Pages:
    """Handlers of the pages of somebody who is signed in."""

    def __init__(self, store: Store, desk: Desk, renderer: Renderer, waiting: Outcomes, passkeys: Passkeys) -> None:
        self._store, self._desk, self._renderer, self._outcomes, self._passkeys = store, desk, renderer, waiting, passkeys

    def _page(self, visit: Visit, template: str, status: int = 200, **values: Any) -> Response:
        def form_token(path: str) -> str:
            return tokens.form_token(visit.token, path)

        return html(self._renderer.page(template, person=visit.person, form_token=form_token, **values), status)

    async def today(self, visit: Visit) -> Response:
        """What waits for this person."""
        return await self._review_set(visit, None)

    async def _review_set(self, visit: Visit, linked: uuid.UUID | None, error: str | None = None) -> Response:
        async with self._store.reading() as work:
            cards = await self._desk.cards(work, await work.waiting(visit.person))
            total = await work.count_waiting(visit.person)
        shown = {card.id: self._renderer.shown(ROW, card) for card in cards}
        rows = {id_: body.decode("utf-8") for id_, (body, _) in shown.items()}
        digests = {id_: digest.hex() for id_, (_, digest) in shown.items()}
        values = {"groups": grouped(cards), "rows": rows, "digests": digests, "total": total, "error": error}
        return self._page(visit, "today.html", 422 if error else 200, linked=str(linked) if linked else None, **values)

    async def handoff(self, visit: Visit) -> Response:
        """Where a client's link leads. Whose it is is compared before any proposal is loaded; then it is the usual review set.

        Only a link whose client said that its person agreed anchors the set to a proposal. Opening it changes nothing and can be repeated.
        """
        link = tokens.hashed(visit.request.path_params["link"])
        async with self._store.reading() as work:
            found = await work.rows("handoff_owner", handoff_hash=link)
            if not found or not hmac.compare_digest(found[0]["owner_id"].bytes, visit.person.id.bytes):
                raise FORBIDDEN
            anchor = await work.rows("handoff_anchor", handoff_hash=link) if found[0]["accepted"] else []
        return await self._review_set(visit, anchor[0]["id"] if anchor else None)

    async def batch(self, visit: Visit) -> Response:
        """Approves what was selected, each proposal by itself. Nothing in the form confirms anything."""
        ids = distinct([id_of(text) for text in visit.form.all("selected")])
        if ids is None:
            raise bad_request(f"Select at most {limits.REVIEW_SET_MAX} proposals.")
        if not ids:
            return await self._review_set(visit, None, SELECT)
        asks = [
            Ask(i, "approved", None, digest_of(visit.form.one(f"digest-{i}")), digest_of(visit.form.one(f"shown-{i}")), ROW, in_batch=True)
            for i in ids
        ]
        done = await self._desk.decide_selected(visit.person.id, asks)
        return self._page(visit, "batch.html", outcomes=done, recorded=sum(o.verdict.ok for o in done))

    async def proposal(self, visit: Visit) -> Response:
        """One proposal: to be decided, or what became of it."""
        with self._outcomes.watching(visit.id) as event:
            row, card = await self._load(visit)
            if row.state == "undecided":
                return self._to_decide(visit, card)
            if row.execution == "waiting":
                await outcomes.wait(event)
                row, card = await self._load(visit)
        return self._page(
            visit, "result.html", row=row, card=card, rendered=self._rendered(card)[0], decided_by_me=row.decided_by == visit.person.id
        )

    async def _load(self, visit: Visit) -> tuple[Proposal, Card]:
        async with self._store.reading() as work:
            row = await work.find(visit.person, visit.id)
            if row is None:
                raise not_found()
            return row, (await self._desk.cards(work, [row]))[0]

    def _rendered(self, card: Card) -> tuple[str, str]:
        body, digest = self._renderer.shown(PAGE, card)
        return body.decode("utf-8"), digest.hex()

    def _to_decide(self, visit: Visit, card: Card, error: str | None = None, at: str = "decision") -> Response:
        rendered, shown = self._rendered(card)
        chosen, reason = visit.form.one("decision"), visit.form.one("reason")
        values = {"card": card, "rendered": rendered, "shown": shown, "chosen": chosen, "reason": reason}
        return self._page(visit, "proposal.html", 422 if error else 200, error=error, error_at=at, **values)

    def _ask(self, visit: Visit, *, confirming: bool) -> Ask | None:
        form = visit.form
        decision = form.one("decision")
        if decision not in DECISIONS:
            return None
        nonce, args_digest = form.one("nonce") if confirming else "", digest_of(form.one("args_digest"))
        credential = form.one("passkey") if nonce else ""
        return Ask(
            proposal_id=visit.id,
            decision=decision,
            reason=(form.one("reason").strip() or None) if decision != "approved" else None,
            args_digest=args_digest,
            shown_sha256=digest_of(form.one("shown_sha256")),
            view=PAGE,
            nonce_hash=tokens.hashed(nonce) if nonce else None,
            code=form.one("code").strip() or None,
            passkey=Answer(credential, decision_challenge(visit.token, nonce, visit.id, args_digest)) if credential else None,
            confirming=confirming,
            always_confirm=True,
        )

    async def check(self, visit: Visit) -> Response:
        """Leads to the confirmation. Nothing is decided here."""
        ask = self._ask(visit, confirming=False)
        if ask is None:
            row, card = await self._load(visit)
            if row.state == "undecided":
                return self._to_decide(visit, card, CHOOSE)
            return self._refused(visit, Verdict.of(Status.NOT_UNDECIDED))
        made = await self._desk.confirmation(visit.person, ask)
        if made.card is not None and made.nonce is not None:
            return await self._to_confirm(visit, made.card, ask, made.nonce)
        if made.card is not None and made.verdict.status in FORM_ERRORS:
            at = "reason" if made.verdict.status in (Status.REASON_REQUIRED, Status.REASON_TOO_LONG) else "decision"
            return self._to_decide(visit, made.card, made.verdict.message, at)
        return self._refused(visit, made.verdict)

    async def _to_confirm(self, visit: Visit, card: Card, ask: Ask, nonce: str, error: str | None = None) -> Response:
        asked, options = ask.decision == "approved" and card.needs_step_up, None
        if asked:
            challenge = decision_challenge(visit.token, nonce, visit.id, ask.args_digest)
            async with self._store.reading() as work:
                options = await self._passkeys.asking(work, visit.person.id, challenge)
        values = {"card": card, "ask": ask, "nonce": nonce, "needs_code": asked and visit.person.totp_enrolled, "options": options}
        return self._page(visit, "check.html", 422 if error else 200, error=error, **values)

    async def decide(self, visit: Visit) -> Response:
        """Takes the confirmation."""
        ask = self._ask(visit, confirming=True)
        if ask is None:
            raise bad_request(CHOOSE)
        verdict = await self._desk.decide(visit.person.id, ask)
        if verdict.ok:
            return RedirectResponse(f"/proposals/{visit.id}", 303)
        if verdict.status in CODE_ERRORS:
            _, card = await self._load(visit)
            return await self._to_confirm(visit, card, ask, visit.form.one("nonce"), verdict.message)
        return self._refused(visit, verdict)

    def _refused(self, visit: Visit, verdict: Verdict) -> Response:
        if verdict.status is Status.NOT_FOUND:
            raise not_found()
        return self._page(visit, "refused.html", 409, verdict=verdict, id=visit.id)

    async def retry(self, visit: Visit) -> Response:
        """Asks for a failed execution to be tried again."""
        if not await self._desk.retry(visit.person.id, visit.id):
            await self._load(visit)
            return self._refused(
                visit, Verdict.of(Status.NOT_UNDECIDED, "There is nothing to try again: it did not fail, or somebody asked already.")
            )
        return RedirectResponse(f"/proposals/{visit.id}", 303)

    async def history(self, visit: Visit) -> Response:
        """What no longer waits."""
        async with self._store.reading() as work:
            rows = await work.history(visit.person, _moment(visit.request.query_params.get("before", "")))
            shown = rows[: limits.HISTORY_PAGE_ROWS]
            cards = await self._desk.cards(work, shown)
        older = shown[-1].filed_at.isoformat() if len(rows) > len(shown) else None
        return self._page(visit, "history.html", entries=list(zip(shown, cards, strict=True)), older=older)


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise bad_request("The page of the history is not one that was linked to.")
    return moment
