"""Every action, from a person's signed decision to the changed record and the read that shows it and leads back to the decision."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kit import actions
from tests.cluster import Loaded
from tests.db.executor_world import World, opened, sweep, urn
from tests.db.reads_world import reads
from tests.db.record_world import seen_by

EMAIL = {"name": "Jane Roe", "title": "Controller", "from": "2020-01-01", "sources": ["mailbox"], "email": "jane@client.example"}


@pytest.fixture
async def mclean(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path, own_loaded.matters["mclean"]) as world:
        yield world


@pytest.fixture
async def soilworks(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path, own_loaded.matters["soilworks"]) as world:
        yield world


async def read(world: World, tool: str, **arguments: Any) -> dict[str, Any]:
    async with reads(world.database, str(world.case_id)) as ask:
        return await ask(tool, case_id=str(world.case_id), **arguments)


async def seen(world: World, table: str) -> list[dict[str, Any]]:
    """The rows of a table that svc_reads sees in this matter, the newest decision's row last."""
    async with seen_by(world.database, "svc_reads", str(world.case_id)) as reader:
        statement = await reader.fetchval("SELECT format('SELECT to_jsonb(t) AS row FROM record.%I t', $1::text)", table)
        return [json.loads(r["row"]) for r in await reader.fetch(statement)]


async def of_our_volume(world: World) -> list[dict[str, Any]]:
    """The production that a test makes, beside those of the record."""
    return [p for p in await seen(world, "productions") if p["volume"] == "VOL001"]


async def done(world: World, action: str, args: dict[str, Any]) -> uuid.UUID:
    proposal_id = await world.carried_out(action, args)
    outcome = await world.outcome(proposal_id)
    assert outcome[0] == "done", outcome
    return proposal_id


async def leads_to_decision(world: World, target_id: str, proposal_id: uuid.UUID) -> None:
    row = await world.one("SELECT urn, decision_id FROM record.provenance WHERE target_id = $1", uuid.UUID(target_id))
    assert (row["urn"], row["decision_id"]) == (urn(proposal_id), proposal_id)


async def test_a_decided_deadline_is_listed_with_its_decision_and_claims_no_ground_that_it_has_not(soilworks: World) -> None:
    before = await read(soilworks, "list_deadlines", page_size=200)
    made = await done(
        soilworks, "create_deadline", {"title": "Answer due", "due_date": "2027-08-14", "rule_id": "FRCP 12(a)", "responsible": "Ada"}
    )
    after = await read(soilworks, "list_deadlines", page_size=200)
    (new,) = [d for d in after["deadlines"] if d["id"] not in {b["id"] for b in before["deadlines"]}]
    assert (new["title"], new["due_date"], new["status"], new["live"]) == ("Answer due", "2027-08-14", "pending", True)
    assert (new["source_kind"], new["rule"], new["responsible"]) == ("decision", "FRCP 12(a)", "Ada")
    assert (new["provenance_ids"], new["verification_status"]) == ([urn(made)], "ungrounded")
    assert urn(made) in after["provenance_ids"]
    assert "Answer due, 2027-08-14: it rests on a person's decision and on no document of the record." in after["verification"]["notes"]


async def test_a_deadline_that_cites_an_entry_and_no_words_of_it_is_not_called_checked(soilworks: World) -> None:
    entries = await read(soilworks, "list_docket_entries", page_size=5)
    entry = entries["entries"][0]
    made = await done(soilworks, "create_deadline", {"title": "Reply due", "due_date": "2027-09-01", "source_entry_id": entry["id"]})
    answer = await read(soilworks, "list_deadlines", words="Reply due", due_from="2027-09-01")
    (new,) = answer["deadlines"]
    assert (new["source_entry_id"], new["provenance_ids"], new["verification_status"]) == (entry["id"], [urn(made)], "unknown")
    assert any("and no words of it, so nothing was checked" in n for n in answer["verification"]["notes"])


