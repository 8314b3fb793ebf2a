"""Load files as they come: read, or refused with the row that is wrong."""

from __future__ import annotations

from hashlib import sha256

import pytest

from ops.importers import loadfile
from ops.importers.pages import File, ImportFailure

HEADER = ("BEGBATES", "ENDBATES", "TITLE", "CONFIDENTIALITY", "SHA256")


def made(*rows: tuple[str, ...], encoding: str = "utf-8-sig", header: tuple[str, ...] = HEADER) -> File:
    lines = [header, *rows]
    text = "".join("\x14".join(f"\xfe{f}\xfe" for f in line) + "\r\n" for line in lines)
    content = text.encode(encoding)
    return File("x.dat", sha256(content).hexdigest(), len(content), content)


A, B = ("ABC000001", "ABC000003", "First", "NONE", ""), ("ABC000004", "ABC000004", "Second", "CONFIDENTIAL", "ab" * 32)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8", "utf-16", "cp1252"])
def test_members_are_read_in_each_encoding(encoding: str) -> None:
    found = loadfile.read(made(A, B, encoding=encoding))
    assert [(m.bates_begin, m.bates_end, m.title, m.confidentiality) for m in found.members] == [
        ("ABC000001", "ABC000003", "First", None),
        ("ABC000004", "ABC000004", "Second", "CONFIDENTIAL"),
    ]
    assert found.findings == ()


def test_the_digest_of_the_set_depends_on_every_member_and_on_their_order() -> None:
    one, two, other = (loadfile.read(made(*rows)).member_set_sha256 for rows in ((A, B), (B, A), (A,)))
    assert len({one, two, other}) == 3
    assert one == sha256(f"ABC000001 ABC000003 -\nABC000004 ABC000004 {'ab' * 32}".encode()).hexdigest()


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ((A, A), "begins 2 rows"),
        ((A, ("ABC000003", "ABC000005", "", "", "")), "overlaps the row before"),
        ((A, ("ABC000009", "ABC000009", "", "", "")), "leaves numbers out"),
        ((("ABC000009", "ABC000001", "", "", ""),), "make no range"),
        ((("", "", "", "", ""),), "make no range"),
    ],
)
def test_what_is_wrong_with_the_numbers_is_found(rows: tuple[tuple[str, ...], ...], finding: str) -> None:
    assert any(finding in f for f in loadfile.read(made(*rows)).findings)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (made(A, ("ABC000004",)), "row 3 has 1 fields"),
        (made(A, header=("ONE", "TWO", "THREE", "FOUR", "FIVE")), "BEGBATES"),
        (File("x.dat", "", 0, b""), "BEGBATES"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_by_name(file: File, words: str) -> None:
    with pytest.raises(ImportFailure, match=words):
        loadfile.read(file)


def test_image_lines_are_counted_against_the_numbers() -> None:
    images = b"ABC000001,V,.\\1.tif,Y,,,3\r\nABC000002,V,.\\2.tif,,,,\r\nABC000003,V,.\\3.tif,,,,\r\nABC000009,V,.\\9.tif,Y,,,1\r\n"
    file = File("x.opt", "", len(images), images)
    assert loadfile.check_images(file, loadfile.read(made(A, B)).members) == ["1 pages have no image line", "1 image lines are of no row"]
