"""get_validation_runs: the statement counts, and the intervals around the counts take more than SQL has."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from substrate.reads.v1 import validation_pb2 as pb

from kit.catalogue import Tool
from kit.server import Call
from services.reads.custom import Stores
from services.reads.engine import Engine
from services.reads.engines import statistics
from services.reads.engines.statistics import Interval

EXACT = "A recall derived from elusion takes the number of responsive documents found as exact."


def six(value: float) -> str:
    """A fraction as a decimal of six places."""
    return f"{value:.6f}"


def fill(share: Any, found: int, of: int, confidence: float) -> None:
    """Writes a share with its intervals; of nothing there is none."""
    estimate = statistics.estimate(found, of, confidence)
    if estimate is None:
        return
    share.found, share.of, share.point = found, of, six(estimate.point)
    for name, interval in (("exact", estimate.exact), ("wilson", estimate.wilson), ("jeffreys", estimate.jeffreys)):
        setattr(share, f"{name}_lower", six(interval.lower))
        setattr(share, f"{name}_upper", six(interval.upper))


def _control_set(run: Any, confidence: float) -> None:
    fill(run.prevalence, run.responsive_count, run.coded_count, confidence)
    if run.responsive_count:
        fill(run.recall, run.retrieved_responsive_count, run.responsive_count, confidence)
    if run.retrieved_count:
        fill(run.precision, run.retrieved_responsive_count, run.retrieved_count, confidence)


def _elusion(run: Any, confidence: float) -> None:
    fill(run.elusion, run.responsive_count, run.coded_count, confidence)
    if not run.HasField("derived_recall"):
        return
    derived = run.derived_recall
    rate = run.responsive_count / run.coded_count
    bounds = statistics.exact(run.responsive_count, run.coded_count, confidence)
    point = statistics.recall_from_elusion(derived.responsive_found, derived.null_set_size, Interval(rate, rate))
    range_ = statistics.recall_from_elusion(derived.responsive_found, derived.null_set_size, bounds)
    derived.point, derived.lower, derived.upper = six(point.lower), six(range_.lower), six(range_.upper)


async def answer(tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """The runs as they were counted, with the intervals around the counts."""
    response = await engine.answer(stores.reads[tool.name], request, call)
    assert isinstance(response, pb.GetValidationRunsResponse)
    for run in response.runs:
        if run.coded_count:
            {"control_set": _control_set, "elusion": _elusion}[run.kind](run, float(run.confidence))
            if run.HasField("derived_recall") and EXACT not in response.attestation.verification.notes:
                response.attestation.verification.notes.append(EXACT)
    return response