async def test_a_changed_deadline_supersedes_the_old_one_and_no_later_import_brings_it_back(soilworks: World) -> None:
    old = next(d for d in (await read(soilworks, "list_deadlines", page_size=200))["deadlines"] if d["live"])
    made = await done(soilworks, "update_deadline", {"deadline_id": old["id"], "due_date": "2027-10-01", "reason": "Stipulated."})
    async with seen_by(soilworks.database, "substrate_loader") as loader:
        await loader.execute("UPDATE record.deadlines SET status = 'pending', superseded_by_id = NULL WHERE id = $1", old["id"])
    listed = {d["id"]: d for d in (await read(soilworks, "list_deadlines", page_size=200, include_superseded=True))["deadlines"]}
    new = next(d for d in listed.values() if urn(made) in d["provenance_ids"])
    assert (listed[old["id"]]["status"], listed[old["id"]]["superseded_by_id"], listed[old["id"]]["live"]) == (
        "superseded",
        new["id"],
        False,
    )
    assert (new["title"], new["due_date"], new["verification_status"]) == (old["title"], "2027-10-01", "ungrounded")
    assert new["source_entry_id"] is None


async def test_a_deadline_that_only_gets_another_title_keeps_its_source(soilworks: World) -> None:
    listed = (await read(soilworks, "list_deadlines", page_size=200))["deadlines"]
    old = next(d for d in listed if d["live"] and d["verification_status"] == "grounded")
    made = await done(soilworks, "update_deadline", {"deadline_id": old["id"], "title": "Renamed", "reason": "Clearer."})
    (new,) = (await read(soilworks, "list_deadlines", words="Renamed"))["deadlines"]
    assert (new["source_quote"], new["due_date"], new["verification_status"]) == (old["source_quote"], old["due_date"], "grounded")
    assert new["provenance_ids"] == [urn(made)]


async def test_a_task_and_a_note_are_in_the_file(soilworks: World) -> None:
    deadline = (await read(soilworks, "list_deadlines"))["deadlines"][0]
    task = await done(soilworks, "create_task", {"title": "Draft the answer", "due_date": "2027-01-02", "deadline_id": deadline["id"]})
    note = await done(soilworks, "add_note", {"text": "Spoke with chambers.", "target_id": deadline["id"]})
    (task_row,) = await seen(soilworks, "tasks")
    (note_row,) = await seen(soilworks, "notes")
    assert (task_row["title"], task_row["deadline_id"], task_row["status"]) == ("Draft the answer", deadline["id"], "open")
    assert (note_row["text"], note_row["target_table"]) == ("Spoke with chambers.", "deadlines")
    await leads_to_decision(soilworks, task_row["id"], task)
    await leads_to_decision(soilworks, note_row["id"], note)


async def test_a_hold_stands_on_its_custodians(mclean: World) -> None:
    custodian = await done(mclean, "add_custodian", EMAIL)
    (person,) = await seen(mclean, "custodians")
    assert (person["name"], person["role_from"], person["sources"], person["email"]) == (
        "Jane Roe",
        "2020-01-01",
        ["mailbox"],
        EMAIL["email"],
    )
    await leads_to_decision(mclean, person["id"], custodian)
    hold = await done(
        mclean, "set_litigation_hold", {"trigger": "Suit filed", "scope": "All mail", "custodian_ids": [person["id"]], "from": "2026-01-01"}
    )
    (row,) = await seen(mclean, "litigation_holds")
    assert (row["scope"], row["effective_from"]) == ("All mail", "2026-01-01")
    assert [h["custodian_id"] for h in await seen(mclean, "hold_custodians")] == [person["id"]]
    await leads_to_decision(mclean, row["id"], hold)


async def test_a_production_is_built_numbered_and_served_by_a_person(mclean: World) -> None:
    documents = (await read(mclean, "list_documents", page_size=3))["documents"]
    ids = [d["id"] for d in documents]
    args = {"request_ids": ["RFP 1"], "document_ids": ids, "format": "pdf", "volume": "VOL001", "bates_prefix": "MCL", "bates_start": 1}
    built = await done(mclean, "produce_documents", args)
    (production,) = await of_our_volume(mclean)
    listed = [m for m in await seen(mclean, "production_documents") if m["production_id"] == production["id"]]
    manifest = sorted(listed, key=lambda m: m["position"])
    assert [m["document_id"] for m in manifest] == ids
    assert [m["sha256"] for m in manifest] == [d["sha256"] for d in documents]
    assert manifest[0]["bates_begin"] == "MCL000001"
    assert production["bates_last"] == sum(d["page_count"] or 1 for d in documents)
    await leads_to_decision(mclean, production["id"], built)
    party = (await read(mclean, "list_parties"))["parties"][0]
    args = {"production_id": production["id"], "on_party_ids": [party["id"]], "means": "electronic", "served_on": "2027-02-01"}
    served = await done(mclean, "serve_production", args)
    (item,) = await seen(mclean, "work_items")
    assert (item["action"], item["status"], item["details"]["parties"]) == ("serve_production", "open", [party["name"]])
    assert (await mclean.outcome(served))[1] == "A work item tells a person to carry out the service. Nothing has been served yet."


