"""What all rules share: the world, the model, and how a rule picks what it acts on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from kit.errors import Refusal
from tests.property.machine.model import Filed, Model
from tests.property.machine.world import World

Item = TypeVar("Item")
CASES = st.integers(0, 1)
PEOPLE = st.integers(0, 1)
KEYS = st.integers(0, 2)
MOSTLY = st.sampled_from((True, True, True, False))
AGE = st.integers(0, 5)  # 0 is the newest
REASON = "Not now."


class Base(RuleBasedStateMachine):
    """Holds the world and the model; a subclass for a bounded hunt narrows what rules try."""

    world: World
    ways: ClassVar[tuple[str, ...]] = ()

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.model = world, Model()
        world.do(world.reset())
        self.seen: dict[tuple[int, uuid.UUID], dict[str, tuple[bytes, bytes]]] = {}
        self.claims: list[tuple[uuid.UUID, int, Any]] = []
        self.verified: set[uuid.UUID] = set()
        (row,) = world.do(world.ask("audited"))
        self.audited_before = row["seq"]

    def ran(self, rule: str, came_of_it: bool) -> None:
        """Counts a rule that was run, and whether what it tried was done or refused."""
        self.world.ran[rule, came_of_it] += 1

    def newest(self, items: list[Item], age: int) -> Item:
        return items[-1 - age % len(items)]

    def some(self, age: int, wanted: Callable[[Filed], bool] = lambda _: True) -> Filed:
        """A proposal, where there is one rather one of those that are wanted."""
        every = list(self.model.filed.values())
        return self.newest([p for p in every if wanted(p)] or every, age)

    def any_filed(self) -> bool:
        return bool(self.model.filed)

    def time_goes_on(self, seconds: float) -> None:
        """For everybody."""
        self.world.do(self.world.pass_time(seconds))
        self.model.now += seconds

    def taken(self, work: Coroutine[Any, Any, Item]) -> Item | None:
        """The answer of a call, or None where it was refused. Whatever else goes wrong is a failure."""
        try:
            return self.world.do(work)
        except Refusal:
            return None
