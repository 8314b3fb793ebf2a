"""The grammar of record cites, and what the ledgers say of each."""

from __future__ import annotations

import pytest

from services.reads.engines import record_cites
from services.reads.engines.record_cites import Held

HELD = [
    Held("bates", "MCL", 1, 15, "u1", "Complaint"),
    Held("bates", "MCL", 16, 20, "u2", "Stipulation"),
    Held("bates", "MCL", 30, 40, "u3", "Act"),
    Held("trial", None, 0, 0, "u4", "Tr.", {375: 25, 376: 25, 378: 25}),
    Held("deposition", "James L. Holsted", 0, 0, "u5", "Holsted Dep.", dict.fromkeys(range(1, 119)), complete=True),
    Held("deposition", "Dr. María Peña-Ruiz", 0, 0, "u5b", "Peña-Ruiz Dep.", {4: 25}, complete=True),
    Held("ecf", None, 43, 2, "u6", "ECF No. 43"),
    Held("exhibit", "plaintiffs", 90, 94, "u7", "Pls.' Ex. 90-94"),
    Held("exhibit", "plaintiffs", 5, 5, "u8", "Pls.' Ex. 5"),
    Held("exhibit", "defendants", 5, 5, "u9", "Defs.' Ex. 5"),
]


def results(text: str) -> list[tuple[str, str]]:
    return [(c.text, record_cites.check(c, HELD).result) for c in record_cites.find(text)]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("MCL000001", "found"),
        ("MCL000014-17", "found"),  # over two documents that follow each other
        ("MCL000019-31", "not_found"),  # over a gap
        ("MCL000021", "not_found"),
        ("ABC000001", "not_found"),
        ("MCL000001-ABC000002", "malformed"),
        ("MCL000020-MCL000016", "malformed"),
        ("Tr. 375", "found"),
        ("Tr. 375:1-25", "found"),
        ("Tr. 375:26", "not_found"),
        ("Tr. 375:20-376:4", "found"),
        ("Tr. 376:4-375:20", "malformed"),
        ("Tr. 377", "not_loaded"),
        ("Tr. 375-76", "found"),
        ("Trial Tr. at 376", "found"),
        ("Holsted Dep. 118", "found"),
        ("Holsted Dep. 119", "not_found"),
        ("Holsted Dep. Tr. 12:3", "not_loaded"),
        ("Smith Dep. 12", "not_found"),
        ("ECF No. 43", "found"),
        ("ECF No. 43-2", "found"),
        ("ECF No. 43-3", "not_found"),
        ("Dkt. 44", "not_found"),
        ("Pls.' Ex. 94", "found"),
        ("Plaintiffs' Exhibit 95", "not_found"),
        ("Defs.' Ex. 94", "not_found"),
        ("Ex. 5", "ambiguous"),
        ("Defs. Ex. 5", "found"),
        ("Pls.' Ex. B", "not_loaded"),
        ("Exhibit AA", "not_loaded"),
        ("Exs. 91-93", "found"),
        ("Exhibits 91-93", "found"),
        ("Peña-Ruiz Dep. 4", "found"),
    ],
)
def test_each_form_is_found_whole_and_looked_up(text: str, result: str) -> None:
    assert results(f"As shown ({text}).") == [(text, result)]


def test_a_deposition_is_no_trial_and_a_cite_is_found_once() -> None:
    assert [c.kind for c in record_cites.find("Holsted Dep. Tr. 12; Tr. 375.")] == ["deposition", "trial"]


@pytest.mark.parametrize("text", ["Tr. 1", "Holsted Dep. 1", "ECF No. 1", "Ex. 1", "MCL000001"])
def test_an_empty_ledger_is_no_failed_check(text: str) -> None:
    assert [record_cites.check(c, []).result for c in record_cites.find(text)] == ["not_loaded"]


@pytest.mark.parametrize("text", ["", "trustee 5", "Example 4", "CONTR. 5", "FRCP 26", "on page 375", "10:30 a.m."])
def test_what_is_no_record_cite_is_not_taken_for_one(text: str) -> None:
    assert record_cites.find(text) == ()
