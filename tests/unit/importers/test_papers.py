"""Papers of other kinds are read into pages or located units, and what was left out is said."""

from pathlib import Path

import pytest

from ops.importers.pages import File, ImportFailure, read_file
from ops.importers.papers import read_marked, read_ocr, read_opinion, read_pdf, read_statute

DATA = Path(__file__).parents[3] / "data"


def test_a_page_mark_closes_its_page() -> None:
    reading = read_marked("c", "one\n-1-\ntwo\n-2-\n")
    assert [(p.number, p.text) for p in reading.pages] == [(1, "one"), (2, "two")]


def test_where_a_mark_is_missing_two_pages_are_one_and_the_label_says_so() -> None:
    reading = read_marked("c", "one\n-1-\ntwo and three\n-3-\n")
    assert [(p.number, p.label) for p in reading.pages] == [(1, "page 1"), (3, "pages 2-3 (no mark between them)")]
    assert reading.missing == (2,)


def test_a_repeated_mark_is_counted_on() -> None:
    reading = read_marked("c", "one\n-1-\ntwo\n-1-\n")
    assert [p.number for p in reading.pages] == [1, 2]
    assert reading.remarks == ("page 2 is printed as 1",)


def test_an_opinion_is_read_by_section() -> None:
    reading = read_opinion("o", "Judgment\nfor plaintiffs\nIntroduction\nText.\nIV(A)\nMore.\n")
    assert [(p.number, p.label) for p in reading.pages] == [(1, "Judgment"), (2, "Introduction"), (3, "section IV(A)")]


def test_a_statute_is_read_by_section_after_its_title() -> None:
    reading = read_statute("s", 'a note\n "AN ACT TO REQUIRE\nSection 1: One\ntext\nSection 2: Two\ntext\n')
    assert [p.label for p in reading.pages] == ["title", "Section 1", "Section 2"]
    assert "1 lines before the title" in reading.remarks[0]


def test_a_pdf_is_read_page_by_page() -> None:
    reading = read_pdf(read_file(DATA / "mclean/pleadings/joint_stipulation_of_fact.pdf", "stip"))
    assert len(reading.pages) == 5
    assert "Governor Frank White signed" in (reading.pages[4].text or "")


def test_what_is_no_pdf_is_refused_by_name() -> None:
    with pytest.raises(ImportFailure, match=r"not_a\.pdf"):
        read_pdf(File("not_a.pdf", "0" * 64, 5, b"hello"))


def test_machine_read_text_must_have_the_pages_of_the_picture() -> None:
    assert [p.source for p in read_ocr("t", "one\ftwo\f", 2).pages] == ["ocr", "ocr"]
    with pytest.raises(ImportFailure, match="holds 2 pages"):
        read_ocr("t", "one\ftwo", 3)


def test_a_page_without_letters_has_no_text_source() -> None:
    assert [p.source for p in read_ocr("t", "one\f\n\fthree", 3).pages] == ["ocr", "none", "ocr"]


@pytest.mark.parametrize("reader", [read_marked, read_opinion, read_statute])
def test_a_paper_of_another_kind_is_refused_by_name(reader: object) -> None:
    with pytest.raises(ImportFailure, match="odd"):
        reader("odd", "nothing of the kind\n")  # type: ignore[operator]
