"""Reads Concordance load files (.dat) and Opticon ones (.opt) as other parties send them, and says what is wrong with them."""

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256

from ops.importers.pages import File, ImportFailure

csv.field_size_limit(16 * 1024 * 1024)  # text within a load file is longer than the module's own limit
_FIELD, _QUOTE = "\x14", "\xfe"
_NUMBER = re.compile(r"([A-Za-z_-]+)(\d+)")
_ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Member:
    """One document of a load file."""

    bates_begin: str
    bates_end: str
    title: str | None
    date: str | None
    confidentiality: str | None
    sha256: str | None

    @property
    def line(self) -> str:
        """What the digest of the set is made over."""
        return " ".join((self.bates_begin, self.bates_end, self.sha256 or "-"))


@dataclass(frozen=True, slots=True)
class LoadFile:
    """A load file as it was read."""

    encoding: str
    members: tuple[Member, ...]
    findings: tuple[str, ...]

    @property
    def member_set_sha256(self) -> str:
        """The digest over all members, in the order of the file."""
        return sha256("\n".join(m.line for m in self.members).encode()).hexdigest()


def _decoded(file: File) -> tuple[str, str]:
    encoding = next((name for mark, name in _ENCODINGS if file.content.startswith(mark)), None)
    for name in (encoding,) if encoding else ("utf-8", "cp1252"):
        try:
            return name, file.content.decode(name)
        except UnicodeDecodeError:
            continue
    raise ImportFailure(f"{file.name}: its encoding is not UTF-8, UTF-16 or Windows-1252.")


def read(file: File) -> LoadFile:
    """The members of a load file, with what was found wrong. One that has no header or ragged rows is refused."""
    encoding, text = _decoded(file)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_FIELD, quotechar=_QUOTE))
    if not rows or "BEGBATES" not in (header := [h.strip().upper() for h in rows[0]]):
        raise ImportFailure(f"{file.name}: its first row must name the fields, BEGBATES among them, divided by U+0014 in U+00FE.")
    if ragged := next((n for n, row in enumerate(rows[1:], 2) if row and len(row) != len(header)), None):
        raise ImportFailure(f"{file.name}: row {ragged} has {len(rows[ragged - 1])} fields, and the header {len(header)}.")
    members = tuple(_member(dict(zip(header, row, strict=True))) for row in rows[1:] if row)
    return LoadFile(encoding, members, tuple(_findings(members)))


def _member(row: dict[str, str]) -> Member:
    def said(name: str) -> str | None:
        return row.get(name, "").strip() or None

    begin = said("BEGBATES") or ""
    confidentiality = said("CONFIDENTIALITY")
    return Member(
        begin,
        said("ENDBATES") or begin,
        said("TITLE"),
        said("DOCDATE"),
        None if confidentiality == "NONE" else confidentiality,
        said("SHA256"),
    )


def _findings(members: tuple[Member, ...]) -> list[str]:
    """Repeated numbers, ranges that overlap, and numbers that are left out."""
    found = [f"{number} begins {count} rows" for number, count in Counter(m.bates_begin for m in members).items() if count > 1]
    last: tuple[str, int] | None = None
    for member in members:
        begin, end = _NUMBER.fullmatch(member.bates_begin), _NUMBER.fullmatch(member.bates_end)
        if begin is None or end is None or int(end[2]) < int(begin[2]):
            found.append(f"{member.bates_begin or 'a row'}: its numbers make no range")
            continue
        if last is not None and last[0] == begin[1] and int(begin[2]) != last[1] + 1:
            found.append(f"{member.bates_begin} {'overlaps the row before' if int(begin[2]) <= last[1] else 'leaves numbers out'}")
        last = (end[1], int(end[2]))
    return found


def check_images(file: File, members: tuple[Member, ...]) -> list[str]:
    """Whether an Opticon file has a page for each number of the load file."""
    pages = [line.split(",")[0] for line in _decoded(file)[1].splitlines() if line.strip()]
    ranges = [(_NUMBER.fullmatch(m.bates_begin), _NUMBER.fullmatch(m.bates_end)) for m in members]
    wanted = [f"{b[1]}{n:0{len(b[2])}d}" for b, e in ranges if b and e for n in range(int(b[2]), int(e[2]) + 1)]
    lost, extra = set(wanted) - set(pages), set(pages) - set(wanted)
    return ([f"{len(lost)} pages have no image line"] if lost else []) + ([f"{len(extra)} image lines are of no row"] if extra else [])
