"""A docket is read with its traps: sealed text goes, numbers without text stay, one entry may undo another."""

import json
from pathlib import Path
from typing import Any

import pytest

from ops.importers.docket import PARTY_UNITS, kind_of, read, units
from ops.importers.pages import ImportFailure

DATA = Path(__file__).parents[3] / "data" / "soilworks"


def docket(*entries: dict[str, Any], parties: tuple[dict[str, Any], ...] = ()) -> str:
    blank = {"date_filed": "2008-01-02", "description": "NOTICE", "pacer_doc_id": None}
    return json.dumps(
        {"case_name": "A v. B", "docket_number": "1:1", "parties": parties, "docket_entries": [{**blank, **e} for e in entries]}
    )


def test_a_sealed_entry_loses_its_text_and_everything_read_from_it() -> None:
    text = "SEALED MOTION re 1 secret matter Modified on 1/2/2008 (X) (Attachments: # 1 hidden)"
    attachments = [{"attachment_number": "1", "description": "hidden", "pacer_doc_id": None}]
    found = read("d", docket({"document_number": "2", "description": text, "attachments": attachments}), frozenset())
    entry = found.entries[0]
    assert (entry.sealed, entry.text, entry.kind, entry.modification_note, entry.refers_to) == (True, None, None, None, ())
    assert entry.attachments[0].description is None
    assert not [u for u in units(found) if "secret" in (u.text or "") or "hidden" in (u.text or "")]


def test_an_entry_is_withheld_when_only_the_list_names_it_and_the_report_says_so() -> None:
    found = read("d", docket({"document_number": "5", "description": "ORDER granting 4 Motion"}), frozenset({5}))
    assert found.entries[0].text is None
    assert any("[5]" in r and "list" in r for r in found.remarks)


def test_a_motion_to_seal_is_not_sealed() -> None:
    assert not read("d", docket({"document_number": "1", "description": "MOTION to Seal Document"}), frozenset()).entries[0].sealed


def test_an_entry_that_was_entered_in_error_names_the_one_that_says_so() -> None:
    undo = "ORDER. The order at Docket Entry 1 was entered in error in this case and should be disregarded."
    found = read("d", docket({"document_number": "1"}, {"document_number": "2", "description": undo}), frozenset())
    assert [(e.number, e.corrected_by, e.refers_to) for e in found.entries] == [(1, 2, ()), (2, None, (1,))]


def test_a_number_without_text_stays_an_entry_without_text() -> None:
    found = read("d", docket({"document_number": "9", "description": "", "date_filed": None}), frozenset())
    assert (found.entries[0].text, found.entries[0].filed, found.entries[0].sealed) == (None, None, False)


def test_references_are_read_off_the_text_and_attachments_are_not_references() -> None:
    entries = [{"document_number": str(n)} for n in (3, 4, 51)]
    text = "ORDER granting 3 Motion; granting in part and denying in part 4 Motion (docket #51). (Attachments: # 1 Text)"
    found = read("d", docket(*entries, {"document_number": "60", "description": text}), frozenset())
    assert found.entries[-1].refers_to == (3, 4, 51)


def test_of_a_persons_contact_only_the_firm_is_kept() -> None:
    contact = "Firm LLP\n1 Main Street\n602-555-0100\nEmail: a@b.example"
    lawyer = {"name": "A Lawyer ,", "contact": contact, "roles": ["TERMINATED: 03/28/2008", "LEAD ATTORNEY"]}
    found = read("d", docket(parties=({"name": "P", "type": "Plaintiff", "attorneys": [lawyer]},)), frozenset())
    attorney = found.parties[0].attorneys[0]
    assert (attorney.name, attorney.firm, attorney.roles) == ("A Lawyer", "Firm LLP", ("LEAD ATTORNEY",))
    assert str(attorney.terminated) == "2008-03-28"
    unit = next(u for u in units(found) if u.number == PARTY_UNITS + 1)
    assert "Main Street" not in (unit.text or "")
    assert "602" not in (unit.text or "")


@pytest.mark.parametrize("text", ["{", "[]", '{"docket_entries": [{}], "parties": []}', '{"docket_entries": 1, "parties": []}'])
def test_what_is_no_docket_is_refused_by_name(text: str) -> None:
    with pytest.raises(ImportFailure, match="docket_x"):
        read("docket_x", text, frozenset())


def test_a_number_that_occurs_twice_is_refused() -> None:
    with pytest.raises(ImportFailure, match="twice"):
        read("d", docket({"document_number": "1"}, {"document_number": "1"}), frozenset())


def test_the_kind_is_read_off_the_first_words() -> None:
    texts = ("ORDER re 6", "Minute Order: held", "MOTION to Dismiss", "Minute Entry. Held", "NOTICE OF APPEAL", "Filing fee paid")
    assert [kind_of(t) for t in texts] == ["order", "order", "motion", "minute_entry", "notice_of_appeal", "other"]


def test_the_real_docket_has_what_its_index_says() -> None:
    index = json.loads((DATA / "matter.json").read_text("utf-8"))
    sealed = frozenset(int(n) for n in index["sealed_entries"])
    found = read("docket.json", (DATA / "docket.json").read_text("utf-8"), sealed)
    assert len(found.entries) == 181
    assert {e.number for e in found.entries if e.sealed} == sealed
    assert sum(e.text is None and not e.sealed for e in found.entries) == 16
    assert str(found.last_day) == "2009-04-16"
