"""Who owns a running stack: a lock that the kernel frees when its holder ends, however it ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ops.layout import DataDir


@contextlib.contextmanager
def lock(data: DataDir) -> Iterator[bool]:
    """Hold the lock of the data folder; says whether we got it."""
    data.run.mkdir(parents=True, exist_ok=True, mode=0o700)
    with data.lock.open("a+", encoding="ascii") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        held.truncate(0)
        data.ready.unlink(missing_ok=True)  # of an owner that was killed
        held.write(f"{os.getpid()}\n")
        held.flush()
        try:
            yield True
        finally:
            held.truncate(0)


def holder(data: DataDir) -> int | None:
    """The process that runs the stack of this folder, if one does."""
    try:
        with data.lock.open("r", encoding="ascii") as held:
            try:
                fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                text = held.read().strip()
                return int(text) if text else None
    except OSError:
        return None
    return None


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False
