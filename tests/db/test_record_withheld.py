"""Words of a document that may not be produced are in no answer, wherever a row repeats them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.cluster import Loaded
from tests.db.reads_world import TOOLBOX, Ask, main_items, reads
from tests.db.record_world import seen_by
from tests.db.test_reads_unreadable import arguments

WORDS_IN_A_ROW = 8
FLIPS = ("privilege_class = 'attorney_client'", "privilege_class = NULL")
PAGES = """
SELECT d.id::text AS document, d.case_id::text AS case_id, d.title, p.text
  FROM record.documents d
  JOIN record.document_versions v ON v.document_id = d.id
  JOIN record.document_pages p ON p.document_version_id = v.id
 WHERE p.text IS NOT NULL"""
ENTRIES = "SELECT entry_number::text FROM record.docket_entries WHERE case_id = $1 AND entry_number IN (1, 28, 43, 141, 162)"


# A receipt of a redaction names the original that was redacted: by its id and digest, and by nothing that stands in it.
NAMES_ORIGINALS = ("get_redaction_receipts",)


def runs(text: str) -> set[tuple[str, ...]]:
    """Every run of so many words of a text, whatever stands between the words."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[i : i + WORDS_IN_A_ROW]) for i in range(len(words) - WORDS_IN_A_ROW + 1)}


