"""What is parsed out of a text, what is folded, what leads where, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import limits
from services.reads.engines import authorities, citations, gate
from services.reads.engines.authorities import Known

MATA = Path(__file__).parents[3] / "data" / "mata"
ECF21 = (MATA / "ecf21_affirmation_in_opposition.ocr.txt").read_text(encoding="utf-8")
CHECKS = json.loads((MATA / "checks.json").read_text(encoding="utf-8"))
LEDGER = [
    Known(a["volume"], a["reporter"], a["page_from"], a["page_to"], a["found"], a["name"], a["court"], a["year"])
    for a in CHECKS["authorities"]
]
INDEX = json.loads((MATA / "matter.json").read_text(encoding="utf-8"))["citations"]
KAISER = "Kaiser Steel Corp. v. W.S. Ranch Co., 391 U.S. 593, 598, 88 S. Ct. 1753, 20 L. Ed. 2d 835 (1968)"


def test_thirteen_of_the_fourteen_authorities_of_mata_are_parsed_and_the_other_is_counted() -> None:
    found = citations.extract(ECF21)
    assert len(INDEX) == 14
    assert len(found.authorities) == 13
    assert found.not_parsed == ("2013 IL App (Ist) 111279-U",)


def test_no_fabricated_authority_of_mata_ends_as_one_that_matches() -> None:
    found = citations.extract(ECF21)
    kinds = {a.text: authorities.check(a, LEDGER).kind for a in found.authorities}
    made_up = [c["as_cited"] for c in INDEX if "fabricated" in c["status"] or c["status"].startswith("no such case")]
    assert len(made_up) == 7
    for cited in made_up:
        kind = next((k for text, k in kinds.items() if text.split(",")[0] in cited), "not_checked")
        assert kind in ("authority_not_found", "name_mismatch", "not_checked"), cited
    assert kinds["174 F.3d 366"] == "name_mismatch"


def test_the_findings_that_are_stored_for_mata_are_those_that_the_engine_makes() -> None:
    found = citations.extract(ECF21)
    made = [(f.kind, f.cited.text, f.expected) for a in found.authorities if (f := authorities.check(a, LEDGER)).kind != "matches"]
    made += [("not_checked", text, None) for text in found.not_parsed]
    audit = CHECKS["cite_audits"][0]
    assert [(f["kind"], f["cite"], f["expected"]) for f in audit["findings"]] == made
    counts = [audit[k] for k in ("citations_found", "authorities_found", "not_parsed")]
    assert counts == [len(found.citations), len(found.authorities), len(found.not_parsed)]


def test_parallel_cites_are_one_mention_of_one_authority() -> None:
    found = citations.extract(f"{KAISER}. Compare {KAISER}.")
    assert [len(c.reported) for c in found.citations] == [3, 3]
    assert len(found.authorities) == 1
    assert found.authorities[0].pin_cite == "598"


def test_two_cases_in_one_string_of_cites_stay_two() -> None:
    found = citations.extract("Lemon v. Kurtzman, 403 U.S. 602 (1971); Everson v. Board of Education, 330 U.S. 1 (1947).")
    assert [a.case_name for a in found.authorities] == ["Lemon v. Kurtzman", "Everson v. Board of Education"]


def test_id_leads_to_the_cite_before_it_and_nowhere_where_there_is_none() -> None:
    found = citations.extract(f"Id. at 4. {KAISER}. Id. at 599.")
    assert [c.authority for c in found.citations] == [None, 0, 0]


def test_a_cite_broken_over_lines_is_found_where_it_stands() -> None:
    text = "Lemon v. Kurtzman, 403\n  U.S.\n 602 (1971)"
    found = citations.extract(text)
    assert found.citations[0].text == "403 U.S. 602"
    assert text[found.citations[0].start : found.citations[0].end].split() == ["403", "U.S.", "602"]


def test_numbers_of_lines_around_a_word_are_no_cite() -> None:
    assert citations.extract("9 as he said in his\n10 Chambers.\n11 THE COURT: Yes.").not_parsed == ()


def test_only_so_much_of_a_text_is_read_and_the_rest_is_said() -> None:
    found = citations.extract("x " * limits.CITE_TEXT_MAX_CHARS + KAISER)
    assert (found.truncated, found.citations) == (True, ())
    assert not citations.extract("x" * limits.CITE_TEXT_MAX_CHARS).truncated


@pytest.mark.parametrize(
    ("cite", "kind"),
    [
        ("Ashcroft v. Iqbal, 556 U.S. 662 (2009)", "matches"),
        ("Ashcroft v. Iqbal, 556 U.S. 662 (1999)", "court_or_year_mismatch"),
        ("Smith v. Jones, 556 U.S. 662 (2009)", "name_mismatch"),
        ("Ashcroft v. Jones, 556 U.S. 662 (2009)", "name_mismatch"),
        ("Ashcroft v. Iqbal, 557 U.S. 662 (2009)", "not_checked"),
        ("Miller v. United Airlines, 174 F.3d 366 (2d Cir. 1999)", "name_mismatch"),
        ("Greenleaf v. Garlock, 174 F.3d 360 (3d Cir. 1999)", "authority_not_found"),
        ("Varghese v. China Southern Airlines, 925 F.3d 1339 (11th Cir. 2019)", "authority_not_found"),
        ("11 U.S.C. § 362(a)", "not_checked"),
    ],
)
def test_a_name_that_differs_is_a_finding_and_what_the_ledger_does_not_know_was_not_checked(cite: str, kind: str) -> None:
    assert authorities.check(citations.extract(cite).authorities[0], LEDGER).kind == kind


def test_the_gate_opens_defects_and_never_calls_anything_clean() -> None:
    found = gate.check(ECF21, [], LEDGER)
    assert (found.status, found.open_defects, found.citations_found) == ("defects_open", 6, 18)
    assert found.cite_like_strings_not_parsed == 1
    assert found.not_checked == 1
    quiet = gate.check("Ashcroft v. Iqbal, 556 U.S. 662 (2009).", [], LEDGER)
    assert (quiet.status, quiet.open_defects) == ("no_findings_recorded", 0)
    assert "clean" not in str(quiet)


def test_the_gate_counts_what_an_audit_stored_even_where_it_finds_nothing_itself() -> None:
    assert gate.check("No cites here.", ["misquote", "wrong_pincite", "not_checked"], []).open_defects == 2


def test_the_gate_says_what_it_did_not_check() -> None:
    notes = " ".join(gate.check(f"{KAISER}. 2013 IL App (Ist) 111279-U", [], []).notes)
    assert "were not checked" in notes
    assert "not parsed" in notes


def test_a_text_full_of_cites_is_read_as_far_as_it_has_to_be_and_that_is_said() -> None:
    many = "".join(f"Foo v. Bar, {n % 900 + 1} U.S. {n} (1971). " for n in range(1, limits.CITES_READ_MAX * 2))
    found = citations.extract(many)
    assert found.truncated
    assert limits.CITES_READ_MAX < len(found.citations) < limits.CITES_READ_MAX * 1.5


def test_what_eyecite_stumbles_over_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    citations.extract("Bar, 1 U.S., at 5. " * 700)
    assert caplog.text == ""


@pytest.mark.parametrize("text", ["", " ", "\n\n\t"])
def test_a_text_without_letters_has_no_citations(text: str) -> None:
    assert citations.extract(text).citations == ()
