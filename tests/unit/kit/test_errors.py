"""Refusals keep their meaning across a gRPC hop and lose everything internal."""

from __future__ import annotations

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata
from substrate.common.v1 import error_reason_pb2 as reasons

from kit import errors
from kit.errors import FieldError, Refusal


def test_every_reason_has_a_grpc_code() -> None:
    sent = set(reasons.ErrorReason.values()) - {reasons.ERROR_REASON_UNSPECIFIED}
    assert sent == set(errors.CODES)


def test_a_refusal_reads_back_as_it_was() -> None:
    refusal = Refusal(
        reasons.ERROR_REASON_RATE_LIMITED,
        "Slow down.",
        fields=[FieldError("a.b", "expected less")],
        limit_per_minute=120,
        retry_after_seconds=7,
    )
    again = errors.from_status(errors.to_status(refusal))
    kept = ("reason", "message", "fields", "limit_per_minute", "retry_after_seconds", "code", "retryable")
    assert [getattr(again, k) for k in kept] == [getattr(refusal, k) for k in kept]


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED])
def test_a_peer_that_does_not_answer_is_unavailable_without_transport_words(code: grpc.StatusCode) -> None:
    failed = AioRpcError(code, Metadata(), Metadata(), details="ipv4:10.0.0.1:443: Connection refused")
    refusal = errors.from_rpc_error(failed)
    assert (refusal.reason, refusal.message) == (reasons.ERROR_REASON_UNAVAILABLE, errors.UNAVAILABLE_MESSAGE)


def test_an_unexpected_failure_of_a_peer_says_nothing_of_itself() -> None:
    failed = AioRpcError(grpc.StatusCode.UNKNOWN, Metadata(), Metadata(), details="Traceback: SELECT * FROM secret")
    assert "SELECT" not in errors.from_rpc_error(failed).message
