"""Waits in tests: for a condition, with a deadline, never for a fixed time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Value = TypeVar("Value")


def until(condition: Callable[[], Value], what: str, seconds: float = 10.0) -> Value:
    """The first truthy value of the condition; fails with `what` when it does not come in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"did not happen within {seconds:g} s: {what}"
        time.sleep(0.01)
    return value


async def until_async(condition: Callable[[], Awaitable[Value]], what: str, seconds: float = 10.0) -> Value:
    """The same for an asynchronous condition."""
    deadline = time.monotonic() + seconds
    while not (value := await condition()):
        assert time.monotonic() < deadline, f"did not happen within {seconds:g} s: {what}"
        await asyncio.sleep(0.01)
    return value
