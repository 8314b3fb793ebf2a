"""Reads for which one statement is not enough: a module named after its tool, with one function `answer`."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from google.protobuf.message import Message

from kit.catalogue import Tool
from kit.server import Call, Handler
from services.reads.engine import Engine
from services.reads.reading import Reading
from services.reads.tool import ReadTool


@dataclass(slots=True)
class Stores:
    """Every store that a statement reads, and the statements of the tools that have a module here; filled as the tools are loaded."""

    names: set[str] = field(default_factory=set)
    reads: dict[str, ReadTool] = field(default_factory=dict)
    readings: dict[str, Reading] = field(default_factory=dict)

    def add(self, tool: ReadTool) -> None:
        """Notes the statement of a tool whose rows are its items, and its store."""
        self.names.add(tool.main.statement.one("store"))
        self.reads[tool.tool.name] = tool

    def add_reading(self, name: str, reading: Reading) -> None:
        """Notes the statement of a tool whose module makes the items, and its store."""
        self.names.add(reading.store)
        self.readings[name] = reading


class Answer(Protocol):
    """The one function of a custom read."""

    def __call__(self, tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Awaitable[Message]:
        """One attested answer."""


def find(tool: Tool, engine: Engine, stores: Stores) -> Handler | None:
    """The handler of a tool that has a module here, or None."""
    name = f"{__name__}.{tool.name}"
    if importlib.util.find_spec(name) is None:
        return None
    answer: Answer = importlib.import_module(name).answer
    return partial(answer, tool, engine, stores)
