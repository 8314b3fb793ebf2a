"""The loader writes what the papers say, once, and says what it found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ops.layout import ROOT
from ops.process import python_environ
from tests.cluster import Database, Loaded
from tests.db.reads_world import reads
from tests.db.record_world import seen_by

DATA = ROOT / "data"
TABLES = "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'record'::regnamespace AND c.relkind = 'r' ORDER BY 1"


def load(database: Database, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the loader as an operator does."""
    command = [sys.executable, "-m", "ops.load", "--dsn-file", str(database.dsn_file("substrate_loader")), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=python_environ())


async def everything(database: Database) -> dict[str, list[str]]:
    """Every row of every table, but for when a store was refreshed."""
    async with seen_by(database, "substrate_loader") as loader:
        names = [r["relname"] for r in await loader.fetch(TABLES)]
        queries = {n: await loader.fetchval("SELECT format('SELECT t::text FROM record.%I t ORDER BY 1', $1::text)", n) for n in names}
        return {n: [r["t"] for r in await loader.fetch(q)] for n, q in queries.items() if n != "store_refreshes"}


async def test_loading_twice_changes_nothing(own_loaded: Loaded) -> None:
    before = await everything(own_loaded.database)
    done = load(own_loaded.database)
    assert done.returncode == 0, done.stderr
    assert await everything(own_loaded.database) == before
    assert done.stdout.count(" 0 new or changed") == 3
    assert json.loads(done.stdout.splitlines()[-1])["matters"] == own_loaded.matters


async def test_loading_again_puts_right_what_was_altered_and_says_how_much(own_loaded: Loaded) -> None:
    before = await everything(own_loaded.database)
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        await loader.execute("UPDATE record.case_fact_assertions SET quote = 'altered' WHERE source_class = 'stipulation'")
    done = load(own_loaded.database, "--matter", "mclean")
    assert await everything(own_loaded.database) == before
    assert ", 11 new or changed" in done.stdout


def test_one_matter_can_be_loaded_alone_and_the_report_is_in_plain_lines(database: Database) -> None:
    done = load(database, "--matter", "soilworks")
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert list(json.loads(last)["matters"]) == ["soilworks"]
    text = "\n".join(lines)
    assert "9 sealed entries: their text is not loaded" in text
    assert "181 docket entries, 18 attachments, 1 disregarded" in text
    assert "19 deadlines, 6 of them superseded or vacated: 19 of 19 quotes stand where they are cited" in text


def test_the_report_names_quotes_and_pages_that_are_not_there(database: Database) -> None:
    text = load(database, "--matter", "mclean").stdout
    assert "not loaded: 240, 374, 446, 481, 683, 705" in text
    assert "12 facts: 11 of 12 quotes stand where they are cited" in text
    assert "not there: F901" in text
    assert "not there: Pls.' Ex. 121 at Tr. 474" in text


@pytest.mark.parametrize(
    ("broken", "content", "told"),
    [
        ("mata/matter.json", "{", "mata/matter.json is not JSON"),
        ("mata/matter.json", "[]", "mata/matter.json must hold one JSON object"),
        ("mata/record.json", None, "mata/record.json cannot be read"),
        ("mata/matter.json", "{}", "the index lacks 'caption'"),
        ("mata/ecf21_affirmation_in_opposition.ocr.txt", "one page", "holds 1 pages, and the document has 10"),
        ("mata/ecf21_affirmation_in_opposition.pdf", "no pdf", "is not a PDF"),
    ],
)
async def test_a_broken_paper_stops_the_matter_by_name_and_leaves_no_half(
    database: Database, tmp_path: Path, broken: str, content: str | None, told: str
) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    target = tmp_path / "data" / broken
    target.unlink() if content is None else target.write_text(content, encoding="utf-8")
    done = load(database, "--data", str(tmp_path / "data"), "--matter", "mata")
    assert done.returncode == 1
    assert told in done.stderr
    assert str(tmp_path) not in done.stderr
    assert "Traceback" not in done.stderr
    assert not any((await everything(database)).values())


