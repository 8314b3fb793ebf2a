"""An attested read, end to end: the official client lists the tools and calls each of them, in both eras, on the real matters."""

from __future__ import annotations

from typing import Any

import pytest

from kit import catalogue, db
from tests.db.reads_world import TOOLBOX, check_contract, main_items
from tests.system.client import MODES, call, client, writes
from tests.system.stack import Stack

TOOLS = [t.name for t in catalogue.load().tools]


async def entity(connected: Any, case_id: str, name: str) -> str:
    """Id of an entity that a search finds."""
    found = await call(connected, "search_entities", case_id=case_id, words=name)
    return str(found["entities"][0]["id"])


async def one_entity(connected: Any, case_id: str) -> dict[str, Any]:
    return {"entity_id": await entity(connected, case_id, "Ellwanger")}


async def two_entities(connected: Any, case_id: str) -> dict[str, Any]:
    return {"from_entity_id": await entity(connected, case_id, "Ellwanger"), "to_entity_id": await entity(connected, case_id, "Carl Hunt")}


async def provenance_ids(connected: Any, case_id: str) -> dict[str, Any]:
    return {"urns": (await call(connected, "list_relationships", case_id=case_id, predicate="drafted"))["provenance_ids"]}


async def a_fact(connected: Any, case_id: str) -> dict[str, Any]:
    return {"fact": (await call(connected, "get_fact_record", case_id=case_id))["facts"][0]["id"]}


async def a_page(connected: Any, case_id: str) -> dict[str, Any]:
    documents = await call(connected, "list_documents", case_id=case_id)
    return {"document_id": next(d for d in documents["documents"] if "tipulation" in d["title"])["id"], "page": 5}


async def a_document(connected: Any, case_id: str) -> dict[str, Any]:
    return {"document_id": (await call(connected, "list_documents", case_id=case_id))["documents"][0]["id"]}


async def words(_connected: Any, _case_id: str) -> dict[str, Any]:
    return {"words": '"balanced treatment"'}


async def question(_connected: Any, _case_id: str) -> dict[str, Any]:
    return {"query": "How can we prove the purpose of the Act?"}


async def a_quote(connected: Any, case_id: str) -> dict[str, Any]:
    return {**(await a_page(connected, case_id)), "quote": "Governor Frank White signed the bill on March 19, 1981."}


async def a_draft(_connected: Any, _case_id: str) -> dict[str, Any]:
    return {"text": "He sustained it. Tr. 375:7; but see Holsted Dep. 12 and MCL000016-20."}


async def a_text(_connected: Any, _case_id: str) -> dict[str, Any]:
    return {"text": "Lemon v. Kurtzman, 403 U.S. 602, 612 (1971). Id. at 613."}


async def a_place(connected: Any, case_id: str) -> dict[str, Any]:
    transcripts = await call(connected, "list_transcripts", case_id=case_id, kind="trial")
    return {"transcript_id": transcripts["transcripts"][0]["id"], "page_from": 375, "line_from": 5, "line_to": 9}


async def fact_digest(_connected: Any, _case_id: str) -> dict[str, Any]:
    return {"writing": "fact_digest"}


# What a tool is asked besides the matter, found as an agent would find it.
FOUND = {
    "get_fact_provenance": a_fact,
    "ask_client_model": fact_digest,
    "get_passage": a_page,
    "get_document": a_document,
    "get_document_metadata": a_document,
    "search_documents": words,
    "retrieve": question,
    "search_firm_work_product": question,
    "get_entity": one_entity,
    "find_entity_paths": two_entities,
    "get_kg_provenance": provenance_ids,
    "verify_quote": a_quote,
    "verify_record_cites": a_draft,
    "extract_citations": a_text,
    "get_transcript_excerpt": a_place,
}
ON_THE_DOCKET: dict[str, dict[str, Any]] = {
    "get_docket_entry": {"entry": "43"},
    "list_docket_entries": {},
    "list_deadlines": {},
    "compute_deadline": {"trigger_entry": 43, "rule": "frcp_36_response", "service": "electronic"},
}
OF_MATA = ("get_cite_audit_findings",)


async def arguments(connected: Any, tool: str, stack: Stack) -> dict[str, Any]:
    """Arguments for a tool."""
    if not catalogue.load().by_name[tool].names_case:
        return {}
    if tool in ON_THE_DOCKET:
        return {"case_id": stack.matters["soilworks"], **ON_THE_DOCKET[tool]}
    if tool in OF_MATA:
        return {"case_id": stack.matters["mata"]}
    mclean = stack.matters["mclean"]
    return {"case_id": mclean, **(await FOUND[tool](connected, mclean) if tool in FOUND else {})}


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_lists_the_tools_and_calls_each_of_them(stack: Stack, mode: str) -> None:
    async with client(stack.mcp_url, stack.keys["firm"], mode, sampling_callback=writes) as connected:
        listed = (await connected.list_tools()).tools
        assert [t.name for t in listed] == TOOLS
        for tool in (t for t in listed if t.name in TOOLBOX.cards):
            answer = await call(connected, tool.name, **await arguments(connected, tool.name, stack))
            check_contract(tool.name, answer)
            assert answer["read_state"] == "read", (tool.name, answer["verification"])
            assert main_items(tool.name, answer)


