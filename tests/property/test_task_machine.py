"""A task's whole life on a real store: thousands of steps, each held against a model; and guards removed, each of which is missed."""

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

from kit import limits
from tests.cluster import Cluster
from tests.property.tasks.plants import PLANTS, Plant
from tests.property.tasks.whole import TaskMachine
from tests.property.tasks.world import World, opened

EXAMPLES, STEPS_EACH = 90, 50
STEPS_AT_LEAST = 5_000
# The same walk on every run in CI; elsewhere another one each time, whose seed is printed.
SEED = int(os.environ.get("SUBSTRATE_SEED") or ("1" if os.environ.get("CI") else random.randrange(10**6)))
HUNT_EXAMPLES, HUNT_SEED = 300, 1
OF_EACH_AT_LEAST = 1
NEVER_REFUSED = {"change_access", "crowd", "race", "revoke_key", "time_passes", "waits_for_the_end", "watch"}


@pytest.fixture(autouse=True)
def every_word_of_a_tool_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes of progress are left out by the real clock, which no rule moves."""
    monkeypatch.setattr(limits, "TASK_PROGRESS_SECONDS", 0.0)


def run(machine: Callable[[], TaskMachine], examples: int, walk: int, *phases: Phase) -> None:
    """One bounded run of a machine."""
    quiet = settings(
        max_examples=examples, stateful_step_count=STEPS_EACH, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False, phases=phases,
    )  # fmt: skip
    factory: Any = seed(walk)(machine)
    run_state_machine_as_test(factory, settings=quiet)


def machine_of(world: World, without: tuple[str, ...] = ()) -> Callable[[], TaskMachine]:
    """The machine over a world, its hunts narrowed to the rules that are not left out."""
    return partial(type("Machine", (TaskMachine,), dict.fromkeys(without)), world)


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
@pytest.mark.timeout(400)
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.remove.__name__)
def test_a_guard_that_is_removed_is_missed(plant: Plant, pg: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pg.copy() as database, opened(database) as world:
        plant.remove(world, monkeypatch)
        started = time.monotonic()
        with pytest.raises(AssertionError) as missed:
            run(machine_of(world, plant.without), HUNT_EXAMPLES, HUNT_SEED, Phase.generate)
        where = missed.traceback[-1].name
        print(f"{plant.name}: missed by {where} after {world.steps} rules, {time.monotonic() - started:.1f} s")