def test_a_wrong_option_and_a_missing_address_are_told_apart(database: Database, tmp_path: Path) -> None:
    assert load(database, "--matter", "nobody").returncode == 2
    command = [sys.executable, "-m", "ops.load", "--dsn-file", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=python_environ())
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_help_shows_an_example() -> None:
    command = [sys.executable, "-m", "ops.load", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, **python_environ()})
    assert "example:" in done.stdout


async def test_a_paper_that_changed_becomes_a_new_version_and_the_old_one_stays(own_loaded: Loaded, tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    paper = tmp_path / "data" / "mclean" / "statute" / "act_590_of_1981.txt"
    paper.write_text(paper.read_text("utf-8").replace("Section 8: Short Title", "Section 8: Shorter Title"), encoding="utf-8")
    case_id = own_loaded.matters["mclean"]
    async with reads(own_loaded.database, case_id) as ask:
        before = (await ask("list_documents", case_id=case_id, words="Act 590"))["documents"][0]
        done = load(own_loaded.database, "--data", str(tmp_path / "data"), "--matter", "mclean")
        assert done.returncode == 0, done.stderr
        after = (await ask("list_documents", case_id=case_id, words="Act 590"))["documents"][0]
        passage = (await ask("get_passage", case_id=case_id, document_id=after["id"], page=9))["passage"]
        assert (await ask("get_passage", case_id=case_id, passage_id=before["first_passage_id"]))["passage"][
            "document_version_id"
        ] == before["version_id"]
    assert before["id"] == after["id"]
    assert before["version_id"] != after["version_id"]
    assert "Shorter Title" in passage["text"]
    assert passage["document_version_id"] == after["version_id"]


async def test_a_party_that_comes_in_between_moves_the_others_without_a_clash(own_loaded: Loaded, tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    index = tmp_path / "data" / "mclean" / "record.json"
    content = json.loads(index.read_text("utf-8"))
    content["parties"].insert(1, {"name": "A newcomer", "party_type": "Intervenor"})
    index.write_text(json.dumps(content), encoding="utf-8")
    case_id = own_loaded.matters["mclean"]
    done = load(own_loaded.database, "--data", str(tmp_path / "data"), "--matter", "mclean")
    assert done.returncode == 0, done.stderr
    async with reads(own_loaded.database, case_id) as ask:
        names = [p["name"] for p in (await ask("list_parties", case_id=case_id))["parties"]]
    assert names[:3] == ["Rev. Bill McLean", "A newcomer", "Bishop Ken Hicks"]
    assert len(names) == 46


async def test_rows_that_are_gone_from_the_source_stay_and_are_counted_by_table(own_loaded: Loaded, tmp_path: Path) -> None:
    assert "gone from the source" not in load(own_loaded.database, "--matter", "mclean").stdout
    shutil.copytree(DATA, tmp_path / "data")
    index = tmp_path / "data" / "mclean" / "record.json"
    content = json.loads(index.read_text("utf-8"))
    content["parties"].pop()
    content["designations"].pop()
    index.write_text(json.dumps(content), encoding="utf-8")
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        await loader.execute(
            "INSERT INTO record.fact_posture_proposals (id, case_id, fact_id, model, proposed_posture, basis, proposed_at, recorded_by) "
            "SELECT gen_random_uuid(), case_id, id, 'm', 'disputed', 'b', now(), 'proposals' FROM record.case_fact_records LIMIT 1"
        )
    before = await everything(own_loaded.database)
    done = load(own_loaded.database, "--data", str(tmp_path / "data"), "--matter", "mclean")
    assert done.returncode == 0, done.stderr
    gone = "2 provenance, 1 parties, 1 designations, 1 kg_entities, 1 kg_relationships, 2 kg_provenance"
    told = f"rows that are gone from the source and stay in the record: {gone}"
    assert [line.strip() for line in done.stdout.splitlines() if "gone from the source" in line] == [told]
    assert await everything(own_loaded.database) == before


async def test_a_fact_cannot_quote_a_sealed_entry_and_a_deadline_keeps_its_words_to_itself(database: Database, tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    folder = tmp_path / "data" / "soilworks"
    given = json.loads((folder / "matter.json").read_text("utf-8"))
    (folder / "matter.json").write_text(json.dumps({**given, "sealed_entries": [*given["sealed_entries"], "28"]}), encoding="utf-8")
    assert load(database, "--data", str(tmp_path / "data"), "--matter", "soilworks").returncode == 0
    async with seen_by(database, "substrate_loader") as loader:
        assert await loader.fetchval("SELECT count(*) FROM record.provenance WHERE quote LIKE '%due by 5/9/2008%'") == 0
    (folder / "matter.json").write_text(json.dumps({**given, "sealed_entries": ["141"]}), encoding="utf-8")
    refused = load(database, "--data", str(tmp_path / "data"), "--matter", "soilworks")
    assert refused.returncode == 1
    assert "F001 quotes an entry whose text is not loaded" in refused.stderr


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM record.docket_entries", 181),
        ("SELECT count(*) FROM record.docket_entries WHERE sealed", 9),
        ("SELECT count(*) FROM record.docket_entries WHERE text IS NULL AND NOT sealed", 16),
        ("SELECT count(*) FROM record.docket_attachments", 18),
        ("SELECT count(*) FROM record.deadlines", 19),
        ("SELECT count(*) FROM record.deadlines WHERE superseded_by_entry_id IS NOT NULL", 6),
        ("SELECT count(*) FROM record.deadlines WHERE superseded_by_id IS NOT NULL", 5),
        ("SELECT count(*) FROM record.trial_objections", 12),
        ("SELECT count(*) FROM record.trial_objections WHERE ruling IS NULL", 3),
        ("SELECT count(*) FROM record.exhibits", 37),
        ("SELECT count(*) FROM record.exhibits WHERE received_page IS NULL", 3),
        ("SELECT count(*) FROM record.case_fact_records WHERE retired_at IS NULL AND merged_into IS NULL", 10),
        ("SELECT count(*) FROM record.matters", 3),
    ],
)
async def test_the_record_holds_what_the_papers_hold(loaded: Loaded, query: str, expected: int) -> None:
    async with seen_by(loaded.database, "substrate_loader") as loader:
        assert await loader.fetchval(query) == expected


async def test_a_chain_of_settings_leads_to_the_one_that_stood(loaded: Loaded) -> None:
    query = """
        SELECT d.due_date::text, n.due_date::text AS next, e.entry_number FROM record.deadlines d
          LEFT JOIN record.deadlines n ON n.id = d.superseded_by_id LEFT JOIN record.docket_entries e ON e.id = d.superseded_by_entry_id
         WHERE d.title = 'Jury trial (4 days)' ORDER BY d.due_date"""
    async with seen_by(loaded.database, "substrate_loader") as loader:
        rows = [tuple(r) for r in await loader.fetch(query)]
    assert rows == [("2009-01-20", "2009-03-17", 143), ("2009-03-17", None, 162)]


async def test_every_row_of_evidence_has_its_provenance_in_the_same_matter(loaded: Loaded) -> None:
    query = """
        SELECT format('SELECT count(*) FROM record.%I t LEFT JOIN record.provenance p ON p.urn = t.provenance_id
                       WHERE p.urn IS NULL OR p.case_id <> t.case_id OR p.target_id <> t.%I',
                      table_name, CASE table_name WHEN 'matters' THEN 'case_id' ELSE 'id' END)
          FROM information_schema.columns WHERE table_schema = 'record' AND column_name = 'provenance_id'"""
    async with seen_by(loaded.database, "substrate_loader") as loader:
        checks = [r[0] for r in await loader.fetch(query)]
        assert len(checks) > 10
        for check in checks:
            assert await loader.fetchval(check) == 0, check