async def test_what_may_not_be_produced_is_not_whoever_approved_it(mclean: World) -> None:
    row = await mclean.one(
        "SELECT id FROM record.documents WHERE case_id = $1 AND NOT record.producible(privilege_class, reviewed_at) LIMIT 1", mclean.case_id
    )
    args = {"document_ids": [str(row["id"])], "format": "pdf", "volume": "VOL001", "bates_prefix": "MCL", "bates_start": 1}
    outcome = await mclean.outcome(await mclean.carried_out("produce_documents", args))
    assert outcome[0] == "failed"
    assert "not privileged" in str(outcome[1])
    assert await of_our_volume(mclean) == []


async def test_a_discovery_response_is_recorded(mclean: World) -> None:
    args = {"request": "RFP 7", "response": "Will produce.", "objections": ["Overbroad"], "withholding": True, "served_on": "2027-01-05"}
    made = await done(mclean, "record_discovery_response", args)
    (row,) = await seen(mclean, "discovery_responses")
    assert {k: row[k] for k in args} == args
    await leads_to_decision(mclean, row["id"], made)


async def test_an_exhibit_is_on_the_list_and_claims_no_transcript_page(mclean: World) -> None:
    document = (await read(mclean, "list_documents"))["documents"][0]
    made = await done(
        mclean, "add_exhibit", {"number": "PX-900", "side": "plaintiffs", "document_id": document["id"], "description": "A letter"}
    )
    (exhibit,) = (await read(mclean, "list_exhibits", exhibit_number="PX-900"))["exhibits"]
    assert (exhibit["document_id"], exhibit["offered_page"], exhibit["received_page"]) == (document["id"], None, None)
    assert (exhibit["provenance_ids"], exhibit["verification_status"]) == ([urn(made)], "ungrounded")


async def test_an_objection_is_logged_without_a_ruling_and_its_words_are_looked_for(mclean: World) -> None:
    known = (await read(mclean, "get_trial_objections"))["objections"][0]
    args = {"trial_day": "1981-12-07", "objecting_counsel": "Mr. Ennis", "ground": "hearsay", "text": known["text_as_typed"]}
    there = await done(mclean, "log_trial_objection", {**args, "page_line": f"{known['transcript_page']}:{known['line_from']}"})
    nowhere = await done(mclean, "log_trial_objection", args)
    listed = {o["provenance_ids"][0]: o for o in (await read(mclean, "get_trial_objections", page_size=200))["objections"]}
    assert [listed[urn(p)]["ruling"] for p in (there, nowhere)] == [None, None]
    assert [listed[urn(p)]["verification_status"] for p in (there, nowhere)] == ["grounded", "ungrounded"]


async def test_an_assertion_is_checked_like_any_other_and_a_recommendation_decides_nothing(mclean: World) -> None:
    quoted = (await read(mclean, "get_fact_provenance", fact="F001"))["assertions"][0]
    fact = (await read(mclean, "get_fact_record", fact="F001"))["facts"][0]
    place = {k: quoted[k] for k in ("document_version_id", "page_from", "page_to", "quote", "source_class")}
    right = await done(mclean, "add_fact_assertion", {**place, "fact_id": fact["id"], "stance": "supports"})
    wrong = await done(
        mclean, "add_fact_assertion", {**place, "quote": "Words that stand nowhere.", "proposition": "A new one.", "stance": "supports"}
    )
    listed = (await read(mclean, "get_fact_provenance", fact="F001", page_size=200))["assertions"]
    assert [a["verification_status"] for a in listed if urn(right) in a["provenance_ids"]] == ["grounded"]
    (new,) = (await read(mclean, "get_fact_record", words="A new one."))["facts"]
    assert (urn(wrong) in new["provenance_ids"], new["verification_status"], new["posture"]["decided"]) == (
        True,
        "ungrounded",
        "not_decided",
    )
    posture = await done(mclean, "propose_fact_posture", {"fact_id": fact["id"], "posture": "disputed", "basis": "Paragraph 4 denies it."})
    again = (await read(mclean, "get_fact_record", fact="F001"))["facts"][0]["posture"]
    assert again["decided"] == fact["posture"]["decided"]
    assert (again["model_proposal"]["proposed_posture"], str(posture) in again["model_proposal"]["model"]) == ("disputed", True)


