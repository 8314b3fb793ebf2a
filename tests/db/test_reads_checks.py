"""The engines through the reads: quotes of the record, statuses that fall, and every store behind an answer taken away in turn."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kit import db, limits
from kit.db import load_statement
from kit.errors import Refusal
from ops.importers.rows import Rows
from services.reads.__main__ import SQL
from tests.cluster import Loaded
from tests.db.reads_world import main_items, reads
from tests.db.test_reads_status import change
from tests.db.test_reads_unreadable import OTHERS, assert_unreadable

MCLEAN = json.loads((Path(__file__).parents[2] / "data" / "mclean" / "matter.json").read_text(encoding="utf-8"))
IDS = Rows("mclean", "test")
STIPULATION, TRIAL = IDS.id("documents", "stipulation"), IDS.id("documents", "trial")
RESULTS = {"match": ("exact", "grounded"), "misquote": ("misquote", "ungrounded"), "wrong_page": ("wrong_page", "ungrounded")}
TOOLS = (
    *("get_matter_brief", "get_element_gaps", "verify_record_cites", "verify_quote", "extract_citations", "get_cite_audit_findings"),
    *("get_calibration_ledger", "get_matter_outcomes", "verify_ledger_chain", "get_validation_runs", "get_production_service_receipts"),
    *("get_redaction_receipts", "get_inbound_import_receipts", "compute_deadline", "list_stipulations", "list_transcripts"),
    "get_transcript_excerpt",
)  # fmt: skip
STORE = re.compile(r"(?:FROM|JOIN) record\.([a-z_]+)\b(?!\()")


@pytest.mark.parametrize("tool", TOOLS)
async def test_every_store_behind_an_answer_makes_it_unreadable_and_never_empty(own_loaded: Loaded, tool: str) -> None:
    case_id = own_loaded.matters["mclean"]
    stores = sorted(set(STORE.findall(load_statement(Path(SQL) / f"{tool}.sql").sql)))
    assert stores
    async with reads(own_loaded.database, case_id) as ask:
        for store in stores:
            await change(own_loaded.database, f"REVOKE SELECT ON record.{store} FROM svc_reads")
            assert_unreadable(tool, await ask(tool, case_id=case_id, **OTHERS.get(tool, {})))
            await change(own_loaded.database, f"GRANT SELECT ON record.{store} TO svc_reads")
        assert (await ask(tool, case_id=case_id, **OTHERS.get(tool, {})))["read_state"] != "unreadable"


@pytest.mark.parametrize("fact", MCLEAN["facts"], ids=lambda f: f["fact_id"])
async def test_each_quote_of_the_fact_record_stands_letter_by_letter(loaded: Loaded, fact: dict[str, Any]) -> None:
    given = fact["assertions"][0]
    async with reads(loaded.database, loaded.matters["mclean"]) as ask:
        arguments = {
            "case_id": loaded.matters["mclean"],
            "document_id": STIPULATION,
            "page": given["page_from"],
            "page_to": given["page_to"],
        }
        answer = await ask("verify_quote", quote=given["quote"], **arguments)
        assert (answer["check"]["result"], answer["verification_status"]) == ("exact", "grounded")
        at = max(i for i, c in enumerate(given["quote"]) if c.isalpha())
        altered = await ask("verify_quote", quote=f"{given['quote'][:at]}Q{given['quote'][at + 1 :]}", **arguments)
    assert (altered["check"]["result"], altered["verification_status"]) == ("misquote", "ungrounded")


@pytest.mark.parametrize("given", MCLEAN["quote_checks"], ids=lambda g: f"{g['page']}: {g['quote'][:20]} {g['expect']}")
async def test_the_six_checks_of_the_matter_end_as_it_says(loaded: Loaded, given: dict[str, Any]) -> None:
    document = STIPULATION if "stipulation" in given["doc"] else TRIAL
    async with reads(loaded.database, loaded.matters["mclean"]) as ask:
        answer = await ask("verify_quote", case_id=loaded.matters["mclean"], document_id=document, page=given["page"], quote=given["quote"])
    assert (answer["check"]["result"], answer["verification_status"]) == RESULTS.get(given["expect"], ("not_loaded", "unknown"))


async def test_one_letter_altered_on_the_page_reaches_every_answer_that_rests_on_it(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    quote = "Governor Frank White signed the bill on March 19, 1981."
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        ("verify_quote", {"quote": quote, "document_id": STIPULATION, "page": 5}),
        ("compute_deadline", {"trigger_fact": "F005", "amount": 10}),
        ("get_matter_brief", {}),
        ("get_element_gaps", {"include_covered": True}),
    )
    async with reads(own_loaded.database, case_id) as ask:
        before = [await ask(tool, case_id=case_id, **more) for tool, more in asked]
        await change(own_loaded.database, "UPDATE record.document_pages SET text = replace(text, 'March 19, 1981', 'March 18, 1981')")
        after = [await ask(tool, case_id=case_id, **more) for tool, more in asked]
    assert [a["verification_status"] for a in before[:2]] == ["grounded", "grounded"]
    assert [a["verification_status"] for a in after[:2]] == ["ungrounded", "ungrounded"]
    assert after[0]["check"]["result"] == "misquote"
    assert [a["brief"]["sections"][0]["verification_status"] for a in (before[2], after[2])] == ["grounded", "ungrounded"]
    assert [a["gaps"][0]["grounded_support"] for a in (before[3], after[3])] == [6, 5]


async def test_a_brief_is_stale_only_where_rows_came_after_it_and_reading_it_changes_nothing(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    stamp = "SELECT md5(string_agg(b::text, '|')) FROM record.matter_briefs b"
    admin = await db.connect_one(own_loaded.database.admin_dsn)
    async with reads(own_loaded.database, case_id) as ask:
        kept = await admin.fetchval(stamp)
        stale = await ask("get_matter_brief", case_id=case_id)
        assert await admin.fetchval(stamp) == kept
        await admin.execute("UPDATE record.matter_briefs SET computed_at = now() + interval '1 hour', as_of = now() + interval '1 hour'")
        fresh = await ask("get_matter_brief", case_id=case_id)
    await admin.close()
    assert (stale["brief"]["stale"], stale["as_of"]) == (True, stale["brief"]["computed_at"])
    assert (fresh["brief"]["stale"], fresh["brief"]["rows_since"]) == (False, 0)
    assert not any("stale" in n for n in fresh["verification"]["notes"])


async def test_an_element_whose_support_is_retired_or_unsettled_is_a_gap_of_its_kind(own_loaded: Loaded) -> None:
    case_id, fact = own_loaded.matters["mclean"], IDS.id("case_fact_records", "F009")

    async def gap(ask: Any) -> str:
        found = await ask("get_element_gaps", case_id=case_id, claim="C1", include_covered=True)
        return str(next(g["gap"] for g in found["gaps"] if g["code"] == "E-ENTANGLE"))

    async with reads(own_loaded.database, case_id) as ask:
        assert await gap(ask) == "covered"
        await change(own_loaded.database, "UPDATE record.case_fact_records SET posture = 'disputed' WHERE code = 'F009'")
        assert await gap(ask) == "only_unsettled_facts"
        await change(own_loaded.database, f"UPDATE record.case_fact_assertions SET quote = 'Never said.' WHERE fact_id = '{fact}'")
        assert await gap(ask) == "no_quote_stands"
        await change(
            own_loaded.database, "UPDATE record.case_fact_records SET retired_at = now(), retired_reason = 'x' WHERE code = 'F009'"
        )
        assert await gap(ask) == "only_retired_facts"
        await change(own_loaded.database, f"DELETE FROM record.fact_element_links WHERE fact_id = '{fact}'")
        assert await gap(ask) == "no_facts_linked"


async def test_where_retirement_is_not_recorded_no_gap_is_established(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    drop = "ALTER TABLE record.case_fact_records DROP COLUMN retired_at CASCADE, DROP COLUMN merged_into CASCADE"
    async with reads(own_loaded.database, case_id) as ask:
        await change(own_loaded.database, drop)
        answer = await ask("get_element_gaps", case_id=case_id)
    assert {g["gap"] for g in answer["gaps"]} == {"not_established"}
    assert answer["verification_status"] == "unknown"
    assert any("live distinction is unavailable" in n for n in answer["verification"]["notes"])


async def test_a_document_that_may_not_be_shown_takes_its_words_out_of_every_check(own_loaded: Loaded) -> None:
    matters, mata = own_loaded.matters, Rows("mata", "test").id("documents", "ecf21")
    async with reads(own_loaded.database, *matters.values()) as ask:
        await change(own_loaded.database, "UPDATE record.documents SET privilege_class = NULL")
        quote = await ask("verify_quote", case_id=matters["mclean"], document_id=STIPULATION, page=5, quote="Governor Frank White")
        parsed = await ask("extract_citations", case_id=matters["mata"], document_id=mata)
        findings = await ask("get_cite_audit_findings", case_id=matters["mata"])
        excerpt = await ask(
            "get_transcript_excerpt", case_id=matters["mclean"], transcript_id=IDS.id("transcripts", "trial"), page_from=375
        )
        brief = await ask("get_matter_brief", case_id=matters["mclean"])
    assert quote["read_state"] == parsed["read_state"] == "empty"
    assert {f["cite"] for f in findings["findings"]} == {None}
    assert {p["text"] for p in excerpt["pages"]} == {None}
    assert [s["text"] for s in brief["brief"]["sections"][:3]] == [None] * 3


async def test_more_cites_than_one_answer_takes_are_counted_and_left_out(loaded: Loaded) -> None:
    many = limits.CITES_SHOWN_MAX + 1
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        cites = await ask("verify_record_cites", case_id=case_id, text="Tr. 375; " * many)
        parsed = await ask("extract_citations", case_id=case_id, text="403 U.S. 602; " * many)
    for tool, answer in (("verify_record_cites", cites), ("extract_citations", parsed)):
        assert len(main_items(tool, answer)) == answer["count"] == limits.CITES_SHOWN_MAX
        assert any(str(many) in n for n in answer["verification"]["notes"])


@pytest.mark.parametrize(
    ("tool", "more", "field"),
    [
        ("verify_quote", {"quote": "abc", "document_id": STIPULATION, "page": 5, "page_to": 4}, "page_to"),
        ("verify_quote", {"quote": "abc", "document_id": STIPULATION, "page_to": 4}, "page_to"),
        ("verify_quote", {"quote": "abc", "document_id": STIPULATION, "page": 1, "page_to": 2 + limits.QUOTE_PAGES_MAX}, "page_to"),
        ("extract_citations", {}, "request"),
        ("extract_citations", {"text": "x", "document_id": STIPULATION}, "request"),
        ("compute_deadline", {"amount": 3}, "request"),
        ("compute_deadline", {"trigger_date": "2024-01-02"}, "request"),
        ("compute_deadline", {"trigger_date": "2024-01-02", "amount": 3, "rule": "frcp_12_answer"}, "request"),
        ("compute_deadline", {"trigger_date": "2024-02-30", "amount": 3}, "trigger_date"),
        ("compute_deadline", {"trigger_date": "2024-01-02", "amount": 3, "state_holidays": ["2024-02-30"]}, "state_holidays"),
        ("compute_deadline", {"trigger_date": "1940-01-02", "amount": 3}, "request"),
        ("compute_deadline", {"trigger_date": "1950-01-02", "rule": "frcp_36_response"}, "rule"),
        ("compute_deadline", {"trigger_date": "2024-01-02", "amount": limits.PERIOD_DAYS_MAX + 1}, "amount"),
        ("compute_deadline", {"trigger_date": "2024-01-02", "trigger_time": "25:00", "amount": 3, "unit": "hours"}, "trigger_time"),
        ("compute_deadline", {"trigger_date": "9999-12-30", "amount": 30}, "request"),
        ("compute_deadline", {"trigger_date": "0001-01-02", "amount": 30, "backward": True}, "request"),
        ("get_transcript_excerpt", {"transcript_id": STIPULATION, "page_from": 10, "page_to": 9}, "request"),
        ("get_transcript_excerpt", {"transcript_id": STIPULATION, "page_from": 1, "page_to": 11}, "request"),
    ],
)
async def test_arguments_that_make_no_question_are_refused_by_field(loaded: Loaded, tool: str, more: dict[str, Any], field: str) -> None:
    async with reads(loaded.database, loaded.matters["mclean"]) as ask:
        with pytest.raises(Refusal) as refused:
            await ask(tool, case_id=loaded.matters["mclean"], **more)
    assert field in [e.path for e in refused.value.fields]
