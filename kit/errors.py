"""Refusals: what a caller may cause, with a reason a program can act on and a sentence a person can."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from substrate.common.v1 import error_reason_pb2

Reason = error_reason_pb2.ErrorReason
DOMAIN = "substrate"
DETAILS_KEY = "grpc-status-details-bin"

CODES: dict[int, grpc.StatusCode] = {
    error_reason_pb2.ERROR_REASON_UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    error_reason_pb2.ERROR_REASON_SCOPE_MISSING: grpc.StatusCode.PERMISSION_DENIED,
    error_reason_pb2.ERROR_REASON_CLASS_REFUSED: grpc.StatusCode.PERMISSION_DENIED,
    error_reason_pb2.ERROR_REASON_MATTER_NOT_ACCESSIBLE: grpc.StatusCode.NOT_FOUND,
    error_reason_pb2.ERROR_REASON_RATE_LIMITED: grpc.StatusCode.RESOURCE_EXHAUSTED,
    error_reason_pb2.ERROR_REASON_INVALID_ARGUMENT: grpc.StatusCode.INVALID_ARGUMENT,
    error_reason_pb2.ERROR_REASON_CALLER_REFUSED: grpc.StatusCode.PERMISSION_DENIED,
    error_reason_pb2.ERROR_REASON_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    error_reason_pb2.ERROR_REASON_INTERNAL: grpc.StatusCode.INTERNAL,
    error_reason_pb2.ERROR_REASON_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    error_reason_pb2.ERROR_REASON_CONFLICT: grpc.StatusCode.FAILED_PRECONDITION,
}

UNAUTHENTICATED_MESSAGE = "The API key is missing or not valid. Send it as 'Authorization: Bearer brk_…'."
UNAVAILABLE_MESSAGE = "The service could not be reached in time. Nothing was changed; try again shortly."
INTERNAL_MESSAGE = "Something failed inside the service. Nothing was changed."


@dataclass(frozen=True, slots=True)
class FieldError:
    """One wrong argument: its path in the request and what was expected there."""

    path: str
    expected: str


class Refusal(Exception):
    """A call that will not be carried out, and why."""

    def __init__(
        self,
        reason: Reason.ValueType,
        message: str,
        *,
        fields: Iterable[FieldError] = (),
        limit_per_minute: int | None = None,
        retry_after_seconds: int | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.fields = tuple(fields)
        self.limit_per_minute = limit_per_minute
        self.retry_after_seconds = retry_after_seconds

    @property
    def code(self) -> grpc.StatusCode:
        """The gRPC status that carries this refusal."""
        return CODES.get(self.reason, grpc.StatusCode.INTERNAL)

    @property
    def retryable(self) -> bool:
        """Whether the same call can succeed later without a change."""
        return self.reason in (error_reason_pb2.ERROR_REASON_UNAVAILABLE, error_reason_pb2.ERROR_REASON_RATE_LIMITED)


def unauthenticated() -> Refusal:
    """The one answer for a key that is missing, malformed, unknown, expired or revoked."""
    return Refusal(error_reason_pb2.ERROR_REASON_UNAUTHENTICATED, UNAUTHENTICATED_MESSAGE)


def unavailable(message: str = UNAVAILABLE_MESSAGE) -> Refusal:
    """Something that is needed does not answer."""
    return Refusal(error_reason_pb2.ERROR_REASON_UNAVAILABLE, message)


def internal(incident: str) -> Refusal:
    """A defect of ours: the caller gets an id to report and nothing else."""
    return Refusal(error_reason_pb2.ERROR_REASON_INTERNAL, f"{INTERNAL_MESSAGE} Report incident {incident}.")


def invalid(fields: Iterable[FieldError]) -> Refusal:
    """Arguments that break their declared rules."""
    listed = tuple(fields)
    said = "; ".join(f"{f.path}: {f.expected}" for f in listed)
    return Refusal(error_reason_pb2.ERROR_REASON_INVALID_ARGUMENT, f"Invalid arguments. {said}.", fields=listed)


def to_status(refusal: Refusal) -> status_pb2.Status:
    """The refusal as google.rpc.Status, with ErrorInfo always (AIP-193)."""
    status = status_pb2.Status(code=refusal.code.value[0], message=refusal.message)
    info = error_details_pb2.ErrorInfo(reason=Reason.Name(refusal.reason).removeprefix("ERROR_REASON_"), domain=DOMAIN)
    if refusal.limit_per_minute is not None:
        info.metadata["limit_per_minute"] = str(refusal.limit_per_minute)
    details: list[any_pb2.Any] = [any_pb2.Any()]
    details[0].Pack(info)
    if refusal.fields:
        bad = error_details_pb2.BadRequest()
        for field in refusal.fields:
            bad.field_violations.add(field=field.path, description=field.expected)
        details.append(any_pb2.Any())
        details[-1].Pack(bad)
    if refusal.retry_after_seconds is not None:
        details.append(any_pb2.Any())
        details[-1].Pack(error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=refusal.retry_after_seconds)))
    status.details.extend(details)
    return status


def from_status(status: status_pb2.Status) -> Refusal:
    """The refusal that `to_status` made."""
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    for detail in status.details:
        for target in (info, bad, retry):
            if detail.Is(target.DESCRIPTOR):
                detail.Unpack(target)
    name = f"ERROR_REASON_{info.reason}"
    known = dict(Reason.items())
    reason = known.get(name, error_reason_pb2.ERROR_REASON_INTERNAL)
    limit = info.metadata.get("limit_per_minute")
    return Refusal(
        reason,
        status.message,
        fields=[FieldError(v.field, v.description) for v in bad.field_violations],
        limit_per_minute=int(limit) if limit else None,
        retry_after_seconds=retry.retry_delay.seconds if retry.HasField("retry_delay") else None,
    )


def from_rpc_error(error: grpc.aio.AioRpcError) -> Refusal:
    """What a failed call to another program means for our caller; transport words never pass."""
    for key, value in error.trailing_metadata() or ():
        if key == DETAILS_KEY:
            return from_status(status_pb2.Status.FromString(value if isinstance(value, bytes) else value.encode("latin-1")))
    if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED):
        return unavailable()
    return Refusal(error_reason_pb2.ERROR_REASON_INTERNAL, INTERNAL_MESSAGE)
