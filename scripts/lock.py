"""Writes locks/*.lock: everything a program's image installs, pinned with hashes, for every platform; and tells stale locks offline."""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
UV = ROOT / ".substrate" / "tools" / "bin" / "uv"
TOOLS = "uv==0.13.9\n"
HEADER = "# Written by scripts/lock.py from pyproject.toml; do not edit.\n# tables: "


def extras() -> dict[str, str]:
    """Lock name to the optional-dependency set it holds."""
    programs = tomllib.loads((ROOT / "deploy" / "programs.toml").read_text(encoding="utf-8"))["programs"]
    return {name: entry["extra"] for name, entry in programs.items()} | {
        "ops": "ops",
        "bench": "bench",
        "conformance": "conformance",
        "dev": "dev",
    }


def tables_digest() -> str:
    """A digest of what the locks are made from."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tables = {key: project[key] for key in ("requires-python", "dependencies", "optional-dependencies")}
    return hashlib.sha256(json.dumps([tables, TOOLS], sort_keys=True).encode()).hexdigest()


def stale() -> list[str]:
    """The locks that were not made from the present tables."""
    expected = HEADER + tables_digest() + "\n"
    paths = [LOCKS / f"{name}.lock" for name in (*extras(), "tools")]
    return [p.name for p in paths if not p.exists() or not p.read_text(encoding="utf-8").startswith(expected)]


def _compile(name: str, source: list[str], given: str | None, upgrade: bool) -> None:
    target = LOCKS / f"{name}.lock"
    command = [
        str(UV),
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--python-version",
        "3.11",
    ]
    command += ["--no-emit-package", "verified-substrate", "--output-file", str(target), *(["--upgrade"] if upgrade else []), *source]
    if name != "dev":
        command += ["--constraints", str(LOCKS / "dev.lock")]  # one version of everything, everywhere
    subprocess.run(
        command, input=given, text=True, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    )
    body = [line for line in target.read_text(encoding="utf-8").splitlines(keepends=True) if not line.startswith(("#", "--"))]
    target.write_text(HEADER + tables_digest() + "\n" + "".join(body), encoding="utf-8")


def main() -> int:
    """Write the locks, or check them."""
    parser = argparse.ArgumentParser(prog="./run lock", description=__doc__, epilog="example: ./run lock --check")
    parser.add_argument("--check", action="store_true", help="only say which locks are stale; needs no network")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    options = parser.parse_args()
    if options.check:
        names = stale()
        if names:
            print(f"stale, run ./run lock: {', '.join(names)}")
        return 1 if names else 0
    if not UV.exists():
        print("lock: uv is not there; remove .venv/.synced-from and run ./run --help once.", file=sys.stderr)
        return 1
    _compile("dev", ["--extra", "dev", "pyproject.toml"], None, options.upgrade)
    for name, extra in extras().items():
        if name != "dev":
            _compile(name, ["--extra", extra, "pyproject.toml"], None, upgrade=False)
    _compile("tools", ["-"], TOOLS, upgrade=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
