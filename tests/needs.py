"""Names at the end of a run each suite that could not run because its outside tool is missing; in CI that is a failure."""

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

TOOLS = {
    "postgres": ("postgres", "pg_ctlcluster"),
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
    "node": ("node",),
    "npm": ("npm",),
    "openssl": ("openssl",),
    "unshare": ("unshare",),
}
_NOT_RUN = pytest.StashKey[Counter[tuple[str, str]]]()


def _there(tool: str) -> bool:
    return any(shutil.which(name) for name in TOOLS[tool])


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests whose tool is missing."""
    not_run = config.stash.setdefault(_NOT_RUN, Counter())
    for item in items:
        for marker in item.iter_markers("needs"):
            tool = str(marker.args[0])
            if tool not in TOOLS:
                raise pytest.UsageError(f"{item.nodeid}: unknown outside tool {tool!r}; add it to tests/needs.py")
            if not _there(tool) and not _in_ci():
                suite = Path(item.path).relative_to(config.rootpath).as_posix()
                not_run[suite, tool] += 1
                item.add_marker(pytest.mark.skip(reason=f"{tool} is not on this machine"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """In CI a missing tool fails the test."""
    for marker in item.iter_markers("needs"):
        if _in_ci() and not _there(str(marker.args[0])):
            pytest.fail(f"{marker.args[0]} is not on this machine, and CI runs every suite", pytrace=False)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of a run on several processes hands on what it left out: each collects everything, so each knows it all."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["not_run"] = [[*which, count] for which, count in session.config.stash.get(_NOT_RUN, Counter()).items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes what a worker handed on."""
    not_run = node.config.stash.setdefault(_NOT_RUN, Counter())
    for suite, tool, count in getattr(node, "workeroutput", {}).get("not_run", ()):
        not_run[suite, tool] = count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the suites that did not run."""
    for (suite, tool), count in sorted(config.stash.get(_NOT_RUN, Counter()).items()):
        terminalreporter.write_line(f"NOT RUN: {suite} ({count} tests): needs {tool}, which is not on this machine", yellow=True)
