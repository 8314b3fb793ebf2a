"""A chain is good, broken at a row, or not established; a summary is given only where it would not mislead."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kit import limits
from services.reads.engines import calibration
from services.reads.engines.calibration import GENESIS, Graded, Link

ORACLE = json.loads((Path(__file__).parent / "validation_oracles.json").read_text(encoding="utf-8"))["calibration"]
TWELVE = [Graded(n, p, bool(y)) for n, (p, y) in enumerate(zip(ORACLE["p"], ORACLE["y"], strict=True))]


def chain(length: int) -> list[Link]:
    links: list[Link] = []
    before = GENESIS
    for seq in range(1, length + 1):
        made = calibration.row_hash(before, [str(seq)])
        links.append(Link(seq, before, made, made))
        before = made
    return links


GOOD = calibration.verdict(chain(3))


def test_the_scores_are_those_of_the_oracle() -> None:
    found = calibration.summary(TWELVE)
    assert found.brier == pytest.approx(ORACLE["brier"], abs=1e-9)
    assert found.base_rate == pytest.approx(ORACLE["base_rate"], abs=1e-9)
    assert found.reference == pytest.approx(ORACLE["brier_reference_climatology"], abs=1e-9)
    assert found.skill == pytest.approx(ORACLE["brier_skill_score"], abs=1e-9)
    assert sum(b.count for b in found.bins) == found.scored == 12


def test_an_open_prediction_is_in_no_score() -> None:
    assert calibration.summary([*TWELVE, Graded(99, 0.01, None)]) == calibration.summary(TWELVE)


def test_there_is_no_skill_against_a_base_rate_that_is_certain() -> None:
    assert calibration.summary([Graded(n, 0.9, True) for n in range(10)]).skill is None


def test_a_chain_of_right_hashes_is_good_and_says_its_head() -> None:
    assert (GOOD.state, GOOD.checked, GOOD.head) == ("good", 3, chain(3)[-1].row_hash)


@pytest.mark.parametrize(
    ("links", "at"),
    [
        ([chain(3)[0], replace(chain(3)[1], recomputed="0" * 64), chain(3)[2]], 2),
        ([chain(3)[0], chain(3)[2]], 2),
        ([chain(3)[1], chain(3)[2]], 1),
        ([replace(chain(3)[0], prev_hash="f" * 64), *chain(3)[1:]], 1),
        ([chain(3)[0], chain(3)[1], replace(chain(3)[2], seq=9)], 3),
    ],
    ids=["changed", "removed", "cut off at the front", "another beginning", "out of place"],
)
def test_a_chain_that_was_tampered_with_is_broken_and_names_the_place(links: list[Link], at: int) -> None:
    found = calibration.verdict(links)
    assert found.state == "broken"
    assert found.checked == at - 1
    assert found.reason
    assert found.head is None


def test_an_empty_chain_and_one_that_was_not_read_to_its_end_are_not_established() -> None:
    assert calibration.verdict([]).state == "not_established"
    assert calibration.verdict(chain(3), truncated=True).state == "not_established"


def test_the_summary_is_withheld_below_ten_scorable_matters() -> None:
    nine = TWELVE[: limits.SCORABLE_MATTERS_MIN - 1]
    several = [*nine, *(replace(nine[0], probability=0.5) for _ in range(5)), Graded(50, 0.5, None)]
    assert "10 matters" in str(calibration.why_withheld(several, GOOD, truncated=False))
    assert calibration.why_withheld(TWELVE[: limits.SCORABLE_MATTERS_MIN], GOOD, truncated=False) is None


def test_the_summary_is_withheld_over_a_truncated_read_and_a_chain_that_is_not_good() -> None:
    assert calibration.why_withheld(TWELVE, GOOD, truncated=True)
    assert calibration.why_withheld(TWELVE, calibration.verdict([]), truncated=False)
    assert calibration.why_withheld(TWELVE, calibration.verdict(chain(3)[1:]), truncated=False)
