"""Every method against every certificate: only the table of duties admits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2
from substrate.auth.v1 import auth_service_pb2

from kit import callers, catalogue, config
from kit.client import channel, credentials
from kit.server import Call, GrpcProgram
from ops import pki, programs

CERTIFICATES = ("auth", "files", "reads", "proposals", "tasks", "approvals", "executor", "edge", "operator", "firm")
AUTH = (
    "substrate.auth.v1.AuthService",
    "substrate.auth.v1.AuthAdminService",
    "substrate.auth.v1.PersonService",
    "substrate.auth.v1.WorkerService",
)
INFERENCE = ("substrate.auth.v1.InferenceService", "substrate.auth.v1.InferenceAdminService")
PROPOSALS = ("substrate.proposals.v1.ProposalService", "substrate.proposals.v1.HandoffService")
READS = tuple(sorted({t.service for t in catalogue.load().tools if t.service.startswith("substrate.reads.")}))
ALLOWED = {
    "auth": {
        AUTH[0]: {"edge", "reads", "proposals", "tasks"},
        AUTH[1]: {"operator"},
        AUTH[2]: {"approvals", "executor"},
        AUTH[3]: {"tasks"},
        INFERENCE[0]: {"reads"},
        INFERENCE[1]: {"operator"},
    },
    "proposals": {PROPOSALS[0]: {"edge", "firm"}, PROPOSALS[1]: {"edge"}},
    "tasks": {"substrate.tasks.v1.TaskService": {"edge"}},
    "reads": {service: {"edge", "firm", "tasks"} for service in READS},
}


def tls(folder: Path, name: str) -> config.Tls:
    """Certificates of a program or client."""
    return config.Tls(str(folder / "ca.pem"), str(folder / f"{name}.pem"), str(folder / f"{name}.key"))


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One authority and a certificate for every program and client."""
    folder = tmp_path_factory.mktemp("pki")
    table = programs.load()
    pki.ensure(folder, tuple(p.name for p in table.programs), table.clients, datetime.now(UTC))
    return folder


async def reached(_request: Any, _call: Call) -> auth_service_pb2.AuthenticateResponse:
    """Stands for every method: to be here is to be admitted."""
    return auth_service_pb2.AuthenticateResponse()


async def told(_request: Any, _call: Call) -> AsyncIterator[auth_service_pb2.AuthenticateResponse]:
    """The same for a method that answers with a stream."""
    yield auth_service_pb2.AuthenticateResponse()


@pytest.fixture(params=["auth", "reads", "proposals", "tasks"])
async def server(request: pytest.FixtureRequest, certificates: Path, tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    """A program of that name with its services and caller list; yields name and address."""
    name = str(request.param)
    ready = tmp_path / "ready"
    program = GrpcProgram(config.Server("127.0.0.1:0", str(ready)), tls(certificates, name), callers.load(name))
    for service in ALLOWED[name]:
        methods = descriptor_pool.Default().FindServiceByName(service).methods
        program.add(service, {m.name: told if m.server_streaming else reached for m in methods}, None)

    async def well() -> None:
        return None

    serving = asyncio.create_task(program.serve(well))
    while not ready.exists():
        await asyncio.sleep(0)
    yield name, ready.read_text(encoding="utf-8")
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


def raw(link: grpc.aio.Channel, path: str) -> Any:
    """A method that takes and gives bytes."""
    return link.unary_unary(path)


async def outcome(address: str, to: str, who: config.Tls, path: str, request: bytes = b"") -> grpc.StatusCode:
    """Status of one raw call."""
    link = channel(address, to, who)
    try:
        await raw(link, path)(request, timeout=5)
    except grpc.aio.AioRpcError as error:
        return error.code()
    finally:
        await link.close()
    return grpc.StatusCode.OK


async def test_only_listed_certificates_reach_a_method(server: tuple[str, str], certificates: Path) -> None:
    name, address = server
    wrong = []
    for service, admitted in ALLOWED[name].items():
        for method in descriptor_pool.Default().FindServiceByName(service).methods:
            for who in CERTIFICATES:
                code = await outcome(address, name, tls(certificates, who), f"/{service}/{method.name}")
                # An empty request breaks argument rules; what counts is whether the caller got as far as that.
                if (code is not grpc.StatusCode.PERMISSION_DENIED) != (who in admitted):
                    wrong.append((method.full_name, who, code))
    assert wrong == []


async def test_a_caller_without_a_certificate_gets_no_connection(server: tuple[str, str], certificates: Path) -> None:
    name, address = server
    bare = grpc.ssl_channel_credentials((certificates / "ca.pem").read_bytes())
    async with grpc.aio.secure_channel(address, bare, options=[("grpc.ssl_target_name_override", f"{name}.substrate")]) as link:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await raw(link, "/grpc.health.v1.Health/Check")(b"", timeout=2)
    assert failed.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


async def test_plain_text_is_not_spoken(server: tuple[str, str]) -> None:
    async with grpc.aio.insecure_channel(server[1]) as link:
        with pytest.raises(grpc.aio.AioRpcError):
            await raw(link, "/grpc.health.v1.Health/Check")(b"", timeout=2)


async def test_a_certificate_of_another_authority_is_refused(server: tuple[str, str], certificates: Path, tmp_path: Path) -> None:
    name, address = server
    pki.ensure(tmp_path / "other", ("edge",), (), datetime.now(UTC))
    mixed = config.Tls(str(certificates / "ca.pem"), str(tmp_path / "other" / "edge.pem"), str(tmp_path / "other" / "edge.key"))
    assert await outcome(address, name, mixed, "/grpc.health.v1.Health/Check") is not grpc.StatusCode.OK


async def test_a_program_does_not_pass_for_another(server: tuple[str, str], certificates: Path) -> None:
    """A client that asks for one program is not served by the certificate of another at the same address."""
    _, address = server
    options = [("grpc.ssl_target_name_override", "edge.substrate")]
    async with grpc.aio.secure_channel(address, credentials(tls(certificates, "operator")), options=options) as link:
        with pytest.raises(grpc.aio.AioRpcError):
            await raw(link, "/grpc.health.v1.Health/Check")(b"", timeout=2)


async def test_health_answers_the_operator(server: tuple[str, str], certificates: Path) -> None:
    name, address = server
    request = health_pb2.HealthCheckRequest().SerializeToString()
    assert await outcome(address, name, tls(certificates, "operator"), "/grpc.health.v1.Health/Check", request) is grpc.StatusCode.OK


def test_a_service_that_is_not_listed_has_no_callers() -> None:
    assert not callers.allowed({}, "/a.B/C", [b"edge.substrate"])
    assert not callers.allowed({"a.*": frozenset({"edge.substrate"})}, "/a.b.C/D", [b"edge.substrate"])
    assert callers.allowed({"a.b.*": frozenset({"edge.substrate"})}, "/a.b.C/D", [b"edge.substrate"])
