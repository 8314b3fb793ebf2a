"""Calibration: a hash chain with a verdict, and how good resolved predictions were. Open predictions are listed and never graded.

Source: Brier (1950) for the score, Murphy (1973) for skill against the base rate. The chain is SHA-256 over the hash before and the
fields of a row, one a line; db/migrations has the same in SQL, and a test holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from kit import limits

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Link:
    """One row of a chain: its place, the hashes that it holds, and its own hash computed anew from its fields."""

    seq: int
    prev_hash: str
    row_hash: str
    recomputed: str


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """Whether a chain could be established, whether it is good, and where it first is not."""

    state: str  # good, broken, not_established
    checked: int
    broken_at: int | None = None
    reason: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Graded:
    """One prediction: its probability, and its outcome where there is one."""

    matter: int
    probability: float
    happened: bool | None


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions of like probability, and how often the thing happened."""

    lower: float
    upper: float
    count: int
    mean_probability: float
    share_happened: float


@dataclass(frozen=True, slots=True)
class Summary:
    """How good the resolved predictions were."""

    scored: int
    matters: int
    brier: float
    base_rate: float
    reference: float
    skill: float | None
    bins: tuple[Bin, ...]


def row_hash(prev_hash: str, fields: Sequence[str]) -> str:
    """The hash of a row after another."""
    return sha256("\n".join([prev_hash, *fields]).encode("utf-8")).hexdigest()


def verdict(links: Sequence[Link], *, truncated: bool = False) -> ChainVerdict:
    """Recomputes a chain from its beginning. One that was not read to its end is not established."""
    if truncated:
        return ChainVerdict("not_established", len(links), reason="the ledger is longer than what was read")
    if not links:
        return ChainVerdict("not_established", 0, reason="the ledger has no row")
    before = GENESIS
    for place, link in enumerate(links, 1):
        if link.seq != place:
            return ChainVerdict("broken", place - 1, place, "a row is missing or out of place")
        if link.prev_hash != before:
            return ChainVerdict("broken", place - 1, link.seq, "the row does not hold the hash of the row before it")
        if link.recomputed != link.row_hash:
            return ChainVerdict("broken", place - 1, link.seq, "the row was changed after it was written")
        before = link.row_hash
    return ChainVerdict("good", len(links), head=before)


def why_withheld(rows: Sequence[Graded], chain: ChainVerdict, *, truncated: bool) -> str | None:
    """Why no summary is given; None where one may be."""
    matters = {r.matter for r in rows if r.happened is not None}
    if truncated:
        return "The ledger is longer than what one read takes in, and a summary over a part of it would mislead."
    if chain.state != "good":
        return "The chain of the ledger is not established and good, so nobody can tell that its rows are the ones that were written."
    if len(matters) < limits.SCORABLE_MATTERS_MIN:
        return f"Fewer than {limits.SCORABLE_MATTERS_MIN} matters have a resolved prediction ({len(matters)})."
    return None


def summary(rows: Sequence[Graded]) -> Summary:
    """The scores of the resolved predictions; there must be one."""
    scored = [(r.probability, float(r.happened)) for r in rows if r.happened is not None]
    n = len(scored)
    brier = sum((p - y) ** 2 for p, y in scored) / n
    base = sum(y for _, y in scored) / n
    reference = base * (1 - base)
    skill = 1 - brier / reference if reference else None
    matters = len({r.matter for r in rows if r.happened is not None})
    return Summary(n, matters, brier, base, reference, skill, _bins(scored))


def _bins(scored: Sequence[tuple[float, float]]) -> tuple[Bin, ...]:
    width = 1 / limits.CALIBRATION_BINS
    kept: dict[int, list[tuple[float, float]]] = {}
    for p, y in scored:
        kept.setdefault(min(int(p * limits.CALIBRATION_BINS), limits.CALIBRATION_BINS - 1), []).append((p, y))
    return tuple(
        Bin(i * width, (i + 1) * width, len(held), sum(p for p, _ in held) / len(held), sum(y for _, y in held) / len(held))
        for i, held in sorted(kept.items())
    )
