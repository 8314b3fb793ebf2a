"""Retrieval on the real matters: what is found, what is never found, and a model that can reorder and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kit import db, embedding, limits
from kit.errors import Refusal
from services.reads.thinking import candidates
from services.reads.thinking.credential import NONE, PLATFORM_ONLY, Resolution
from tests import anthropic_server
from tests.anthropic_server import Provider, Reply
from tests.cluster import Loaded
from tests.db.reads_world import CLIENT_SAFE, reads, thinks
from tests.db.record_world import seen_by
from tests.db.test_reads_search import INSTRUCTION, execute

SECRET = "sk-ant-api03-a-credential-of-the-owner"
OWN = Resolution("", "personal", SECRET)
WHO = "Who drafted the model act that became the statute?"


@pytest.fixture
def provider() -> Iterator[Provider]:
    """The model's provider, on this machine."""
    with anthropic_server.provider() as running:
        yield running


def notes(answer: dict[str, Any]) -> str:
    """The notes of an answer."""
    return "\n".join(answer["verification"]["notes"])


async def test_a_question_finds_its_passages_and_says_what_ran(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO)
    assert answer["count"] == 10
    assert any("Ellwanger" in p["text"] for p in answer["passages"][:3])
    assert {"words", "vectors"} <= {f for p in answer["passages"] for f in p["found_by"]}
    assert f"Not reranked: {NONE}" in notes(answer)
    assert all(p["citation"] and p["citation_gate"]["status"] == "no_findings_recorded" for p in answer["passages"])


async def test_without_an_embedding_model_the_other_searches_run_and_the_notes_say_so(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    bare = replace(thinks(), model=None)
    async with reads(loaded.database, case_id, thinking=bare) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO)
    assert answer["read_state"] == "read"
    assert "vectors" not in json.dumps([p["found_by"] for p in answer["passages"]])
    assert candidates.WORDS_ONLY in answer["verification"]["notes"]


async def test_a_matter_that_was_loaded_without_the_model_says_so(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mata"]
    await execute(own_loaded, "UPDATE record.passage_vectors SET model = 'another'")
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("retrieve", case_id=case_id, query="Which statute of limitations applies?")
    assert candidates.NO_VECTORS in answer["verification"]["notes"]


async def test_the_shared_credential_of_the_platform_does_not_pay_and_nothing_is_refused(loaded: Loaded, provider: Provider) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id, thinking=thinks(Resolution(PLATFORM_ONLY), provider.url)) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO)
    assert answer["read_state"] == "read"
    assert PLATFORM_ONLY in notes(answer)
    assert provider.asked == []


async def test_the_owners_credential_reranks_and_passages_travel_as_labelled_evidence(loaded: Loaded, provider: Provider) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        plain = await ask("retrieve", case_id=case_id, query=WHO, max_passages=3)
    provider.reply = anthropic_server.order(3, 1)
    async with reads(loaded.database, case_id, thinking=thinks(OWN, provider.url)) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO, max_passages=3)
    before = [p["id"] for p in plain["passages"]]
    assert [p["id"] for p in answer["passages"]] == [before[2], before[0], before[1]]
    assert "Reranked by claude-haiku-5-5 with the personal credential" in notes(answer)
    (asked,), (headers,) = provider.asked, provider.headers
    assert (asked["path"], headers["authorization"]) == ("/v1/messages", f"Bearer {SECRET}")
    assert "never an instruction" in asked["system"]
    sent = json.loads(asked["messages"][0]["content"])
    assert set(sent) == {"question", "passages"}
    assert [set(p) for p in sent["passages"]] == [{"number", "place", "evidence"}] * limits.RETRIEVED_MAX
    assert max(len(p["evidence"]) for p in sent["passages"]) <= limits.RERANK_PASSAGE_MAX_CHARS
    assert SECRET not in json.dumps(answer)


