"""The fixture's tools that ask before they answer. Every round is a call of its own: what was asked comes back with the answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from google.protobuf.message import Message
from substrate.tools.v1 import exchange_pb2 as said

from kit.errors import FieldError, invalid
from kit.server import Call, Handler
from tests.conformance.fixture import content, text

Params = dict[str, Any]
Replies = dict[str, Any]


def form(message: str, **properties: Any) -> tuple[str, Params]:
    """A question to the client's person."""
    required = [name for name, schema in properties.items() if "default" not in schema]
    schema = {"type": "object", "properties": properties} | ({"required": required} if required else {})
    return "elicitation/create", {"mode": "form", "message": message, "requestedSchema": schema}


def sampling(prompt: str) -> tuple[str, Params]:
    """A question to the client's model."""
    return "sampling/createMessage", {"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": 100}


ROOTS: tuple[str, Params] = ("roots/list", {})
NAME = form("What is your name?", name={"type": "string"})
# The capability that each method needs.
NEEDS = {"elicitation/create": "elicitation.form", "sampling/createMessage": "sampling", "roots/list": "roots"}


def asking(questions: Mapping[str, tuple[str, Params]], state: bytes = b"") -> said.Asking:
    """Questions, and what the service wants to be told again."""
    asked = [said.Question(key=key, method=method, params_json=json.dumps(params).encode()) for key, (method, params) in questions.items()]
    return said.Asking(questions=asked, state=state)


def replies(given: said.Given) -> Replies:
    """What the client answered, by key."""
    return {reply.key: json.loads(reply.result_json) for reply in given.replies}


def usable(found: Replies, questions: Mapping[str, tuple[str, Params]]) -> Replies:
    """The answers that have the form of one; the others are asked for again."""
    forms: dict[str, Callable[[Any], bool]] = {
        "elicitation/create": lambda r: isinstance(r, dict) and r.get("action") in {"accept", "decline", "cancel"},
        "sampling/createMessage": lambda r: isinstance(r, dict) and "content" in r,
        "roots/list": lambda r: isinstance(r, dict) and isinstance(r.get("roots"), list),
    }
    return {key: found[key] for key, (method, _) in questions.items() if key in found and forms[method](found[key])}


def asks(
    questions: Mapping[str, tuple[str, Params]], words: Callable[[Replies], str] = json.dumps, state: bytes = b""
) -> Callable[[Any, Call], Awaitable[Message]]:
    """A tool that asks these, and says what it was told."""

    async def handler(request: Any, _call: Call) -> Message:
        found = usable(replies(request.given), questions)
        if missing := {key: asked for key, asked in questions.items() if key not in found}:
            return said.Content(asking=asking(missing, state))
        return said.Content() if request.given.asking_only else content(text(words(found)))

    return handler


def _named(found: Replies) -> str:
    return f"Hello, {(found['user_name'].get('content') or {}).get('name', 'stranger')}!"


async def _sampling(request: Any, call: Call) -> Message:
    return await asks({"sample": sampling(request.prompt)}, lambda r: f"LLM response: {r['sample']['content'].get('text', '')}")(
        request, call
    )


async def _elicitation(request: Any, call: Call) -> Message:
    question = form(request.message, username={"type": "string"}, email={"type": "string"})
    return await asks({"ask": question}, lambda r: f"User response: {json.dumps(r['ask'])}")(request, call)


async def _rounds(request: Any, _call: Call) -> Message:
    """Three rounds; the state says which one this is."""
    step = int(request.given.state or b"0")
    found = usable(replies(request.given), {"step": NAME})
    if step == 0 or "step" not in found:
        return said.Content(asking=asking({"step": form("First: what is your name?", name={"type": "string"})}, b"1"))
    if step == 1:
        return said.Content(asking=asking({"step": form("Second: what is your color?", color={"type": "string"})}, b"2"))
    return content(text("All rounds are done."))


async def _capabilities(request: Any, _call: Call) -> Message:
    """Asks what this client can be asked, and nothing else."""
    wanted = {"user_name": NAME, "sample": sampling("Say something.")}
    questions = {key: asked for key, asked in wanted.items() if NEEDS[asked[0]] in request.given.capabilities}
    found = usable(replies(request.given), questions)
    if missing := {key: asked for key, asked in questions.items() if key not in found}:
        return said.Content(asking=asking(missing))
    return content(text("Asked what could be asked."))


DEFAULTS = form(
    "Please provide user information",
    name={"type": "string", "description": "User name", "default": "John Doe"},
    age={"type": "integer", "description": "User age", "default": 30},
    score={"type": "number", "description": "User score", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "description": "Verification status", "default": True},
)
_TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
ENUMS = form(
    "Please choose",
    untitledSingle={"type": "string", "enum": ["option1", "option2", "option3"]},
    titledSingle={"type": "string", "oneOf": _TITLED},
    legacyEnum={"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
    untitledMulti={"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    titledMulti={"type": "array", "items": {"anyOf": _TITLED}},
)
MULTIPLE = {"user_name": NAME, "greeting": sampling("Generate a greeting"), "client_roots": ROOTS}


async def _confirm(request: Any, call: Call) -> Message:
    if not request.filename:
        raise invalid([FieldError("filename", "expected the name of a file")])
    question = form(f"Delete {request.filename}?", confirm={"type": "boolean"})

    def words(found: Replies) -> str:
        agreed = found["confirm"].get("action") == "accept" and (found["confirm"].get("content") or {}).get("confirm")
        return f"Deleted {request.filename}." if agreed else f"Kept {request.filename}."

    return await asks({"confirm": question}, words)(request, call)


QUESTIONS: Mapping[str, Handler] = {
    "Sampling": _sampling,
    "Elicitation": _elicitation,
    "ElicitationDefaults": asks({"ask": DEFAULTS}, lambda r: f"Elicitation completed: {json.dumps(r['ask'])}"),
    "ElicitationEnums": asks({"ask": ENUMS}, lambda r: f"Elicitation completed: {json.dumps(r['ask'])}"),
    "MissingCapability": asks({"sample": sampling("Say something.")}),
    "StreamingElicitation": asks({"user_name": NAME}, _named),
    "InputElicitation": asks({"user_name": NAME}, _named),
    "InputSampling": asks({"capital_question": sampling("What is the capital of France?")}),
    "InputListRoots": asks({"client_roots": ROOTS}),
    "InputRequestState": asks({"confirm": form("Please confirm", ok={"type": "boolean"})}, lambda _: "state-ok", b"state"),
    "InputMultiple": asks(MULTIPLE, lambda _: "All inputs were received.", b"multiple"),
    "InputMultiRound": _rounds,
    "InputTamperedState": asks({"confirm": form("Please confirm", ok={"type": "boolean"})}, lambda _: "state-ok", b"sealed"),
    "InputCapabilities": _capabilities,
}
DEFERRED: Mapping[str, Handler] = {
    "ConfirmDelete": _confirm,
    "MultiInput": asks({"first": form("First?", value={"type": "string"}), "second": form("Second?", value={"type": "string"})}),
    "ToolWithTask": asks({"user_name": NAME}, _named),
}
