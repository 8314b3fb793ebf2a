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
# What stands in for the product's own programs when the edge is held against the protocol's official suite; no image holds it.
FIXTURE = Path("tests/conformance")
TREES = (Path("gen"), FIXTURE / "gen")


def run(*command: str) -> None:
    """Runs a tool from this environment and stops with its own words when it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def generate(out: Path) -> None:
    """Writes all generated files below `out`."""
    generate_product(out)
    generate_fixture(out / FIXTURE / "gen")


def generate_fixture(made: Path) -> None:
    """The same for the fixture's protos, which use the product's."""
    made.mkdir(parents=True)
    source = FIXTURE / "protos"
    protos = sorted(str(p.relative_to(ROOT / source)) for p in (ROOT / source).rglob("*.proto"))
    outputs = [f"--python_out={made}", f"--mypy_out=quiet:{made}", f"--descriptor_set_out={made / 'fixture' / 'tools.binpb'}"]
    (made / "fixture").mkdir()
    run(
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"-I{source}",
        "-Iprotos",
        "-Ithird_party",
        *outputs,
        "--include_source_info",
        *protos,
    )
    _packages(made)


def generate_product(out: Path) -> None:
    """Everything made from protos/."""
    run("buf", "generate", "-o", str(out))
    made = out / "gen"
    protos = sorted(str(p.relative_to(ROOT / "protos")) for p in (ROOT / "protos").rglob("*.proto"))
    services = [p for p in protos if "\nservice " in (ROOT / "protos" / p).read_text(encoding="utf-8")]
    run(sys.executable, "-m", "grpc_tools.protoc", "-Iprotos", "-Ithird_party", f"--grpc_python_out={made}", *services)
    run("buf", "build", "--path", "protos/substrate", "--exclude-imports", "--as-file-descriptor-set", "-o", str(made / DESCRIPTORS))
    _packages(made)
    run(sys.executable, "scripts/gen_json.py", str(made))


def _packages(made: Path) -> None:
    for folder in (d for d in made.rglob("*") if d.is_dir()):
        (folder / "__init__.py").touch()


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
        stale = [str(tree / name) for tree in TREES for name in differences(Path(work) / tree, ROOT / tree)]
        if check:
            print("\n".join(f"stale: {name}" for name in stale) or "gen/ is current")
            return 1 if stale else 0
        for tree in TREES:
            shutil.rmtree(ROOT / tree, ignore_errors=True)
            shutil.copytree(Path(work) / tree, ROOT / tree)
    print(f"gen/ written, {len(stale)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
