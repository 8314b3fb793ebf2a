"""Reads that think: a module named after its tool, with one function `answer` that resolves the credential of the key's owner by itself.

Only a tool that declares firm_credential is looked for here, and only it is given what it thinks with."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Awaitable
from functools import partial
from typing import Any, Protocol

from google.protobuf.message import Message

from kit.catalogue import Tool
from kit.server import Call, Handler
from services.reads.engine import Engine
from services.reads.thinking import Thinking


class Answer(Protocol):
    """The one function of a read that thinks."""

    def __call__(self, tool: Tool, engine: Engine, thinking: Thinking, request: Any, call: Call) -> Awaitable[Message]:
        """One attested answer."""


def find(tool: Tool, engine: Engine, thinking: Thinking) -> Handler:
    """The handler of a firm_credential tool; one without a module stops the start."""
    name = f"{__name__}.{tool.name}"
    if importlib.util.find_spec(name) is None:
        raise ValueError(f"{tool.name} declares firm_credential, and {name} does not exist")
    answer: Answer = importlib.import_module(name).answer
    return partial(answer, tool, engine, thinking)
