"""Prompts, as the program that has them lists and fills them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message
from substrate.prompts.v1 import prompt_service_pb2 as pb

from edge import identity
from edge.errors import Fault
from edge.families import Asked, Serve
from edge.jsonrpc import INVALID_PARAMS
from edge.revisions import Revision
from kit import limits, results
from kit.client import Method
from kit.results import block

SERVICE = "/substrate.prompts.v1.PromptService/"
VERSION_META = "substrate/version"
_ROLES = {pb.ROLE_USER: "user", pb.ROLE_ASSISTANT: "assistant"}
_ONE_PAGE = "Unknown cursor: the list has one page."


class Prompts:
    """Serves prompts/list, prompts/get and completion/complete."""

    def __init__(self, method: Callable[[str, type[Message]], Method], changing: bool = False) -> None:
        self._said = identity.LIST_CHANGED if changing else {}
        self._list = method(f"{SERVICE}ListPrompts", pb.ListPromptsResponse)
        self._get = method(f"{SERVICE}GetPrompt", pb.GetPromptResponse)
        self._complete = method(f"{SERVICE}CompletePrompt", pb.CompletePromptResponse)

    @property
    def methods(self) -> Mapping[str, Serve]:
        """By name."""
        return {"prompts/list": self._listed, "prompts/get": self._filled, "completion/complete": self._completed}

    def capabilities(self, _revision: Revision) -> dict[str, Any]:
        """What is said of them."""
        return {"prompts": self._said, "completions": {}}

    async def _listed(self, asked: Asked) -> Any:
        if asked.params.get("cursor") is not None:
            raise Fault(INVALID_PARAMS, _ONE_PAGE)
        answer: Any = await self._list(pb.ListPromptsRequest(), metadata=asked.caller.metadata)
        return asked.revision.listed({"prompts": [_shown(prompt, asked.revision) for prompt in answer.prompts]})

    async def _filled(self, asked: Asked) -> Any:
        request = pb.GetPromptRequest(name=_text(asked.params, "name"), arguments=_arguments(asked.params))
        given = await asked.talk.given(f"{SERVICE}GetPrompt", request)
        while True:
            made = pb.GetPromptRequest(name=request.name, arguments=request.arguments, given=given)
            answer: Any = await self._get(made, metadata=asked.caller.metadata)
            if (asking := results.asked("asking", answer)) is None:
                return asked.revision.result(_told(answer))
            told = await asked.talk.ask(f"{SERVICE}GetPrompt", request, asking)
            if isinstance(told, dict):
                return told
            given = told

    async def _completed(self, asked: Asked) -> Any:
        ref, argument = asked.params.get("ref"), asked.params.get("argument")
        if not isinstance(ref, dict) or ref.get("type") not in ("ref/prompt", "ref/resource"):
            raise Fault(INVALID_PARAMS, "ref must be an object whose type is ref/prompt or ref/resource.")
        if not isinstance(argument, dict):
            raise Fault(INVALID_PARAMS, "argument must be an object with name and value.")
        name, value = _text(argument, "name"), _text(argument, "value")
        values: list[str] = []
        if ref["type"] == "ref/prompt":
            request = pb.CompletePromptRequest(name=_text(ref, "name"), argument=name, value=value)
            answer: Any = await self._complete(request, metadata=asked.caller.metadata)
            values = list(answer.values)
        else:
            await asked.caller.authenticate()  # ids of matters are suggested to nobody: resources/list has those that the key reaches
        shown = values[: limits.COMPLETIONS_MAX]
        completion = {"values": shown, "total": len(values), "hasMore": len(values) > len(shown)}
        return asked.revision.result({"completion": completion})


def _text(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Fault(INVALID_PARAMS, f"{name} must be a string.")
    return value


def _arguments(params: Mapping[str, Any]) -> dict[str, str]:
    given = params.get("arguments", {})
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Fault(INVALID_PARAMS, "arguments must be an object of strings.")
    return given


def _shown(prompt: pb.Prompt, revision: Revision) -> dict[str, Any]:
    arguments = [{"name": a.name, "description": a.description, "required": a.required} for a in prompt.arguments]
    shown: dict[str, Any] = {"name": prompt.name, "description": prompt.description, "arguments": arguments}
    if revision.structured:
        shown |= {"title": prompt.title} | ({"_meta": {VERSION_META: prompt.version}} if prompt.version else {})
    return shown


def _told(answer: pb.GetPromptResponse) -> dict[str, Any]:
    messages = [{"role": _ROLES.get(m.role, "user"), "content": block(m.content)} for m in answer.messages]
    meta: dict[str, Any] = ({"locked": True} if answer.locked else {}) | ({VERSION_META: answer.version} if answer.version else {})
    return {"description": answer.description, "messages": messages} | ({"_meta": meta} if meta else {})
