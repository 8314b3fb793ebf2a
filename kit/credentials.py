"""The form of an API key, and how a caller presents one. All of this is decided before any store is asked."""

from __future__ import annotations

import hmac
import re
import secrets
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import unquote

from kit import limits
from kit.errors import Refusal, unauthenticated

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ENVIRONMENTS = ("live", "test")
ID_CHARS, SECRET_CHARS, CHECKSUM_CHARS = 8, 32, 6
_FORM = re.compile(r"brk_(live|test)_([0-9A-Za-z]{8})([0-9A-Za-z]{32})([0-9A-Za-z]{6})")
PASS_PREFIX = "brp_"  # noqa: S105 - what a pass begins with, no pass
_PASS_FORM = re.compile(r"brp_[0-9A-Za-z_\-]{112}")
_IN_URL = re.compile(r"br[kp]_|(?:^|[&?;])(?:api[-_]?key|access[-_]?token|authorization|key)=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key whose checksum holds. Nothing is known yet of whether it exists."""

    environment: str
    public_id: str
    secret: str
    text: str

    def __repr__(self) -> str:
        return f"ApiKey({self.environment}, {self.public_id})"


@dataclass(frozen=True, slots=True)
class Pass:
    """What a worker shows in place of the key that it acts for. Only auth can say whether it is good."""

    text: str

    def __repr__(self) -> str:
        return "Pass()"


def checksum(body: str) -> str:
    """Six base62 characters of CRC-32: a typo is caught here, without a look-up."""
    number, out = zlib.crc32(body.encode("ascii")), ""
    for _ in range(CHECKSUM_CHARS):
        number, digit = divmod(number, 62)
        out = ALPHABET[digit] + out
    return out


def mint(environment: str, choose: Callable[[str], str] = secrets.choice) -> ApiKey:
    """Makes a key: 8 characters that name it, 32 (190 bits) that are secret, 6 that catch typos."""
    public_id = "".join(choose(ALPHABET) for _ in range(ID_CHARS))
    secret = "".join(choose(ALPHABET) for _ in range(SECRET_CHARS))
    body = f"brk_{environment}_{public_id}{secret}"
    return ApiKey(environment, public_id, secret, body + checksum(body))


def parse(text: str) -> ApiKey:
    """Reads a key, or refuses it when its form or checksum is wrong."""
    found = _FORM.fullmatch(text) if len(text) <= limits.API_KEY_MAX_CHARS else None
    if found is None or not hmac.compare_digest(checksum(text[:-CHECKSUM_CHARS]), found[4]):
        raise unauthenticated()
    return ApiKey(found[1], found[2], found[3], text)


def keyed_hash(pepper: bytes, key: ApiKey) -> bytes:
    """What is stored of a key: without the pepper it cannot be tested against a guess."""
    return hmac.digest(pepper, f"{key.environment}:{key.public_id}:{key.secret}".encode("ascii"), sha256)


def _offered(name: str, value: str) -> str:
    """The key in one header, or a refusal when the header is of another form."""
    if name == "x-api-key":
        return value.strip()
    scheme, _, credentials = value.strip().partition(" ")
    if scheme.lower() != "bearer":
        raise unauthenticated()
    return credentials.strip()


def _holds_key(query: str) -> bool:
    """Whether a key is in a query, encoded or not: whoever logs or reads the URL decodes it."""
    for _ in range(limits.URL_DECODINGS_MAX + 1):
        if _IN_URL.search(query):
            return True
        encoded, query = query, unquote(query)
        if query == encoded:
            return False
    return True


def present(headers: Iterable[tuple[str, str]], query: str = "") -> ApiKey:
    """The one key of a request; two that differ, a key in the URL or a typo are refused."""
    if query and _holds_key(query):
        raise unauthenticated()
    return parse(_one(headers))


def present_between_programs(headers: Iterable[tuple[str, str]], *, may_pass: bool) -> ApiKey | Pass:
    """The same between programs, where one that may acts for a key with a pass in its place."""
    text = _one(headers)
    if may_pass and _PASS_FORM.fullmatch(text):
        return Pass(text)
    return parse(text)


def _one(headers: Iterable[tuple[str, str]]) -> str:
    offered = {_offered(name.lower(), value) for name, value in headers if name.lower() in ("authorization", "x-api-key")}
    if len(offered) != 1:
        raise unauthenticated()
    return offered.pop()


__all__ = ["PASS_PREFIX", "ApiKey", "Pass", "Refusal", "checksum", "keyed_hash", "mint", "parse", "present", "present_between_programs"]
