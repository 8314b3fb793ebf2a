"""Families of methods that both eras serve: what one is asked with, what it is answered with, and what it is announced as."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from substrate.common.v1 import error_reason_pb2 as reasons

from edge.caller import Caller
from edge.errors import Fault, Treatment, internal_of, tool_result, treatment
from edge.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from edge.revisions import Revision
from edge.talk import Talk
from kit.errors import Refusal
from kit.results import REFUSAL_META


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    caller: Caller
    params: Mapping[str, Any]
    revision: Revision
    talk: Talk


Serve = Callable[[Asked], Awaitable[Any]]


class Family(Protocol):
    """Some methods that belong together."""

    @property
    def methods(self) -> Mapping[str, Serve]:
        """By name."""

    def capabilities(self, revision: Revision) -> dict[str, Any]:
        """What is said of them before the first request."""


def fault(refusal: Refusal, code: int = INVALID_PARAMS) -> Fault:
    """The error of a refused request that is no tool call. A key that is no longer good is no error but a challenge."""
    if refusal.reason == reasons.ERROR_REASON_UNAUTHENTICATED:
        raise refusal
    if treatment(refusal) is Treatment.INTERNAL:
        return internal_of(refusal)
    code = INTERNAL_ERROR if refusal.reason == reasons.ERROR_REASON_UNAVAILABLE else code
    return Fault(code, refusal.message, tool_result(refusal)["_meta"][REFUSAL_META])


async def served(serve: Serve, asked: Asked) -> Any:
    """Serves a request; what is wrong with it is told only to a caller that may make one."""
    try:
        return await serve(asked)
    except Refusal as refusal:
        raise fault(refusal) from None
    except Fault:
        await asked.caller.authenticate()
        raise
