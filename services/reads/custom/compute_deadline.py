"""compute_deadline: arithmetic with dates, which an engine does; the statement only finds the day it starts from."""

from __future__ import annotations

from datetime import date, time
from typing import Any

from google.protobuf.message import Message
from substrate.reads.v1 import deadline_arithmetic_pb2 as pb

from kit.attestation import Item, status_from_word
from kit.catalogue import Tool
from kit.errors import FieldError, invalid
from kit.server import Call
from services.reads.custom import Stores
from services.reads.engine import Engine
from services.reads.engines import court_days, deadlines
from services.reads.engines.deadlines import Answer, CannotCompute, Question

NO_TRIGGER = "The matter has no docket entry or fact of this number, or it cannot be seen."
NO_DAY = "The trigger that was named has no day, so nothing can be counted from it."
NOT_APPLIED = (
    "Not applied: orders and local rules; Rule 6(a)(3), a clerk's office that cannot be reached; "
    "and holidays of the state, but for those in state_holidays."
)
TABLES = "The tables of rules and holidays were not compared with an official copy; a lawyer must confirm the date."


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise invalid([FieldError(field, "expected days that the calendar has, as YYYY-MM-DD")]) from None


def _question(request: Any, trigger: date) -> tuple[Question, str]:
    """What is asked, and the period in words."""
    amount, backward, cite = request.amount, request.backward, ""
    unit = request.unit or "days"
    if request.rule:
        period = court_days.period_on(request.rule, trigger)
        if period is None:
            raise invalid(
                [FieldError("rule", f"expected a rule that was in force on {trigger}; give amount and unit for a period of that time")]
            )
        amount, backward, unit, cite = period.days, period.backward, "days", f" ({period.cite})"
    at = time.fromisoformat(request.trigger_time) if request.trigger_time else None
    holidays = tuple(_day(h, "state_holidays") for h in request.state_holidays)
    words = f"{amount} {unit}{' before' if backward else ''}{cite}"
    return Question(trigger, amount, unit, backward, request.service or "none", at, holidays), words


def _fill(message: Any, question: Question, words: str, found: Answer) -> None:
    message.due_date, message.trigger_date, message.period = found.due.isoformat(), question.trigger.isoformat(), words
    if found.due_time is not None:
        message.due_time = f"{found.due_time:%H:%M}"
    message.rule_version, message.rule_citation, message.table_as_of = found.version.id, found.version.cite, court_days.TABLE_AS_OF
    message.steps.extend(found.steps)
    message.holidays.extend(f"{day} {name}" for day, name in sorted(found.holidays.items()))


async def answer(tool: Tool, engine: Engine, stores: Stores, request: Any, call: Call) -> Message:
    """The last day of a period, with its steps."""
    del engine
    reading, response = stores.readings[tool.name], pb.ComputeDeadlineResponse()
    given = _day(request.trigger_date, "trigger_date") if request.trigger_date else None
    found = await reading.find(request, call)
    if found.unreadable is not None or not found.rows:
        return reading.attest(response, request, [], found, [NO_TRIGGER] if found.unreadable is None else [])
    row = found.rows[0]
    trigger = given or row["day"]
    if trigger is None:
        return reading.attest(response, request, [], found, [NO_DAY])
    question, words = _question(request, trigger)
    try:
        computed = deadlines.compute(question)
    except CannotCompute as why:
        raise invalid([FieldError("request", f"expected a period that can be computed: {why}")]) from None
    _fill(response.deadline, question, words, computed)
    response.deadline.verification_status = status_from_word(row["status"])
    response.deadline.provenance_ids.extend(row["provenance_ids"])
    if row["citation"]:
        response.deadline.trigger_citation = row["citation"]
    disregarded = f"ECF No. {row['corrected_by']} says to disregard the trigger." if row["corrected_by"] is not None else None
    notes = [n for n in (row["note"], disregarded, *computed.notes, NOT_APPLIED, TABLES) if n]
    return reading.attest(response, request, [Item(response.deadline, row["as_of"])], found, notes)
