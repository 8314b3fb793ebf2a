"""What all rules share: the world, the model, and how a rule picks what it acts on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from kit.errors import Refusal
from kit.server import Call
from tests.property.tasks.model import Filed, Model, after
from tests.property.tasks.world import WORKERS, World

Item = TypeVar("Item")
KEYS, CASES, WORKER = st.integers(0, 2), st.integers(0, 1), st.integers(0, WORKERS - 1)
MOSTLY = st.sampled_from((True, True, True, False))
AGE = st.integers(0, 5)  # 0 is the newest
TICK = 0.001  # no two things happen at the same moment


class Base(RuleBasedStateMachine):
    """Holds the world and the model."""

    world: World

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.model = world, Model()
        world.do(world.reset())
        self.progress_told: dict[uuid.UUID, list[Any]] = {}

    def teardown(self) -> None:
        """Nothing goes on behind the next walk."""
        self.world.do(self.world.reset())

    def ran(self, rule: str, came_of_it: bool) -> None:
        """Counts a rule that was run, and whether what it tried was done or refused; then the clock ticks."""
        self.world.ran[rule, came_of_it] += 1
        self.time_goes_on(TICK)

    def time_goes_on(self, seconds: float) -> None:
        """For everybody."""
        self.world.do(self.world.pass_time(seconds))
        self.model.now = after(self.model.now, seconds)

    def newest(self, items: list[Item], age: int) -> Item:
        return items[-1 - age % len(items)]

    def some(self, age: int, wanted: Callable[[Filed], bool] = lambda _: True) -> Filed:
        """A task, where there is one rather one of those that are wanted."""
        every = list(self.model.tasks.values())
        return self.newest([t for t in every if wanted(t)] or every, age)

    def any_task(self) -> bool:
        return bool(self.model.tasks)

    def any_call(self) -> bool:
        return bool(self.model.ongoing)

    def taken(self, work: Coroutine[Any, Any, Item]) -> Item | None:
        """The answer of a call, or None where it was refused. Whatever else goes wrong is a failure."""
        try:
            return self.world.do(work)
        except Refusal:
            return None

    async def let_in(self, key: int, method: str) -> Call:
        """A key that is let in to a method, or the refusal."""
        return await self.world.call(self.world.keys[key], method)
