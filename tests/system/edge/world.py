"""What stands behind the edge in these tests: auth, reads and proposals over real gRPC, on a world that a test can change."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from substrate.auth.v1 import auth_service_pb2 as auth
from substrate.changes.v1 import change_service_pb2  # noqa: F401 - its service is bound by name
from substrate.common.v1 import attestation_pb2, error_reason_pb2
from substrate.reads.v1 import matters_pb2

from kit import callers, config, credentials, server
from kit.authority import Authority
from kit.credentials import ApiKey
from kit.errors import UNAUTHENTICATED_MESSAGE, Refusal, unavailable
from ops import pki
from tests.system.edge.ledger import Ledger
from tests.system.edge.runs import Runs

CASE = "11111111-1111-4111-8111-111111111111"
CHANGES = "substrate.changes.v1.ChangeService"
Answer = Callable[[Any], Awaitable[Message]]


@dataclass
class Known:
    """One key that auth knows."""

    key: ApiKey
    id: str
    owner: str
    revoked: bool = False


@dataclass
class World:
    """Keys, matters and faults. Tests change it from their own thread; the servers only look."""

    keys: dict[str, Known] = field(default_factory=dict)
    authenticated: int = 0
    auth_up: bool = True
    denials: dict[str, auth.Denial] = field(default_factory=dict)
    rows: int = 3
    get_matter: Answer | None = None
    presented: list[str] = field(default_factory=list)
    cancelled: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    runs: Runs = field(default_factory=Runs)
    changes: set[asyncio.Queue[Message | None]] = field(default_factory=set)

    def new_key(self, owner: str = "ada") -> Known:
        """A key that works."""
        number = len(self.keys) + 1
        known = Known(credentials.mint("test"), f"00000000-0000-4000-8000-{number:012d}", owner)
        self.keys[known.key.text] = known
        return known

    def judge(self, text: str) -> auth.Principal | auth.Denial:
        """What auth says of a key."""
        if not self.auth_up:
            raise unavailable()
        if text in self.denials:
            return self.denials[text]
        known = self.keys.get(text)
        if known is None or known.revoked:
            return auth.Denial(reason=error_reason_pb2.ERROR_REASON_UNAUTHENTICATED, message=UNAUTHENTICATED_MESSAGE)
        return auth.Principal(key_id=known.id, owner_id=known.owner, scopes=["read"], case_ids=[CASE])


def attested(response: Any) -> Any:
    """Fills in the attestation as the services do."""
    made = attestation_pb2.Attestation(schema_version="1.0", provenance_ids=["urn:x:1"], provenance_id_count=1)
    made.generated_at.FromDatetime(datetime(2026, 7, 26, 17, 15, 32, tzinfo=UTC))
    made.verification_status = attestation_pb2.VERIFICATION_STATUS_GROUNDED
    made.verification.method = "The rows were read."
    made.verification.counts.grounded = 1
    response.attestation.CopyFrom(made)
    return response


def matter(number: int) -> matters_pb2.Matter:
    """A matter with text of the usual length."""
    return matters_pb2.Matter(
        case_id=f"{number:08d}-0000-4000-8000-000000000000",
        caption=f"Plaintiff {number} v. Defendant {number}, a matter — with “typographic” text",
        court="United States District Court, E.D. Arkansas",
        docket_number=f"LR-C-81-{number:03d}",
        status="open",
        provenance_ids=[f"urn:bron:matter:{number}"],
        verification_status=attestation_pb2.VERIFICATION_STATUS_GROUNDED,
    )


class Backend:
    """The programs behind the edge, each with its own certificate."""

    def __init__(self, world: World, folder: Path) -> None:
        pki.ensure(folder, ("auth", "reads", "proposals", "tasks"), ("edge",), datetime.now(UTC))
        self._world, self._folder = world, folder
        self._auth, self.auth_address = self._server("auth")
        self._reads, self.reads_address = self._server("reads")
        self._proposals, self.proposals_address = self._server("proposals")
        self._tasks, self.tasks_address = self._server("tasks")

    def tls(self, name: str) -> config.Tls:
        """The files of a program."""
        return config.Tls(str(self._folder / "ca.pem"), str(self._folder / f"{name}.pem"), str(self._folder / f"{name}.key"))

    def _server(self, name: str) -> tuple[grpc.aio.Server, str]:
        tls = self.tls(name)
        ca, key, cert = (Path(f).read_bytes() for f in (tls.ca_file, tls.key_file, tls.cert_file))
        made = grpc.aio.server(interceptors=[callers.CallerGate({**callers.load(name), CHANGES: frozenset({"edge.substrate"})})])
        port = made.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, cert)], ca, True))
        return made, f"127.0.0.1:{port}"

    async def start(self) -> None:
        """Serves."""
        self._authority = Authority(config.Peer(self.auth_address), self.tls("reads"))
        judged: dict[str, server.Handler] = {
            "Authenticate": self._authenticate,
            "Authorize": self._authorize,
            "AuthorizeBatch": self._authorize_batch,
        }
        self._auth.add_generic_rpc_handlers((server.handlers("substrate.auth.v1.AuthService", judged, None),))
        reads: dict[str, server.Handler] = {"ListMatters": self._list_matters, "GetMatter": self._get_matter}
        self._reads.add_generic_rpc_handlers((server.handlers("substrate.reads.v1.MatterService", reads, self._authority),))
        self._reads.add_generic_rpc_handlers((server.handlers(CHANGES, {"WatchChanges": self._watch_changes}, None),))
        for service, methods in self._world.ledger.services().items():
            self._proposals.add_generic_rpc_handlers((server.handlers(service, methods, self._authority),))
        for service, methods in self._world.runs.services().items():
            self._tasks.add_generic_rpc_handlers((server.handlers(service, methods, self._authority),))
        for one in (self._auth, self._reads, self._proposals, self._tasks):
            servicer = health.aio.HealthServicer()
            await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
            health_pb2_grpc.add_HealthServicer_to_server(servicer, one)
            await one.start()

    async def stop(self) -> None:
        """Stops."""
        await self._authority.close()
        await self._auth.stop(None)
        await self._reads.stop(None)
        await self._proposals.stop(None)
        await self._tasks.stop(None)

    async def _authenticate(self, request: auth.AuthenticateRequest, _call: server.Call) -> Message:
        self._world.authenticated += 1
        said = self._world.judge(request.api_key)
        return auth.AuthenticateResponse(principal=said) if isinstance(said, auth.Principal) else auth.AuthenticateResponse(denial=said)

    async def _authorize(self, request: auth.AuthorizeRequest, _call: server.Call) -> auth.AuthorizeResponse:
        self._world.presented.append(request.api_key)
        said = self._world.judge(request.api_key)
        if isinstance(said, auth.Denial):
            return auth.AuthorizeResponse(denial=said)
        if request.HasField("case_id") and request.case_id not in said.case_ids:
            reason = error_reason_pb2.ERROR_REASON_MATTER_NOT_ACCESSIBLE
            return auth.AuthorizeResponse(denial=auth.Denial(reason=reason, message="The matter is not found or not accessible."))
        return auth.AuthorizeResponse(principal=said)

    async def _authorize_batch(self, request: auth.AuthorizeBatchRequest, call: server.Call) -> Message:
        return auth.AuthorizeBatchResponse(responses=[await self._authorize(r, call) for r in request.requests])

    async def _watch_changes(self, _request: Message, _call: server.Call) -> AsyncIterator[Message]:
        """Tells what the test says, and breaks off where it says None."""
        queue: asyncio.Queue[Message | None] = asyncio.Queue()
        self._world.changes.add(queue)
        try:
            while (said := await queue.get()) is not None:
                yield said
            raise unavailable()
        finally:
            self._world.changes.discard(queue)

    async def _list_matters(self, request: matters_pb2.ListMattersRequest, _call: server.Call) -> Message:
        rows = self._world.rows
        answer = matters_pb2.ListMattersResponse(matters=[matter(n) for n in range(rows)], count=rows, total_count=rows)
        answer.read_state = attestation_pb2.READ_STATE_READ if rows else attestation_pb2.READ_STATE_EMPTY
        return attested(answer)  # type: ignore[no-any-return]

    async def _get_matter(self, request: matters_pb2.GetMatterRequest, _call: server.Call) -> Message:
        if self._world.get_matter is not None:
            try:
                return await self._world.get_matter(request)
            except asyncio.CancelledError:
                self._world.cancelled += 1
                raise
        return one_matter()


def one_matter() -> Message:
    """The usual answer of get_matter."""
    answer = matters_pb2.GetMatterResponse(matter=matter(1), read_state=attestation_pb2.READ_STATE_READ)
    return attested(answer)  # type: ignore[no-any-return]


def refusing(reason: int, message: str, **extra: Any) -> Answer:
    """A get_matter that refuses."""

    async def answer(_request: Any) -> Message:
        raise Refusal(reason, message, **extra)  # type: ignore[arg-type]

    return answer
