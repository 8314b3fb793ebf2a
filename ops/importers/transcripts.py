"""Reads transcripts: trial pages with numbered lines, and depositions whose pages begin with their number."""

import re

from ops.importers.pages import ImportFailure, Page, Reading, spans

LINES_A_PAGE_MAX = 28
_TRIAL_PAGE = re.compile(r"(\d{3,4})\.?\s*(Page is missing\.)?\s*")
_LINE = re.compile(r"(\d{1,2})\.{0,2}(?:\s+(.*))?")
_LONE_NUMBER = re.compile(r"\s*(\d{1,4})\s*")
_ABSENT = "Page is missing."


def read_trial(name: str, text: str, first: int, last: int) -> Reading:
    """Pages `first` to `last` of a trial transcript: each opens with "238." and its lines bear numbers, but for a few that do not."""
    bodies: dict[int, list[str]] = {}
    current: int | None = None
    for line in text.splitlines():
        opened = _TRIAL_PAGE.fullmatch(line)
        number = int(opened[1]) if opened else None
        if opened and number is not None and first <= number <= last and number > (current or 0):
            current = number
            bodies[current] = [_ABSENT] if opened[2] else []
        elif current is None:
            if line.strip():
                raise ImportFailure(f"{name}: text stands before the first page number.")
        else:
            bodies[current].append(line.strip())
    present = {n: lines for n, lines in bodies.items() if [x for x in lines if x] != [_ABSENT]}
    missing = tuple(n for n in range(first, last + 1) if n not in present)
    pages = tuple(_numbered_page(n, lines) for n, lines in sorted(present.items()))
    return Reading(pages, last - first + 1, missing)


def _numbered_page(number: int, lines: list[str]) -> Page:
    texts: list[str] = []
    numbers: list[int | None] = []
    last = 0
    for line in lines:
        found = _LINE.fullmatch(line)
        value = int(found[1]) if found else 0
        # A number that does not continue the count belongs to the testimony.
        if found and last < value <= min(last + 2, LINES_A_PAGE_MAX):
            texts.append(found[2] or "")
            numbers.append(value)
            last = value
        else:
            texts.append(line)
            numbers.append(None)
    return Page(number, f"page {number}", "\n".join(texts), "native", tuple(numbers))


def read_deposition(name: str, text: str) -> Reading:
    """Pages of a deposition: a line with nothing but the number opens a page. What stands before number 2 is page 1."""
    lines = text.splitlines()
    marks = [(i, int(m[1])) for i, m in enumerate(map(_LONE_NUMBER.fullmatch, lines)) if m]
    starts: list[tuple[int, int, str]] = []
    missing: list[int] = []
    remarks: list[str] = []
    if not marks:
        raise ImportFailure(f"{name}: no page number was found.")
    last = marks[0][1] - 1
    if last == 1:
        starts.append((-1, 1, "page 1"))
    else:
        missing.extend(range(1, last + 1))
        remarks.append(f"{marks[0][0]} lines before page {last + 1} are the transcriber's and were left out")
    for at, (line, number) in enumerate(marks):
        following = marks[at + 1][1] if at + 1 < len(marks) else None
        if number == last + 1:
            starts.append((line, number, f"page {number}"))
        elif following == last + 2:
            starts.append((line, last + 1, f"page {last + 1} (printed as {number})"))
            remarks.append(f"page {last + 1} is printed as {number}")
        elif number > last and following in (number + 1, None):
            missing.extend(range(last + 1, number))
            starts.append((line, number, f"page {number}"))
        else:
            continue  # a number of the testimony that happens to fill its line
        last = starts[-1][1]
    if missing:
        remarks.append(f"pages {spans(tuple(missing))} are missing at the source")
    ends = [start for start, _, _ in starts[1:]] + [len(lines)]
    pages = tuple(
        Page(number, label, "\n".join(x.rstrip() for x in lines[start + 1 : end]).strip("\n"))
        for (start, number, label), end in zip(starts, ends, strict=True)
    )
    return Reading(pages, last, tuple(missing), tuple(remarks))
