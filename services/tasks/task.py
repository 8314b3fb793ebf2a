"""Tasks as values: what is kept of one, how it is shown, and what may begin as one. No IO."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from google.protobuf.message import DecodeError
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tasks.v1 import task_service_pb2 as pb
from substrate.tools.v1 import exchange_pb2

from kit import limits
from kit.catalogue import Tool
from kit.db import Record
from kit.errors import FieldError, Refusal, invalid
from kit.results import REQUEST_CANCELLED

OPEN = ("PENDING", "QUEUED", "RUNNING", "AWAITING_INPUT")
TERMINAL = ("DONE", "FAILED", "ABORTED", "DENIED")
INTERNAL_ERROR = -32603
# The tables of the store speak JSON-RPC codes nowhere: how a task ended without a result says which it is.
CODES = {"FAILED": INTERNAL_ERROR, "ABORTED": INTERNAL_ERROR, "DENIED": REQUEST_CANCELLED}


@dataclass(frozen=True, slots=True)
class Kept:
    """A row of a task, as its key sees it."""

    id: uuid.UUID
    key_id: uuid.UUID
    case_id: uuid.UUID | None
    status: str
    message: str
    task: Mapping[str, Any]
    row: Record

    @property
    def terminal(self) -> bool:
        """Whether nothing about it changes any more."""
        return self.status in TERMINAL

    @property
    def call(self) -> tuple[str, str | None]:
        """The call that it stands for: the method, and the matter that it names."""
        return self.task["method"], str(self.case_id) if self.case_id else None


def kept(row: Record) -> Kept:
    """A row."""
    return Kept(row["id"], row["key_id"], row["case_id"], row["status"], row["status_message"], orjson.loads(row["task"]), row)


def absent() -> Refusal:
    """One answer for every id that means nothing to this key now, whatever the cause."""
    return Refusal(reasons.ERROR_REASON_NOT_FOUND, "There is no such task for this key. It may be over for longer than it is kept.")


def task_id(text: str) -> uuid.UUID:
    """The id of a task; what is no id names no task."""
    try:
        return uuid.UUID(text)
    except ValueError:
        raise absent() from None


def found_tool(by_name: Mapping[str, Tool], name: str) -> Tool:
    """The tool of a new task, or a refusal by name."""
    tool = by_name.get(name)
    if tool is None:
        raise invalid([FieldError("tool", "expected the name of a tool")])
    if tool.task_support == "forbidden":
        raise invalid([FieldError("tool", f"expected a tool that may run as a task; call {tool.name} without a task")])
    return tool


def read_object(field: str, data: bytes) -> dict[str, Any]:
    """The JSON object in a field, or a refusal that names the field."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise invalid([FieldError(field, "expected the text of a JSON object")])
    return value


def check_new(request: pb.CreateTaskRequest) -> dict[str, Any]:
    """The arguments of a new task. Whether they are right for the tool is found when it runs, and is then its result."""
    if sha256(request.arguments).digest() != request.arguments_sha256:
        raise invalid([FieldError("arguments_sha256", "expected the SHA-256 of arguments")])
    if request.progress_token and not _is_token(request.progress_token):
        raise invalid([FieldError("progress_token", "expected the text of a JSON string or integer")])
    try:
        exchange_pb2.Given.FromString(request.given)
    except DecodeError:
        raise invalid([FieldError("given", "expected the bytes of a Given")]) from None
    return read_object("arguments", request.arguments)


def _is_token(data: bytes) -> bool:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def ttl_ms(asked: int | None) -> int:
    """How long a task is kept."""
    if asked is None:
        return limits.TASK_TTL_DEFAULT_SECONDS * 1000
    return max(limits.TASK_TTL_MIN_SECONDS * 1000, min(asked, limits.TASK_TTL_MAX_SECONDS * 1000))


def launch_ctx(request: pb.CreateTaskRequest, tool: Tool, key_id: str) -> str:
    """What a run is begun with, as JSON."""
    task: dict[str, Any] = {
        "key_id": key_id,
        "tool": tool.name,
        "method": tool.path,
        "read_only": tool.read_only,
        "args_sha256": request.arguments_sha256.hex(),
        "revision": request.revision,
    }
    if request.progress_token:
        task["progress_token"] = request.progress_token.decode("utf-8")
    if request.session_sha256:
        task["session_sha256"] = request.session_sha256.hex()
    return orjson.dumps({"mcp_task": task}).decode()


def case_of(tool: Tool, arguments: Mapping[str, Any]) -> uuid.UUID | None:
    """The matter that a call names; None of a tool that names none."""
    if not tool.names_case:
        return None
    try:
        return uuid.UUID(arguments["case_id"])
    except (KeyError, ValueError, AttributeError, TypeError):
        raise invalid([FieldError("case_id", "expected the id of a matter, from list_matters")]) from None


def unanswered(asked: bytes | None, answered: bytes | None) -> dict[str, Any]:
    """What a task asked and nobody has answered yet, by key."""
    done = orjson.loads(answered) if answered else {}
    return {key: question for key, question in (orjson.loads(asked) if asked else {}).items() if key not in done}


def with_answers(asked: bytes, answered: bytes | None, responses: Mapping[str, Any]) -> tuple[bytes | None, bool]:
    """The answers to keep after these came, None where none of them was asked for; and whether anything is still to be answered."""
    waiting = unanswered(asked, answered)
    new = {key: response for key, response in responses.items() if key in waiting and isinstance(response, dict)}
    if not new:
        return None, bool(waiting)
    return orjson.dumps({**(orjson.loads(answered) if answered else {}), **new}), bool(waiting.keys() - new.keys())


def shown(one: Kept) -> pb.Task:
    """A task as a message. A status that is no word of ours is a defect, and nobody guesses what it means."""
    row = one.row
    task = pb.Task(
        task_id=str(one.id),
        status=pb.RunStatus.Value(f"RUN_STATUS_{one.status}"),
        result_is_error=bool(row["result_is_error"]),
        status_message=one.message,
        ttl_ms=row["ttl_ms"],
        poll_interval_ms=limits.TASK_POLL_MILLISECONDS,
        tool=one.task["tool"],
        progress_token=token(one),
    )
    task.created_at.FromDatetime(row["created_at"])
    task.last_updated_at.FromDatetime(row["updated_at"])
    if one.status == "AWAITING_INPUT":
        task.input_requests = orjson.dumps(unanswered(row["asked"], row["answered"]))
    return task


def token(one: Kept) -> bytes:
    """The creator's progress token, as the text of its JSON."""
    return str(one.task.get("progress_token", "")).encode("utf-8")


def outcome(one: Kept, result: bytes | None) -> pb.Outcome:
    """How a terminal task ended."""
    if one.status == "DONE":
        return pb.Outcome(result=result or b"")
    return pb.Outcome(error=pb.TaskError(code=CODES[one.status], message=one.message))
