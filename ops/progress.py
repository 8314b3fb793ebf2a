"""Shows the steps of a start: one updating line each on a terminal, plain lines elsewhere, JSON lines to a process that renders them."""

import asyncio
import contextlib
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import TextIO

_SPIN = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TICK_SECONDS = 0.1


class Progress(ABC):
    """Where steps are shown."""

    @contextlib.asynccontextmanager
    async def step(self, name: str) -> AsyncIterator[None]:
        """Show a step while it runs, and how long it took."""
        started = time.monotonic()
        self.begin(name)
        ticking = asyncio.create_task(self._tick(name, started))
        try:
            yield
        except BaseException:
            ticking.cancel()
            self.failed(name, time.monotonic() - started)
            raise
        ticking.cancel()
        self.done(name, time.monotonic() - started)

    async def _tick(self, name: str, started: float) -> None:
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            self.tick(name, time.monotonic() - started)

    @abstractmethod
    def tick(self, name: str, seconds: float) -> None:
        """The step still runs."""

    @abstractmethod
    def begin(self, name: str) -> None:
        """The step begins."""

    @abstractmethod
    def done(self, name: str, seconds: float) -> None:
        """The step is done."""

    @abstractmethod
    def failed(self, name: str, seconds: float) -> None:
        """The step failed; why is said by whoever handles the error."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Something worth a line."""


class Plain(Progress):
    """A line for each finished step."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def _line(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def begin(self, name: str) -> None:
        """Nothing yet: the line comes with the time it took."""

    def tick(self, name: str, seconds: float) -> None:
        """Nothing: lines cannot be updated here."""

    def done(self, name: str, seconds: float) -> None:
        """One line."""
        self._line(f"  ok      {name} ({seconds:.1f} s)")

    def failed(self, name: str, seconds: float) -> None:
        """One line."""
        self._line(f"  failed  {name} ({seconds:.1f} s)")

    def note(self, text: str) -> None:
        """One line."""
        self._line(f"  {text}")


class Terminal(Plain):
    """One line a step, updated in place while it runs."""

    def begin(self, name: str) -> None:
        """Show it at once."""
        self.tick(name, 0.0)

    def tick(self, name: str, seconds: float) -> None:
        """Turn the spinner."""
        spin = _SPIN[int(seconds / _TICK_SECONDS) % len(_SPIN)]
        print(f"\r\x1b[2K  {spin} {name} {seconds:.1f} s", end="", file=self._out, flush=True)

    def done(self, name: str, seconds: float) -> None:
        """Replace the line."""
        self._line(f"\r\x1b[2K  \x1b[32m✓\x1b[0m {name} \x1b[2m{seconds:.1f} s\x1b[0m")

    def failed(self, name: str, seconds: float) -> None:
        """Replace the line."""
        self._line(f"\r\x1b[2K  \x1b[31m✗\x1b[0m {name} \x1b[2m{seconds:.1f} s\x1b[0m")


class Events(Progress):
    """JSON lines, for the process that started a detached stack and renders them until it is ready."""

    def __init__(self, descriptor: int) -> None:
        self._out = os.fdopen(descriptor, "w", encoding="utf-8")

    def send(self, event: str, **values: object) -> None:
        """One event; a reader that has gone is no error, since the stack outlives it."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._out.write(json.dumps({"event": event, **values}) + "\n")
            self._out.flush()

    def begin(self, name: str) -> None:
        """The step begins."""
        self.send("begin", name=name)

    def tick(self, name: str, seconds: float) -> None:
        """The step still runs."""
        self.send("tick", name=name, seconds=seconds)

    def done(self, name: str, seconds: float) -> None:
        """The step is done."""
        self.send("done", name=name, seconds=seconds)

    def failed(self, name: str, seconds: float) -> None:
        """The step failed."""
        self.send("failed", name=name, seconds=seconds)

    def note(self, text: str) -> None:
        """A line."""
        self.send("note", text=text)

    def close(self) -> None:
        """Nothing more will come."""
        with contextlib.suppress(BrokenPipeError):
            self._out.close()


def replay(target: Progress, line: str) -> dict[str, object]:
    """Render one event line on another progress, and return it."""
    event: dict[str, object] = json.loads(line)
    name, seconds = str(event.get("name", "")), float(str(event.get("seconds", 0.0)))
    match event["event"]:
        case "begin":
            target.begin(name)
        case "tick":
            target.tick(name, seconds)
        case "done":
            target.done(name, seconds)
        case "failed":
            target.failed(name, seconds)
        case "note":
            target.note(str(event["text"]))
    return event


def for_stream(out: TextIO | None = None) -> Progress:
    """The form that fits where the output goes."""
    out = out or sys.stdout
    return Terminal(out) if out.isatty() and os.environ.get("TERM") != "dumb" else Plain(out)
