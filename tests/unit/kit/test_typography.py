"""A quote and a page are compared letter by letter, after what a typesetter does is taken away."""

import pytest

from kit.typography import normalize, occurs, stands_in

PAGE = (
    "1. Act 590 was introduced in the Arkansas General\nAssembly by Senator James L. Hoisted on February 24, 1981\n"
    "when it was read for the-first and second times."
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("“quoted” — it’s", '"quoted" - it\'s'),
        ("expe-\nrience", "experience"),
        ("two   words\r\n and more", "two words and more"),
        ("ﬁne print", "fine print"),
        ("soft\u00adhyphen", "softhyphen"),
        ("zero\u200bwidth", "zerowidth"),
        ("no\u00a0break", "no break"),
    ],
)
def test_what_a_typesetter_does_makes_no_difference(one: str, other: str) -> None:
    assert normalize(one) == normalize(other)


@pytest.mark.parametrize(("one", "other"), [("Holsted", "Hoisted"), ("March 18", "March 19"), ("The Senate", "the Senate"), ("1st", "Ist")])
def test_one_letter_makes_a_difference(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


def test_a_quote_stands_across_line_ends() -> None:
    assert stands_in("Act 590 was introduced in the Arkansas General Assembly by Senator James L. Hoisted", PAGE)


def test_a_name_that_the_source_misprints_does_not_stand() -> None:
    assert not stands_in("Senator James L. Holsted on February 24, 1981", PAGE)


def test_a_quote_cut_inside_a_word_or_number_does_not_stand() -> None:
    assert not occurs("February 2", "on February 24, 1981")
    assert not occurs("intro", "was introduced")
    assert occurs("February 24", "February 240, then February 24.")


def test_a_hyphen_at_a_line_end_may_belong_to_the_word() -> None:
    page = "review creation-\nscience materials and the expe-\nrience of teachers"
    assert stands_in("review creation-science materials", page)
    assert stands_in("the experience of teachers", page)


def test_an_empty_quote_stands_nowhere() -> None:
    assert not stands_in("", PAGE)
    assert not stands_in(" \n ", PAGE)
