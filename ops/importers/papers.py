"""Reads papers that are neither transcripts nor dockets: pleadings with page marks, opinions and statutes in sections, PDF and OCR text."""

import re

import pypdfium2

from ops.importers.pages import File, ImportFailure, Page, Reading

_PAGE_MARK = re.compile(r"\s*-\s*(\d{1,3})\s*-\s*")
_TRANSCRIBER_HEAD = "McLean v. Arkansas Documentation Project"
_TRANSCRIBER_TAIL = re.compile(r"^\s*Return\s*$|^Return\s+to ")
_OPINION_HEADS = re.compile(r"Judgment|Injunction|Memorandum Opinion|Introduction|[IVX]{1,4}(?:\([A-Z]\))?\.?|Notes")
_STATUTE_HEAD = re.compile(r"(Section \d{1,3}):.*")


def read_marked(name: str, text: str) -> Reading:
    """A pleading whose pages end with "-3-". Where a mark is missing the page holds two; where one is repeated it is counted on."""
    lines = text.splitlines()
    head = next((i + 1 for i, x in enumerate(lines) if x.strip() == _TRANSCRIBER_HEAD), 0)
    tail = next((i for i, x in enumerate(lines) if i > head and _TRANSCRIBER_TAIL.match(x)), len(lines))
    pages: list[Page] = []
    missing: list[int] = []
    remarks: list[str] = []
    held: list[str] = []
    last = 0
    for line in lines[head:tail]:
        mark = _PAGE_MARK.fullmatch(line)
        if mark is None:
            held.append(line.rstrip())
            continue
        printed = int(mark[1])
        number = printed if printed > last else last + 1
        if printed != number:
            remarks.append(f"page {number} is printed as {printed}")
        label = f"page {number}"
        if number > last + 1:
            missing.extend(range(last + 1, number))
            label = f"pages {last + 1}-{number} (no mark between them)"
            remarks.append(f"there is no mark between pages {last + 1} and {number}: both are loaded as page {number}")
        pages.append(Page(number, label, "\n".join(held).strip("\n")))
        held, last = [], number
    if not pages:
        raise ImportFailure(f"{name}: no page mark was found.")
    if head or tail < len(lines):
        remarks.append(f"{head + len(lines) - tail} lines are the transcriber's and were left out")
    return Reading(tuple(pages), last, tuple(missing), tuple(remarks))


def _sections(lines: list[str], heads: list[tuple[int, str]]) -> tuple[Page, ...]:
    ends = [start for start, _ in heads[1:]] + [len(lines)]
    bodies = [(label, "\n".join(x.rstrip() for x in lines[start:end]).strip("\n")) for (start, label), end in zip(heads, ends, strict=True)]
    return tuple(Page(n, label, body) for n, (label, body) in enumerate(bodies, 1))


def read_opinion(name: str, text: str) -> Reading:
    """An opinion without page marks, in its sections."""
    lines = text.splitlines()
    heads = [(i, x.strip()) for i, x in enumerate(lines) if _OPINION_HEADS.fullmatch(x.strip())]
    heads = [
        (i, f"section {x.rstrip('.')}" if x.rstrip(".")[0] in "IVX" and x != "Introduction" and x != "Injunction" else x) for i, x in heads
    ]
    if not heads:
        raise ImportFailure(f"{name}: no section was found.")
    pages = _sections(lines, heads)
    return Reading(pages, len(pages), (), ("it has no page marks and is loaded by section",))


def read_statute(name: str, text: str) -> Reading:
    """A statute in its sections; its title and enacting clause are unit 1."""
    lines = text.splitlines()
    title = next((i for i, x in enumerate(lines) if x.strip().lstrip("\"'\u201c").startswith("AN ACT")), None)
    heads = [(i, m[1]) for i, m in enumerate(map(_STATUTE_HEAD.fullmatch, lines)) if m]
    if title is None or not heads:
        raise ImportFailure(f"{name}: the title or the sections of the act were not found.")
    pages = _sections(lines, [(title, "title"), *heads])
    return Reading(pages, len(pages), (), (f"{title} lines before the title are the transcriber's and were left out",))


def read_pdf(file: File) -> Reading:
    """The text layer of a PDF, page by page. A page without letters has no text layer."""
    try:
        document = pypdfium2.PdfDocument(file.content)
    except pypdfium2.PdfiumError as error:
        raise ImportFailure(f"{file.name} is not a PDF that can be read: {error}") from None
    try:
        texts = [page.get_textpage().get_text_range().replace("\r\n", "\n").replace("\x00", "").strip("\n") for page in document]
    finally:
        document.close()
    pages = tuple(Page(n, f"page {n}", t or None, "native" if t else "none") for n, t in enumerate(texts, 1))
    return Reading(pages, len(pages), tuple(p.number for p in pages if p.text is None))


def read_ocr(name: str, text: str, page_count: int) -> Reading:
    """Machine-read text with a form feed between pages; it must have the pages that the picture has."""
    texts = text.split("\f")
    while len(texts) > page_count and not texts[-1].strip():
        texts.pop()
    if len(texts) != page_count:
        raise ImportFailure(f"{name} holds {len(texts)} pages, and the document has {page_count}.")
    stripped = [t.strip("\n") for t in texts]
    pages = tuple(Page(n, f"page {n}", t or None, "ocr" if t else "none") for n, t in enumerate(stripped, 1))
    return Reading(pages, page_count, (), ("its text was read off pictures by machine: letters can be wrong",))
