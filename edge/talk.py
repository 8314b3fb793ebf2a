"""What passes between a tool and its client beside arguments and answer: questions, answers to them, and news while it works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
from google.protobuf.message import Message
from substrate.tools.v1 import exchange_pb2 as pb

from edge import jsonrpc
from edge.errors import Fault
from edge.jsonrpc import INVALID_PARAMS, is_id
from edge.sessions import Capabilities

Tell = Callable[[bytes], Awaitable[None]]
Result = dict[str, Any]
# Severities, least first, by the words that both eras have for them.
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LOG_LEVEL_META = "io.modelcontextprotocol/logLevel"
_INFO = LEVELS.index("info")


class Talk(Protocol):
    """The talk of one call, as its era has it."""

    async def given(self, path: str, request: Message) -> pb.Given:
        """What the client told with this call. `request` has its arguments and nothing else yet."""

    async def ask(self, path: str, request: Message, asking: pb.Asking) -> pb.Given | Result:
        """Asks the client: its answers, to make the call again with, or a result that ends the call for now."""

    async def hear(self, event: pb.Event) -> None:
        """Passes on news of a tool that works."""


def said(capabilities: Capabilities) -> list[str]:
    """What a client can be asked for, in the words of Given."""
    can = {
        "sampling": capabilities.sampling,
        "elicitation.form": capabilities.elicitation_form,
        "elicitation.url": capabilities.elicitation_url,
        "roots": capabilities.roots,
    }
    return [name for name, has in can.items() if has]


def shown(question: pb.Question) -> dict[str, Any]:
    """A question as a request of the protocol, without an envelope."""
    return {"method": question.method, "params": orjson.loads(question.params_json or b"{}")}


def needs(question: Mapping[str, Any]) -> str:
    """The capability that a question needs, in the words of Given."""
    match question["method"]:
        case "elicitation/create":
            return "elicitation.url" if question["params"].get("mode") == "url" else "elicitation.form"
        case "sampling/createMessage":
            return "sampling"
        case "roots/list":
            return "roots"
    raise ValueError(f"{question['method']} is no question")


def missing(questions: Iterable[pb.Question], capabilities: Capabilities) -> dict[str, Any]:
    """The capabilities that questions need and the client has not, as it would declare them."""
    found: dict[str, Any] = {}
    for needed in (needs(shown(question)) for question in questions):
        if needed not in said(capabilities):
            family, _, mode = needed.partition(".")
            found.setdefault(family, {}).update({mode: {}} if mode else {})
    return found


def progress_token(params: Mapping[str, Any]) -> jsonrpc.Id | None:
    """The token that news of progress carry; None where the client wants none."""
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if token is not None and not is_id(token):
        raise Fault(INVALID_PARAMS, "progressToken must be a string or an integer.")
    return token


def level(word: Any) -> int:
    """The place of a severity among the others."""
    if word not in LEVELS:
        raise Fault(INVALID_PARAMS, f"The level must be one of {', '.join(LEVELS)}.")
    return LEVELS.index(word)


@dataclass(slots=True)
class Ear:
    """Turns events of a tool into notifications. `tell` is None where nobody listens, `floor` where no log is wanted."""

    tell: Tell | None
    token: jsonrpc.Id | None
    floor: int | None
    _furthest: float = float("-inf")

    async def hear(self, event: pb.Event) -> None:
        """Passes on what the client wants to hear."""
        if self.tell is None:
            return
        match event.WhichOneof("kind"):
            case "progress" if self.token is not None and event.progress.progress > self._furthest:
                self._furthest = event.progress.progress
                await self.tell(jsonrpc.notification("notifications/progress", self._progress(self.token, event.progress)))
            case "log" if self.floor is not None and _severity(event.log.level) >= self.floor:
                await self.tell(jsonrpc.notification("notifications/message", _line(event.log)))

    @staticmethod
    def _progress(token: jsonrpc.Id, told: pb.Progress) -> dict[str, Any]:
        params: dict[str, Any] = {"progressToken": token, "progress": told.progress}
        if told.HasField("total"):
            params["total"] = told.total
        return params | ({"message": told.message} if told.message else {})


def _severity(number: int) -> int:
    return number - 1 if number else _INFO


def _line(line: pb.LogLine) -> dict[str, Any]:
    params: dict[str, Any] = {"level": LEVELS[_severity(line.level)], "data": orjson.loads(line.data_json)}
    return params | ({"logger": line.logger} if line.logger else {})
