"""The review of several proposals at once: who may be selected, and a run in which each stands or falls by itself."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kit import limits
from services.approvals.card import Card
from services.approvals.gate import Status, Verdict

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one id."""

    id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class MatterGroup:
    """The proposals of one matter."""

    matter: str
    cards: tuple[Card, ...]


def grouped(cards: Iterable[Card]) -> tuple[MatterGroup, ...]:
    """By matter, the matter with the proposal that expires first at the head, and so within it."""
    by_case: dict[str, list[Card]] = {}
    for card in sorted(cards, key=lambda c: (c.expires_at, c.filed_at, c.id)):
        by_case.setdefault(card.case_id, []).append(card)
    return tuple(MatterGroup(group[0].matter, tuple(group)) for group in by_case.values())


def distinct(ids: Sequence[uuid.UUID]) -> list[uuid.UUID] | None:
    """The ids once each, or None where there are more than one page holds."""
    once = list(dict.fromkeys(ids))
    return once if len(once) <= limits.REVIEW_SET_MAX else None


def refused_before(id_: uuid.UUID, visible: Mapping[uuid.UUID, Card]) -> Verdict | None:
    """Why a selected id is not even tried: it is not in the set as it stands now, or its declaration keeps it out."""
    card = visible.get(id_)
    if card is None:
        return Verdict.of(Status.NOT_FOUND)
    return None if card.batch_eligible else Verdict.of(Status.INDIVIDUAL_ONLY)


async def run(items: Sequence[tuple[str, Item]], decide: Callable[[Item], Awaitable[Verdict]]) -> list[Outcome]:
    """One after the other. What refuses or fails for one item is the outcome of that item and of no other."""
    return [Outcome(id_, await decide(item)) for id_, item in items]
