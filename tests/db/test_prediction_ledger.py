"""The ledger of predictions and the receipts: chained as they are written, never changed, told without naming other matters."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kit import db, limits
from ops.importers import predictions
from services.reads.engines import calibration
from tests.cluster import Database, Loaded
from tests.db.reads_world import reads
from tests.db.record_world import seen_by

ROWS = "SELECT * FROM record.prediction_outcomes ORDER BY seq"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def hashed(row: db.Record) -> str:
    """What a third party computes from a row, by the words of verify_ledger_chain."""
    microseconds = round((row["at"] - EPOCH).total_seconds() * 1_000_000)
    resolves_by = "-" if row["resolves_by"] is None else str((row["resolves_by"] - EPOCH.date()).days)
    fields = [row["seq"], row["id"], row["case_id"], row["kind"], row["prediction_id"] or "-", row["question"] or "-"]
    fields += ["-" if row["probability"] is None else row["probability"], row["made_by"], microseconds, resolves_by]
    fields += ["-" if row["happened"] is None else int(row["happened"]), row["source"] or "-"]
    return calibration.row_hash(row["prev_hash"], [str(f) for f in fields])


async def tamper(database: Database, statement: str) -> None:
    """A change that only the owner of the database can make: past the trigger."""
    admin = await db.connect_one(database.admin_dsn)
    await admin.execute(f"SET session_replication_role = replica; {statement}; SET session_replication_role = origin")
    await admin.close()


async def test_the_hash_of_each_row_is_what_the_answer_says_how_to_compute(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "substrate_loader") as loader:
        rows = await loader.fetch(ROWS)
    assert len(rows) == 26
    before = calibration.GENESIS
    for place, row in enumerate(rows, 1):
        assert (row["seq"], row["prev_hash"], row["row_hash"]) == (place, before, hashed(row))
        before = row["row_hash"]


@pytest.mark.parametrize("statement", ["UPDATE record.prediction_outcomes SET probability = 0.5", "DELETE FROM record.prediction_outcomes"])
async def test_a_row_of_the_ledger_is_never_changed_or_taken_away(own_loaded: Loaded, statement: str) -> None:
    admin = await db.connect_one(own_loaded.database.admin_dsn)
    with pytest.raises(db.Error, match="only ever added"):
        await admin.execute(statement)
    await admin.close()


@pytest.mark.parametrize("table", ["service_receipts", "import_attempts"])
async def test_receipts_are_only_ever_added(own_loaded: Loaded, table: str) -> None:
    admin = await db.connect_one(own_loaded.database.admin_dsn)
    for statement in (f"UPDATE record.{table} SET recorded_by = 'x'", f"DELETE FROM record.{table}"):
        with pytest.raises(db.Error, match="only ever added"):
            await admin.execute(statement)
    await admin.close()


@pytest.mark.parametrize(
    ("statement", "at"),
    [
        ("UPDATE record.prediction_outcomes SET probability = 0.123 WHERE seq = 7", 7),
        ("UPDATE record.prediction_outcomes SET happened = NOT happened WHERE seq = 20", 20),
        ("DELETE FROM record.prediction_outcomes WHERE seq = 26", None),
        ("DELETE FROM record.prediction_outcomes WHERE seq = 25", 25),
        ("UPDATE record.prediction_outcomes SET row_hash = repeat('0', 64) WHERE seq = 3", 3),
    ],
)
async def test_what_is_changed_past_the_trigger_breaks_the_chain_there_and_withholds_the_summary(
    own_loaded: Loaded, statement: str, at: int | None
) -> None:
    """The last row can be cut off unseen: a chain shows that nothing before its head changed, which is why the head is said."""
    case_id = own_loaded.matters["mclean"]
    async with reads(own_loaded.database, case_id) as ask:
        await tamper(own_loaded.database, statement)
        chain = await ask("verify_ledger_chain", case_id=case_id)
        ledger = await ask("get_calibration_ledger", case_id=case_id)
    verdict = chain["chain"]["verdict"]
    assert (verdict["state"], verdict["broken_at"]) == (("broken", at) if at else ("good", None))
    assert ledger["chain"] == verdict
    assert (ledger["summary"] is None) == (ledger["summary_withheld"] is not None) == bool(at)


async def test_a_truncated_read_establishes_nothing_and_withholds_the_summary(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEDGER_ROWS_MAX", 25)
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        ledger = await ask("get_calibration_ledger", case_id=case_id)
    assert ledger["chain"]["state"] == "not_established"
    assert (ledger["summary"], ledger["count"]) == (None, 2)
    assert "longer than what one read takes in" in ledger["summary_withheld"]


async def test_below_ten_scorable_matters_the_summary_is_withheld_and_the_predictions_are_not(own_loaded: Loaded) -> None:
    case_id, given = own_loaded.matters["mclean"], json.loads(Path("data", predictions.NAME).read_text(encoding="utf-8"))
    nine = [p for p in given["predictions"] if p["matter"] in {"mclean", *(f"closed matter {n:02d}" for n in range(1, 9))}]
    ledger = predictions.made(nine, own_loaded.matters, "import:test")
    await tamper(own_loaded.database, "TRUNCATE record.prediction_outcomes")
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        await predictions.write(loader, ledger)
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_calibration_ledger", case_id=case_id)
    assert (answer["chain"]["state"], answer["count"], answer["open_count"], answer["summary"]) == ("good", 2, 1, None)
    assert "(9)" in answer["summary_withheld"]


async def test_the_ledger_of_a_matter_shows_nothing_of_another(loaded: Loaded) -> None:
    async with seen_by(loaded.database, "svc_reads", loaded.matters["mclean"]) as reader:
        own = await reader.fetch("SELECT DISTINCT case_id FROM record.prediction_outcomes")
        whole = await reader.fetch("SELECT * FROM record.ledger_links(100)")
    assert [str(r["case_id"]) for r in own] == [loaded.matters["mclean"]]
    assert len(whole) == 26
    told = json.dumps([list(map(str, r.values())) for r in whole])
    assert not [m for m in loaded.matters.values() if m in told]
    assert "closed matter" not in told
    assert "Constructed" not in told


async def test_a_redaction_is_in_the_audit_chain_once_however_often_it_is_loaded(own_loaded: Loaded) -> None:
    admin = await db.connect_one(own_loaded.database.admin_dsn)
    linked = """SELECT r.audit_seq, r.audit_hash, encode(l.hash, 'hex') AS hash, l.action, l.case_id = r.case_id AS same
                  FROM record.redaction_receipts r JOIN audit.log l ON l.seq = r.audit_seq ORDER BY 1"""
    before = await admin.fetch(linked)
    again = "INSERT INTO record.redaction_receipts SELECT * FROM record.redaction_receipts ON CONFLICT (id) DO UPDATE"
    await admin.execute(f"{again} SET page_count = excluded.page_count")
    assert await admin.fetch(linked) == before
    assert await admin.fetchval("SELECT count(*) FROM audit.log WHERE action = 'record.redaction_receipts'") == 2
    await admin.close()
    assert [(r["action"], r["same"], r["audit_hash"] == r["hash"]) for r in before] == [("record.redaction_receipts", True, True)] * 2


async def test_a_manifest_that_no_longer_fits_its_versions_is_said_and_has_another_digest(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    admin = await db.connect_one(own_loaded.database.admin_dsn)
    async with reads(own_loaded.database, case_id) as ask:
        before = await ask("get_production_service_receipts", case_id=case_id)
        await admin.execute("UPDATE record.production_documents SET sha256 = repeat('a', 64) WHERE position = 1")
        after = await ask("get_production_service_receipts", case_id=case_id)
    await admin.close()
    assert [r["manifest_rows_matching"] for r in (*before["receipts"], *after["receipts"])] == [2, 2, 1, 1]
    assert before["receipts"][0]["manifest_sha256"] != after["receipts"][0]["manifest_sha256"]
    assert any("1 rows of the manifest" in n for n in after["verification"]["notes"])


async def test_no_more_members_of_an_import_are_kept_than_are_shown(own_loaded: Loaded) -> None:
    admin = await db.connect_one(own_loaded.database.admin_dsn)
    add = """INSERT INTO record.import_members (id, case_id, import_id, position, bates_begin, bates_end, match, recorded_by)
             SELECT gen_random_uuid(), case_id, id, $1, 'X1', 'X1', 'unmatched', 'test' FROM record.inbound_imports"""
    await admin.execute(add, limits.IMPORT_MEMBERS_MAX)
    with pytest.raises(db.IntegrityViolation):
        await admin.execute(add, limits.IMPORT_MEMBERS_MAX + 1)
    await admin.close()
