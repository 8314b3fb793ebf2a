"""The result as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ops.cli import table
from tests.bench.figures import OURS, SERVERS, Goal, Round, Spread, Starts, of, ratio

QUIET_PERCENT = 10
COLUMNS = ("rate", "p50_ms", "p99_ms", "cpu_us")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _spread(found: Spread, unit: str = "") -> str:
    middle = f"{_number(found.middle)}{unit}"
    return middle if found.low == found.high else f"{middle} [{_number(found.low)}..{_number(found.high)}]"


def loads(rounds: Sequence[Round]) -> str:
    """One row a server and load; `ours is` divides ours by that server's, round by round."""
    rows: list[tuple[str, ...]] = [("connections", "server", "req/s", "p50 ms", "p99 ms", "CPU us a request", "timeouts", "ours is")]
    for connections in sorted({r.connections for r in rounds}):
        for server in SERVERS:
            those = of(rounds, server, connections)
            figures = [_spread(Spread.of([getattr(r, column) for r in those])) for column in COLUMNS]
            compared = "" if server == OURS else _spread(ratio(rounds, server, connections), "x")
            rows.append((str(connections), server, *figures, str(sum(r.timeouts for r in those)), compared))
    return table(rows)


def starts(found: Starts) -> str:
    """One row a kind of start or stop."""
    rows = [("what", "seconds")]
    rows += [(name.replace("_", " "), _spread(Spread.of(seconds))) for name, seconds in asdict(found).items()]
    return table(rows)


def goals(found: Sequence[Goal]) -> str:
    """One row a goal."""
    rows = [("goal", "bound", "measured", "")]
    for goal in found:
        side = ">=" if goal.at_least else "<="
        rows.append((goal.name, f"{side} {goal.bound:g}{goal.unit}", _spread(goal.found, goal.unit), "met" if goal.met else "missed"))
    return table(rows)


def noise(rounds: Sequence[Round], generator_us: float) -> str:
    """How far the figures can be trusted, load by load."""
    lines = ["noise: share of the machine used by processes that have no part in this"]
    for connections in sorted({r.connections for r in rounds}):
        others = Spread.of([r.others_share * 100 for r in rounds if r.connections == connections])
        trust = "quiet" if others.middle < QUIET_PERCENT else "disturbed: repeat it on a quieter machine before you rely on a figure"
        lines.append(f"  at {connections} connections {others.middle:.0f} % [{others.low:.0f}..{others.high:.0f}], {trust}")
    lines.append(f"The load generator took {generator_us:.0f} us of CPU a request, from the same cores.")
    return "\n".join(lines)


def document(rounds: Sequence[Round], found: Starts | None, held: Sequence[Goal], generator_us: float) -> dict[str, Any]:
    """Everything, for a program."""
    return {
        "rounds": [asdict(r) for r in rounds],
        "starts": asdict(found) if found else None,
        "goals": [asdict(goal) | {"met": goal.met} for goal in held],
        "generator_cpu_us": generator_us,
    }