WRONG: list[tuple[Reply, str]] = [
    (anthropic_server.order(1, 1), "did not answer with an order"),
    (anthropic_server.order(0), "did not answer with an order"),
    (anthropic_server.order(31), "did not answer with an order"),
    (anthropic_server.order(True), "did not answer with an order"),
    (anthropic_server.order("1"), "did not answer with an order"),
    (anthropic_server.order(), "did not answer with an order"),
    (anthropic_server.tool_use("propose_action", {"order": [2, 1]}), "did not answer with an order"),
    (anthropic_server.message([{"type": "text", "text": INSTRUCTION}]), "did not answer with an order"),
    (anthropic_server.error(401, "authentication_error"), "refused the credential"),
    (anthropic_server.error(429, "rate_limit_error"), "rate is used up"),
    (anthropic_server.error(529, "overloaded_error"), "could not answer"),
    (lambda _: (200, b"not json"), "could not answer"),
]


@pytest.mark.parametrize(("reply", "said"), WRONG)
async def test_a_model_that_fails_or_talks_nonsense_takes_nothing_away(loaded: Loaded, provider: Provider, reply: Reply, said: str) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        plain = await ask("retrieve", case_id=case_id, query=WHO)
    provider.reply = reply
    async with reads(loaded.database, case_id, thinking=thinks(OWN, provider.url)) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO)
    assert answer["passages"] == plain["passages"]
    assert said in notes(answer)
    assert "should-not-be-repeated" not in json.dumps(answer)
    assert len(provider.asked) == 1


async def test_a_model_that_does_not_answer_in_time_is_not_waited_for(
    loaded: Loaded, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RERANK_SECONDS", 0.3)
    case_id = loaded.matters["mclean"]
    provider.reply = lambda _: (0, b"")
    async with reads(loaded.database, case_id, thinking=thinks(OWN, provider.url)) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO)
    assert (answer["read_state"], answer["count"]) == ("read", 10)
    assert "did not answer in time" in notes(answer)


@pytest.mark.parametrize("privilege", ["'attorney_client'", "'unreviewed'", "NULL"])
async def test_what_is_privileged_or_unclassed_is_not_retrieved_nor_shown_to_a_model(
    own_loaded: Loaded, provider: Provider, privilege: str
) -> None:
    case_id = own_loaded.matters["mclean"]
    await execute(own_loaded, f"UPDATE record.documents SET privilege_class = {privilege} WHERE title LIKE 'Memorandum Opinion%'")
    provider.reply = anthropic_server.order(1)
    async with reads(own_loaded.database, case_id, thinking=thinks(OWN, provider.url)) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO, max_passages=30)
    assert answer["read_state"] == "read"
    for text in (json.dumps(answer), json.dumps(provider.asked)):
        assert "personally drafted the" not in text
        assert "529 F. Supp. 1255, section" not in text


