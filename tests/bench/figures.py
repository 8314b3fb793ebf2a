"""What the rounds say: medians, ratios round by round, and the goals they are held against. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

OURS, FASTMCP, LOWLEVEL = "this system", "FastMCP 4.2.3", "mcp 2.3.0 lowlevel"
SERVERS = (OURS, FASTMCP, LOWLEVEL)


@dataclass(frozen=True)
class Round:
    """One server under one load, once."""

    server: str
    connections: int
    number: int
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float  # of all processes of the server and of PostgreSQL, a request
    timeouts: int
    others_share: float  # of the machine, used by whatever has no part in this


@dataclass(frozen=True)
class Spread:
    """A median with the range it comes from."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Goal:
    """A bound on a figure, and the figure; `at_least` says on which side of the bound it should be."""

    name: str
    bound: float
    at_least: bool
    unit: str
    found: Spread

    @property
    def met(self) -> bool:
        """Whether the median is on the right side."""
        return self.found.middle >= self.bound if self.at_least else self.found.middle <= self.bound


def of(rounds: Sequence[Round], server: str, connections: int) -> list[Round]:
    """The rounds of one server under one load, in order."""
    return sorted((r for r in rounds if r.server == server and r.connections == connections), key=lambda r: r.number)


def ratio(rounds: Sequence[Round], peer: str, connections: int, figure: str = "rate") -> Spread:
    """Ours over the peer's, each time within one round, so that a busy moment hits both."""
    pairs = zip(of(rounds, OURS, connections), of(rounds, peer, connections), strict=True)
    return Spread.of([getattr(ours, figure) / getattr(theirs, figure) for ours, theirs in pairs])


def load_goals(rounds: Sequence[Round]) -> list[Goal]:
    """The goals that the rounds speak to."""
    lost = [float(r.timeouts) for r in of(rounds, OURS, 64)]
    return [
        Goal("G1 req/s at 16 / FastMCP", 3.0, True, "x", ratio(rounds, FASTMCP, 16)),
        Goal("G1 req/s at 16 / mcp lowlevel", 1.8, True, "x", ratio(rounds, LOWLEVEL, 16)),
        Goal("G2 req/s at 64 / FastMCP", 4.0, True, "x", ratio(rounds, FASTMCP, 64)),
        Goal("G2 p99 at 64 / FastMCP", 0.25, False, "x", ratio(rounds, FASTMCP, 64, "p99_ms")),
        Goal("G2 timeouts at 64", 0.0, False, "", Spread(max(lost), min(lost), max(lost))),
        Goal("G3 req/s at 1 / FastMCP", 1.2, True, "x", ratio(rounds, FASTMCP, 1)),
        Goal("G3 req/s at 1 / mcp lowlevel", 1.0, True, "x", ratio(rounds, LOWLEVEL, 1)),
        Goal("G5 CPU a request at 16 / FastMCP", 0.45, False, "x", ratio(rounds, FASTMCP, 16, "cpu_us")),
    ]


@dataclass(frozen=True)
class Starts:
    """Seconds of each start and stop."""

    postgres_cold: list[float]
    postgres_warm: list[float]
    up_cold: list[float]
    up_warm: list[float]
    stop_after_kill: list[float]


def start_goals(starts: Starts) -> list[Goal]:
    """The goals that starts and stops speak to; those of a start are about the embedded database alone."""
    return [
        Goal("G7 PostgreSQL, cold start", 2.0, False, " s", Spread.of(starts.postgres_cold)),
        Goal("G7 PostgreSQL, warm start", 0.3, False, " s", Spread.of(starts.postgres_warm)),
        Goal("G7 all stopped after kill -9 of the owner", 3.0, False, " s", Spread.of(starts.stop_after_kill)),
    ]
