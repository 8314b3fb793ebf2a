"""Makes or refreshes .venv from locks/dev.lock; runs on a bare Python 3.11 with pip and nothing else."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK, TOOLS_LOCK = ROOT / "locks" / "dev.lock", ROOT / "locks" / "tools.lock"
VENV, WORK = ROOT / ".venv", ROOT / ".substrate"
STAMP = VENV / ".synced-from"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")


class SetupError(Exception):
    """Why the environment cannot be made, in one sentence."""


def _run(command: list[str], failed: str) -> None:
    """Run a step quietly; on failure show the end of what it said."""
    done = subprocess.run(command, capture_output=True, text=True, env=_environ(), check=False)
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()][-5:]
        raise SetupError("\n  ".join([failed, *said]))


def _pip_setting(name: str) -> str:
    """What pip is told on this machine, by its environment or its files."""
    from_environ = os.environ.get(f"PIP_{name.upper().replace('-', '_')}")
    if from_environ:
        return from_environ
    return subprocess.run([*PIP, "config", "get", f"global.{name}"], capture_output=True, text=True, check=False).stdout.strip()


def _environ() -> dict[str, str]:
    """The environment for uv: the package index and certificates that pip uses, and a cache that can be written."""
    environ = dict(os.environ)
    for ours, pips in (("UV_DEFAULT_INDEX", "index-url"), ("SSL_CERT_FILE", "cert")):
        if not environ.get(ours) and (value := _pip_setting(pips)):
            environ[ours] = value
    if not os.access(environ.get("HOME", ""), os.W_OK):
        environ.setdefault("UV_CACHE_DIR", str(WORK / "cache"))
    environ.setdefault("UV_SYSTEM_CERTS", "1")  # pip trusts the machine's own authorities; behind a firm's proxy uv has to as well
    return environ | {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "PIP_ROOT_USER_ACTION": "ignore"}


def _uv() -> Path:
    """The pinned uv, installed once into its own folder."""
    home = WORK / "tools"
    binary, stamp = home / "bin" / "uv", home / ".synced-from"
    if binary.exists() and stamp.exists() and stamp.read_bytes() == TOOLS_LOCK.read_bytes():
        return binary
    if subprocess.run([*PIP, "--version"], capture_output=True, check=False).returncode != 0:
        raise SetupError(f"{sys.executable} has no pip; install it (on Debian: apt-get install python3-pip).")
    partial = Path(tempfile.mkdtemp(dir=WORK))
    _run(
        [*PIP, "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--target", str(partial), "-r", str(TOOLS_LOCK)],
        "the installer could not be fetched; is a package index reachable?",
    )
    shutil.copyfile(TOOLS_LOCK, partial / ".synced-from")
    shutil.rmtree(home, ignore_errors=True)
    partial.rename(home)
    return binary


def _fresh() -> bool:
    return (VENV / "bin" / "python").exists() and STAMP.exists() and STAMP.read_bytes() == LOCK.read_bytes()


def _usable_venv() -> bool:
    """Whether the environment's Python still starts and is new enough."""
    check = [str(VENV / "bin" / "python"), "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    try:
        return subprocess.run(check, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _make() -> None:
    uv = str(_uv())
    if not _usable_venv():
        _run([uv, "venv", "--quiet", "--clear", "--force", "--python", sys.executable, str(VENV)], "the environment could not be made.")
    _run(
        [uv, "pip", "sync", "--quiet", "--require-hashes", "--no-build", "--python", str(VENV / "bin" / "python"), str(LOCK)],
        "the packages of locks/dev.lock could not be installed.",
    )
    partial = STAMP.with_name(f"{STAMP.name}.partial")
    shutil.copyfile(LOCK, partial)
    partial.replace(STAMP)  # last, so that a half-made environment is never taken for a whole one


def main() -> int:
    """Make the environment, one process at a time."""
    WORK.mkdir(exist_ok=True)
    with (WORK / "environment.lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("run: waiting for another run that prepares the environment", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        if _fresh():
            return 0
        started = time.monotonic()
        print("run: preparing the environment (first use, or the locked packages changed) …", file=sys.stderr, flush=True)
        try:
            _make()
        except (SetupError, OSError) as error:
            print(f"run: {error}", file=sys.stderr)
            return 1
        print(f"run: environment ready after {time.monotonic() - started:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
