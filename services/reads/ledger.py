"""The firm's prediction ledger as the reads see it: its chain, and its grades without what tells one matter from another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from substrate.common.v1 import attestation_pb2 as common
from substrate.reads.v1 import accuracy_pb2 as pb

from kit import limits
from kit.db import Record
from services.reads.engines import calibration
from services.reads.engines.calibration import ChainVerdict, Graded, Link, Summary


def row_limit() -> dict[str, int]:
    """How many rows are asked for: one more than are used, to see whether there are more."""
    return {"row_limit": limits.LEDGER_ROWS_MAX + 1}


def is_truncated(rows: Sequence[Record]) -> bool:
    """Whether the ledger is longer than one read takes in."""
    return len(rows) > limits.LEDGER_ROWS_MAX


def verdict(rows: Sequence[Record]) -> ChainVerdict:
    """The verdict on the chain that was read."""
    kept = rows[: limits.LEDGER_ROWS_MAX]
    links = [Link(r["seq"], r["prev_hash"], r["row_hash"], r["recomputed"]) for r in kept]
    return calibration.verdict(links, truncated=is_truncated(rows))


def graded(rows: Sequence[Record]) -> list[Graded]:
    """Each prediction with what came of it."""
    outcomes = {r["prediction_seq"]: r["happened"] for r in rows if r["kind"] == "outcome"}
    return [Graded(r["matter"], r["probability"], outcomes.get(r["seq"])) for r in rows if r["kind"] == "prediction"]


def write_verdict(message: Any, found: ChainVerdict) -> None:
    """Writes a verdict into its message."""
    message.state, message.rows_checked = found.state, found.checked
    for name, value in (("broken_at", found.broken_at), ("reason", found.reason), ("head", found.head)):
        if value is not None:
            setattr(message, name, value)


def write_summary(message: Any, found: Summary) -> None:
    """Writes a summary into its message. Its bins name no rows: most of these are of other matters."""
    message.scored, message.matters = found.scored, found.matters
    message.brier, message.base_rate, message.reference = (f"{v:.6f}" for v in (found.brier, found.base_rate, found.reference))
    if found.skill is not None:
        message.skill = f"{found.skill:.6f}"
    for each in found.bins:
        message.bins.append(
            pb.CalibrationBin(
                lower=f"{each.lower:.6f}",
                upper=f"{each.upper:.6f}",
                count=each.count,
                mean_probability=f"{each.mean_probability:.6f}",
                share_happened=f"{each.share_happened:.6f}",
                verification_status=common.VERIFICATION_STATUS_UNKNOWN,
            )
        )
    message.bins_read_state, message.bins_count = common.READ_STATE_READ, len(found.bins)
