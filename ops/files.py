"""Files of the data folder: private ones, written whole and readable by their owner alone, and logs."""

import os
from pathlib import Path

from kit import limits


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content.encode("utf-8") if isinstance(content, str) else content)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)


def tail(path: Path, lines: int = 8) -> str:
    """The end of a log, indented."""
    try:
        return "".join(f"\n    {line}" for line in path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def open_log(path: Path) -> int:
    """A log to append to; one that has grown long is put aside first."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.exists() and path.stat().st_size > limits.PROGRAM_LOG_MAX_BYTES:
        path.replace(path.with_name(f"{path.name}.1"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
