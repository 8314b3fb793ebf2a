"""What comes in over HTTP, checked before any handler sees it: host, keys, origin, size, form and session."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from starlette.requests import ClientDisconnect, Request

from kit import json_gate, limits
from services.approvals import tokens
from services.approvals.proposal import Person

FORM_TYPE, JSON_TYPE = "application/x-www-form-urlencoded", "application/json"
_KEY = re.compile(rb"(?:^|[ =/?&;,:\"])brk_|brk_(?:live|test)_", re.IGNORECASE)
_CARRIERS = frozenset({b"authorization", b"proxy-authorization", b"cookie"})
NEXT = re.compile(r"/(?:|history|handoff/[A-Za-z0-9_-]{1,64}|proposals/[0-9a-f-]{36})")


class Problem(Exception):
    """A request that ends here, in words for whoever sent it."""

    def __init__(self, status: int, title: str, message: str) -> None:
        super().__init__(title)
        self.status, self.title, self.message = status, title, message


def not_found() -> Problem:
    """The one answer for what is absent, somebody else's, or in a matter that this person may not act in."""
    return Problem(404, "Page not found", "There is nothing here for you. It may have been decided, withdrawn, or moved out of your reach.")


def bad_request(message: str) -> Problem:
    """A request that no page of ours makes."""
    return Problem(400, "The request could not be read", message)


@dataclass(frozen=True, slots=True)
class Site:
    """Where this program is reached."""

    origin: str
    hosts: frozenset[str]

    @classmethod
    def of(cls, public_url: str, hosts: Iterable[str]) -> Site:
        """From the configuration; the public host is always one of ours."""
        parts = urlsplit(public_url)
        return cls(f"{parts.scheme}://{parts.netloc}", frozenset(h.lower() for h in hosts) | {_bare(parts.netloc)})

    @property
    def secure(self) -> bool:
        """Whether browsers reach it over HTTPS."""
        return self.origin.startswith("https://")

    @property
    def cookie(self) -> str:
        """Name of the session cookie. The prefix makes browsers refuse one that another host or a plain connection set."""
        return "__Host-session" if self.secure else "substrate_session"


def _bare(host: str) -> str:
    """A host without its port."""
    return re.sub(r":[0-9]*$", "", host).lower()


def check_host(site: Site, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Refuses a request for another host: a name that somebody pointed at this machine opens nothing."""
    named = [value.decode("latin-1") for name, value in headers if name == b"host"]
    if len(named) != 1 or _bare(named[0]) not in site.hosts:
        raise Problem(421, "Not served here", "This address is not served here.")


def check_no_key(headers: Iterable[tuple[bytes, bytes]], target: bytes) -> None:
    """Refuses whatever carries an API key, on every route and before anything else: a key is for agents, and agents decide nothing."""
    for name, value in headers:
        if name == b"x-api-key" or (name in _CARRIERS and _KEY.search(value)):
            raise _key_refused()
    if _KEY.search(unquote_to_bytes(target)):
        raise _key_refused()


def _key_refused() -> Problem:
    return Problem(
        401, "An API key opens nothing here", "Only a person who has signed in can see or decide what waits. API keys are refused."
    )


def check_origin(site: Site, headers: Mapping[str, str], *, bearer: bool) -> None:
    """Refuses a change that another site's page sends. Our pages send `null`, telling nobody where they are; the browser vouches."""
    origin, fetched = headers.get("origin"), headers.get("sec-fetch-site")
    if origin == site.origin and fetched in (None, "same-origin"):
        return
    if origin in (None, "null") and fetched == "same-origin":
        return
    if bearer and origin is None and fetched is None:  # no browser, and nothing that a browser would add by itself
        return
    raise Problem(403, "Sent from another site", "This change was not sent from a page of ours, so it was not made.")


async def body_of(request: Request) -> bytes:
    """The body, within its limit. One that arrives too slowly is ended by the listener."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limits.PERSON_BODY_MAX_BYTES:
                raise Problem(413, "Too much was sent", f"Send at most {limits.PERSON_BODY_MAX_BYTES} bytes.")
    except ClientDisconnect:
        raise bad_request("It ended before it was whole.") from None
    return bytes(body)


def _media(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Form:
    """What a form holds."""

    fields: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """A field that is given at most once."""
        values = self.fields.get(name, ())
        if len(values) > 1:
            raise bad_request(f"The field {name} is given more than once.")
        return values[0] if values else ""

    def all(self, name: str) -> tuple[str, ...]:
        """Every value of a field."""
        return self.fields.get(name, ())


async def form_of(request: Request) -> Form:
    """The form of a request."""
    if _media(request) != FORM_TYPE:
        raise Problem(415, "Not a form", f"Send {FORM_TYPE}.")
    try:
        text = (await body_of(request)).decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=limits.PERSON_FIELDS_MAX)
    except ValueError:
        raise bad_request("The form could not be read.") from None
    fields: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        if "\0" in value:
            raise bad_request("A field holds the character NUL.")
        fields[name] = (*fields.get(name, ()), value.replace("\r\n", "\n"))
    return Form(fields)


async def json_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request, through the same gate as an agent's."""
    if _media(request) != JSON_TYPE:
        raise Problem(415, "Not JSON", f"Send {JSON_TYPE}.")
    try:
        tree = json_gate.parse(await body_of(request))
    except json_gate.Rejected as rejected:
        raise bad_request(rejected.message) from None
    if not isinstance(tree, dict):
        raise bad_request("Send a JSON object.")
    return tree


def presented(site: Site, request: Request) -> tuple[str | None, bool]:
    """The session token of a request, and whether it came as a bearer token."""
    given = request.headers.getlist("authorization")
    if given:
        scheme, _, token = given[0].partition(" ")
        right = len(given) == 1 and scheme.lower() == "bearer" and tokens.well_formed(token.strip())
        return (token.strip() if right else None), True
    token = request.cookies.get(site.cookie, "")
    return (token if tokens.well_formed(token) else None), False


def safe_next(text: str) -> str:
    """Where to go after signing in: one of our own pages, whatever was asked for."""
    return text if NEXT.fullmatch(text) else "/"


def id_of(text: Any) -> uuid.UUID:
    """An id as it travels."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
        raise bad_request("An id is not a row id.")
    return uuid.UUID(text)


def digest_of(text: Any) -> bytes:
    """A digest as it travels; anything else is a digest of nothing."""
    return bytes.fromhex(text) if isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) else b""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of somebody who is signed in, as of this request, with what they sent."""

    request: Request
    person: Person
    token: str
    form: Form = Form({})
    tree: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> uuid.UUID:
        """The id in the path."""
        found: uuid.UUID = self.request.path_params["id"]
        return found
