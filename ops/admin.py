"""Calls AuthAdminService with the operator's certificate."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
from google.rpc import status_pb2
from substrate.auth.v1 import auth_admin_service_pb2_grpc

from kit import limits
from ops import connect, probe
from ops.cli import OperatorError
from ops.layout import DataDir

Stub = auth_admin_service_pb2_grpc.AuthAdminServiceStub


@contextlib.contextmanager
def connected(address: str, pki: Path) -> Iterator[Any]:
    """The service at an address; a failed call becomes an OperatorError."""
    with probe.channel(address, "auth", pki) as to:
        try:
            yield Stub(to)
        except grpc.RpcError as error:
            raise OperatorError(_words(error)) from None


@contextlib.contextmanager
def of_stack(data: DataDir) -> Iterator[Any]:
    """The service of a running stack."""
    with connected(connect.read(data)["grpc"]["auth"], data.pki) as stub:
        yield stub


def call(method: Callable[..., Any], request: object) -> Any:
    """One call with a deadline."""
    return method(request, timeout=limits.OPERATOR_CALL_SECONDS)


def _words(error: grpc.RpcError) -> str:
    code, details = error.code(), error.details() or ""
    if code is grpc.StatusCode.UNAVAILABLE:
        return "auth does not answer; is the stack running? Start it with ./run up."
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return f"auth did not answer within {limits.OPERATOR_CALL_SECONDS:g} s."
    trailing: Any = error.trailing_metadata() or ()
    for name, value in trailing:
        if name == "grpc-status-details-bin":
            fields = _field_errors(status_pb2.Status.FromString(value))
            details += "".join(f"\n  {field}: {why}" for field, why in fields)
    return str(details or code.name.lower())


def _field_errors(status: Any) -> Iterator[tuple[str, str]]:
    from google.rpc import error_details_pb2

    for detail in status.details:
        bad = error_details_pb2.BadRequest()
        if detail.Unpack(bad):
            yield from ((v.field, v.description) for v in bad.field_violations)
