"""The environment of the peer servers: their packages never enter ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ops.layout import ROOT

WORK = ROOT / ".substrate" / "bench"
LOCK = ROOT / "locks" / "bench.lock"
_UV = ROOT / ".substrate" / "tools" / "bin" / "uv"


class CannotMeasure(Exception):
    """Why there is no figure, in words."""


def python() -> Path:
    """The interpreter of the peers; made or refreshed when locks/bench.lock asks for it."""
    venv = WORK / "venv"
    interpreter, stamp = venv / "bin" / "python", venv / ".synced-from"
    if interpreter.exists() and stamp.exists() and stamp.read_bytes() == LOCK.read_bytes():
        return interpreter
    WORK.mkdir(parents=True, exist_ok=True)
    _uv("venv", "--quiet", "--clear", "--python", sys.executable, str(venv))
    _uv("pip", "sync", "--quiet", "--require-hashes", "--no-build", "--python", str(interpreter), str(LOCK))
    partial = stamp.with_name(f"{stamp.name}.partial")
    shutil.copyfile(LOCK, partial)
    partial.replace(stamp)  # last, so that a half-made environment is never taken for a whole one
    return interpreter


def _uv(*arguments: str) -> None:
    environ = os.environ | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    done = subprocess.run([str(_UV), *arguments], capture_output=True, text=True, env=environ, check=False)
    if done.returncode != 0:
        raise CannotMeasure(f"the peers' environment could not be made: {done.stderr.strip()[-500:]}")
