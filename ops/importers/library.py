"""Registers the documents of a matter: reads their files, makes versions, pages and passages, and cites them."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from kit import limits, typography
from kit.object_store import ObjectStore, TooLarge
from ops.importers import papers, transcripts
from ops.importers.loadfile import Member
from ops.importers.pages import File, ImportFailure, Page, Reading, passages, read_file, spans
from ops.importers.rows import Rows, Source

_PAGE_RANGE = re.compile(r"_(\d{4})-(\d{4})\.txt$")
_MEDIA = {".txt": "text/plain", ".pdf": "application/pdf", ".json": "application/json"}


@dataclass(frozen=True)
class Paper:
    """A document that was loaded."""

    document_id: str
    version_id: str
    short_cite: str
    source_class: str
    as_of: str | None
    pages: dict[int, Page]
    title: str
    sha256: str

    def cite(self, page_from: int, page_to: int | None = None) -> str:
        """The place in record form."""
        label = self.pages[page_from].label if page_from in self.pages else f"page {page_from}"
        if not label.startswith(("page ", "pages ", "entry ")):
            return f"{self.short_cite} {label}"
        return f"{self.short_cite} {page_from}" + (f"-{page_to}" if page_to and page_to != page_from else "")

    def at(self, page_from: int, page_to: int | None = None, quote: str | None = None) -> Source:
        """A place in this document, as the source of a row."""
        to = page_to or page_from
        return Source(self.version_id, page_from, to, self.cite(page_from, to), quote, self.source_class, self.as_of)

    def whole(self) -> Source:
        """The document as a whole, as the source of a row."""
        return Source(self.version_id, None, None, self.short_cite, None, self.source_class, self.as_of)

    def holds(self, quote: str, page_from: int, page_to: int | None = None) -> bool | None:
        """Whether a quote stands there; None where a page is not loaded or has no text."""
        cited = [self.pages.get(n) for n in range(page_from, (page_to or page_from) + 1)]
        texts = [p.text for p in cited if p is not None and p.text is not None]
        return typography.stands_in(quote, "\n".join(texts)) if len(texts) == len(cited) else None


@dataclass
class Library:
    """The documents of one matter, by key."""

    root: Path
    rows: Rows
    reviewed_by: str
    reviewed_at: str
    undated_as_of: str | None = None
    report: list[str] = field(default_factory=list)
    store: ObjectStore | None = None
    papers: dict[str, Paper] = field(default_factory=dict)
    numbers: Mapping[str, Member] = field(default_factory=dict)  # what load files say of a document, by its title

    def read(self, name: str) -> File:
        """One file of the matter."""
        return read_file(self.root / name, f"{self.root.name}/{name}")

    def load(self, spec: dict[str, Any]) -> Paper:
        """Reads the files of a document and registers it."""
        files = [self.read(name) for name in spec["files"]]
        reading = _READERS[spec["reader"]](files)
        return self.register(spec, files, reading)

    def register(self, spec: dict[str, Any], files: list[File], reading: Reading, as_of: str | None = None) -> Paper:
        """Adds a document that was read, its version, its pages and its passages."""
        key, day = spec["key"], spec.get("document_date")
        when = as_of or (f"{day}T00:00:00Z" if day else self.undated_as_of)
        document_id = self.rows.id("documents", key)
        # Machine-read text stands beside the picture that it was read from: the picture is the document.
        counted = files[:1] if spec.get("reader") == "ocr" else files
        digest = counted[0].sha256 if len(counted) == 1 else sha256(b"".join(f.content for f in counted)).hexdigest()
        if self.store is not None:
            self._keep(spec["title"], self.store, b"".join(f.content for f in counted))
        version_id = self.rows.id("document_versions", key, digest)
        paper = Paper(
            document_id,
            version_id,
            spec["short_cite"],
            spec["source_class"],
            when,
            {p.number: p for p in reading.pages},
            spec["title"],
            digest,
        )
        self._document(spec, paper.whole(), {"reviewed_by": self.reviewed_by, "reviewed_at": self.reviewed_at})
        self.rows.plain(
            "document_versions",
            version_id,
            {
                "document_id": document_id,
                "sha256": digest,
                "byte_count": sum(f.byte_count for f in counted),
                "media_type": _MEDIA.get(Path(counted[0].name).suffix),
                "page_count": reading.page_count,
                "files": [{"name": f.name, "sha256": f.sha256, "byte_count": f.byte_count} for f in files],
                "as_of": when,
            },
        )
        self._pages(spec["title"], paper, reading)
        self._tell(spec["title"], reading)
        self.papers[key] = paper
        return paper

    def _keep(self, title: str, store: ObjectStore, content: bytes) -> None:
        try:
            store.keep_object(content)
        except TooLarge:
            self.report.append(
                f"{title}: its file is larger than {limits.DOCUMENT_MAX_BYTES // 2**20} MiB and was not kept: there will be no link to it"
            )

    def withheld(self, spec: dict[str, Any], source: Source) -> None:
        """Adds a document that is known by what others say of it: its bytes are not here, and it may not be produced."""
        review = {"reviewed_by": self.reviewed_by, "reviewed_at": self.reviewed_at} if spec["reviewed"] else {}
        self._document(spec, source, review)

    def _document(self, spec: dict[str, Any], source: Source, review: dict[str, str]) -> None:
        produced = self.numbers.get(spec["title"])
        self.rows.add(
            "documents",
            (spec["key"],),
            spec["title"],
            source,
            {
                "title": spec["title"],
                "document_type": spec["document_type"],
                "short_cite": spec.get("short_cite"),
                "document_date": spec.get("document_date"),
                "date_kind": spec.get("date_kind"),
                "author": spec.get("author"),
                "docket_entry_number": spec.get("docket_entry_number"),
                "bates_begin": produced.bates_begin if produced else None,
                "bates_end": produced.bates_end if produced else None,
                "confidentiality": produced.confidentiality if produced else None,
                "privilege_class": spec.get("privilege_class", "not_privileged"),
                "privilege_basis": spec.get("privilege_basis", []),
                "reviewed_by": review.get("reviewed_by"),
                "reviewed_at": review.get("reviewed_at"),
            },
        )

    def _pages(self, title: str, paper: Paper, reading: Reading) -> None:
        position = 0
        for page in reading.pages:
            self.rows.plain(
                "document_pages",
                self.rows.id("document_pages", paper.version_id, page.number),
                {
                    "document_version_id": paper.version_id,
                    "page_number": page.number,
                    "label": page.label,
                    "text": page.text,
                    "text_source": page.source,
                    "line_numbers": None if page.line_numbers is None else list(page.line_numbers),
                },
            )
            for passage in passages(page):
                position += 1
                self.rows.add(
                    "passages",
                    (paper.version_id, position),
                    f"{title}, passage {position}",
                    paper.at(page.number),
                    {
                        "document_id": paper.document_id,
                        "document_version_id": paper.version_id,
                        "position": position,
                        "page_from": page.number,
                        "page_to": page.number,
                        "page_label": page.label,
                        "line_from": passage.line_from,
                        "line_to": passage.line_to,
                        "text": passage.text,
                        "text_source": page.source,
                    },
                )

    def _tell(self, title: str, reading: Reading) -> None:
        lost = f"; not loaded: {spans(reading.missing)}" if reading.missing else ""
        self.report.append(f"{title}: {len(reading.pages)} of {reading.page_count} pages or units{lost}")
        self.report.extend(f"  {remark}" for remark in reading.remarks)

    def place(self, spec: Mapping[str, Any]) -> Source:
        """The source that an index row names: its document, page and quote; nowhere where it names none."""
        if not spec.get("document"):
            return Source(as_of=self.undated_as_of)
        page_from = spec["page"] if "page" in spec else spec["page_from"]
        return self.papers[spec["document"]].at(page_from, spec.get("page_to"), spec.get("quote"))


def _trial(files: list[File]) -> Reading:
    readings = []
    for file in files:
        found = _PAGE_RANGE.search(file.name)
        if found is None:
            raise ImportFailure(f"{file.name}: the name of a trial transcript ends with its pages, as in tr_0234-0266.txt.")
        readings.append(transcripts.read_trial(file.name, file.text(), int(found[1]), int(found[2])))
    pages = tuple(p for r in readings for p in r.pages)
    loose = sum(p.line_numbers.count(None) for p in pages if p.line_numbers)
    remark = f"{loose} lines bear no number and were kept where they stand"
    return Reading(pages, sum(r.page_count for r in readings), tuple(n for r in readings for n in r.missing), (remark,))


def _ocr(files: list[File]) -> Reading:
    picture, text = files
    return papers.read_ocr(text.name, text.text(), papers.read_pdf(picture).page_count)


def _text(reader: Callable[[str, str], Reading]) -> Callable[[list[File]], Reading]:
    return lambda files: reader(files[0].name, files[0].text())


_READERS: dict[str, Callable[[list[File]], Reading]] = {
    "trial": _trial,
    "ocr": _ocr,
    "pdf": lambda files: papers.read_pdf(files[0]),
    "deposition": _text(transcripts.read_deposition),
    "marked": _text(papers.read_marked),
    "opinion": _text(papers.read_opinion),
    "statute": _text(papers.read_statute),
}


def count_checks(what: str, results: Iterable[tuple[str, bool | None]]) -> list[str]:
    """Lines that say how many quotes stand where they are cited, and name those that do not."""
    found = list(results)
    lines = [f"{what}: {sum(r is True for _, r in found)} of {len(found)} quotes stand where they are cited"]
    lines += [f"  not there: {name}" for name, r in found if r is False]
    absent = [name for name, r in found if r is None]
    return lines + ([f"  page not loaded: {', '.join(absent)}"] if absent else [])
