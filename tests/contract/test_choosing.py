"""Whether name and description point a reader to one tool: ten questions of a litigator, and three of somebody who follows an answer.

A word-counting ranking (BM25) stands in for the reader. It shows little, and shows it every time: the words of a question lead to the one
tool, and no other description claims them. It does not show how a model chooses. It fails when a new description takes another's words."""

from __future__ import annotations

import math
import re
from collections import Counter

import pytest

from kit import catalogue

QUESTIONS = {
    "Which facts are undisputed on this matter, with the exact quote and the page?": "get_fact_record",
    "List the deadlines of this case: which are pending, which were superseded or vacated?": "list_deadlines",
    "Did the judge sustain or overrule the objections at trial, and on what ground?": "get_trial_objections",
    'Search every deposition for the exact phrase "balanced treatment".': "search_documents",
    "Who drafted, introduced and signed the statute, and what paper says so?": "list_relationships",
    "Through whom does Ellwanger connect to Senator Holsted?": "find_entity_paths",
    "Give me a link to download the PDF of the affirmation with its SHA-256.": "get_document",
    "What do our own memos and outlines say about proving legislative purpose?": "search_firm_work_product",
    "Which passages help to answer my question about how the age of the earth is measured, best first?": "retrieve",
    "Which exhibits were offered and received in evidence?": "list_exhibits",
    "Find the person whose name the stipulation misprints as Hoisted.": "search_entities",
    "What Bates numbers, custodian, recipients and versions does this document have? Metadata only.": "get_document_metadata",
    "What document and page stand behind the provenance id urn:substrate:kg:prov:1234?": "get_kg_provenance",
}
_COMMON = frozenset(
    word
    for line in (
        "a an and are as at be by can did do does every for from give has have how i in is it its me my of on one or our say says that the",
        "their them this to us was we were what when which who whom whose why will with would you your",
    )
    for word in line.split()
)
K1, B = 1.2, 0.5


def words(text: str) -> list[str]:
    """Words of a text, lower case, without the common ones and without the endings that make a plural or a past."""
    found = re.findall(r"[a-z]+", text.lower().replace("_", " "))
    return [re.sub(r"(?:ies|es|s|ed|ing)$", "", w) for w in found if w not in _COMMON and len(w) > 1]


# A name says in two words what a description says in fifty, so it counts three times.
SHOWN = {t.name: Counter(words(f"{t.name} {t.name} {t.name} {t.title} {t.description}")) for t in catalogue.load().tools}
LENGTHS = {name: sum(counted.values()) for name, counted in SHOWN.items()}
MEAN = sum(LENGTHS.values()) / len(LENGTHS)


def score(question: str, tool: str) -> float:
    """BM25 of a tool for a question."""
    total = 0.0
    for word in set(words(question)):
        many = sum(word in counted for counted in SHOWN.values())
        if word in SHOWN[tool]:
            weight = math.log(1 + (len(SHOWN) - many + 0.5) / (many + 0.5))
            times = SHOWN[tool][word]
            total += weight * times * (K1 + 1) / (times + K1 * (1 - B + B * LENGTHS[tool] / MEAN))
    return total


def ranked(question: str) -> list[tuple[str, float]]:
    """Tools for a question, best first."""
    return sorted(((name, score(question, name)) for name in SHOWN), key=lambda found: (-found[1], found[0]))


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_litigators_question_points_to_one_tool(question: str) -> None:
    (first, best), (second, next_best) = ranked(question)[:2]
    assert first == QUESTIONS[question], ranked(question)[:4]
    assert best > 1.1 * next_best, f"{first} is not told from {second}"


def test_every_tool_is_found_by_its_own_name() -> None:
    lost = [t.name for t in catalogue.load().tools if ranked(t.name.replace("_", " ") + " " + t.title)[0][0] != t.name]
    assert lost == []
