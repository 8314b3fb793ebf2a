"""`./run bench`: a 50-row read of this system beside two MCP servers that do the same read without asking who is calling."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from kit.db import load_statement
from ops import cli, owner, progress
from ops.layout import ROOT
from tests.bench import cpu, environment, figures, lifecycle, load, peer_server, report, traffic
from tests.bench.environment import CannotMeasure
from tests.bench.figures import FASTMCP, LOWLEVEL, OURS, Round, Starts
from tests.system import stack
from tests.system.stack import Stack

CONNECTIONS = (1, 16, 64)
STATEMENT = ROOT / "services" / "reads" / "sql" / f"{traffic.TOOL}.sql"
PEERS = {FASTMCP: "tests.bench.peers.fastmcp_server", LOWLEVEL: "tests.bench.peers.lowlevel_server"}
RATE = "1000000"


@dataclass(frozen=True)
class Plan:
    """How long and how often."""

    rounds: int
    seconds: float
    warm_up_seconds: float
    starts: int


FULL, QUICK = Plan(5, 4.0, 1.0, 3), Plan(3, 1.0, 0.5, 1)


@dataclass
class Bench:
    """One run of the bench."""

    plan: Plan
    shown: progress.Progress
    targets: list[load.Target] = field(default_factory=list)
    roots: dict[str, list[int]] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    starts: Starts = field(default_factory=lifecycle.empty)
    generator_seconds: float = 0.0
    answers: int = 0

    async def start_and_stop(self, folder: Path) -> Stack:
        """Measures starts and stops; the last stack is left running."""
        for number in range(self.plan.starts):
            own = folder / str(number)
            async with self.shown.step(f"starts and stops, {number + 1} of {self.plan.starts}"):
                await lifecycle.once(own, self.starts)
            if number + 1 < self.plan.starts:
                stack.command("down", "--data-dir", str(own / "stack"))
        return stack.read(folder / str(self.plan.starts - 1) / "stack")

    async def prepare(self, running: Stack, open_until_end: ExitStack) -> None:
        """Makes a key, starts the peers on the same database, and sees to it that all give the same answer."""
        case_id, port = running.matters["soilworks"], int(running.mcp_url.rsplit(":", 1)[1].split("/")[0])
        supervisor = owner.holder(running.data)
        database = _postmaster(running)
        assert supervisor is not None
        async with self.shown.step("the peers' environment"):
            interpreter = await asyncio.to_thread(environment.python)
        async with self.shown.step("the peers"):
            own, content = traffic.target(OURS, port, case_id, traffic.handshake(port, _key(running)))
            self.targets, self.roots = [own], {OURS: [supervisor]}
            for name, module in PEERS.items():
                peer = open_until_end.enter_context(peer_server.running(name, module, interpreter, _orders(running, case_id)))
                self.targets.append(traffic.target(name, peer.port, case_id, {}, content)[0])
                self.roots[name] = [peer.pid, database]

    async def run_loads(self) -> None:
        """Every load in rounds; the order of the servers turns from round to round."""
        for connections in CONNECTIONS:
            for number in range(self.plan.rounds):
                turn = number % len(self.targets)
                async with self.shown.step(f"{connections} connections, round {number + 1} of {self.plan.rounds}"):
                    for target in self.targets[turn:] + self.targets[:turn]:
                        self.rounds.append(await self._round(target, connections, number))

    async def _round(self, target: load.Target, connections: int, number: int) -> Round:
        await load.run(target, connections, self.plan.warm_up_seconds)
        own, busy, theirs, began = time.process_time(), cpu.machine_busy(), cpu.used(self.roots[target.name]), time.perf_counter()
        taken = await load.run(target, connections, self.plan.seconds)
        took = time.perf_counter() - began
        own, busy, theirs = time.process_time() - own, cpu.machine_busy() - busy, cpu.used(self.roots[target.name]) - theirs
        if taken.faults or not taken.latencies:
            raise CannotMeasure(f"{target.name}, {connections} connections: {(taken.faults or ['no answer at all'])[0]}")
        self.generator_seconds += own
        self.answers += len(taken.latencies)
        others = max(0.0, busy - own - theirs) / (took * (os.cpu_count() or 1))
        cpu_us = theirs / len(taken.latencies) * 1e6
        p50, p99 = taken.percentile_ms(0.5), taken.percentile_ms(0.99)
        return Round(target.name, connections, number, taken.rate, p50, p99, cpu_us, taken.timeouts, others)


def _key(running: Stack) -> str:
    """A key of the bench's own, with limits that it does not reach."""
    wide = ("--reads-per-minute", RATE, "--retrievals-per-minute", RATE)
    person = next(iter(running.people))
    made = running.run("keys", "create", "--owner", person, "--name", "bench", "--class", "firm", "--matters", "soilworks", *wide)
    if made.returncode != 0:
        raise CannotMeasure(f"no key: {made.stderr}")
    return made.stdout.split()[0]


def _orders(running: Stack, case_id: str) -> dict[str, object]:
    statement = load_statement(STATEMENT)
    settings = {"substrate.case_ids": case_id, "substrate.lane": "firm"}
    found: dict[str, object] = {"dsn": running.dsn("svc_reads"), "sql": statement.sql, "settings": settings}
    return found | {"parameters": list(statement.parameters), "method": statement.one("method")}


def _postmaster(running: Stack) -> int:
    return int((running.data.root / "pgdata" / "postmaster.pid").read_text(encoding="ascii").split()[0])


async def _measure(plan: Plan) -> Bench:
    bench = Bench(plan, progress.for_stream())
    environment.WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=environment.WORK) as folder, ExitStack() as open_until_end:
        running = await bench.start_and_stop(Path(folder))
        open_until_end.callback(stack.command, "down", "--data-dir", str(running.data.root))
        await bench.prepare(running, open_until_end)
        await bench.run_loads()
    return bench


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    parser = cli.parser("bench", __doc__ or "", "./run bench --quick --json figures.json")
    parser.add_argument("--quick", action="store_true", help="about a minute instead of five; noisier")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round, start and goal to this file")
    options = parser.parse_args(arguments)
    try:
        bench = uvloop.run(_measure(QUICK if options.quick else FULL))
    except (CannotMeasure, AssertionError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    goals = [*figures.load_goals(bench.rounds), *figures.start_goals(bench.starts)]
    generator_us = bench.generator_seconds / bench.answers * 1e6
    print(f"\n{traffic.TOOL}, {traffic.ROWS} rows, MCP {traffic.REVISION}; medians of {bench.plan.rounds} rounds [lowest..highest]\n")
    parts = (report.loads(bench.rounds), report.starts(bench.starts), report.goals(goals), report.noise(bench.rounds, generator_us))
    print("\n\n".join(parts))
    if options.json is not None:
        document = report.document(bench.rounds, bench.starts, goals, generator_us)
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
