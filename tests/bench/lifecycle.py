"""Starts and stops: the embedded database alone, the whole stack by its own command, and what is left when its owner is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from ops import owner
from ops.layout import DataDir
from ops.postgres import Postgres
from tests import poll
from tests.bench import cpu
from tests.bench.environment import CannotMeasure
from tests.bench.figures import Starts
from tests.system import stack

_CLEAN = "database system is shut down"


async def postgres(folder: Path) -> tuple[float, float]:
    """Seconds until a new database answers, and until it does the next time."""
    seconds = []
    for _ in ("cold", "warm"):
        began = time.perf_counter()
        async with Postgres(folder):
            seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1]


def up(folder: Path) -> float:
    """Seconds that `./run up --detach` takes."""
    began = time.perf_counter()
    started = stack.up(folder)
    took = time.perf_counter() - began
    if started.returncode != 0:
        raise CannotMeasure(f"the stack did not start: {started.stdout}{started.stderr}")
    return took


def killed(folder: Path) -> float:
    """Seconds from kill -9 of the owner until none of its processes is left; the database must have shut down cleanly."""
    data = DataDir(folder)
    holder = owner.holder(data)
    if holder is None:
        raise CannotMeasure("the stack has no owner")
    below = cpu.tree(cpu.look(), [holder])
    log = data.log / "postgres.log"
    before = log.read_text(encoding="utf-8", errors="replace").count(_CLEAN)
    began = time.perf_counter()
    os.kill(holder, signal.SIGKILL)
    poll.until(lambda: not any(owner.alive(pid) for pid in below), "every process of the stack ends", seconds=30)
    took = time.perf_counter() - began
    if log.read_text(encoding="utf-8", errors="replace").count(_CLEAN) == before:
        raise CannotMeasure("the database did not shut down cleanly after its owner was killed")
    return took


def empty() -> Starts:
    """Nothing measured yet."""
    return Starts([], [], [], [], [])


async def once(folder: Path, starts: Starts) -> None:
    """One cold start, one kill and one warm start, in a folder of their own; the stack is left running."""
    cold, warm = await postgres(folder / "postgres-alone")
    starts.postgres_cold.append(cold)
    starts.postgres_warm.append(warm)
    starts.up_cold.append(up(folder / "stack"))
    starts.stop_after_kill.append(killed(folder / "stack"))
    starts.up_warm.append(up(folder / "stack"))
