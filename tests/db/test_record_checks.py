"""How far a row was checked is worked out in the database, from the words and the page as they are at that moment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster import Loaded
from tests.db.reads_world import main_items, reads
from tests.db.record_world import seen_by, status, version_of

DATA = Path(__file__).parents[2] / "data"
MCLEAN = json.loads((DATA / "mclean" / "matter.json").read_text("utf-8"))
STIPULATION = "Joint Stipulation of Fact"
TRIAL = "Trial transcript, volumes I to IV in part"
EXPECTED = {
    "match": ("grounded", "found"),
    "misquote": ("ungrounded", "quote_not_on_page"),
    "wrong_page": ("ungrounded", "quote_not_on_page"),
    "not_loaded": ("unknown", "page_not_loaded"),
}


@pytest.mark.parametrize("check", MCLEAN["quote_checks"], ids=lambda c: f"{c['expect']}-{c['page']}")
async def test_the_quote_checks_of_the_index_come_out_as_it_says(loaded: Loaded, check: dict[str, str | int]) -> None:
    title = STIPULATION if "stipulation" in str(check["doc"]) else TRIAL
    async with seen_by(loaded.database, "svc_reads", loaded.matters["mclean"]) as reader:
        version = await version_of(reader, title)
        found = await status(reader, version, int(check["page"]), int(check["page"]), str(check["quote"]))
    assert found == EXPECTED[str(check["expect"])]


@pytest.mark.parametrize(
    ("page_from", "page_to", "quote", "expected"),
    [
        (5, 5, None, ("grounded", "page")),
        (None, None, None, ("grounded", "custody")),
        (None, None, "Governor Frank White", ("unknown", "no_page")),
        (5, 6, "Governor Frank White", ("unknown", "page_not_loaded")),
        (4, 5, "There was approximately fifteen minutes\n-4-\nleft before the House was to go into session", ("grounded", "found")),
        (5, 5, "Governor Frank White signed the bill on March 1", ("ungrounded", "quote_not_on_page")),
        (5, 5, "governor frank white signed the bill", ("ungrounded", "quote_not_on_page")),
        (5, 5, "", ("ungrounded", "quote_not_on_page")),
    ],
)
async def test_a_check_says_what_it_found(
    loaded: Loaded, page_from: int | None, page_to: int | None, quote: str | None, expected: tuple[str, str]
) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["mclean"]) as reader:
        version = await version_of(reader, STIPULATION)
        assert await status(reader, version, page_from, page_to, quote) == expected


async def test_a_row_without_a_source_is_ungrounded(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["mclean"]) as reader:
        row = await reader.fetchrow("SELECT status, reason FROM record.source_status(NULL, NULL, NULL, 'words')")
    assert row is not None
    assert (row["status"], row["reason"]) == ("ungrounded", "no_source")


async def test_a_version_of_another_matter_grounds_nothing(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["mclean"]) as reader:
        version = await version_of(reader, STIPULATION)
    async with seen_by(loaded.database, "svc_reads", loaded.matters["soilworks"]) as other:
        assert await status(other, version, 5, 5, "Governor Frank White signed the bill on March 19, 1981.") == (
            "unknown",
            "version_not_loaded",
        )


async def test_machine_read_text_can_bear_a_quote_out_but_not_refute_it(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["mata"]) as reader:
        version = await version_of(reader, "Affirmation in Opposition")
        assert await status(reader, version, 1, 1, "as is fully familiar with all the facts") != ("grounded", "found_in_ocr")
        assert await status(reader, version, 1, 1, "is fully familiar with all the facts") == ("grounded", "found_in_ocr")
        assert await status(reader, version, 4, 4, "2013 IL App (1st) 111279-U") == ("unknown", "ocr_differs")


async def test_a_page_without_a_text_layer_is_unknown(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["soilworks"]) as reader:
        version = await version_of(reader, "Docket sheet, No. 2:06-cv-02141 (D. Ariz.)")
        assert await status(reader, version, 81, 81, "anything") == ("unknown", "no_text")


async def test_a_passage_copied_with_its_line_numbers_stands_on_its_page(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["mclean"]) as reader:
        trial = await version_of(reader, TRIAL)
        text = await reader.fetchval("SELECT text FROM record.document_pages WHERE document_version_id = $1 AND page_number = 238", trial)
        numbers = await reader.fetchval(
            "SELECT line_numbers FROM record.document_pages WHERE document_version_id = $1 AND page_number = 238", trial
        )
        lines = dict(zip(numbers, text.split("\n"), strict=True))
        copied = f"11 {lines[11]}\n12 {lines[12]}"
        assert await status(reader, trial, 238, 238, copied) == ("grounded", "found")
        stipulation = await version_of(reader, STIPULATION)
        assert await status(reader, stipulation, 5, 5, "1 Governor Frank White\n2 signed the bill on March 19, 1981.") == (
            "ungrounded",
            "quote_not_on_page",
        )


@pytest.mark.parametrize(
    ("table", "column", "kind"),
    [
        ("docket_entries", "text", "docket_entry"),
        ("trial_objections", "text_as_typed", "trial_objection"),
        ("trial_objections", "court_words", "trial_ruling"),
        ("designations", "opening_words", "designation"),
    ],
)
async def test_one_altered_letter_of_a_row_is_found_in_the_row_itself(own_loaded: Loaded, table: str, column: str, kind: str) -> None:
    """The words that are shown are the words that are checked: no copy stands in for them."""
    statements = {
        ("docket_entries", "text"): "UPDATE record.docket_entries SET text = translate(text, 'e', 'c') WHERE entry_number = 43 RETURNING id",
        ("trial_objections", "text_as_typed"): "UPDATE record.trial_objections SET text_as_typed = translate(text_as_typed, 'e', 'c') WHERE transcript_page = 238 RETURNING id",
        ("trial_objections", "court_words"): "UPDATE record.trial_objections SET court_words = translate(court_words, 'e', 'c') WHERE transcript_page = 238 RETURNING id",
        ("designations", "opening_words"): "UPDATE record.designations SET opening_words = translate(opening_words, 'e', 'c') WHERE page_from = 7 RETURNING id",
    }  # fmt: skip
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        assert await loader.fetchval(statements[table, column]) is not None
    tool, case_id = {
        "docket_entry": ("list_docket_entries", own_loaded.matters["soilworks"]),
        "trial_objection": ("get_trial_objections", own_loaded.matters["mclean"]),
        "trial_ruling": ("get_trial_objections", own_loaded.matters["mclean"]),
        "designation": ("get_deposition_designations", own_loaded.matters["mclean"]),
    }[kind]
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask(tool, case_id=case_id)
    assert [i for i in main_items(tool, answer) if i["verification_status"] == "ungrounded"]


async def test_one_altered_letter_of_a_page_reaches_every_row_that_cites_it(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        version = await version_of(loader, STIPULATION)
        await loader.execute(
            "UPDATE record.document_pages SET text = replace(text, 'March 19', 'March 20') WHERE document_version_id = $1 AND page_number = 5",
            version,
        )
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_fact_record", case_id=case_id)
    assert {f["code"] for f in answer["facts"] if f["verification_status"] == "ungrounded"} == {"F005"}
    assert "F005: the quote is not on Joint Stip. 5." in answer["verification"]["notes"]
