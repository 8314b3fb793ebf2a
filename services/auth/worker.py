"""WorkerService: what the tasks program asks about keys that nobody presents at the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from substrate.auth.v1 import auth_service_pb2
from substrate.auth.v1 import worker_service_pb2 as pb

from kit.catalogue import Catalogue, Tool
from kit.server import Call, Handler
from services.auth import decision
from services.auth.passes import Passes
from services.auth.store import Store

NAME = "substrate.auth.v1.WorkerService"
ALLOWED = "allowed"


class WorkerService:
    """Gives passes and says what keys may do now; decides no call."""

    def __init__(self, store: Store, catalogue: Catalogue, passes: Passes, now: Callable[[], float]) -> None:
        self._store, self._catalogue, self._passes, self._now = store, catalogue, passes, now

    def methods(self) -> Mapping[str, Handler]:
        """Handlers by method name."""
        return {"GivePass": self.give_pass, "ReviewCalls": self.review_calls}

    async def give_pass(self, request: pb.GivePassRequest, _call: Call) -> pb.GivePassResponse:
        """A pass. Whether its key is still good is asked when it is shown."""
        return pb.GivePassResponse(**{"pass": self._passes.give(request.key_id, request.method, request.request_sha256, self._now())})

    async def review_calls(self, request: pb.ReviewCallsRequest, _call: Call) -> pb.ReviewCallsResponse:
        """What the key may do now. A method that is not declared, or lacks the matter that it names, is not allowed."""
        tools = [self._catalogue.by_path.get(c.method) for c in request.calls]
        case_ids = [c.case_id if c.HasField("case_id") else None for c in request.calls]
        live, outcomes = await self._store.review(request.key_id, tools, case_ids)
        denials = [_denial(tool, outcome) for tool, outcome in zip(tools, outcomes, strict=True)]
        return pb.ReviewCallsResponse(live=live, allowed=[o == ALLOWED for o in outcomes], denials=denials)


def _denial(tool: Tool | None, outcome: str) -> auth_service_pb2.Denial:
    if outcome == ALLOWED:
        return auth_service_pb2.Denial()
    return decision.malformed() if tool is None else decision.denial(tool, {"outcome": outcome})
