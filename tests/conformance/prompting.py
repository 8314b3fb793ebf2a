"""The fixture's prompts, and what it tells of changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from google.protobuf.message import Message
from substrate.changes.v1 import change_service_pb2 as changes
from substrate.prompts.v1 import prompt_service_pb2 as pb
from substrate.tools.v1 import exchange_pb2 as said

from kit.errors import FieldError, invalid
from kit.server import Call, Handler
from tests.conformance.fixture import IMAGE, content, resource, text
from tests.conformance.questions import asking, form, replies, usable

CONTEXT = form("What context should the prompt use?", context={"type": "string"})


def _argument(name: str, description: str) -> pb.PromptArgument:
    return pb.PromptArgument(name=name, description=description, required=True)


KNOWN: Mapping[str, pb.Prompt] = {
    prompt.name: prompt
    for prompt in (
        pb.Prompt(name="test_simple_prompt", title="Simple", description="A simple prompt without arguments.", version="1.0"),
        pb.Prompt(
            name="test_prompt_with_arguments",
            title="Arguments",
            description="A prompt with required arguments.",
            arguments=[_argument("arg1", "First argument."), _argument("arg2", "Second argument.")],
            version="1.0",
        ),
        pb.Prompt(
            name="test_prompt_with_embedded_resource",
            title="Embedded resource",
            description="A prompt that encloses a resource.",
            arguments=[_argument("resourceUri", "Address to enclose.")],
            version="1.0",
        ),
        pb.Prompt(name="test_prompt_with_image", title="Image", description="A prompt that includes an image.", version="1.0"),
        pb.Prompt(name="test_input_required_result_prompt", title="Asks", description="A prompt that asks first.", version="1.0"),
    )
}


def _messages(name: str, given: Mapping[str, str]) -> list[said.Block]:
    match name:
        case "test_prompt_with_arguments":
            return [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            return [resource(given["resourceUri"], "Embedded resource content for testing."), text("Please process the resource above.")]
        case "test_prompt_with_image":
            return [IMAGE, text("Please analyze the image above.")]
        case _:
            return [text("This is a simple prompt for testing.")]


async def _list(_request: Any, _call: Call) -> Message:
    return pb.ListPromptsResponse(prompts=KNOWN.values())


async def _get(request: Any, _call: Call) -> Message:
    prompt = KNOWN.get(request.name)
    if prompt is None:
        raise invalid([FieldError("name", f"expected one of {', '.join(KNOWN)}")])
    declared = [a.name for a in prompt.arguments]
    if wrong := [name for name in declared if name not in request.arguments] + [name for name in request.arguments if name not in declared]:
        raise invalid([FieldError(f"arguments.{name}", "expected exactly the declared arguments") for name in wrong])
    if request.name == "test_input_required_result_prompt" and not usable(replies(request.given), {"user_context": CONTEXT}):
        return pb.GetPromptResponse(asking=asking({"user_context": CONTEXT}))
    spoken = [pb.PromptMessage(role=pb.ROLE_USER, content=block) for block in _messages(request.name, request.arguments)]
    return pb.GetPromptResponse(description=prompt.description, messages=spoken, version=prompt.version)


async def _complete(request: Any, _call: Call) -> Message:
    known = ["testing", "tested", "paris", "berlin"] if request.name in KNOWN else []
    values = [value for value in known if value.startswith(request.value)]
    return pb.CompletePromptResponse(values=values, total=len(values))


PROMPTS: Mapping[str, Handler] = {"ListPrompts": _list, "GetPrompt": _get, "CompletePrompt": _complete}


class Changes:
    """Tells of changes when a tool triggers one."""

    def __init__(self) -> None:
        self._listening: set[asyncio.Queue[int]] = set()

    def handlers(self) -> Mapping[str, Handler]:
        """Of ChangeService."""
        return {"WatchChanges": self._watch}

    def triggers(self) -> Mapping[str, Handler]:
        """The tools that make a change."""
        return {
            "TriggerToolChange": self._trigger(changes.CHANGE_KIND_TOOLS),
            "TriggerPromptChange": self._trigger(changes.CHANGE_KIND_PROMPTS),
        }

    def _trigger(self, kind: int) -> Handler:
        async def handler(_request: Any, _call: Call) -> Message:
            for queue in self._listening:
                queue.put_nowait(kind)
            return content(text("Triggered."))

        return handler

    async def _watch(self, _request: Any, _call: Call) -> AsyncIterator[Message]:
        queue: asyncio.Queue[int] = asyncio.Queue()
        self._listening.add(queue)
        try:
            while True:
                yield changes.WatchChangesResponse(kind=await queue.get())  # type: ignore[arg-type]
        finally:
            self._listening.discard(queue)
