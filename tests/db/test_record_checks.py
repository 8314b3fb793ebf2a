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
            "withheld",
        )


async def test_a_document_is_grounded_as_a_whole_only_with_every_page_that_it_says_it_has(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with seen_by(own_loaded.database, "svc_reads", case_id) as reader:
        dalrymple = await version_of(reader, "Deposition of G. Brent Dalrymple, 1981-12-03")
        statute = await version_of(reader, "Act 590 of 1981")
        assert await status(reader, dalrymple, None, None, None) == ("unknown", "pages_missing")
        assert await status(reader, statute, None, None, None) == ("grounded", "custody")
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        await loader.execute("UPDATE record.document_versions SET page_count = NULL WHERE id = $1", statute)
        await loader.execute(
            "UPDATE record.case_fact_assertions SET document_version_id = $1, page_from = NULL, page_to = NULL, quote = NULL "
            "WHERE fact_id IN (SELECT id FROM record.case_fact_records WHERE code = 'F005')",
            dalrymple,
        )
    async with reads(own_loaded.database, case_id) as ask:
        uncounted = await ask("list_documents", case_id=case_id, words="Act 590")
        behind = await ask("get_fact_provenance", case_id=case_id, fact="F005")
    assert uncounted["verification_status"] == "unknown"
    assert any("how many pages its source has is not recorded" in n for n in uncounted["verification"]["notes"])
    told = "F005: 2 of 100 pages are not loaded, so the document as a whole does not count as grounded."
    assert (behind["verification_status"], behind["assertions"][0]["check_result"]) == ("unknown", told)


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
    ("tool", "matter", "table", "column", "where"),
    [
        ("list_docket_entries", "soilworks", "docket_entries", "text", "entry_number = 43"),
        ("list_parties", "soilworks", "parties", "name", "position = 2"),
        ("get_trial_objections", "mclean", "trial_objections", "text_as_typed", "transcript_page = 238"),
        ("get_trial_objections", "mclean", "trial_objections", "court_words", "transcript_page = 238"),
        ("get_deposition_designations", "mclean", "designations", "opening_words", "page_from = 7"),
        ("list_claims", "mclean", "claims", "pleaded_as", "position = 1"),
        ("get_matter", "mclean", "matters", "docket_number", "true"),
    ],
)
async def test_one_altered_letter_of_a_row_is_found_in_the_row_itself(
    own_loaded: Loaded, tool: str, matter: str, table: str, column: str, where: str
) -> None:
    """The words that are shown are the words that are checked: no copy stands in for them."""
    case_id = own_loaded.matters[matter]
    key = "case_id" if table == "matters" else "id"
    alter = f"UPDATE record.{table} SET {column} = translate({column}, 'eEC1', 'cCE7') WHERE {where} AND case_id = $1 RETURNING {key}"
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        altered = str(await loader.fetchval(alter, case_id))
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask(tool, case_id=case_id)
    assert [i.get("id", i.get("case_id")) for i in main_items(tool, answer) if i["verification_status"] == "ungrounded"] == [altered]


@pytest.mark.parametrize("change", ["exhibit_number = '95'", "side = 'defendants'", "received_page = 246", "offered_page = 244"])
async def test_an_exhibit_that_is_not_what_the_index_of_the_transcript_says_is_ungrounded(own_loaded: Loaded, change: str) -> None:
    case_id = own_loaded.matters["mclean"]
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        await loader.execute(f"UPDATE record.exhibits SET {change} WHERE exhibit_number = '94'")
    async with reads(own_loaded.database, case_id) as ask:
        first = (await ask("list_exhibits", case_id=case_id))["exhibits"][0]
    assert first["verification_status"] == "ungrounded"


async def test_one_altered_letter_of_a_page_reaches_every_row_that_cites_it(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        version = await version_of(loader, STIPULATION)
        await loader.execute(
            "UPDATE record.document_pages SET text = replace(text, 'March 19', 'March 20') "
            "WHERE document_version_id = $1 AND page_number = 5",
            version,
        )
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_fact_record", case_id=case_id)
    assert {f["code"] for f in answer["facts"] if f["verification_status"] == "ungrounded"} == {"F005"}
    assert "F005: the quote is not on Joint Stip. 5." in answer["verification"]["notes"]


async def test_where_retirement_is_not_recorded_no_facts_are_counted_for_an_element(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with seen_by(own_loaded.database, "substrate_owner") as owner:
        await owner.execute("ALTER TABLE record.case_fact_records DROP COLUMN retired_at CASCADE, DROP COLUMN merged_into CASCADE")
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("list_claims", case_id=case_id)
    assert [e["fact_count"] for c in answer["claims"] for e in c["elements"]] == [None, None, None]
    assert answer["verification_status"] == "unknown"
    assert any("live distinction is unavailable" in n for n in answer["verification"]["notes"])
