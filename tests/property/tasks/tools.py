"""What stands in the place of other programs: auth without a channel, and tools whose answers a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from google.protobuf.message import Message
from substrate.auth.v1 import auth_service_pb2 as auth_pb

from kit import catalogue
from kit.authority import principal
from kit.catalogue import Catalogue
from kit.client import StreamMethod
from services.auth.server import AuthService
from services.auth.worker import WorkerService
from services.tasks.desk import Claim, Desk, Times
from services.tasks.keys import Keys
from services.tasks.store import Store
from tests.property.machine.world import OPERATOR
from tests.property.tasks.model import KINDS


class NearKeys(Keys):
    """The client of auth, with the service itself where the channel was."""

    def __init__(self, service: WorkerService) -> None:
        self._pass: Any = lambda request: service.give_pass(request, OPERATOR)
        self._review: Any = lambda request: service.review_calls(request, OPERATOR)


class RecordingDesk(Desk):
    """The statements of one worker; a test sees what it was given."""

    def __init__(self, store: Store, owner: str) -> None:
        super().__init__(store, owner, Times())
        self.given: list[Claim] = []

    async def claim(self, count: int) -> list[Claim]:
        """What the database gave."""
        got = await super().claim(count)
        self.given += got
        return got


@dataclass
class Tool:
    """A tool in another program: asks for access as such a program does, and then does what the test says."""

    path: str
    names_case: bool
    auth: AuthService
    waiting: dict[asyncio.Task[Any], asyncio.Queue[Any]]

    async def asked(self, request: Message, metadata: Sequence[tuple[str, str]]) -> None:
        """Access, on the authority of the pass, as it is now."""
        digest = sha256(request.SerializeToString(deterministic=True)).digest()
        case_id = request.case_id if self.names_case else None  # type: ignore[attr-defined]
        shown = metadata[0][1].removeprefix("Bearer ")
        principal(
            await self.auth.authorize(
                auth_pb.AuthorizeRequest(api_key=shown, method=self.path, case_id=case_id, request_sha256=digest), OPERATOR
            )
        )

    async def next(self) -> Any:
        """What the test says next."""
        task = asyncio.current_task()
        assert task is not None
        queue = self.waiting.setdefault(task, asyncio.Queue())
        try:
            said = await queue.get()
        finally:
            self.waiting.pop(task, None)
        if isinstance(said, Exception):
            raise said
        return said

    async def __call__(self, request: Message, *, metadata: Sequence[tuple[str, str]], timeout_seconds: float) -> Any:
        """One answer."""
        await self.asked(request, metadata)
        return await self.next()


class StreamingTool(StreamMethod):
    """The same, which says how far it has come before it answers."""

    def __init__(self, tool: Tool) -> None:
        object.__setattr__(self, "tool", tool)

    async def __call__(self, request: Message, *, metadata: Any = (), timeout_seconds: float | None = None) -> AsyncIterator[Message]:  # type: ignore[override]
        """Events until its content."""
        tool: Tool = self.tool  # type: ignore[attr-defined]
        await tool.asked(request, metadata)
        while True:
            said = await tool.next()
            yield said
            if said.HasField("content"):
                return


def both_catalogues() -> Catalogue:
    """Tools of the product and of the fixture side by side, one of which may be a task here although it says how far it has come."""
    ours, theirs = catalogue.load(), catalogue.load("fixture")
    tools = {**ours.by_name, **theirs.by_name}
    tools = {kind.tool: replace(tools[kind.tool], task_support="optional") for kind in KINDS}
    return Catalogue(tuple(tools.values()), tools, {t.path: t for t in tools.values()}, {})
