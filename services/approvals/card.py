"""What a person is shown of a proposal: made from the stored row and the live declaration, and from nothing a client sends."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from kit.actions import ALWAYS, Action, Actions, written_by_agent
from kit.canonical import canonical
from kit.errors import Refusal
from services.approvals.proposal import Proposal

UNDECLARED = "This action is not declared in this installation, so nobody can approve it."
UNSOUND = "Its stored arguments are not what the action takes, so nobody can approve it."
UNCHECKED = "It needs a conflict check, which this installation does not make, so nobody can approve it."
WITHHELD = "A document that it would use was not reviewed and found not privileged, so nobody can approve it."
MISQUOTED = "Its quote does not stand on the pages that it cites, so nobody can approve it."
UNCHECKED_QUOTE = "Its quote could not be checked against the pages that it cites."
REWORDED = "What this action does has been declared anew since it was proposed. It has to be proposed again before anybody can approve it."


PRIVILEGE, CITATION = "privilege", "citation"
# Arguments that name what would leave the firm, or be shown to it.
LEAVING = frozenset({"document_id", "document_ids", "document_version_id", "production_id"})
STANDS = frozenset({"found", "found_in_ocr"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument by name. `quoted` where the agent wrote the text freely."""

    name: str
    values: tuple[str, ...]
    quoted: bool


@dataclass(frozen=True, slots=True)
class Source:
    """A row that an argument names, in words where the record has it."""

    argument: str
    id: str
    words: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What the record says at this moment of what a proposal names."""

    words: Mapping[str, str]  # by id
    cleared: frozenset[str] = frozenset()  # of the documents, versions and productions: those that may leave the firm
    cited: str | None = None  # what became of the quote, in the record's word; None where the version is not in the matter


@dataclass(frozen=True, slots=True)
class Card:
    """Everything the decision is made on."""

    id: str
    case_id: str
    matter: str
    action: str
    noun: str
    sentence: str
    arguments: tuple[Argument, ...]
    rests_on: tuple[Source, ...]
    overrides: tuple[str, ...]
    reason: str
    filed_at: str
    expires_at: str
    args_digest: str
    floor: str
    individual_reasons: tuple[str, ...]
    obstacle: str | None

    @property
    def batch_eligible(self) -> bool:
        """Whether it may be selected together with others."""
        return not self.individual_reasons

    @property
    def needs_step_up(self) -> bool:
        """Whether who approves it shows again who they are."""
        return self.floor == ALWAYS


def ids_named(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rows that arguments name: argument and id."""
    named = []
    for name, value in values.items():
        if name.endswith(("_id", "_ids")):
            named += [(name, one) for one in (value if isinstance(value, list) else [value]) if _is_uuid(one)]
    return named


def _is_uuid(text: Any) -> bool:
    try:
        return isinstance(text, str) and str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def values_of(row: Proposal) -> Mapping[str, Any]:
    """The stored arguments as they are, whatever the declaration says of them."""
    try:
        tree = json.loads(row.args)
    except ValueError:
        return {}
    return tree if isinstance(tree, dict) else {}


def make(row: Proposal, actions: Actions, matter: str | None, findings: Findings) -> Card:
    """The card of a row. Whatever is not certain is shown, and makes the proposal one that can only be declined or sent back."""
    action = actions.by_name.get(row.action)
    values = values_of(row)
    obstacle = _obstacle(row, action) or _found_against(action, values, findings)
    return Card(
        id=str(row.id),
        case_id=str(row.case_id),
        matter=matter or f"Matter {row.case_id}",
        action=row.action,
        noun=action.noun if action else row.action,
        sentence=row.what_will_happen,
        arguments=tuple(_argument(name, value, action) for name, value in values.items()),
        rests_on=tuple(Source(name, one, findings.words.get(one)) for name, one in ids_named(values)),
        overrides=tuple(row.overrides_ignored),
        reason=row.reason,
        filed_at=row.filed_at.isoformat(),
        expires_at=row.expires_at.isoformat(),
        args_digest=row.args_digest.hex(),
        floor=action.floor if action else ALWAYS,
        individual_reasons=_reasons(action, obstacle, findings),
        obstacle=obstacle,
    )


def _reasons(action: Action | None, obstacle: str | None, findings: Findings) -> tuple[str, ...]:
    reasons = list(action.individual_reasons()) if action else []
    if action is not None and CITATION in action.checks and findings.cited not in STANDS:
        reasons.append(UNCHECKED_QUOTE)
    if obstacle:
        reasons.append(obstacle)
    return tuple(reasons)


def _found_against(action: Action | None, values: Mapping[str, Any], findings: Findings) -> str | None:
    """What the record has against it, where the action asks: documents that may not leave, words that do not stand where it says."""
    checks = action.checks if action else frozenset()
    if PRIVILEGE in checks and any(name in LEAVING and one not in findings.cleared for name, one in ids_named(values)):
        return WITHHELD
    return MISQUOTED if CITATION in checks and findings.cited in (None, "quote_not_on_page") else None


def _obstacle(row: Proposal, action: Action | None) -> str | None:
    """Why it cannot be approved by anybody, or None."""
    if action is None:
        return UNDECLARED
    if sha256(row.args).digest() != row.args_digest:
        return UNSOUND
    try:
        values = action.read(row.args)
    except (Refusal, ValueError):
        return UNSOUND
    if action.sentence(values) != row.what_will_happen:
        return REWORDED
    return UNCHECKED if action.conflict else None


def _argument(name: str, value: Any, action: Action | None) -> Argument:
    field = action.message.fields_by_name.get(name) if action else None
    items = value if isinstance(value, list) else [value]
    return Argument(name, tuple(_text(item) for item in items), field is None or written_by_agent(field))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_tree(card: Card) -> dict[str, Any]:
    """The card as JSON values, for programs of the firm that show it to a person."""
    return {
        "id": card.id,
        "case_id": card.case_id,
        "matter": card.matter,
        "action": card.action,
        "deliverable_noun": card.noun,
        "what_will_happen": card.sentence,
        "arguments": [{"name": a.name, "values": list(a.values), "written_by_agent": a.quoted} for a in card.arguments],
        "rests_on": [{"argument": s.argument, "id": s.id, "words": s.words} for s in card.rests_on],
        "overrides_ignored": list(card.overrides),
        "reason_given_by_agent_unchecked": card.reason,
        "filed_at": card.filed_at,
        "expires_at": card.expires_at,
        "args_digest": card.args_digest,
        "supervision_floor": card.floor,
        "individual_reasons": list(card.individual_reasons),
        "batch_eligible": card.batch_eligible,
        "step_up_required": card.needs_step_up,
    }


def as_json(card: Card) -> bytes:
    """The bytes of that tree, whose digest a decision made through JSON carries."""
    return canonical(as_tree(card))
