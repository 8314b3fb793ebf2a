"""A proposal's whole life on a real ledger: thousands of steps, each held against a model; and guards removed, each of which is missed."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.cluster import Cluster
from tests.property.machine.plants import PLANTS, Plant
from tests.property.machine.whole import ProposalMachine
from tests.property.machine.world import World, opened

EXAMPLES, STEPS_EACH = 385, 50
STEPS_AT_LEAST = 15_000
# The same walk on every run in CI; elsewhere another one each time, whose seed is printed.
SEED = int(os.environ.get("SUBSTRATE_SEED") or ("1" if os.environ.get("CI") else random.randrange(10**6)))
HUNT_EXAMPLES, HUNT_SEED = 300, 1
OF_EACH_AT_LEAST = 5
NEVER_REFUSED = {"fill_up", "restore_access", "revoke_key", "shut_out", "sweep", "time_passes"}


def run(machine: Callable[[], ProposalMachine], examples: int, walk: int, *phases: Phase) -> None:
    """One bounded run of a machine."""
    quiet = settings(
        max_examples=examples, stateful_step_count=STEPS_EACH, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False, phases=phases,
    )  # fmt: skip
    factory: Any = seed(walk)(machine)
    run_state_machine_as_test(factory, settings=quiet)


def machine_of(world: World, ways: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Callable[[], ProposalMachine]:
    """The machine over a world, its hunts narrowed to some ways of going wrong and to the rules that are not left out."""
    return partial(type("Machine", (ProposalMachine,), {"ways": ways, **dict.fromkeys(without)}), world)


def told(world: World, started: float) -> str:
    """How often each rule was run, and what came of it."""
    lines = [f"{world.steps} rules in {time.monotonic() - started:.1f} s; the same again with SUBSTRATE_SEED={SEED}"]
    rules = sorted({rule for rule, _ in world.ran})
    lines += [f"  {rule:20} {world.ran[rule, True]:5} done {world.ran[rule, False]:5} refused" for rule in rules]
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_no_order_of_steps_leads_where_it_should_not(pg: Cluster) -> None:
    with pg.copy() as database, opened(database) as world:
        started = time.monotonic()
        try:
            run(machine_of(world), EXAMPLES, SEED, Phase.generate, Phase.shrink)
        finally:
            print(told(world, started))
        assert world.steps >= STEPS_AT_LEAST
        for rule in {rule for rule, _ in world.ran}:
            assert world.ran[rule, True] >= OF_EACH_AT_LEAST, rule
            assert rule in NEVER_REFUSED or world.ran[rule, False] >= OF_EACH_AT_LEAST, rule


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.remove.__name__)
def test_a_guard_that_is_removed_is_missed(plant: Plant, pg: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pg.copy() as database, opened(database) as world:
        plant.remove(world, monkeypatch)
        started = time.monotonic()
        with pytest.raises(AssertionError) as missed:
            run(machine_of(world, plant.ways, plant.without), HUNT_EXAMPLES, HUNT_SEED, Phase.generate)
        where = missed.traceback[-1].name
        print(f"{plant.name}: missed by {where} after {world.steps} rules, {time.monotonic() - started:.1f} s")
