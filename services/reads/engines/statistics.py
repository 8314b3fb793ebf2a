"""Validation statistics: recall, precision and elusion with exact, Wilson and Jeffreys intervals. No threshold is applied to any of them.

Source: Clopper and Pearson (1934); Wilson (1927); Brown, Cai and DasGupta (2001) for Jeffreys; Grossman and Cormack, 2013 Fed. Cts. L.
Rev. 7 for the terms. The incomplete beta function is the continued fraction of Abramowitz and Stegun 26.5.8, inverted by bisection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

_STEPS = 400
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper bound of a share."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share k of n with its intervals; the exact one is the default."""

    found: int
    of: int
    point: float
    exact: Interval
    wilson: Interval
    jeffreys: Interval


def estimate(found: int, of: int, confidence: float) -> Estimate | None:
    """The share and its intervals; None where nothing was drawn."""
    if of == 0:
        return None
    return Estimate(found, of, found / of, exact(found, of, confidence), wilson(found, of, confidence), jeffreys(found, of, confidence))


def _checked(found: int, of: int, confidence: float) -> float:
    if not 0 <= found <= of or of == 0 or not 0 < confidence < 1:
        raise ValueError("a share needs 0 <= found <= of, of > 0 and a confidence between 0 and 1")
    return (1 - confidence) / 2


def exact(found: int, of: int, confidence: float) -> Interval:
    """Clopper-Pearson."""
    tail = _checked(found, of, confidence)
    lower = 0.0 if found == 0 else beta_quantile(tail, found, of - found + 1)
    upper = 1.0 if found == of else beta_quantile(1 - tail, found + 1, of - found)
    return Interval(lower, upper)


def wilson(found: int, of: int, confidence: float) -> Interval:
    """Wilson's score interval."""
    z = NormalDist().inv_cdf(1 - _checked(found, of, confidence))
    share, square = found / of, z * z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return Interval(0.0 if found == 0 else max(0.0, middle - half), 1.0 if found == of else min(1.0, middle + half))


def jeffreys(found: int, of: int, confidence: float) -> Interval:
    """The equal-tailed interval of Beta(found + 1/2, of - found + 1/2)."""
    tail = _checked(found, of, confidence)
    return Interval(beta_quantile(tail, found + 0.5, of - found + 0.5), beta_quantile(1 - tail, found + 0.5, of - found + 0.5))


def recall_from_elusion(found: int, null_set: int, elusion: Interval) -> Interval:
    """The recall that bounds on elusion imply. It treats the number found as exact, and says nothing of sampling in it."""

    def recall(rate: float) -> float:
        missed = rate * null_set
        return found / (found + missed) if found + missed else 0.0

    return Interval(recall(elusion.upper), recall(elusion.lower))


def sample_size(margin: float, confidence: float, share: float = 0.5, population: int | None = None) -> int:
    """How many to draw for a margin, by the normal approximation. It promises nothing about recall."""
    z = NormalDist().inv_cdf(1 - (1 - confidence) / 2)
    drawn = z * z * share * (1 - share) / (margin * margin)
    if population is not None:
        drawn = drawn / (1 + (drawn - 1) / population)
    return math.ceil(drawn - 1e-9)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Where the distribution function of Beta(a, b) reaches a probability."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_distribution(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_distribution(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction, by Lentz's method."""
    c, d = 1.0, _away_from_zero(1 - (a + b) * x / (a + 1))
    d = 1 / d
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
