"""Reciprocal-rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): several orders of the same things become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

# The paper's constant: how little the first place of one order may outweigh good places in several.
K = 60


def fuse(orders: Mapping[str, Sequence[str]]) -> list[tuple[str, tuple[str, ...]]]:
    """Ids best first, each with the names of the orders that hold it. Equal scores go by id: the same orders give the same list."""
    scores: dict[str, Fraction] = defaultdict(Fraction)
    found_by: dict[str, list[str]] = defaultdict(list)
    for name, ids in orders.items():
        for place, each in enumerate(dict.fromkeys(ids), 1):
            scores[each] += Fraction(1, K + place)
            found_by[each].append(name)
    return [(each, tuple(found_by[each])) for each in sorted(scores, key=lambda i: (-scores[i], i))]
