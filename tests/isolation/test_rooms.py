"""A program cannot import another's code at run time, and what its image holds is enough to start it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit import rooms
from ops import programs

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = pytest.mark.parametrize("program", programs.load().programs, ids=lambda p: p.name)


@pytest.mark.parametrize(
    ("room", "module", "is_foreign"),
    [
        ("services.auth", "services.auth.store", False),
        ("services.auth", "services.reads", True),
        ("services.auth", "services.authority", True),
        ("services.auth", "services", False),
        ("services.auth", "edge.app", True),
        ("services.auth", "asyncpg", False),
        ("edge", "asyncpg.pool", True),
        ("edge", "services.auth", True),
        ("edge", "edge.app", False),
        ("edge", "kit.config", False),
    ],
)
def test_what_is_foreign(room: str, module: str, is_foreign: bool) -> None:
    assert rooms.foreign(room, module) is is_foreign


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PYTHONPATH": f"{folder}:{folder / 'gen'}", "PATH": "/usr/bin:/bin"}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_a_closed_room_refuses_a_foreign_import_and_allows_its_own() -> None:
    code = "from kit import rooms; rooms.close('services.auth'); import services.auth.chain; import services.reads"
    done = run(code, ROOT)
    assert done.returncode == 1
    assert "services.reads belongs to another program than services.auth" in done.stderr


def test_a_room_does_not_close_over_something_foreign() -> None:
    done = run("import services.reads; from kit import rooms; rooms.close('services.auth')", ROOT)
    assert done.returncode == 1
    assert "is loaded already" in done.stderr


@pytest.fixture
def image(program: programs.Program, tmp_path: Path) -> Path:
    """A folder with what the program's image holds, and nothing else."""
    for path in program.image:
        source, target = ROOT / path, tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return tmp_path


@PROGRAMS
def test_a_program_starts_from_what_its_image_holds(program: programs.Program, image: Path) -> None:
    environ = {"PYTHONPATH": f"{image}:{image / 'gen'}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", program.module, "--config", "no-such.toml"]
    done = subprocess.run(command, cwd=image, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "no-such.toml" in done.stderr


@PROGRAMS
def test_an_image_holds_no_code_of_another_program(program: programs.Program, image: Path) -> None:
    others = [p.module.replace(".", "/") for p in programs.load().programs if p.name != program.name]
    assert [o for o in others if (image / o).exists()] == []


@PROGRAMS
def test_the_lock_of_a_program_without_a_database_holds_no_driver(program: programs.Program) -> None:
    lock = (ROOT / "locks" / f"{program.name}.lock").read_text(encoding="utf-8")
    assert ("\nasyncpg==" in lock) is (program.role is not None)
