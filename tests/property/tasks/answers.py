"""What tools say when a rule lets them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from substrate.common.v1 import attestation_pb2 as common
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.reads.v1 import graph_pb2
from substrate.tools.v1 import exchange_pb2

from kit.errors import Refusal, internal, unavailable
from tests.property.tasks.model import QUESTIONS, READS, TELLS, Ongoing


def text(words: str, **more: Any) -> exchange_pb2.Content:
    return exchange_pb2.Content(blocks=[exchange_pb2.Block(text=exchange_pb2.TextBlock(text=words))], **more)


def label(call: Ongoing) -> str:
    """What only this call answers with."""
    return f"{call.task.id} under {call.fence}"


def said(call: Ongoing, way: str) -> Any:
    """What the tool says."""
    if way == "away":
        return unavailable()
    if way == "breaks":
        return internal("00000000")
    if call.task.kind is READS:
        answer = graph_pb2.FindEntityPathsResponse(read_state=common.READ_STATE_READ, count=1)
        answer.paths.add(entity_names=[label(call)])
        answer.attestation.CopyFrom(common.Attestation(schema_version="1.0", provenance_id_count=0))
        answer.attestation.generated_at.FromDatetime(datetime(2026, 7, 26, tzinfo=UTC))
        return Refusal(reasons.ERROR_REASON_NOT_FOUND, label(call)) if way == "fails" else answer
    questions = [exchange_pb2.Question(key=key, method="roots/list") for key in sorted(QUESTIONS)]
    asking = exchange_pb2.Content(asking=exchange_pb2.Asking(questions=questions, state=b"asked"))
    content = asking if way == "asks" else text(label(call), is_error=way == "fails")
    return exchange_pb2.Event(content=content) if call.task.kind is TELLS else content
