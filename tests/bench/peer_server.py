"""Starts a peer server, which dies with the bench, and stops it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ops import child
from ops.files import tail
from ops.layout import ROOT
from tests.bench.environment import WORK, CannotMeasure

_START_SECONDS = 30.0
_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Peer:
    """A running peer server."""

    name: str
    pid: int
    port: int


@contextmanager
def running(name: str, module: str, interpreter: Path, orders: Mapping[str, object]) -> Iterator[Peer]:
    """A peer that runs while the context does."""
    log = WORK / f"{module.rpartition('.')[2]}.log"
    command = child.command([str(interpreter), "-m", module], dying=signal.SIGKILL)
    environ = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=environ, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdin as orders_in:  # the database address stays off the disk and the command line
            orders_in.write(json.dumps(orders).encode())
        yield Peer(name, process.pid, _port(name, process.stdout, log))
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _port(name: str, out: IO[bytes], log: Path) -> int:
    with selectors.DefaultSelector() as waiting:
        waiting.register(out, selectors.EVENT_READ)
        if waiting.select(_START_SECONDS) and (line := out.readline().strip()).isdigit():
            return int(line)
    raise CannotMeasure(f"{name} did not start; {log} ends:{tail(log)}")