ELSEWHERE: dict[str, dict[str, Any]] = {
    "create_deadline": {"title": "x", "due_date": "2027-01-01", "source_entry_id": "docket_entries"},
    "update_deadline": {"deadline_id": "deadlines", "title": "x", "reason": "x"},
    "create_task": {"title": "x", "deadline_id": "deadlines"},
    "add_note": {"text": "x", "target_id": "deadlines"},
}


@pytest.mark.parametrize("action", list(ELSEWHERE))
async def test_a_row_of_another_matter_is_out_of_reach_of_a_decision(mclean: World, action: str) -> None:
    args = dict(ELSEWHERE[action])
    name = next(k for k, v in args.items() if v in ("docket_entries", "deadlines"))
    table = {"docket_entries": "SELECT id FROM record.docket_entries WHERE case_id <> $1 LIMIT 1"}.get(
        args[name], "SELECT id FROM record.deadlines WHERE case_id <> $1 LIMIT 1"
    )
    args[name] = str((await mclean.one(table, mclean.case_id))["id"])
    before = await mclean.sql("SELECT id, status FROM record.deadlines ORDER BY id")
    outcome = await mclean.outcome(await mclean.carried_out(action, args))
    assert outcome[0] == "failed"
    assert "not in this matter" in str(outcome[1])
    assert await mclean.sql("SELECT id, status FROM record.deadlines ORDER BY id") == before


async def test_every_outcome_is_accounted_for_in_the_chain_and_a_second_look_does_nothing(soilworks: World) -> None:
    made = await done(soilworks, "create_task", {"title": "Once"})
    await sweep(await soilworks.executor("two"))
    assert len(await seen(soilworks, "tasks")) == 1
    rows = await soilworks.sql("SELECT action, case_id, outcome FROM audit.log WHERE actor = 'executor'")
    assert [tuple(r) for r in rows] == [("execute.create_task", soilworks.case_id, "done")]
    row = await soilworks.one("SELECT intent, intent_at <= finished_at AS before FROM ledger.executions WHERE proposal_id = $1", made)
    assert (row["intent"].startswith("create_task "), row["before"]) == (True, True)


def test_each_declared_action_stands_in_this_file_or_that_of_the_notices() -> None:
    text = "".join(p.read_text("utf-8") for p in sorted(Path(__file__).parent.glob("test_executor_*.py")))
    assert [n for n in actions.load().by_name if f'"{n}"' not in text] == []


async def test_a_production_with_a_document_that_is_privileged_by_now_is_not_served(mclean: World) -> None:
    document = (await read(mclean, "list_documents"))["documents"][0]
    args = {"document_ids": [document["id"]], "format": "pdf", "volume": "VOL001", "bates_prefix": "MCL", "bates_start": 1}
    await done(mclean, "produce_documents", args)
    production, party = (await of_our_volume(mclean))[0], (await read(mclean, "list_parties"))["parties"][0]
    await mclean.sql("UPDATE record.documents SET privilege_class = 'attorney_client' WHERE id = $1", uuid.UUID(document["id"]))
    args = {"production_id": production["id"], "on_party_ids": [party["id"]], "means": "electronic", "served_on": "2027-02-01"}
    outcome = await mclean.outcome(await mclean.carried_out("serve_production", args))
    assert (outcome[0], "no longer one that was reviewed" in str(outcome[1])) == ("failed", True)
    assert await seen(mclean, "work_items") == []
