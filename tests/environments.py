"""Environments of tools that are no part of the product: their packages never enter ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from ops.layout import ROOT

_UV = ROOT / ".substrate" / "tools" / "bin" / "uv"


class NoEnvironment(Exception):
    """Why there is none, in words."""


def python(name: str) -> Path:
    """The interpreter of one; made or refreshed when locks/<name>.lock asks for it."""
    lock, venv = ROOT / "locks" / f"{name}.lock", ROOT / ".substrate" / name / "venv"
    interpreter, stamp = venv / "bin" / "python", venv / ".synced-from"
    if interpreter.exists() and stamp.exists() and stamp.read_bytes() == lock.read_bytes():
        return interpreter
    venv.parent.mkdir(parents=True, exist_ok=True)
    _uv(name, "venv", "--quiet", "--clear", "--python", sys.executable, str(venv))
    _uv(name, "pip", "sync", "--quiet", "--require-hashes", "--no-build", "--python", str(interpreter), str(lock))
    partial = stamp.with_name(f"{stamp.name}.partial")
    shutil.copyfile(lock, partial)
    partial.replace(stamp)  # last, so that a half-made environment is never taken for a whole one
    return interpreter


def _uv(name: str, *arguments: str) -> None:
    environ = os.environ | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    environ.setdefault("UV_SYSTEM_CERTS", "1")
    done = subprocess.run([str(_UV), *arguments], capture_output=True, text=True, env=environ, check=False)
    if done.returncode != 0:
        raise NoEnvironment(f"the environment of locks/{name}.lock could not be made: {done.stderr.strip()[-500:]}")
