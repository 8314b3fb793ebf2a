"""Asks a program whether it serves: the gRPC health service over mutual TLS, or the readiness page of an HTTP program."""

import http.client
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from kit import limits
from ops.pki import Pair


def credentials(pki: Path, name: str) -> grpc.ChannelCredentials:
    """The credentials of one of our certificates."""
    pair = Pair.of(pki, name)
    return grpc.ssl_channel_credentials((pki / "ca.pem").read_bytes(), pair.key.read_bytes(), pair.cert.read_bytes())


def channel(address: str, program: str, pki: Path, caller: str = "operator") -> grpc.Channel:
    """A channel to a program under its own name, as the given caller."""
    options = [("grpc.ssl_target_name_override", f"{program}.substrate"), ("grpc.enable_retries", 0)]
    return grpc.secure_channel(address, credentials(pki, caller), options=options)


def serving(to: grpc.Channel, timeout: float = limits.HEALTH_PROBE_SECONDS) -> bool:
    """Whether the program behind the channel says SERVING; no answer is a no."""
    stub = health_pb2_grpc.HealthStub(to)
    try:
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=timeout)
    except grpc.RpcError:
        return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def grpc_serving(address: str, program: str, pki: Path) -> bool:
    """Whether the gRPC program at the address serves."""
    with channel(address, program, pki) as to:
        return serving(to)


def http_serving(listen: str, timeout: float = limits.HEALTH_PROBE_SECONDS) -> bool:
    """Whether the HTTP program at the address serves, and so do the programs behind it."""
    host, _, port = listen.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
