"""Every HTTP route of a program, with every method, and an API key in every place that a request has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import httpx
from starlette.routing import BaseRoute, Route

SERVED, FEW = ("GET", "POST"), 5
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


@dataclass(frozen=True)
class Try:
    """One request."""

    method: str
    path: str
    where: str
    headers: Mapping[str, str]
    query: str = ""
    body: bytes = b""

    def __str__(self) -> str:
        return f"{self.method} {self.path} with the key in {self.where}"


def paths(table: Iterable[BaseRoute], ids: Mapping[str, str]) -> list[str]:
    """The paths of a route table, with what stands in braces filled in; a kind of route that is not known here fails."""
    found = []
    for route in table:
        assert isinstance(route, Route), f"{route!r}: say here how such a route is tried"
        found.append(re.sub(r"\{(\w+)(?::\w+)?\}", lambda m: ids[m[1]], route.path))
    return sorted(set(found))


def carriers(key: str, cookie: str, fields: Mapping[str, str]) -> list[tuple[str, Mapping[str, str], str, bytes]]:
    """Every place for a key: what it is called, headers, query, body. `fields` stand beside it where there is a form or an object."""
    asks = {"decision": "approved", **fields}
    form = "&".join(f"{n}={quote(v)}" for n, v in asks.items()).encode()
    headers = {
        "Authorization": (f"Bearer {key}", f"bearer {key}", key, f"Basic {key}", f"Token {key}"),
        "X-Api-Key": (key,),
        "Cookie": (f"{cookie}={key}", f"__Host-session={key}", f"other={key}"),
        "Proxy-Authorization": (f"Bearer {key}",),
        "X-Auth-Token": (key,),
        "X-Forwarded-Authorization": (f"Bearer {key}",),
        "X-Forwarded-User": (key,),
        "Api-Key": (key,),
        "Mcp-Session-Id": (key,),
    }
    found: list[tuple[str, Mapping[str, str], str, bytes]] = []
    for name, values in headers.items():
        for value in values:
            found.append((f"{name}: {value.replace(key, '…')}", {name: value, "Content-Type": FORM}, "", form))
            found.append((f"{name}: {value.replace(key, '…')}, JSON", {name: value, "Content-Type": JSON}, "", json.dumps(asks).encode()))
    for name in ("api_key", "key", "token", "access_token", "session"):
        found.append((f"?{name}=", {"Content-Type": FORM}, f"{name}={key}", form))
        found.append((f"?{name}=, encoded", {"Content-Type": FORM}, f"{name}={key.replace('_', '%5f')}", form))
        found.append((f"the field {name}", {"Content-Type": FORM}, "", form + f"&{name}={key}".encode()))
        found.append((f"the member {name}", {"Content-Type": JSON}, "", json.dumps({**asks, name: key}).encode()))
    for name in ("form_token", "nonce"):
        found.append((f"the field {name}", {"Content-Type": FORM}, "", form + f"&{name}={key}".encode()))
        found.append((f"the member {name}", {"Content-Type": JSON}, "", json.dumps({**asks, name: key}).encode()))
    return found


def tries(found: Sequence[str], key: str, cookie: str, fields: Mapping[str, str]) -> Iterator[Try]:
    """The whole matrix: paths, methods, places. Methods that no route serves are tried with the places that are most likely looked at."""
    everywhere = carriers(key, cookie, fields)
    for path in found:
        for method in METHODS:
            for where, headers, query, body in everywhere if method in SERVED else everywhere[:: len(everywhere) // FEW]:
                yield Try(method, path, where, headers, query, b"" if method in ("GET", "HEAD", "OPTIONS") else body)


def opened(url: str, all_tries: Iterable[Try], harmless: frozenset[str], secret: str) -> tuple[int, list[str]]:
    """How many were tried, and which opened something: success on a path that is not harmless, or an answer that shows what waits."""
    count, found = 0, []
    with httpx.Client(base_url=url, timeout=30, headers={"Origin": url}) as client:
        for one in all_tries:
            count += 1
            target = one.path + (f"?{one.query}" if one.query else "")
            answer = client.request(one.method, target, headers=dict(one.headers), content=one.body)
            succeeded = answer.is_success and one.path not in harmless
            led_in = answer.is_redirect and not answer.headers["location"].startswith("/sign-in")
            if succeeded or led_in or secret in answer.text or "set-cookie" in answer.headers:
                found.append(f"{one}: {answer.status_code}")
    return count, found