def texts(value: Any) -> list[str]:
    """Every text in an answer."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [t for v in inner for t in texts(v)]


async def everything_said(
    ask: Ask, case_id: str, passages: list[str], entries: list[str], document: str, *, withheld: bool
) -> list[tuple[str, str]]:
    """What every read tool says of a matter; passages, entries, statements of the graph and the document itself one by one."""
    asked: list[tuple[str, dict[str, Any]]] = [
        (name, arguments(name, case_id) if card.tool.names_case else {}) for name, card in sorted(TOOLBOX.cards.items())
    ]
    asked += [
        ("get_fact_record", {"case_id": case_id, "include_retired": True}),
        ("list_deadlines", {"case_id": case_id, "include_superseded": True}),
    ]
    asked += [("get_passage", {"case_id": case_id, "passage_id": p}) for p in passages]
    asked += [("get_docket_entry", {"case_id": case_id, "entry": e}) for e in entries]
    # Nothing is left of a withheld document for these to work on; while it may be shown they take long and say little that others do not.
    of_document = {"case_id": case_id, "document_id": document}
    if withheld:
        asked += [(t, of_document) for t in ("get_document_metadata", "get_document", "extract_citations")]
        asked += [("retrieve", {**of_document, "query": "What does this paper say?", "max_passages": 30})]
        asked += [("search_documents", {**of_document, "words": "court OR act OR witness OR order OR plaintiff OR defendant"})]
    said = [(tool, await ask(tool, **{"page_size": 200, **a} if "page_size" in fields(tool) else a)) for tool, a in asked]
    facts = [f["code"] for _, answer in said for f in answer.get("facts") or ()]
    said += [("get_fact_provenance", await ask("get_fact_provenance", case_id=case_id, fact=code)) for code in facts]
    urns = sorted({u for _, answer in said for u in answer["provenance_ids"] if ":kg:prov:" in u})
    said += [("get_kg_provenance", await ask("get_kg_provenance", case_id=case_id, urns=urns[n : n + 50])) for n in range(0, len(urns), 50)]
    return [(tool, text) for tool, answer in said for text in texts(answer)]


def fields(tool: str) -> set[str]:
    return set(TOOLBOX.cards[tool].tool.request.fields_by_name)


@pytest.mark.timeout(300)
async def test_no_answer_repeats_a_document_that_loses_its_clearance(own_loaded: Loaded) -> None:
    """Of each document in turn: eight words in a row that stand in no other document are never said once it is withheld."""
    quoted = 0
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        by_document: dict[str, set[tuple[str, ...]]] = {}
        about = {}
        for row in await loader.fetch(PAGES):
            by_document.setdefault(row["document"], set()).update(runs(row["text"]))
            about[row["document"]] = (row["case_id"], row["title"])
        async with reads(own_loaded.database, *own_loaded.matters.values()) as ask:
            for number, (document, (case_id, title)) in enumerate(about.items()):
                others = set().union(*(r for d, r in by_document.items() if d != document))
                own = by_document[document] - others
                passages = [
                    str(r["id"]) for r in await loader.fetch("SELECT id FROM record.passages WHERE document_id = $1 LIMIT 3", document)
                ]
                entries = [r["entry_number"] for r in await loader.fetch(ENTRIES, case_id)]
                before = await everything_said(ask, case_id, passages, entries, document, withheld=False)
                quoted += any(runs(t) & own for _, t in before)
                # Each way of withholding on the first, and one after the other on the rest.
                for flip in FLIPS if number == 0 else [FLIPS[number % len(FLIPS)]]:
                    await loader.execute(f"UPDATE record.documents SET {flip} WHERE id = $1", document)
                    said = await everything_said(ask, case_id, passages, entries, document, withheld=True)
                    assert [(tool, t) for tool, t in said if runs(t) & own] == [], (title, flip)
                    assert [tool for tool, t in said if document in t and tool not in NAMES_ORIGINALS] == [], (title, flip)
                await loader.execute("UPDATE record.documents SET privilege_class = 'not_privileged' WHERE id = $1", document)
    assert quoted == len(about), "each of them is quoted somewhere while it may be"


async def withhold(loaded: Loaded, matter: str, title: str) -> None:
    async with seen_by(loaded.database, "substrate_loader") as loader:
        done = await loader.execute(
            "UPDATE record.documents SET privilege_class = 'attorney_client' WHERE case_id = $1 AND strpos(title, $2) > 0",
            loaded.matters[matter],
            title,
        )
    assert done == "UPDATE 1"


async def test_row_security_hides_versions_and_pages_of_a_withheld_document(own_loaded: Loaded) -> None:
    await withhold(own_loaded, "mclean", "Joint Stipulation")
    async with seen_by(own_loaded.database, "svc_reads", own_loaded.matters["mclean"]) as reader:
        titles = [r["title"] for r in await reader.fetch("SELECT title FROM record.documents")]
        assert not [t for t in titles if "Stipulation" in t]
        pages = await reader.fetch("SELECT text FROM record.document_pages WHERE page_number = 5")
        assert not [p for p in pages if "Governor Frank White signed" in p["text"]]
        hidden = "SELECT count(*) FROM record.case_fact_assertions a WHERE NOT record.shown(a.document_version_id)"
        assert await reader.fetchval(hidden) == 11


CASES = [
    ("get_fact_record", "mclean", "Joint Stipulation", {"fact": "F005"}, ("quotes", 0, "quote")),
    ("get_fact_record", "mclean", "Memorandum Opinion", {"fact": "F005"}, ("elements", 0, "text")),
    ("get_fact_provenance", "mclean", "Joint Stipulation", {"fact": "F005"}, ("quote",)),
    ("get_fact_provenance", "mclean", "Joint Stipulation", {"fact": "F005"}, ("document_version_id",)),
    ("get_trial_objections", "mclean", "Trial transcript", {}, ("text_as_typed",)),
    ("get_trial_objections", "mclean", "Trial transcript", {}, ("court_words",)),
    ("get_deposition_designations", "mclean", "Deposition of G. Brent", {"deponent": "Dalrymple"}, ("opening_words",)),
    ("get_deposition_designations", "mclean", "Deposition of James L.", {"deponent": "Holsted"}, ("opening_words",)),
    ("list_claims", "mclean", "Complaint", {}, ("pleaded_as",)),
    ("list_claims", "mclean", "Memorandum Opinion", {}, ("elements", 0, "text")),
    ("list_docket_entries", "soilworks", "Docket sheet", {}, ("text",)),
    ("get_docket_entry", "soilworks", "Docket sheet", {"entry": "43"}, ("text",)),
    ("list_deadlines", "soilworks", "Docket sheet", {}, ("source_quote",)),
]


def at(item: Any, path: tuple[str | int, ...]) -> Any:
    """What stands at a place in an item."""
    return at(item[path[0]], path[1:]) if path else item


@pytest.mark.parametrize(("tool", "matter", "title", "asked", "path"), CASES, ids=lambda v: v if isinstance(v, str) else None)
async def test_words_of_a_withheld_source_are_null_and_unknown_with_a_note(
    own_loaded: Loaded, tool: str, matter: str, title: str, asked: dict[str, Any], path: tuple[str | int, ...]
) -> None:
    case_id = own_loaded.matters[matter]
    async with reads(own_loaded.database, case_id) as ask:
        before = main_items(tool, await ask(tool, case_id=case_id, **asked))[0]
        await withhold(own_loaded, matter, title)
        answer = await ask(tool, case_id=case_id, **asked)
    assert at(before, path) is not None
    assert at(main_items(tool, answer)[0], path) is None
    assert answer["verification_status"] == "unknown"
    assert any("its source is withheld" in n for n in answer["verification"]["notes"])


async def test_a_docket_entry_whose_sheet_is_withheld_says_so(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["soilworks"]
    await withhold(own_loaded, "soilworks", "Docket sheet")
    async with reads(own_loaded.database, case_id) as ask:
        entry = (await ask("get_docket_entry", case_id=case_id, entry="43"))["entry"]
        listed = (await ask("list_docket_entries", case_id=case_id, number_from=43, number_to=43))["entries"][0]
    assert (entry["text_state"], listed["text_state"]) == ("source_withheld", "source_withheld")


@pytest.mark.parametrize(
    ("tool", "matter", "title", "words"),
    [
        ("list_docket_entries", "soilworks", "Docket sheet", "settlement conference"),
        ("get_trial_objections", "mclean", "Trial transcript", "conjecture on the part of the witness"),
    ],
)
async def test_a_search_for_words_does_not_find_words_that_are_withheld(
    own_loaded: Loaded, tool: str, matter: str, title: str, words: str
) -> None:
    case_id = own_loaded.matters[matter]
    async with reads(own_loaded.database, case_id) as ask:
        assert (await ask(tool, case_id=case_id, words=words))["count"] > 0
        await withhold(own_loaded, matter, title)
        assert (await ask(tool, case_id=case_id, words=words))["count"] == 0


async def test_what_is_said_of_a_fact_is_withheld_with_a_source_behind_it(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    await withhold(own_loaded, "mclean", "Joint Stipulation")
    async with reads(own_loaded.database, case_id) as ask:
        fact = (await ask("get_fact_record", case_id=case_id, fact="F901", include_retired=True))["facts"][0]
        behind = (await ask("get_fact_provenance", case_id=case_id, fact="F901"))["assertions"][0]
        found = await ask("get_fact_record", case_id=case_id, words="Governor Frank White signed the bill", include_retired=True)
        proposed = (await ask("get_fact_record", case_id=case_id, fact="F006"))["facts"][0]["posture"]["model_proposal"]
    assert (fact["proposition"], fact["note"], fact["retired_reason"], behind["proposition"]) == (None, None, None, None)
    assert (proposed["proposed_posture"], proposed["basis"]) == ("disputed", None)
    assert "F901" not in json.dumps(found["facts"])


async def test_an_exhibit_whose_document_is_withheld_neither_names_nor_describes_it(own_loaded: Loaded) -> None:
    case_id = own_loaded.matters["mclean"]
    async with seen_by(own_loaded.database, "substrate_loader") as loader:
        await loader.execute(
            "UPDATE record.exhibits SET description = 'A letter', "
            "document_id = (SELECT id FROM record.documents WHERE title = 'Complaint') WHERE exhibit_number = '94'"
        )
    async with reads(own_loaded.database, case_id) as ask:
        shown = (await ask("list_exhibits", case_id=case_id, exhibit_number="94"))["exhibits"][0]
        assert (shown["description"], shown["document_id"] is None) == ("A letter", False)
        await withhold(own_loaded, "mclean", "Complaint")
        answer = await ask("list_exhibits", case_id=case_id, exhibit_number="94")
    assert (answer["exhibits"][0]["description"], answer["exhibits"][0]["document_id"]) == (None, None)
    assert any("its document is withheld" in n for n in answer["verification"]["notes"])
