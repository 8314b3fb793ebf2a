"""The README is true: every snippet runs, in a copy of the repository, as a reader would run it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.layout import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|python|json)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
# The two commands themselves: `up` in the foreground does not end, and `test` is what runs this.
COMMANDS = [code for kind, code in BLOCKS if kind == "sh" and "./run test" in code]
SHELL = [code for kind, code in BLOCKS if kind == "sh" and code not in COMMANDS]
PYTHON = [code for kind, code in BLOCKS if kind == "python"]
COPIED = "run kit edge services ops protos third_party gen db data deploy scripts locks tests pyproject.toml buf.yaml buf.gen.yaml"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the repository with this environment, whose stack is stopped at the end."""
    target = tmp_path_factory.mktemp("readme") / "substrate"
    target.mkdir()
    for top in COPIED.split():
        source = ROOT / top
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target / top)
    (target / ".venv").symlink_to(sys.prefix)
    yield target
    shell("./run down || true", target)


def shell(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a snippet as a reader would."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"SUBSTRATE_PORT": "0"}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code], cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_two_commands_are_the_ones_that_ci_runs() -> None:
    assert len(COMMANDS) == 1
    assert re.findall(r"^(\./run \w+)", COMMANDS[0], flags=re.MULTILINE) == ["./run up", "./run test"]
    assert "./run test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", SHELL, ids=lambda c: c.strip().splitlines()[0][:40])
def test_a_shell_snippet_runs(copy: Path, code: str) -> None:
    assert shell("./run up --detach", copy).returncode == 0
    done = shell(code, copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("code", PYTHON, ids=lambda c: c.strip().splitlines()[0][:40])
def test_a_python_snippet_runs_over_grpc(copy: Path, code: str) -> None:
    assert shell("./run up --detach", copy).returncode == 0
    (copy / "snippet.py").write_text(code, encoding="utf-8")
    done = shell("PYTHONPATH=gen .venv/bin/python snippet.py", copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "McLean" in done.stdout


def test_the_grpc_snippet_answers_with_the_matter(copy: Path) -> None:
    code = next(c for c in SHELL if "buf curl" in c)
    assert shell("./run up --detach", copy).returncode == 0
    assert "Roberto Mata v. Avianca, Inc." in shell(code, copy).stdout


def test_every_path_that_the_documents_name_exists() -> None:
    for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = re.findall(r"`((?:tests|kit|ops|services|docs|deploy|db|data|protos|edge|gen|scripts|locks)/[\w./-]*)`", text)
        named += re.findall(r"\]\(([\w./-]+)\)", text)
        assert named
        assert [n for n in named if not (ROOT / n).exists()] == [], page


def test_every_operator_command_has_help_with_an_example(copy: Path) -> None:
    listed = re.findall(r"^  (\w+) ", shell("./run --help", copy).stdout, flags=re.MULTILINE)
    assert {"up", "down", "test", "check", "call", "keys", "tools", "serve", "migrate"} <= set(listed)
    for command in set(listed) - {"test"}:
        done = shell(f"./run {command} --help", copy)
        assert done.returncode == 0, command
        assert "example" in done.stdout.lower(), command
