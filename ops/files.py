"""Files of the data folder: private ones are written whole, and readable by their owner alone."""

import os
from pathlib import Path


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content.encode("utf-8") if isinstance(content, str) else content)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)
