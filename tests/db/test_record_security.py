"""The record shows a caller its matters, what may be produced, and no sealed word; and it takes nothing from the reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import db
from tests.cluster import Loaded
from tests.db.reads_world import main_items, reads
from tests.db.record_world import seen_by
from tests.db.test_record_loader import TABLES

DATA = Path(__file__).parents[2] / "data"
SOILWORKS = json.loads((DATA / "soilworks" / "matter.json").read_text("utf-8"))
DOCKET = json.loads((DATA / "soilworks" / "docket.json").read_text("utf-8"))
WITHHELD = ("Letters and notes exchanged between Dr. Dalrymple", "Proposed question and answer list for Dr. Dalrymple")


async def tables(loaded: Loaded) -> list[str]:
    async with seen_by(loaded.database, "substrate_loader") as loader:
        return [r["relname"] for r in await loader.fetch(TABLES)]


async def count(connection: db.Connection[db.Record], table: str, other_than: str | None = None) -> int:
    query = await connection.fetchval(
        "SELECT format('SELECT count(*) FROM record.%I WHERE $1::uuid IS NULL OR case_id <> $1', $1::text)", table
    )
    found: int = await connection.fetchval(query, other_than)
    return found


@pytest.mark.parametrize("reached", ["", "00000000-0000-4000-8000-000000000000"])
async def test_a_caller_who_reaches_no_matter_sees_no_row_of_any_table(loaded: Loaded, reached: str) -> None:
    async with seen_by(loaded.database, "svc_reads", *filter(None, [reached])) as reader:
        assert {t: n for t in await tables(loaded) if (n := await count(reader, t))} == {}


async def test_a_caller_who_reaches_one_matter_sees_no_row_of_another(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["soilworks"]) as reader:
        for table in await tables(loaded):
            assert await count(reader, table, loaded.matters["soilworks"]) == 0, table
        assert await count(reader, "docket_entries") == 181


async def test_a_malformed_setting_shows_nothing(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", "not-a-uuid") as reader:
        with pytest.raises(db.Error):
            await reader.fetchval("SELECT count(*) FROM record.matters")


async def test_every_table_has_row_security_in_force_even_for_its_owner(loaded: Loaded) -> None:
    query = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'record'::regnamespace AND relkind = 'r' "
        "AND NOT (relrowsecurity AND relforcerowsecurity)"
    )
    async with seen_by(loaded.database, "substrate_loader") as loader:
        assert await loader.fetch(query) == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO record.store_refreshes VALUES (gen_random_uuid(), 'x', now())",
        "UPDATE record.trial_objections SET ruling = 'sustained'",
        "DELETE FROM record.deadlines",
        "TRUNCATE record.case_fact_records",
        "SELECT record.load_rows('matters', '[{}]')",
        "CREATE TABLE record.mine (case_id uuid)",
    ],
)
async def test_the_reads_can_write_nothing(loaded: Loaded, statement: str) -> None:
    async with seen_by(loaded.database, "svc_reads", *loaded.matters.values()) as reader:
        with pytest.raises(db.Error, match="permission denied"):
            await reader.execute(statement)


async def test_a_document_that_may_not_be_produced_is_in_no_answer(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with seen_by(loaded.database, "substrate_loader") as loader:
        there = [r["title"] for r in await loader.fetch("SELECT title FROM record.documents WHERE case_id = $1", case_id)]
    assert all(any(t.startswith(w) for t in there) for w in WITHHELD)
    async with reads(loaded.database, case_id) as ask:
        listed = json.dumps(await ask("list_documents", case_id=case_id, page_size=200))
    assert not [w for w in WITHHELD if w in listed]


@pytest.mark.parametrize(
    "change",
    [
        "privilege_class = NULL",
        "privilege_class = 'unreviewed'",
        "privilege_class = 'attorney_client'",
        "reviewed_at = NULL, reviewed_by = NULL",
    ],
)
async def test_a_document_that_loses_its_clearance_goes_from_list_and_passages_at_once(own_loaded: Loaded, change: str) -> None:
    case_id = own_loaded.matters["mclean"]
    async with reads(own_loaded.database, case_id) as ask:
        listed = await ask("list_documents", case_id=case_id, words="Holsted")
        document = listed["documents"][0]
        asked = {"case_id": case_id, "passage_id": document["first_passage_id"]}
        assert (await ask("get_passage", **asked))["read_state"] == "read"
        async with seen_by(own_loaded.database, "substrate_loader") as loader:
            await loader.execute(f"UPDATE record.documents SET {change} WHERE id = $1", document["id"])
        assert (await ask("list_documents", case_id=case_id, words="Holsted"))["documents"] == []
        assert (await ask("get_passage", **asked))["passage"] is None
        assert (await ask("get_passage", case_id=case_id, document_id=document["id"], page=5))["passage"] is None
    async with seen_by(own_loaded.database, "svc_reads", case_id) as reader:
        assert await reader.fetchval("SELECT count(*) FROM record.passages WHERE document_id = $1", document["id"]) == 0


async def test_no_sealed_word_is_in_the_database_or_in_any_answer(loaded: Loaded) -> None:
    case_id = loaded.matters["soilworks"]
    sealed = [e["description"] for e in DOCKET["docket_entries"] if e["document_number"] in SOILWORKS["sealed_entries"]]
    assert len(sealed) == 9
    secrets = [s[:60] for s in sealed]
    async with seen_by(loaded.database, "substrate_loader") as loader:
        for table in await tables(loaded):
            query = await loader.fetchval(
                "SELECT format('SELECT coalesce(string_agg(t::text, chr(10)), '''') FROM record.%I t', $1::text)", table
            )
            held = await loader.fetchval(query)
            assert not [s for s in secrets if s in held], table
    async with reads(loaded.database, case_id) as ask:
        answers = [await ask("list_docket_entries", case_id=case_id, page_size=200), await ask("list_documents", case_id=case_id)]
        answers += [await ask("get_docket_entry", case_id=case_id, entry=n) for n in SOILWORKS["sealed_entries"]]
        for answer in answers[2:]:
            entry = answer["entry"]
            assert (entry["text"], entry["text_state"], entry["refers_to"]) == (None, "sealed", [])
    assert not [s for s in secrets if s in json.dumps(answers)]
    assert any("Sealed entries in this selection: 9" in n for n in answers[0]["verification"]["notes"])
    assert len([i for i in main_items("list_docket_entries", answers[0]) if i["text_state"] == "sealed"]) == 9


async def test_sealed_text_cannot_be_written_beside_the_mark(own_loaded: Loaded) -> None:
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        with pytest.raises(db.Error, match="check constraint"):
            await loader.execute("UPDATE record.docket_entries SET text = 'secret' WHERE entry_number = 81")


async def test_a_row_of_one_matter_cannot_lean_on_a_row_of_another(own_loaded: Loaded) -> None:
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        version = await loader.fetchval("SELECT id FROM record.document_versions WHERE case_id = $1 LIMIT 1", own_loaded.matters["mclean"])
        with pytest.raises(db.Error, match="foreign key"):
            await loader.execute(
                "UPDATE record.case_fact_assertions SET document_version_id = $1 WHERE case_id = $2",
                version,
                own_loaded.matters["soilworks"],
            )
