"""A quote stands where it is cited, or elsewhere, or nowhere; likeness decides nothing."""

from __future__ import annotations

import pytest

from services.reads.engines import quotes
from services.reads.engines.quotes import PageText

PAGES = {
    4: PageText(4, "The bill was introduced by Senator James L. Hoisted on\nFebruary 24, 1981, and it was en-\nacted without debate."),
    5: PageText(5, "Governor Frank White signed the bill on March 19, 1981. He had not read it."),
    6: PageText(6, None),
    7: PageText(7, "It was a dark n1ght.", ocr=True),
}


@pytest.mark.parametrize(
    ("quote", "cited", "result", "page"),
    [
        ("Governor Frank White signed the bill on March 19, 1981.", [5], "exact", 5),
        ("Governor Frank White signed the bill on March 18, 1981.", [5], "misquote", None),
        ("Governor Frank White signed the bill on March 1", [5], "misquote", None),
        ("Governor Frank White signed the bill on March 19, 1981.", [4], "wrong_page", 5),
        ("Senator James L. Holsted on February 24, 1981", [4], "misquote", None),
        ("it was enacted without debate", [4], "exact", 4),
        ("“He had not read it.”".strip("“”"), [5], "exact", 5),
        ("Governor Frank White signed [...] on March 19, 1981.", [5], "altered_as_marked", 5),
        ("Governor Frank White signed the bill . . . . He had not read it.", [5], "altered_as_marked", 5),
        ("[g]overnor Frank White [had] signed the bill", [5], "altered_as_marked", 5),
        ("He had not read it. [...] Governor Frank White", [5], "misquote", None),  # the pieces stand in another order
        ("[g]overnor Frank White [...] on March 1", [5], "misquote", None),  # "1" is no word of the page
        ("[G]overn Frank White", [5], "misquote", None),
        ("[G]overnor Frank Wh[it]e", [5], "altered_as_marked", 5),
        ("[...] ite signed the bill", [5], "misquote", None),
        ("[...]", [5], "misquote", None),
        ("anything", [99], "not_loaded", None),
        ("anything", [5, 99], "not_loaded", None),
        ("anything", [6], "no_text", None),
        ("a dark night", [7], "ocr_differs", None),
        ("debate. Governor Frank White", [4, 5], "exact", 4),
        ("He had not read it.", [], "exact", 5),
    ],
)
def test_the_result_is_what_the_pages_say(quote: str, cited: list[int], result: str, page: int | None) -> None:
    pages = PAGES if result == "ocr_differs" or 7 not in PAGES else {n: p for n, p in PAGES.items() if n != 7}
    found = quotes.check(quote, pages, cited)
    assert (found.result, found.found_on) == (result, page)


def test_the_nearest_passage_is_a_hint_and_no_result() -> None:
    found = quotes.check("Governor Frank White signed the bill on March 18, 1981.", PAGES, [5])
    assert found.result == "misquote"
    assert found.hint is not None
    assert found.hint.page == 5
    assert "March 19" in found.hint.text


def test_nothing_like_it_gives_no_hint() -> None:
    assert quotes.check("zzzz qqqq xxxx", PAGES, [5]).hint is None


def test_a_document_without_text_is_not_a_misquote() -> None:
    assert quotes.check("anything at all", {1: PageText(1, None)}, []).result == "no_text"
    assert quotes.check("anything at all", {}, []).result == "not_loaded"
