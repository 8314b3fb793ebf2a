"""Read, empty and unreadable are three answers, for every store of every tool."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kit import db, limits
from kit.db import load_statement
from kit.errors import Refusal
from services.reads.__main__ import SQL
from tests.cluster import Loaded
from tests.db.reads_world import TOOLBOX, main_items, reads
from tests.db.test_reads_status import change
from tests.poll import until_async

STATEMENTS = {path.stem: load_statement(path) for path in sorted(Path(SQL).glob("*.sql")) if path.stem in TOOLBOX.cards}
PER_MATTER = {n: s for n, s in STATEMENTS.items() if TOOLBOX.cards[n].tool.names_case}
OTHERS: dict[str, dict[str, Any]] = {
    "ask_client_model": {"writing": "fact_digest"},
    "get_docket_entry": {"entry": "43"},
    "get_fact_provenance": {"fact": "F001"},
    "get_passage": {"document_id": "00000000-0000-4000-8000-000000000000", "page": 1},
    "get_document_metadata": {"document_id": "00000000-0000-4000-8000-000000000000"},
    "search_documents": {"words": '"balanced treatment"'},
    "get_document": {"document_id": "00000000-0000-4000-8000-000000000000"},
    "retrieve": {"query": "Who drafted the model act?"},
    "search_firm_work_product": {"query": "How do we prove the purpose of the Act?"},
    "get_entity": {"entity_id": "00000000-0000-4000-8000-000000000000"},
    "find_entity_paths": {"from_entity_id": "00000000-0000-4000-8000-000000000000", "to_entity_id": "00000000-0000-4000-8000-000000000001"},
    "get_kg_provenance": {"urns": ["urn:substrate:kg:prov:00000000-0000-4000-8000-000000000000"]},
    "verify_quote": {"quote": "It is not science.", "document_id": "00000000-0000-4000-8000-000000000000"},
    "verify_record_cites": {"text": "Tr. 375:7"},
    "extract_citations": {"document_id": "00000000-0000-4000-8000-000000000000"},
    "compute_deadline": {"trigger_entry": 43, "amount": 30},
    "get_transcript_excerpt": {"transcript_id": "00000000-0000-4000-8000-000000000000", "page_from": 1},
}
INTERNAL_WORDS = ("SELECT", 'relation "', "permission denied", "record.", "asyncpg", "Error", "psql", "svc_reads", "/")


def arguments(tool: str, case_id: str) -> dict[str, Any]:
    """Arguments of a tool for a matter."""
    return {"case_id": case_id, **OTHERS.get(tool, {})}


def assert_unreadable(tool: str, answer: dict[str, Any]) -> None:
    """Null, unreadable and unknown, with a note in plain words."""
    assert (answer["read_state"], answer["verification_status"]) == ("unreadable", "unknown")
    assert main_items(tool, answer) == []
    assert answer.get("count") is None
    assert answer.get("total_count") is None
    assert answer["as_of"] is None
    told = [n for n in answer["verification"]["notes"] if "not an empty result" in n]
    assert told
    assert not [w for n in told for w in INTERNAL_WORDS if w in n]


@pytest.mark.parametrize("tool", sorted(PER_MATTER))
async def test_a_revoked_grant_makes_the_store_unreadable_at_once_and_after_a_restart(own_loaded: Loaded, tool: str) -> None:
    case_id = own_loaded.matters["mclean"]
    async with reads(own_loaded.database, case_id) as ask:
        assert (await ask(tool, **arguments(tool, case_id)))["read_state"] != "unreadable"
        await change(own_loaded.database, f"REVOKE SELECT ON record.{PER_MATTER[tool].one('store')} FROM svc_reads")
        assert_unreadable(tool, await ask(tool, **arguments(tool, case_id)))
    async with reads(own_loaded.database, case_id, whole=True) as restarted:
        assert_unreadable(tool, await restarted(tool, **arguments(tool, case_id)))
        await change(own_loaded.database, f"GRANT SELECT ON record.{PER_MATTER[tool].one('store')} TO svc_reads")
        assert (await restarted(tool, **arguments(tool, case_id)))["read_state"] != "unreadable"


@pytest.mark.parametrize("tool", ["get_trial_objections", "list_exhibits", "list_deadlines"])
async def test_a_table_that_is_not_there_is_unreadable_and_says_that_it_is_absent(own_loaded: Loaded, tool: str) -> None:
    case_id = own_loaded.matters["mclean"]
    store = PER_MATTER[tool].one("store")
    async with reads(own_loaded.database, case_id) as ask:
        await change(own_loaded.database, f"ALTER TABLE record.{store} RENAME TO {store}_elsewhere")
        answer = await ask(tool, case_id=case_id)
    assert_unreadable(tool, answer)
    assert any("not present in this installation" in n for n in answer["verification"]["notes"])


async def test_a_store_that_does_not_answer_in_time_is_unreadable(own_loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    case_id = own_loaded.matters["mclean"]
    monkeypatch.setattr(limits, "STATEMENT_TIMEOUT_SECONDS", 0.3)
    blocker = await db.connect_one(own_loaded.database.admin_dsn)
    async with reads(own_loaded.database, case_id) as ask, blocker.transaction():
        await blocker.execute("LOCK TABLE record.trial_objections IN ACCESS EXCLUSIVE MODE")
        answer = await ask("get_trial_objections", case_id=case_id)
    await blocker.close()
    assert_unreadable("get_trial_objections", answer)
    assert any("did not answer in time" in n for n in answer["verification"]["notes"])


async def test_a_connection_cut_between_calls_is_made_again_and_a_database_that_is_gone_is_unreadable(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'svc_reads' AND datname = current_database()"
    async with reads(own_loaded.database, case_id) as ask:
        assert (await ask("list_exhibits", case_id=case_id))["read_state"] == "read"
        await change(own_loaded.database, cut)
        assert (await ask("list_exhibits", case_id=case_id))["read_state"] == "read"
        await change(own_loaded.database, "ALTER ROLE svc_reads NOLOGIN")
        try:
            await change(own_loaded.database, cut)
            assert_unreadable("list_exhibits", await ask("list_exhibits", case_id=case_id))
        finally:
            await change(own_loaded.database, "ALTER ROLE svc_reads LOGIN")


async def test_an_empty_table_is_empty_and_not_unreadable(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    await change(own_loaded.database, "TRUNCATE record.trial_objections CASCADE")
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_trial_objections", case_id=case_id)
    assert (answer["read_state"], answer["objections"], answer["count"], answer["total_count"]) == ("empty", [], 0, 0)
    assert answer["verification_status"] == "unknown"
    assert any("not proof of absence" in n for n in answer["verification"]["notes"])
    assert answer["as_of"] is not None, "the store's last refresh is known"


async def test_freshness_shows_one_unreadable_store_and_all_the_others(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    await change(own_loaded.database, "REVOKE SELECT ON record.exhibits FROM svc_reads")
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("get_data_freshness", case_id=case_id)
    states = {s["store"]: s["read_state"] for s in answer["stores"]}
    assert states.pop("exhibits") == "unreadable"
    assert set(states.values()) <= {"read", "empty"}
    assert "read" in states.values()
    exhibits = next(s for s in answer["stores"] if s["store"] == "exhibits")
    assert (exhibits["row_count"], exhibits["newest_as_of"]) == (None, None)


async def test_connections_that_are_all_busy_say_nothing_about_a_store_that_nobody_looked_at(
    own_loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    case_id = own_loaded.matters["mclean"]
    monkeypatch.setattr(limits, "POOL_ACQUIRE_SECONDS", 0.3)
    blocker = await db.connect_one(own_loaded.database.admin_dsn)
    async with reads(own_loaded.database, case_id, whole=True) as ask:
        async with blocker.transaction():
            await blocker.execute("LOCK TABLE record.trial_objections IN ACCESS EXCLUSIVE MODE")
            waiting = [asyncio.ensure_future(ask("get_trial_objections", case_id=case_id)) for _ in range(2)]
            await until_async(lambda: blocker.fetchval("SELECT count(*) >= 2 FROM pg_locks WHERE NOT granted"), "both wait")
            with pytest.raises(Refusal) as refused:
                await ask("get_matter", case_id=case_id)
        assert {a["read_state"] for a in await asyncio.gather(*waiting)} == {"read"}
    await blocker.close()
    assert refused.value.retryable


async def test_freshness_is_as_old_as_the_oldest_row_of_any_store_and_unknown_where_one_is(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        answer = await ask("get_data_freshness", case_id=case_id)
        documents = await ask("list_documents", case_id=case_id)
    known = [s for s in answer["stores"] if s["newest_as_of"]]
    if len(known) == len(answer["stores"]):
        assert answer["as_of"] <= documents["as_of"]
    else:
        assert answer["as_of"] is None
