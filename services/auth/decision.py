"""What auth answers, as pure functions of the decision row: words for people, reasons for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from substrate.auth.v1 import auth_service_pb2 as pb
from substrate.common.v1 import error_reason_pb2 as reasons

from kit.catalogue import Tool
from kit.db import Record
from kit.errors import INTERNAL_MESSAGE, UNAUTHENTICATED_MESSAGE

CLASSES = {"firm": pb.CREDENTIAL_CLASS_FIRM, "client_safe": pb.CREDENTIAL_CLASS_CLIENT_SAFE}


def credential_class(word: str) -> pb.CredentialClass.ValueType:
    """Class of a key; a word that is not known acts as client_safe."""
    return CLASSES.get(word, pb.CREDENTIAL_CLASS_CLIENT_SAFE)


def unauthenticated() -> pb.Denial:
    """One answer for every key that does not work, whatever the cause."""
    return pb.Denial(reason=reasons.ERROR_REASON_UNAUTHENTICATED, message=UNAUTHENTICATED_MESSAGE)


def malformed() -> pb.Denial:
    """The refusal of a question that a service put wrongly; its caller can do nothing about it."""
    return pb.Denial(reason=reasons.ERROR_REASON_INTERNAL, message=INTERNAL_MESSAGE)


def denial(tool: Tool, row: Record | Mapping[str, Any]) -> pb.Denial:
    """The refusal of a call that was not allowed."""
    outcome = row["outcome"]
    if outcome == "scope_missing":
        message = f"{tool.name or tool.title} needs the scope {tool.scope}, which this key does not have. Ask whoever issued the key."
        return pb.Denial(reason=reasons.ERROR_REASON_SCOPE_MISSING, message=message)
    if outcome == "class_refused":
        message = f"{tool.name or tool.title} is not available to keys of class client_safe."
        return pb.Denial(reason=reasons.ERROR_REASON_CLASS_REFUSED, message=message)
    if outcome == "rate_limited":
        limit, retry = row["limit_per_minute"], row["retry_after_seconds"]
        return pb.Denial(
            reason=reasons.ERROR_REASON_RATE_LIMITED,
            message=f"Rate limit reached: {limit} calls a minute in the {tool.rate_lane} lane. Try again in {retry} s.",
            limit_per_minute=limit,
            retry_after_seconds=retry,
        )
    if outcome == "matter_not_accessible":
        message = "Matter not found or not accessible with this key. list_matters names the matters it reaches."
        return pb.Denial(reason=reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE, message=message)
    return unauthenticated()


def principal(row: Record) -> pb.Principal:
    """Whose call it is and what it may reach."""
    return pb.Principal(
        key_id=str(row["key_id"]),
        owner_id=str(row["owner_id"]),
        credential_class=credential_class(row["credential_class"]),
        scopes=row["scopes"],
        case_ids=[str(c) for c in row["case_ids"]],
    )


def response(tool: Tool, row: Record) -> pb.AuthorizeResponse:
    """The answer to one call; anything but the word 'allowed' is a refusal."""
    if row["outcome"] == "allowed":
        return pb.AuthorizeResponse(principal=principal(row))
    return pb.AuthorizeResponse(denial=denial(tool, row))
