"""CPU time of process trees, from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Seen:
    """One process at one moment: its parent, and the ticks it and its collected children used."""

    parent: int
    ticks: int


def look() -> dict[int, Seen]:
    """Every process now."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            found[int(entry.name)] = Seen(int(fields[1]), sum(int(f) for f in fields[11:15]))
    return found


def tree(seen: dict[int, Seen], roots: Iterable[int]) -> set[int]:
    """The processes at and below the roots."""
    found = set(roots)
    while more := {pid for pid, process in seen.items() if process.parent in found} - found:
        found |= more
    return found


def used(roots: Iterable[int]) -> float:
    """Seconds of CPU that the trees under these roots have used."""
    seen = look()
    return sum(seen[pid].ticks for pid in tree(seen, roots) if pid in seen) / _TICK


def machine_busy() -> float:
    """Seconds of CPU that the whole machine has used."""
    values = [int(v) for v in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return (sum(values) - values[3] - values[4]) / _TICK  # neither idle nor waiting
