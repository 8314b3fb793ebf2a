"""`./run conformance`: the edge, in front of the fixture, held against the protocol's official suite."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ops import cli
from tests.cluster import Database, cluster
from tests.conformance import node
from tests.conformance.site import serving

# The scenarios of the tasks extension. The suite runs them with 2026-07-28 and does not count them, so each is asked for by name too.
TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
RUNS: dict[str, tuple[str, ...]] = {
    "2026-07-28": ("--requirements", "2026-07-28"),
    "2025-11-25": ("--requirements", "2025-11-25"),
    "2025-06-18": ("--suite", "all", "--spec-version", "2025-06-18"),
}
SUITE_SECONDS = 240


@dataclass(frozen=True)
class Verdict:
    """How one run of the suite ended."""

    name: str
    passed: bool
    said: str
    seconds: float


async def run(suite: node.Suite, url: str, name: str, arguments: tuple[str, ...], folder: Path) -> Verdict:
    """Runs the suite once."""
    began = time.monotonic()
    command = [str(suite.script), "server", "--url", url, *arguments, "-o", str(folder)]
    process = await asyncio.create_subprocess_exec(
        str(suite.node), *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(SUITE_SECONDS):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        return Verdict(name, False, f"did not end within {SUITE_SECONDS} s", time.monotonic() - began)
    return Verdict(name, process.returncode == 0, said.decode("utf-8", "replace"), time.monotonic() - began)


async def judge(options: argparse.Namespace, suite: node.Suite, url: str, folder: Path) -> bool:
    """Every run that was asked for, a line each."""
    wanted = [(f"{revision} {' '.join(RUNS[revision])}", RUNS[revision]) for revision in options.revision]
    if options.scenario:
        wanted = [(f"scenario {name}", ("--scenario", name)) for name in options.scenario]
    elif "2026-07-28" in options.revision:
        wanted += [(f"scenario {name}", ("--scenario", name)) for name in TASKS]
    good = True
    for name, arguments in wanted:
        verdict = await run(suite, url, name, arguments, folder / re.sub(r"\W+", "-", name))
        print(f"{'ok    ' if verdict.passed else 'FAILED'} {name} ({verdict.seconds:.1f} s) {_summary(verdict.said)}", flush=True)
        if not verdict.passed or options.verbose:
            print(verdict.said, flush=True)
        good = good and verdict.passed
    return good


def _summary(said: str) -> str:
    """The suite's own count."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines() if re.search(r"\d+ (passed|failed)|\d+/\d+", line)]
    return lines[-1] if lines else ""


async def conform(options: argparse.Namespace, suite: node.Suite, database: Database, folder: Path) -> bool:
    """Starts the site, runs the suite, stops the site."""
    async with serving(database, folder) as url:
        print(f"suite {suite.version} against {url}", flush=True)
        if options.serve:
            await asyncio.Event().wait()
        return await judge(options, suite, url, Path(options.output or folder))


def main(arguments: list[str]) -> int:
    """Run the command `conformance`."""
    parser = cli.parser("conformance", (__doc__ or "").partition(": ")[2], "./run conformance --revision 2026-07-28")
    parser.add_argument("--revision", action="append", choices=list(RUNS), help="only this one; may be repeated (default: all)")
    parser.add_argument("--scenario", action="append", help="only this scenario of the suite; may be repeated")
    parser.add_argument("--output", help="keep the suite's own results in this folder")
    parser.add_argument("--verbose", action="store_true", help="print all that the suite says")
    parser.add_argument("--fetch", action="store_true", help="install Node and the suite, and run nothing")
    parser.add_argument("--serve", action="store_true", help="start the site and leave it to you")
    options = parser.parse_args(arguments)
    options.revision = options.revision or list(RUNS)
    try:
        suite = node.suite()
    except node.NoSuite as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 1
    if options.fetch:
        print(f"suite {suite.version} is here")
        return 0
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder) / "pg") as started, started.copy() as database:
        try:
            return 0 if asyncio.run(conform(options, suite, database, Path(folder))) else 1
        except KeyboardInterrupt:
            return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
