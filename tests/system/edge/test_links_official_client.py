"""The official client, asked to open a link in both of its eras."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestURLParams, ElicitResult

from tests.poll import until_async
from tests.system.edge.links import ARGUMENTS, TOOL
from tests.system.edge.running import Running
from tests.system.edge.world import World

MODES = ["legacy", "auto", "2026-07-28"]


class Person:
    """Someone who is asked, and answers one thing."""

    def __init__(self, action: Any) -> None:
        self.action, self.asked, self.heard = action, [], []  # type: ignore[var-annotated]

    async def elicit(self, context: Any, params: Any) -> ElicitResult:
        """The answer."""
        self.asked.append(params)
        return ElicitResult(action=self.action)

    async def hear(self, message: Any) -> None:
        """Whatever else the server says."""
        self.heard.append(message)


@contextlib.asynccontextmanager
async def client(edge: Running, world: World, mode: str, person: Person) -> AsyncIterator[Client]:
    """A connected client that can open links."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {world.new_key().key.text}"}, timeout=20) as http,
        Client(
            streamable_http_client(edge.url, http_client=http),
            mode=mode,
            elicitation_callback=person.elicit,
            message_handler=person.hear,
        ) as connected,
    ):
        yield connected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("action", "noted"), [("accept", "accepted"), ("decline", "declined"), ("cancel", "cancelled")])
async def test_it_is_asked_once_and_gets_its_receipt_whatever_it_answers(
    linking: Running, world: World, mode: str, action: str, noted: str
) -> None:
    person = Person(action)
    async with client(linking, world, mode, person) as connected:
        result = await connected.call_tool(TOOL, ARGUMENTS)
        assert not result.is_error
        assert result.structured_content is not None

        async def answered() -> bool:
            return all(link.answer for link in world.ledger.links.values())

        await until_async(answered, "the answer is noted")
        filed, id_, link = world.ledger.only()
        assert result.structured_content["approval_id"] == filed.receipt.approval_id
        assert (link.answer, filed.state) == (noted, "undecided")
        (asked,) = person.asked
        assert isinstance(asked, ElicitRequestURLParams)
        assert asked.url.endswith(f"/approve?elicitationId={id_}")
        assert asked.elicitation_id == (id_ if mode == "legacy" else None)


async def test_it_hears_once_that_what_it_accepted_is_decided(linking: Running, world: World) -> None:
    person = Person("accept")
    async with client(linking, world, "legacy", person) as connected:
        await connected.call_tool(TOOL, ARGUMENTS)

        async def heard() -> list[Any]:
            return [m for m in person.heard if "elicitation/complete" in str(getattr(m, "method", getattr(m, "root", m)))]

        async def accepted() -> bool:
            return world.ledger.only()[2].answer == "accepted"

        await until_async(accepted, "the answer is noted")
        filed, id_, _ = world.ledger.only()
        filed.state = "approved"
        (told,) = await until_async(heard, "the end is told")
        assert id_ in str(told)
