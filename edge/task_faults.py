"""What a client of tasks is told when something is refused, and what it is asked for by name."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from substrate.common.v1 import error_reason_pb2 as reasons

from edge import families
from edge.caller import Caller
from edge.errors import Fault, internal
from edge.jsonrpc import INVALID_PARAMS, INVALID_REQUEST
from edge.task_status import UnknownStatus
from kit.errors import Refusal

log = logging.getLogger(__name__)
ABSENT = "Task not found: it is unknown to this key, or its time is over."
Serve = Callable[[Caller, Mapping[str, Any]], Awaitable[Any]]


def absent() -> Fault:
    """The answer for an id that never was, is another key's, or is over: one and the same."""
    return Fault(INVALID_PARAMS, ABSENT)


def fault(refusal: Refusal) -> Fault:
    """The error of a refused request on tasks."""
    if refusal.reason == reasons.ERROR_REASON_NOT_FOUND:
        return absent()
    invalid = refusal.reason in (reasons.ERROR_REASON_INVALID_ARGUMENT, reasons.ERROR_REASON_CONFLICT)
    return families.fault(refusal, INVALID_PARAMS if invalid else INVALID_REQUEST)


def judged(serve: Serve) -> Serve:
    """A method that tells what is wrong with a request only to a caller that may make one, and guesses at no status."""

    async def served(caller: Caller, params: Mapping[str, Any]) -> Any:
        try:
            return await serve(caller, params)
        except Refusal as refusal:
            raise fault(refusal) from None
        except Fault:
            await caller.authenticate()
            raise
        except UnknownStatus as unknown:
            raise unreadable(unknown) from None

    return served


def unreadable(unknown: UnknownStatus) -> Fault:
    """A status that means nothing to MCP is a defect of ours, whatever it may be meant to say."""
    incident = secrets.token_hex(4)
    log.error("status of a run that is not known", extra={"status": str(unknown), "incident": incident})
    return internal(incident)


def task_id_of(params: Mapping[str, Any]) -> str:
    """The task that a request names; what its metadata may say of tasks does not count."""
    task_id = params.get("taskId")
    if not isinstance(task_id, str):
        raise Fault(INVALID_PARAMS, "taskId must be a string: the id that the task was made with.")
    return task_id
