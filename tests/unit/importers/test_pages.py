"""Pages are cut into passages that fit, and files are read whole or refused."""

from pathlib import Path

import pytest

from kit import limits
from ops.importers import pages
from ops.importers.pages import ImportFailure, Page, passages, read_file, spans


def test_a_short_page_is_one_passage_with_its_lines() -> None:
    found = list(passages(Page(1, "page 1", "one\ntwo", "native", (4, 5))))
    assert [(p.text, p.line_from, p.line_to) for p in found] == [("one\ntwo", 4, 5)]


@pytest.mark.parametrize("text", ["word " * 3_000, "line of words\n" * 900, "x" * 9_000])
def test_passages_never_cross_the_limit_and_lose_nothing(text: str) -> None:
    found = list(passages(Page(1, "page 1", text)))
    assert all(len(p.text) <= limits.PASSAGE_MAX_CHARS for p in found)
    assert "".join("".join(p.text for p in found).split()) == "".join(text.split())


@pytest.mark.parametrize("text", [None, "", " \n "])
def test_a_page_without_text_has_no_passage(text: str | None) -> None:
    assert list(passages(Page(1, "page 1", text))) == []


def test_numbers_are_told_in_short() -> None:
    assert spans((1, 2, 3, 7, 9, 10)) == "1-3, 7, 9-10"


def test_a_file_that_is_too_large_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IMPORT_FILE_MAX_BYTES", 4)
    (tmp_path / "big.txt").write_bytes(b"12345")
    with pytest.raises(ImportFailure, match=r"matter/big\.txt is larger"):
        read_file(tmp_path / "big.txt", "matter/big.txt")


def test_a_missing_file_is_refused_by_name_and_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(ImportFailure, match=r"^matter/gone\.txt cannot be read") as refused:
        read_file(tmp_path / "gone.txt", "matter/gone.txt")
    assert str(tmp_path) not in str(refused.value)


def test_text_that_is_not_utf8_is_refused_by_name() -> None:
    with pytest.raises(ImportFailure, match="odd is not UTF-8"):
        pages.File("odd", "0" * 64, 2, b"\xff\xfe").text()
