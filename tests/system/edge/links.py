"""Proposing, and answering what comes with the receipt."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from kit.errors import unavailable
from tests.system.edge.wire import Wire, messages
from tests.system.edge.world import CASE

TOOL = "propose_action"
ARGUMENTS = {"case_id": CASE, "action": "add_note", "args": {"text": "The answer is due."}, "reason": "Docket entry 12."}
PROPOSE = {"name": TOOL, "arguments": ARGUMENTS}


def proposed(wire: Wire) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request to open a link and the receipt behind it, of one call."""
    asked, receipt = messages(wire.call("tools/call", PROPOSE, "call-1"))
    assert receipt["id"] == "call-1"
    return asked, receipt["result"]


def plain(wire: Wire) -> dict[str, Any]:
    """The receipt that comes alone."""
    (receipt,) = messages(wire.call("tools/call", PROPOSE))
    content: dict[str, Any] = receipt["result"]["structuredContent"]
    assert content["status"] == "pending_confirmation"
    return content


def respond(wire: Wire, asked: dict[str, Any], **body: Any) -> httpx.Response:
    """The client's answer to a request of the server."""
    return wire.send({"jsonrpc": "2.0", "id": asked["id"]} | body)


def says(wire: Wire, asked: dict[str, Any], action: str) -> httpx.Response:
    """One of the three answers."""
    return respond(wire, asked, result={"action": action})


def failing(*methods: str) -> Callable[[str], Awaitable[None]]:
    """A fault of some methods."""

    async def fault(method: str) -> None:
        if method in methods:
            raise unavailable()

    return fault
