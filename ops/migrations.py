"""Which migrations are still to apply: numbered files, each applied once and never changed afterwards."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


class MigrationError(Exception):
    """Why the migrations cannot be applied, naming the file."""


@dataclass(frozen=True)
class Migration:
    """One numbered SQL file."""

    number: int
    name: str
    sha256: str
    sql: str


def read(folder: Path) -> list[Migration]:
    """The migrations of a folder in order; a misnamed file or a number used twice is refused by name."""
    found: dict[int, Migration] = {}
    for path in sorted(folder.glob("*.sql")):
        matched = _NAME.fullmatch(path.name)
        if matched is None:
            raise MigrationError(f"{path.name}: a migration is named like 0007_what_it_does.sql.")
        number, raw = int(matched.group(1)), path.read_bytes()
        if number in found:
            raise MigrationError(f"{path.name}: number {number:04d} is already taken by {found[number].name}.")
        found[number] = Migration(number, path.name, hashlib.sha256(raw).hexdigest(), raw.decode("utf-8"))
    return [found[n] for n in sorted(found)]


def plan(files: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """The migrations to apply, given the name and digest of those that were; history that does not match is refused by name."""
    by_name = {m.name: m for m in files}
    for name, digest in applied.items():
        if name not in by_name:
            raise MigrationError(f"{name} was applied to this database and is not in this version: the database is newer than the program.")
        if by_name[name].sha256 != digest:
            raise MigrationError(f"{name} was changed after it was applied: put it back and write a new migration instead.")
    last = max((by_name[name].number for name in applied), default=0)
    pending = [m for m in files if m.name not in applied]
    for migration in pending:
        if migration.number <= last:
            raise MigrationError(f"{migration.name} comes before {last:04d}, which was already applied: give it a later number.")
    return pending
