"""Makes gen/ from protos/: message classes, stubs, type stubs, JSON encoders and the descriptors with their comments."""

from __future__ import annotations

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DESCRIPTORS = "substrate/tools.binpb"


def run(*command: str) -> None:
    """Runs a tool from this environment and stops with its own words when it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def generate(out: Path) -> None:
    """Writes all generated files below `out`."""
    run("buf", "generate", "-o", str(out))
    made = out / "gen"
    protos = sorted(str(p.relative_to(ROOT / "protos")) for p in (ROOT / "protos").rglob("*.proto"))
    services = [p for p in protos if "\nservice " in (ROOT / "protos" / p).read_text(encoding="utf-8")]
    run(sys.executable, "-m", "grpc_tools.protoc", "-Iprotos", "-Ithird_party", f"--grpc_python_out={made}", *services)
    run("buf", "build", "--path", "protos/substrate", "--exclude-imports", "--as-file-descriptor-set", "-o", str(made / DESCRIPTORS))
    for folder in (d for d in made.rglob("*") if d.is_dir()):
        (folder / "__init__.py").touch()
    run(sys.executable, "scripts/gen_json.py", str(made))


def differences(left: Path, right: Path) -> list[str]:
    """Names the files that are in one tree only or differ in content."""

    def files(top: Path) -> set[str]:
        return {str(p.relative_to(top)) for p in top.rglob("*") if p.is_file() and "__pycache__" not in p.parts}

    one, two = files(left), files(right)
    return sorted((one ^ two) | {f for f in one & two if not filecmp.cmp(left / f, right / f, shallow=False)})


def main() -> int:
    """Regenerates gen/, or with --check says what is stale."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: ./run gen --check")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 and name the files when gen/ is not what protos/ give")
    check: bool = parser.parse_args().check
    with tempfile.TemporaryDirectory() as work:
        generate(Path(work))
        stale = differences(Path(work) / "gen", ROOT / "gen")
        if check:
            print("\n".join(f"stale: gen/{name}" for name in stale) or "gen/ is current")
            return 1 if stale else 0
        shutil.rmtree(ROOT / "gen", ignore_errors=True)
        shutil.copytree(Path(work) / "gen", ROOT / "gen")
    print(f"gen/ written, {len(stale)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
