"""Statuses are worked out when they are read, from what stands behind a row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import db
from tests.cluster import Database, Loaded
from tests.db.reads_world import reads

MATTER = json.loads((Path(__file__).parents[2] / "data" / "mclean" / "matter.json").read_text(encoding="utf-8"))


async def change(database: Database, statement: str, *values: object) -> None:
    """Changes the record behind everybody's back."""
    admin = await db.connect_one(database.admin_dsn)
    await admin.execute(statement, *values)
    await admin.close()


async def test_the_ten_facts_are_grounded_with_their_quotes_on_their_pages(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        answer = await ask("get_fact_record", case_id=case_id)
    assert answer["verification"]["counts"] == {"unknown": 0, "ungrounded": 0, "grounded": 10, "verified": 0}
    quotes = {q["quote"] for f in answer["facts"] for q in f["quotes"]}
    assert quotes == {a["quote"] for f in MATTER["facts"] for a in f["assertions"]}


@pytest.mark.parametrize("fact", [f["fact_id"] for f in MATTER["facts"]])
async def test_one_altered_letter_makes_that_fact_and_the_answer_ungrounded(own_loaded: Loaded, fact: str) -> None:
    case_id = own_loaded.matters["mclean"]
    alter = (
        "UPDATE record.case_fact_assertions SET quote = replace(quote, 'e', 'c') WHERE fact_id = "
        "(SELECT id FROM record.case_fact_records WHERE code = $1 AND case_id = $2)"
    )
    await change(own_loaded.database, alter, fact, case_id)
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_fact_record", case_id=case_id)
    assert answer["verification_status"] == "ungrounded"
    assert answer["verification"]["counts"] == {"unknown": 0, "ungrounded": 1, "grounded": 9, "verified": 0}
    assert [f["code"] for f in answer["facts"] if f["verification_status"] != "grounded"] == [fact]
    assert any(fact in note for note in answer["verification"]["notes"])


async def test_a_page_that_is_not_loaded_makes_its_facts_unknown_and_not_false(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    await change(own_loaded.database, "ALTER TABLE record.document_pages DISABLE TRIGGER ALL")
    await change(
        own_loaded.database,
        "DELETE FROM record.document_pages p USING record.case_fact_assertions a, record.case_fact_records f "
        "WHERE a.fact_id = f.id AND f.code = 'F005' AND p.document_version_id = a.document_version_id AND p.page_number = a.page_from",
    )
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_fact_record", case_id=case_id, fact="F005")
    assert answer["verification_status"] == "unknown"


async def test_a_posture_that_only_a_model_proposed_is_not_decided_and_matches_no_filter(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        every = await ask("get_fact_record", case_id=case_id)
        proposed = [f["posture"]["model_proposal"] for f in every["facts"] if f["posture"]["model_proposal"]]
        assert proposed
        for proposal in proposed:
            matched = await ask("get_fact_record", case_id=case_id, posture=proposal["proposed_posture"])
            decided = {f["posture"]["decided"] for f in matched["facts"] or []}
            assert decided <= {proposal["proposed_posture"]}
            assert not any(f["posture"]["decided"] is None for f in matched["facts"] or [])


async def test_retired_and_merged_facts_are_out_by_default_and_shown_on_request(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        default = await ask("get_fact_record", case_id=case_id)
        all_of_them = await ask("get_fact_record", case_id=case_id, include_retired=True)
    assert all(f["live"] for f in default["facts"])
    assert len(all_of_them["facts"]) > len(default["facts"])
    assert any(f["retired_at"] for f in all_of_them["facts"])
    assert any(f["merged_into"] for f in all_of_them["facts"])


async def test_where_retirement_is_not_recorded_the_answer_says_so_and_stays_unknown(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    await change(
        own_loaded.database, "ALTER TABLE record.case_fact_records DROP COLUMN retired_at CASCADE, DROP COLUMN merged_into CASCADE"
    )
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_fact_record", case_id=case_id)
    assert answer["verification_status"] == "unknown"
    assert answer["facts"]
    assert {f["verification_status"] for f in answer["facts"]} == {"unknown"}
    assert any("unavailable" in note for note in answer["verification"]["notes"])
    assert {f["live"] for f in answer["facts"]} == {None}
    assert "not recorded here" in answer["verification"]["method"]


async def test_an_answer_that_is_empty_because_rows_are_left_out_says_how_many(loaded: Loaded) -> None:
    case_id = loaded.matters["soilworks"]
    async with reads(loaded.database, case_id) as ask:
        facts = await ask("get_fact_record", case_id=case_id)
        shown = await ask("get_fact_record", case_id=case_id, include_retired=True)
    assert (facts["read_state"], facts["facts"]) == ("empty", [])
    assert f"Retired or merged facts left out: {len(shown['facts'])}. include_retired shows them." in facts["verification"]["notes"]


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (
            "retired_at = '1982-01-04Z', retired_reason = 'Withdrawn by counsel.'",
            "F005: this fact was retired on 1982-01-04 and no longer counts.",
        ),
        (
            "merged_into = (SELECT id FROM record.case_fact_records WHERE code = 'F006' AND case_id = $1)",
            "F005: this fact was merged into F006 and no longer counts by itself.",
        ),
    ],
)
async def test_a_fact_that_ended_says_so_even_where_no_source_states_it(own_loaded: Loaded, ended: str, said: str) -> None:
    case_id = own_loaded.matters["mclean"]
    fact = "(SELECT id FROM record.case_fact_records WHERE code = 'F005' AND case_id = $1)"
    await change(own_loaded.database, f"DELETE FROM record.case_fact_assertions WHERE fact_id = {fact}", case_id)
    await change(own_loaded.database, f"UPDATE record.case_fact_records SET {ended} WHERE id = {fact} AND $1::uuid IS NOT NULL", case_id)
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_fact_provenance", case_id=case_id, fact="F005")
    assert answer["read_state"] == "empty"
    assert said in answer["verification"]["notes"]
    assert "F005: no assertion is recorded for this fact." in answer["verification"]["notes"]
