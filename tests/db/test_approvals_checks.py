"""What the record says of a proposal when it is decided: documents that may not leave, words that stand nowhere, rows in words."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kit import actions, db
from kit.actions import Action
from services.approvals import card as cards
from tests.cluster import Loaded
from tests.db.approvals_world import Browser, Somebody, World, hidden, opened

CLEARED = (
    "SELECT id FROM record.documents d WHERE case_id = $1 AND record.producible(privilege_class, reviewed_at) AND EXISTS ("
    "SELECT FROM record.document_versions v WHERE v.document_id = d.id AND v.sha256 IS NOT NULL) ORDER BY id LIMIT 1"
)
UNREVIEWED = "UPDATE record.documents SET privilege_class = NULL, reviewed_by = NULL, reviewed_at = NULL WHERE id = $1"
PRIVILEGED = "UPDATE record.documents SET privilege_class = 'attorney_client' WHERE id = $1"
ASSERTION = (
    "SELECT a.document_version_id, a.page_from, a.page_to, a.quote, a.fact_id FROM record.case_fact_assertions a "
    "JOIN record.case_fact_records f ON f.id = a.fact_id WHERE f.code = 'F001' AND a.case_id = $1 AND a.page_from IS NOT NULL LIMIT 1"
)


@pytest.fixture
async def world(own_loaded: Loaded, tmp_path: Path) -> AsyncIterator[World]:
    async with opened(own_loaded.database, tmp_path) as made:
        yield made


@pytest.fixture
def case(own_loaded: Loaded) -> uuid.UUID:
    return uuid.UUID(own_loaded.matters["mclean"])


@pytest.fixture
def ada(world: World, case: uuid.UUID) -> Somebody:
    return world.people.add(case)


@pytest.fixture
async def browser(world: World, ada: Somebody) -> Browser:
    return await world.client(ada)


async def named(world: World, case: uuid.UUID, action: str) -> tuple[uuid.UUID, dict[str, Any]]:
    """A document that may leave, and the arguments of an action that would use it."""
    (row,) = await world.sql(CLEARED, case)
    document: uuid.UUID = row["id"]
    if action == "produce_documents":
        return document, {"document_ids": [str(document)], "format": "pdf", "volume": "VOL009", "bates_prefix": "MCL", "bates_start": 1}
    if action == "add_exhibit":
        return document, {"number": "PX-9", "side": "plaintiffs", "document_id": str(document), "description": "A letter"}
    if action == "add_fact_assertion":
        (place,) = await world.sql(ASSERTION, case)
        (owner,) = await world.sql("SELECT document_id FROM record.document_versions WHERE id = $1", place["document_version_id"])
        named_ = {**place, "document_version_id": str(place["document_version_id"]), "fact_id": str(place["fact_id"])}
        return owner["document_id"], {**named_, "stance": "supports", "source_class": "stipulation"}
    production = await produced(world, case, document)
    (party,) = await world.sql("SELECT id FROM record.parties WHERE case_id = $1 LIMIT 1", case)
    args = {"production_id": str(production), "on_party_ids": [str(party["id"])], "means": "electronic", "served_on": "2027-02-01"}
    return document, args


async def produced(world: World, case: uuid.UUID, document: uuid.UUID) -> uuid.UUID:
    """A production that holds a document, as the executor would have left it."""
    made = uuid.uuid4()
    about = f"urn:substrate:record:production:{made}"
    provenance = "INSERT INTO record.provenance (urn, case_id, target_table, target_id, subject, extractor, recorded_by) "
    await world.sql(provenance + "VALUES ($1, $2, 'productions', $3, 'Production', 'test', 'test')", about, case, made)
    production = (
        "INSERT INTO record.productions (id, case_id, volume, format, bates_prefix, bates_first, bates_last, provenance_id, recorded_by)"
    )
    await world.sql(f"{production} VALUES ($1, $2, 'VOL001', 'pdf', 'MCL', 1, 1, $3, 'test')", made, case, about)
    manifest = "INSERT INTO record.production_documents (case_id, production_id, position, document_id, document_version_id, sha256, "
    await world.sql(
        f"{manifest}bates_begin, bates_end) SELECT $1, $2, 1, v.document_id, v.id, v.sha256, 'MCL1', 'MCL1' "
        "FROM record.document_versions v WHERE v.document_id = $3 AND v.sha256 IS NOT NULL LIMIT 1",
        case, made, document,
    )  # fmt: skip
    return made


CHECKED = [a for a in actions.load().by_name.values() if cards.PRIVILEGE in a.checks]


@pytest.mark.parametrize("statement", [UNREVIEWED, PRIVILEGED], ids=["not reviewed", "privileged"])
@pytest.mark.parametrize("action", [a.name for a in CHECKED])
async def test_what_may_not_leave_cannot_be_approved_and_says_so(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, action: str, statement: str
) -> None:
    document, args = await named(world, case, action)
    id_ = await world.propose(ada, case, action, args)
    assert cards.WITHHELD not in (await browser.get(f"/proposals/{id_}")).text
    await world.sql(statement, document)
    page = await browser.get(f"/proposals/{id_}")
    assert cards.WITHHELD in page.text
    answer = await browser.post(f"/proposals/{id_}/check", {**hidden(page.text), "decision": "approved", "reason": ""})
    assert (answer.status_code, "cannot be approved" in answer.text) == (422, True)
    assert (await browser.decide(id_, "declined", "It is privileged.")).status_code == 303
    assert [d["decision"] for d in await world.decisions(id_)] == ["declined"]


@pytest.mark.parametrize("action", [a.name for a in CHECKED])
async def test_a_document_that_becomes_privileged_between_card_and_confirmation_is_not_approved(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, action: str
) -> None:
    document, args = await named(world, case, action)
    id_ = await world.propose(ada, case, action, args)
    confirmation = await browser.check(id_)
    assert confirmation.status_code == 200
    await world.sql(PRIVILEGED, document)
    answer = await browser.post(f"/proposals/{id_}/decide", {**hidden(confirmation.text), "code": "000100"})
    assert (answer.status_code, await world.decisions(id_)) == (409, [])


async def test_documents_of_another_matter_count_as_not_cleared(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, own_loaded: Loaded
) -> None:
    _, args = await named(world, uuid.UUID(own_loaded.matters["soilworks"]), "produce_documents")
    id_ = await world.propose(ada, case, "produce_documents", args)
    assert cards.WITHHELD in (await browser.get(f"/proposals/{id_}")).text


@pytest.mark.parametrize(
    ("change", "obstacle", "reason"),
    [
        ({}, False, False),
        ({"quote": "Words that stand nowhere in the record."}, True, True),
        ({"page_from": 4000, "page_to": 4000}, False, True),  # a page that is not loaded: nobody can say
    ],
    ids=["stands", "stands nowhere", "cannot be looked at"],
)
async def test_a_quote_is_looked_for_before_it_is_approved(
    world: World, ada: Somebody, browser: Browser, case: uuid.UUID, change: dict[str, Any], obstacle: bool, reason: bool
) -> None:
    _, args = await named(world, case, "add_fact_assertion")
    id_ = await world.propose(ada, case, "add_fact_assertion", {**args, **change})
    page = await browser.get(f"/proposals/{id_}")
    assert (cards.MISQUOTED in page.text, cards.UNCHECKED_QUOTE in page.text) == (obstacle, reason)
    fields = hidden((await browser.get("/")).text)
    answer = await browser.post("/batch", {**fields, "selected": str(id_)})
    assert ("has to be decided by itself" in answer.text) is reason
    assert len(await world.decisions(id_)) == (0 if reason else 1)


def _fields(action: Action) -> set[str]:
    return set(action.message.fields_by_name)


def test_every_action_that_names_a_document_or_a_production_is_checked_for_privilege_and_every_quote_is_looked_for() -> None:
    known = actions.load().by_name.values()
    assert {a.name for a in known if _fields(a) & cards.LEAVING} == {a.name for a in CHECKED}
    assert {a.name for a in known if {"quote", "document_version_id"} <= _fields(a)} == {
        a.name for a in known if cards.CITATION in a.checks
    }


async def test_a_card_has_words_for_a_row_of_every_table_that_leads_to_its_source(world: World, own_loaded: Loaded) -> None:
    """Whatever an action may name: a table that a later migration adds is named by its provenance."""
    admin = await db.connect_one(world.database.admin_dsn)
    approvals = await db.connect_one(world.database.dsn("svc_approvals"))
    try:
        tables = await admin.fetch(
            "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'provenance_id' "
            "WHERE c.relnamespace = 'record'::regnamespace AND c.relkind = 'r'"
        )
        tried, wordless = 0, []
        for table in [t["relname"] for t in tables]:
            key = "case_id" if table == "matters" else "id"
            row = await admin.fetchrow(f"SELECT {key} AS id, case_id FROM record.{table} LIMIT 1")
            if row is None:
                continue
            tried += 1
            words = await approvals.fetch("SELECT words FROM approvals.rows_named($1, ARRAY[$2::uuid])", row["case_id"], row["id"])
            elsewhere = await approvals.fetch("SELECT words FROM approvals.rows_named($1, ARRAY[$2::uuid])", uuid.uuid4(), row["id"])
            if len(words) != 1 or not words[0]["words"] or elsewhere:
                wordless.append(table)
    finally:
        await admin.close()
        await approvals.close()
    assert wordless == []
    assert tried >= 10