async def test_the_same_question_gets_the_same_answer_in_both_eras(stack: Stack) -> None:
    async with client(stack.mcp_url, stack.keys["firm"]) as modern, client(stack.mcp_url, stack.keys["firm"], "legacy") as other:
        one = await call(modern, "list_deadlines", case_id=stack.matters["soilworks"])
        two = await call(other, "list_deadlines", case_id=stack.matters["soilworks"])
    one.pop("generated_at")
    two.pop("generated_at")
    assert one == two


async def test_one_altered_letter_in_the_database_reaches_the_agent_as_ungrounded(stack: Stack) -> None:
    case_id = stack.matters["mclean"]
    alter = "UPDATE record.case_fact_assertions SET quote = $1 WHERE quote = $2"
    quote = "Governor Frank White signed the bill on March 19, 1981."
    admin = await db.connect_one(stack.admin_dsn)
    try:
        await admin.execute(alter, quote.replace("19", "18"), quote)
        async with client(stack.mcp_url, stack.keys["firm"]) as connected:
            answer = await call(connected, "get_fact_record", case_id=case_id)
    finally:
        await admin.execute(alter, quote, quote.replace("19", "18"))
        await admin.close()
    assert answer["verification_status"] == "ungrounded"
    assert answer["verification"]["counts"] == {"unknown": 0, "ungrounded": 1, "grounded": 9, "verified": 0}
    check_contract("get_fact_record", answer)


async def test_one_altered_letter_on_a_page_reaches_the_agent_through_quote_and_fact(stack: Stack) -> None:
    case_id, quote = stack.matters["mclean"], "Governor Frank White signed the bill on March 19, 1981."
    page = """UPDATE record.document_pages p SET text = replace(p.text, $1, $2) FROM record.document_versions v
               WHERE v.id = p.document_version_id AND v.document_id::text = $3 AND p.page_number = 5"""
    admin = await db.connect_one(stack.admin_dsn)
    async with client(stack.mcp_url, stack.keys["firm"]) as connected:
        place = await a_page(connected, case_id)
        before = await call(connected, "verify_quote", case_id=case_id, quote=quote, **place)
        try:
            await admin.execute(page, "March 19, 1981", "March 18, 1981", place["document_id"])
            after = await call(connected, "verify_quote", case_id=case_id, quote=quote, **place)
            facts = await call(connected, "get_fact_record", case_id=case_id, fact="F005")
        finally:
            await admin.execute(page, "March 18, 1981", "March 19, 1981", place["document_id"])
            await admin.close()
    assert (before["check"]["result"], before["verification_status"]) == ("exact", "grounded")
    assert (after["check"]["result"], after["verification_status"]) == ("misquote", "ungrounded")
    assert "March 18" in after["check"]["hint"]
    assert facts["verification_status"] == "ungrounded"


async def test_an_agent_is_told_that_one_cite_of_mata_was_not_parsed_and_that_no_made_up_one_was_found(stack: Stack) -> None:
    case_id = stack.matters["mata"]
    async with client(stack.mcp_url, stack.keys["firm"]) as connected:
        paper = (await call(connected, "list_documents", case_id=case_id))["documents"][0]["id"]
        parsed = await call(connected, "extract_citations", case_id=case_id, document_id=paper)
        findings = await call(connected, "get_cite_audit_findings", case_id=case_id, document_id=paper)
    assert (parsed["authority_count"], parsed["not_parsed"]) == (13, ["2013 IL App (Ist) 111279-U"])
    assert "1 cite-like string was not parsed" in " ".join(parsed["verification"]["notes"])
    assert {f["kind"] for f in findings["findings"]} == {"authority_not_found", "name_mismatch", "not_checked"}
    made_up = {"905 F. Supp. 2d 121", "2019 WL 4639462", "2017 WL 2418825", "925 F.3d 1339", "516 F.3d 1237", "174 F.3d 366"}
    assert made_up <= {f["cite"] for f in findings["findings"]}


async def test_objections_that_may_not_be_read_and_objections_that_do_not_exist_are_two_answers(stack: Stack) -> None:
    case_id = stack.matters["mclean"]
    admin = await db.connect_one(stack.admin_dsn)
    async with client(stack.mcp_url, stack.keys["firm"]) as connected:
        try:
            await admin.execute("REVOKE SELECT ON record.trial_objections FROM svc_reads")
            unreadable = await call(connected, "get_trial_objections", case_id=case_id)
        finally:
            await admin.execute("GRANT SELECT ON record.trial_objections TO svc_reads")
            await admin.close()
        empty = await call(connected, "get_trial_objections", case_id=stack.matters["mata"])
    assert (unreadable["read_state"], unreadable["objections"], unreadable["count"]) == ("unreadable", None, None)
    assert (empty["read_state"], empty["objections"], empty["count"]) == ("empty", [], 0)
    assert unreadable["verification_status"] == empty["verification_status"] == "unknown"
    assert unreadable["verification"]["notes"] != empty["verification"]["notes"]
