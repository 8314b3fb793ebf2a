"""Pages of a document as they were read, and the passages they are cut into."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from kit import limits


class ImportFailure(Exception):
    """Why a paper cannot be imported, naming the file."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page, or one located unit of a paper without pages."""

    number: int
    label: str
    text: str | None
    source: str = "native"  # native, ocr or none
    line_numbers: tuple[int | None, ...] | None = None  # one a line of the text, where the page has numbered lines


@dataclass(frozen=True, slots=True)
class File:
    """One file that was read."""

    name: str
    sha256: str
    byte_count: int
    content: bytes = field(repr=False)

    def text(self) -> str:
        """The file as text."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ImportFailure(f"{self.name} is not UTF-8 text: byte {error.start} cannot be read.") from None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a parser found in a paper."""

    pages: tuple[Page, ...]
    page_count: int  # pages that the paper has, read or not
    missing: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a page, short enough to be read at once."""

    page: Page
    text: str
    line_from: int | None
    line_to: int | None


def read_file(path: Path, name: str) -> File:
    """A file with its digest; one that is missing or too large is refused by name."""
    try:
        if path.stat().st_size > limits.IMPORT_FILE_MAX_BYTES:
            raise ImportFailure(f"{name} is larger than {limits.IMPORT_FILE_MAX_BYTES // 2**20} MiB.")
        content = path.read_bytes()
    except OSError as error:
        raise ImportFailure(f"{name} cannot be read: {error.strerror}.") from None
    return File(name, sha256(content).hexdigest(), len(content), content)


def spans(numbers: tuple[int, ...]) -> str:
    """Numbers in short: 151-200, 446."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _pieces(line: str) -> Iterator[str]:
    """A line cut at spaces into pieces that fit."""
    while len(line) > limits.PASSAGE_MAX_CHARS:
        at = line.rfind(" ", 1, limits.PASSAGE_MAX_CHARS + 1)
        cut = at if at > 0 else limits.PASSAGE_MAX_CHARS
        yield line[:cut]
        line = line[cut:].lstrip(" ")
    yield line


def passages(page: Page) -> Iterator[Passage]:
    """The passages of a page, cut at line ends where that is possible."""
    if page.text is None or not page.text.strip():
        return
    lines = page.text.split("\n")
    numbers = page.line_numbers or (None,) * len(lines)
    held: list[str] = []
    held_numbers: list[int] = []
    size = 0
    for line, number in zip(lines, numbers, strict=True):
        for piece in _pieces(line):
            if held and size + len(piece) + 1 > limits.PASSAGE_MAX_CHARS:
                yield from _passage(page, held, held_numbers)
                held, held_numbers, size = [], [], 0
            held.append(piece)
            size += len(piece) + 1
            if number is not None:
                held_numbers.append(number)
    yield from _passage(page, held, held_numbers)


def _passage(page: Page, lines: list[str], numbers: list[int]) -> Iterator[Passage]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Passage(page, text, min(numbers, default=None), max(numbers, default=None))
