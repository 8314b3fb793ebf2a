"""What the suite asks for: tools, addresses and prompts that answer with content of their own making. Nothing here knows MCP."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from google.protobuf.message import Message
from substrate.tools.v1 import exchange_pb2 as said

from kit.errors import internal
from kit.server import Call, Handler

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
WAV = base64.b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")


def text(words: str) -> said.Block:
    """A text block."""
    return said.Block(text=said.TextBlock(text=words))


def content(*blocks: said.Block, is_error: bool = False) -> said.Content:
    """An answer of blocks."""
    return said.Content(blocks=blocks, is_error=is_error)


IMAGE = said.Block(image=said.MediaBlock(data=PNG, mime_type="image/png"))
SOUND = said.Block(audio=said.MediaBlock(data=WAV, mime_type="audio/wav"))


def resource(uri: str, words: str, mime_type: str = "text/plain") -> said.Block:
    """The content of an address, as text."""
    return said.Block(resource=said.ResourceBlock(uri=uri, mime_type=mime_type, text=words))


def always(answer: Message) -> Handler:
    """A handler with one answer."""

    async def handler(_request: Any, _call: Call) -> Message:
        return answer

    return handler


async def _json_schema(request: Any, _call: Call) -> Message:
    return content(text(f"Got {request.json.decode()}"))


CONTENT: Mapping[str, Handler] = {
    "SimpleText": always(content(text("This is a simple text response for testing."))),
    "ImageContent": always(content(IMAGE)),
    "AudioContent": always(content(SOUND)),
    "EmbeddedResource": always(content(resource("test://embedded-resource", "This is an embedded resource content."))),
    "MultipleContentTypes": always(
        content(
            text("Multiple content types test:"), IMAGE, resource("test://mixed-content-resource", '{"test": "data"}', "application/json")
        )
    ),
    "ErrorHandling": always(content(text("This tool intentionally returns an error for testing"), is_error=True)),
    "JsonSchema": _json_schema,
    "Mirrored": always(content(text("Called."))),
}


async def _template(request: Any, _call: Call) -> Message:
    return content(resource(f"test://template/{request.id}/data", json.dumps({"id": request.id}), "application/json"))


RESOURCES: Mapping[str, Handler] = {
    "StaticText": always(content(resource("test://static-text", "This is the content of the static text resource."))),
    "StaticBinary": always(content(said.Block(resource=said.ResourceBlock(uri="test://static-binary", mime_type="image/png", blob=PNG)))),
    "Watched": always(content(resource("test://watched-resource", "Watched."))),
    "Template": _template,
}


def done(words: str) -> said.Event:
    """The last event of a call."""
    return said.Event(content=content(text(words)))


async def _progress(_request: Any, _call: Call) -> AsyncIterator[Message]:
    for step in (0, 50, 100):
        yield said.Event(progress=said.Progress(progress=step, total=100, message=f"Completed step {step} of 100"))
    yield done("Done.")


def _line(words: str, level: said.LogLevel.ValueType = said.LOG_LEVEL_INFO) -> said.Event:
    return said.Event(log=said.LogLine(level=level, logger="fixture", data_json=json.dumps(words).encode()))


async def _logging(_request: Any, _call: Call) -> AsyncIterator[Message]:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        yield _line(words)
    yield done("Logged.")


async def _reconnection(_request: Any, _call: Call) -> AsyncIterator[Message]:
    yield said.Event(interlude=said.Interlude(retry_ms=500))
    await asyncio.sleep(0.2)
    yield done("Reconnected.")


NEWS: Mapping[str, Handler] = {
    "ToolWithProgress": _progress,
    "ToolWithLogging": _logging,
    "LoggingTool": _logging,
    "Reconnection": _reconnection,
}


async def _greet(request: Any, _call: Call) -> Message:
    return content(text(f"Hello, {request.name}!"))


async def _slow(request: Any, _call: Call) -> Message:
    await asyncio.sleep(request.seconds)
    return content(text(f"Done: {request.label or 'slow'} after {request.seconds:g} s."))


async def _failing(_request: Any, _call: Call) -> Message:
    await asyncio.sleep(1)
    return content(text("The job failed."), is_error=True)


async def _breaking(_request: Any, _call: Call) -> Message:
    await asyncio.sleep(0.2)
    raise internal("fixture0")


async def _count(request: Any, _call: Call) -> AsyncIterator[Message]:
    for step in range(1, request.steps + 1):
        yield said.Event(progress=said.Progress(progress=step, total=request.steps, message=f"{step} of {request.steps}"))
        await asyncio.sleep(request.pause_seconds)
    yield done("Counted.")


COUNTS: Mapping[str, Handler] = {"CountUp": _count}
JOBS: Mapping[str, Handler] = {"Greet": _greet, "SlowCompute": _slow, "FailingJob": _failing, "ProtocolErrorJob": _breaking}
