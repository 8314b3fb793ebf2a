"""Reads deploy/programs.toml, the table of duties."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ops.layout import ROOT


@dataclass(frozen=True)
class Program:
    """One program and its duties."""

    name: str
    module: str
    serves: str
    needs: tuple[str, ...]
    role: str | None
    extra: str
    image: tuple[str, ...]
    secrets: tuple[str, ...]
    callers: dict[str, list[str]]


@dataclass(frozen=True)
class Table:
    """All programs in start order, the outside clients that get a certificate, and every database login."""

    programs: tuple[Program, ...]
    clients: tuple[str, ...]
    logins: tuple[str, ...]

    def __getitem__(self, name: str) -> Program:
        return next(p for p in self.programs if p.name == name)


def _in_start_order(found: dict[str, Program]) -> tuple[Program, ...]:
    ordered: list[Program] = []
    while len(ordered) < len(found):
        started = {p.name for p in ordered}
        ready = [p for p in found.values() if p.name not in started and set(p.needs) <= started]
        if not ready:
            raise ValueError(f"deploy/programs.toml: these programs need each other or one that is missing: {sorted(set(found) - started)}")
        ordered += ready
    return tuple(ordered)


@cache
def load(path: Path = ROOT / "deploy" / "programs.toml") -> Table:
    """The table of duties."""
    with path.open("rb") as source:
        raw = tomllib.load(source)
    found = {
        name: Program(
            name=name,
            module=entry["module"],
            serves=entry["serves"],
            needs=tuple(entry["needs"]),
            role=entry.get("role"),
            extra=entry["extra"],
            image=tuple(entry["image"]),
            secrets=tuple(entry["secrets"]),
            callers=entry.get("callers", {}),
        )
        for name, entry in raw["programs"].items()
    }
    programs = _in_start_order(found)
    return Table(programs, tuple(raw["clients"]), (*raw["logins"], *(p.role for p in programs if p.role)))