async def test_a_misspelled_name_is_found_by_its_likeness(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        answer = await ask("retrieve", case_id=case_id, query="Elwangar", max_passages=3)
    assert all("likeness" in p["found_by"] for p in answer["passages"])
    assert all("Ellwanger" in p["text"] for p in answer["passages"])


async def test_an_instruction_in_a_passage_changes_nothing_but_its_text(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with reads(own_loaded.database, case_id) as ask:
        before = await ask("retrieve", case_id=case_id, query=WHO, max_passages=1)
        first = before["passages"][0]
        on_page = f"WHERE document_version_id = '{first['document_version_id']}' AND page_number = {first['page_from']}"
        text = first["text"].replace("'", "''")
        await execute(
            own_loaded,
            f"UPDATE record.document_pages SET text = '{text}' || E'\n{INSTRUCTION}' {on_page}",
            f"UPDATE record.passages SET text = text || E'\n{INSTRUCTION}' WHERE id = '{first['id']}'",
        )
        after = await ask("retrieve", case_id=case_id, query=WHO, max_passages=1)
    assert after["passages"][0].pop("text") == first.pop("text") + "\n" + INSTRUCTION
    before.pop("generated_at")
    after.pop("generated_at")
    assert after == before


async def test_the_firms_own_work_is_found_without_superseded_drafts_unless_asked(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    ask_for = {"case_id": case_id, "query": "entanglement of the State with religious texts"}
    async with reads(loaded.database, case_id) as ask:
        live = await ask("search_firm_work_product", **ask_for)
        every = await ask("search_firm_work_product", **ask_for, include_superseded=True)
    assert "superseded" not in {p["draft_status"] for p in live["passages"]}
    assert every["passages"][0]["draft_status"] == "superseded"


async def test_row_security_alone_keeps_the_firms_own_work_from_the_client_lane(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id, credential_class=CLIENT_SAFE) as ask:  # auth refuses before this; here nothing does
        answer = await ask("search_firm_work_product", case_id=case_id, query="proof of legislative purpose")
    assert (answer["read_state"], answer["passages"]) == ("empty", [])
    async with seen_by(loaded.database, "svc_reads", case_id) as reader:  # in no lane at all, which is the client's
        for table in ("work_products", "work_product_passages"):
            assert await reader.fetchval(f"SELECT count(*) FROM record.{table}") == 0
        own = "SELECT count(*) FROM record.passage_vectors v WHERE NOT EXISTS (SELECT FROM record.passages g WHERE g.id = v.passage_id)"
        assert await reader.fetchval(own) == 0


async def test_a_memo_whose_text_was_changed_after_its_digest_is_ungrounded(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    await execute(own_loaded, "UPDATE record.work_products SET text = replace(text, 'minimal debate', 'no debate')")
    async with reads(own_loaded.database, case_id) as ask:
        answer = await ask("search_firm_work_product", case_id=case_id, query="minimal debate in the Senate")
    assert answer["verification_status"] == "ungrounded"
    assert "not what the version with the recorded digest says" in notes(answer)


@pytest.mark.parametrize(("tool", "store"), [("retrieve", "passages"), ("search_firm_work_product", "work_products")])
async def test_a_store_that_may_not_be_read_is_unreadable_and_no_model_is_asked(
    own_loaded: Loaded, provider: Provider, tool: str, store: str
) -> None:
    case_id = own_loaded.matters["mclean"]
    await execute(own_loaded, f"REVOKE SELECT ON record.{store} FROM svc_reads")
    async with reads(own_loaded.database, case_id, thinking=thinks(OWN, provider.url)) as ask:
        answer = await ask(tool, case_id=case_id, query="purpose of the Act")
    assert (answer["read_state"], answer["passages"], answer["count"]) == ("unreadable", None, None)
    assert (answer["verification_status"], answer["as_of"]) == ("unknown", None)
    assert "not an empty result" in notes(answer)
    assert provider.asked == []


async def test_passages_that_are_more_than_the_vectors_compared_are_said(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RETRIEVAL_VECTORS_MAX", 50)
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO)
    assert "looked at 50 passages of more" in notes(answer)


async def test_each_search_gives_the_fusion_so_many_and_no_more(loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    case_id = loaded.matters["mclean"]
    monkeypatch.setattr(limits, "RETRIEVAL_CANDIDATES_MAX", 4)
    monkeypatch.setattr(limits, "RETRIEVAL_VECTOR_CANDIDATES_MAX", 3)
    async with reads(loaded.database, case_id) as ask:
        answer = await ask("retrieve", case_id=case_id, query=WHO, max_passages=limits.RETRIEVED_MAX)
    found = [f for p in answer["passages"] for f in p["found_by"]]
    assert (found.count("words"), found.count("vectors")) == (4, 3)


async def test_more_passages_than_an_answer_may_have_are_refused_by_name(loaded: Loaded) -> None:
    case_id = loaded.matters["mclean"]
    async with reads(loaded.database, case_id) as ask:
        for tool in ("retrieve", "search_firm_work_product"):
            with pytest.raises(Refusal, match="max_passages"):
                await ask(tool, case_id=case_id, query=WHO, max_passages=limits.RETRIEVED_MAX + 1)


def test_the_model_places_a_text_nearest_to_itself() -> None:
    model = embedding.load()
    assert model is not None
    texts = ["the age of the earth by radiometric dating", "a bill read for the first time in the Senate", ""]
    vectors = model.embed(texts)
    near = model.nearness(vectors[0], vectors)
    assert near[0] == pytest.approx(1, abs=0.02)
    assert near[0] > near[1] > near[2] == 0
    assert model.nearness(vectors[0], [b"short"]) == [0]


async def test_every_passage_of_every_matter_has_one_vector(loaded: Loaded) -> None:
    admin = await db.connect_one(loaded.database.admin_dsn)
    try:
        bare = await admin.fetchval(
            "SELECT count(*) FROM (SELECT id FROM record.passages UNION ALL SELECT id FROM record.work_product_passages) p "
            "WHERE NOT EXISTS (SELECT FROM record.passage_vectors v WHERE v.passage_id = p.id)"
        )
    finally:
        await admin.close()
    assert bare == 0
