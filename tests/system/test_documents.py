"""The documents are true: every snippet runs, in a copy of the repository, as a reader would run it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from ops.connect import snippets
from ops.layout import ROOT


def _first(code: str) -> str:
    return code.strip().splitlines()[0][:40]


PAGES = ("README.md", "docs/connect.md", "docs/integrate.md", "docs/operate.md", "docs/approve.md")
_BLOCK = re.compile(r"^```(sh|python|json)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
BLOCKS = [(page, kind, code) for page in PAGES for kind, code in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))]
# The two commands themselves: `up` in the foreground does not end, and `test` is what runs this.
COMMANDS = [code for _, kind, code in BLOCKS if kind == "sh" and "./run test" in code]
SHELL = [pytest.param(code, id=f"{page}: {_first(code)}") for page, kind, code in BLOCKS if kind == "sh" and code not in COMMANDS]
PYTHON = [pytest.param(code, id=f"{page}: {_first(code)}") for page, kind, code in BLOCKS if kind == "python"]
# A word of each program, and what it prints when it works.
SAID = {"GetMatter": "McLean", "ListDeadlines": "deadlines,", "ProposeAction": "pending_confirmation", "call_tool": "- grounded"}
CLIENTS = [code for page, kind, code in BLOCKS if kind == "json" and page == "docs/connect.md"]
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


@pytest.mark.parametrize("code", SHELL)
def test_a_shell_snippet_runs(copy: Path, code: str) -> None:
    assert shell("./run up --detach", copy).returncode == 0
    done = shell(code, copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
    assert '"error"' not in done.stdout


@pytest.mark.parametrize("code", PYTHON)
def test_a_python_snippet_runs(copy: Path, code: str) -> None:
    assert shell("./run up --detach", copy).returncode == 0
    (copy / "snippet.py").write_text(code, encoding="utf-8")
    done = shell("PYTHONPATH=gen .venv/bin/python snippet.py", copy)
    assert done.returncode == 0, done.stdout + done.stderr
    (said,) = [words for word, words in SAID.items() if word in code]
    assert said in done.stdout


@pytest.mark.parametrize("code", CLIENTS, ids=["cursor", "vscode"])
def test_a_clients_file_leads_to_the_endpoint(copy: Path, code: str) -> None:
    """What the page shows is what `up` prints for this stack, and its address and headers open a session."""
    ((name, entry),) = next(iter(json.loads(code).values())).items()
    printed = snippets(entry["url"], entry["headers"]["Authorization"].removeprefix("Bearer "))
    assert name == "substrate"
    assert json.loads(code) in [json.loads(line) for line in printed if line.strip().startswith("{")]
    assert shell("./run up --detach", copy).returncode == 0
    at = json.loads((copy / ".substrate" / "data" / "connect.json").read_text(encoding="utf-8"))
    sent = {k: v.replace("brk_live_…", at["keys"]["firm"]) for k, v in entry["headers"].items()} | {
        "Accept": "application/json, text/event-stream"
    }
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    assert urlsplit(entry["url"]).path == urlsplit(at["mcp_url"]).path
    got = httpx.post(at["mcp_url"], json=body, headers=sent | {"Accept": "application/json, text/event-stream"}, trust_env=False)
    assert got.status_code == httpx.codes.OK
    assert got.headers["mcp-session-id"]


def test_the_grpc_snippet_answers_with_the_matter(copy: Path) -> None:
    code = next(c for page, _, c in BLOCKS if page == "README.md" and "buf curl" in c)
    assert shell("./run up --detach", copy).returncode == 0
    assert "Roberto Mata v. Avianca, Inc." in shell(code, copy).stdout


def test_every_path_that_the_documents_name_exists() -> None:
    for page in (*PAGES, "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = re.findall(r"`((?:tests|kit|ops|services|docs|deploy|db|data|protos|edge|gen|scripts|locks)/[\w./-]*)`", text)
        named += re.findall(r"\]\(([\w./-]+)\)", text)
        assert named or page in PAGES
        assert [n for n in named if not ((ROOT / n).exists() or (ROOT / page).parent.joinpath(n).exists())] == [], page


def test_every_operator_command_has_help_with_an_example(copy: Path) -> None:
    listed = re.findall(r"^  (\w+) ", shell("./run --help", copy).stdout, flags=re.MULTILINE)
    assert {"up", "down", "test", "check", "call", "keys", "tools", "serve", "migrate"} <= set(listed)
    for command in set(listed) - {"test"}:
        done = shell(f"./run {command} --help", copy)
        assert done.returncode == 0, command
        assert "example" in done.stdout.lower(), command
