"""The same desk for programs that show cards to a person: list, one, decide, and the review run in two passes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.responses import Response

from kit import limits
from services.approvals import tokens
from services.approvals.batch import Outcome, run
from services.approvals.card import Card, as_tree
from services.approvals.desk import Confirmation, Desk, attempt
from services.approvals.gate import DECISIONS, Ask, Status, Verdict
from services.approvals.incoming import Visit, bad_request, digest_of, id_of, not_found
from services.approvals.proposal import Proposal
from services.approvals.render import JSON, Renderer
from services.approvals.shell import json
from services.approvals.store import Store

WORDS = {"approve": "approved", "decline": "declined", "send_back": "sent_back"}
DECISION_FIELDS = frozenset({"decision", "reason", "args_digest", "shown_sha256", "nonce", "totp"})
ITEM_FIELDS = frozenset({"id", "args_digest", "shown_sha256", "nonce", "totp"})
HTTP = {Status.NOT_FOUND: 404, Status.REASON_REQUIRED: 422, Status.REASON_TOO_LONG: 422, Status.WAIT: 429, Status.UNAVAILABLE: 503}
assert set(WORDS.values()) == set(DECISIONS)


class Api:
    """Handlers of the JSON interface."""

    def __init__(self, store: Store, desk: Desk, renderer: Renderer) -> None:
        self._store, self._desk, self._renderer = store, desk, renderer

    def _shown(self, card: Card) -> dict[str, Any]:
        """A card and the digest that a decision on it carries."""
        return {"card": as_tree(card), "args_digest": card.args_digest, "shown_sha256": self._renderer.shown(JSON, card)[1].hex()}

    async def waiting(self, visit: Visit) -> Response:
        """What waits for this person."""
        async with self._store.reading() as work:
            cards = await self._desk.cards(work, await work.waiting(visit.person))
            total = await work.count_waiting(visit.person)
        return json({"approvals": [self._shown(card) for card in cards], "count": len(cards), "total_count": total})

    async def one(self, visit: Visit) -> Response:
        """One proposal and what became of it."""
        async with self._store.reading() as work:
            row = await work.find(visit.person, visit.id)
            if row is None:
                raise not_found()
            card = (await self._desk.cards(work, [row]))[0]
        return json({**self._shown(card), **_state(row)})

    async def decide(self, visit: Visit) -> Response:
        """One decision; where a confirmation is needed and none was sent, it is minted and nothing is decided."""
        tree = _only(visit.tree, DECISION_FIELDS)
        decision = WORDS.get(str(tree.get("decision")))
        if decision is None:
            raise bad_request(f"decision: expected one of {', '.join(WORDS)}.")
        ask = _ask(visit.id, tree, decision)
        verdict = await self._desk.decide(visit.person.id, ask)
        answer: dict[str, Any] = {"id": str(visit.id), **_said(verdict)}
        if verdict.status is Status.CONFIRMATION_REQUIRED:
            verdict, extra = self._confirmable(await self._desk.confirmation_of(visit.person, visit.id, JSON))
            answer |= {**_said(verdict), **extra}
        return json(answer, 200 if verdict.ok else HTTP.get(verdict.status, 409))

    async def review_run(self, visit: Visit) -> Response:
        """Each item by itself, in order. Without a confirmation, what needs one comes back with one; with it, it is decided."""
        items = _only(visit.tree, frozenset({"items"})).get("items")
        if not isinstance(items, list) or not 1 <= len(items) <= limits.REVIEW_SET_MAX:
            raise bad_request(f"items: expected 1 to {limits.REVIEW_SET_MAX} items.")
        trees = [_only(item, ITEM_FIELDS) for item in items]
        asks = [_ask(id_of(tree.get("id")), tree, "approved") for tree in trees]
        if len({a.proposal_id for a in asks}) != len(asks):
            raise bad_request("items: an id is given twice.")
        extras: dict[str, dict[str, Any]] = {}

        async def one(ask: Ask) -> Verdict:
            verdict = await self._desk.decide(visit.person.id, ask)
            if verdict.status is Status.CONFIRMATION_REQUIRED or (verdict.status is Status.CHANGED and not ask.shown_sha256):
                verdict, extras[str(ask.proposal_id)] = self._confirmable(
                    await self._desk.confirmation_of(visit.person, ask.proposal_id, JSON)
                )
            return verdict

        done = await run([(str(a.proposal_id), a) for a in asks], partial(attempt, one))
        return json({"items": [_outcome(o, extras.get(o.id, {})) for o in done]})

    def _confirmable(self, made: Confirmation) -> tuple[Verdict, dict[str, Any]]:
        if made.card is None or made.nonce is None:
            return made.verdict, {}
        return made.verdict, {**self._shown(made.card), "nonce": made.nonce, "nonce_expires_in_seconds": int(limits.NONCE_SECONDS)}


def _only(tree: Any, known: frozenset[str]) -> Mapping[str, Any]:
    """An object of texts with no other names than these."""
    if not isinstance(tree, dict):
        raise bad_request("Expected a JSON object.")
    if unknown := sorted(set(tree) - known):
        raise bad_request(f"{unknown[0]}: not known here; known are {', '.join(sorted(known))}.")
    if wrong := [n for n, v in tree.items() if n != "items" and v is not None and not isinstance(v, str)]:
        raise bad_request(f"{wrong[0]}: expected text.")
    return tree


def _ask(id_: Any, tree: Mapping[str, Any], decision: str) -> Ask:
    nonce, reason = tree.get("nonce"), str(tree.get("reason") or "").strip()
    return Ask(
        proposal_id=id_,
        decision=decision,
        reason=reason or None if decision != "approved" else None,
        args_digest=digest_of(tree.get("args_digest")),
        shown_sha256=digest_of(tree.get("shown_sha256")),
        view=JSON,
        nonce_hash=tokens.hashed(nonce) if nonce else None,
        code=tree.get("totp"),
    )


def _said(verdict: Verdict) -> dict[str, Any]:
    return {"ok": verdict.ok, "status": str(verdict.status), "message": verdict.message}


def _outcome(outcome: Outcome, extra: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": outcome.id, **_said(outcome.verdict), **extra}


def _state(row: Proposal) -> dict[str, Any]:
    return {
        "state": row.state,
        "execution": row.execution,
        "detail": row.detail,
        "decided_at": row.decided_at.isoformat() if row.decided_at else None,
        "decision_reason": row.decision_reason,
        "superseded_by": str(row.superseded_by) if row.superseded_by else None,
    }
