"""Every figure of the oracles, to six places."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from services.reads.engines import statistics
from services.reads.engines.statistics import Interval

ORACLES = json.loads((Path(__file__).parent / "validation_oracles.json").read_text(encoding="utf-8"))


def six(interval: Interval) -> list[float]:
    return [round(interval.lower, 6), round(interval.upper, 6)]


@pytest.mark.parametrize("row", ORACLES["binomial_ci"], ids=lambda r: f"{r['k']} of {r['n']} at {r['confidence']}")
def test_each_interval_is_that_of_the_oracle(row: dict[str, Any]) -> None:
    found = statistics.estimate(row["k"], row["n"], row["confidence"])
    assert found is not None
    assert found.point == pytest.approx(row["point"], abs=1e-12)
    assert six(found.exact) == row["clopper_pearson"]
    assert six(found.wilson) == row["wilson"]
    assert six(found.jeffreys) == row["jeffreys"]


@pytest.mark.parametrize("row", ORACLES["control_set_recall"], ids=lambda r: f"{r['retrieved']} of {r['responsive_in_control']}")
def test_recall_of_a_control_set_has_its_interval_on_the_responsive_items(row: dict[str, Any]) -> None:
    found = statistics.estimate(row["retrieved"], row["responsive_in_control"], 0.95)
    assert found is not None
    assert found.point == pytest.approx(row["recall"])
    assert six(found.exact) == row["cp95"]


@pytest.mark.parametrize("row", ORACLES["elusion_to_recall"]["examples"], ids=lambda r: f"{r['sample_responsive']} of {r['sample_n']}")
def test_both_bounds_of_elusion_are_mapped_to_a_recall(row: dict[str, Any]) -> None:
    elusion = statistics.exact(row["sample_responsive"], row["sample_n"], 0.95)
    assert six(elusion) == row["elusion_cp95"]
    derived = statistics.recall_from_elusion(row["responsive_found"], row["null_set_size"], elusion)
    assert six(derived) == row["recall_interval_from_elusion_cp95"]
    rate = row["sample_responsive"] / row["sample_n"]
    point = statistics.recall_from_elusion(row["responsive_found"], row["null_set_size"], Interval(rate, rate))
    assert round(point.lower, 6) == row["recall_point"]


@pytest.mark.parametrize("row", ORACLES["sample_size"], ids=lambda r: f"{r['margin']} of {r['population']}")
def test_sample_sizes_are_those_of_the_oracle(row: dict[str, Any]) -> None:
    assert statistics.sample_size(row["margin"], row["confidence"], row["p"], row["population"]) == row["n"]


def test_nothing_is_said_of_a_sample_without_items() -> None:
    assert statistics.estimate(0, 0, 0.95) is None


@pytest.mark.parametrize(("found", "of", "confidence"), [(2, 1, 0.95), (-1, 1, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
def test_counts_and_confidences_that_cannot_be_are_refused(found: int, of: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="a share needs"):
        statistics.exact(found, of, confidence)
