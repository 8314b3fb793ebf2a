"""The page that a link opens: it knows nothing of the link but its form, and leads to the program where people sign in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from edge.handoff import id_of

_HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}
_KEY_HEADERS = ("authorization", "x-api-key")


def approve(approvals_url: str) -> Callable[[Request], Awaitable[Response]]:
    """The handler that sends a browser on to the approvals program."""
    base = f"{approvals_url.rstrip('/')}/handoff/"

    async def page(request: Request) -> Response:
        if any(name in request.headers for name in _KEY_HEADERS):
            return PlainTextResponse("A key opens nothing here. Open the link in a browser.\n", 403, _HEADERS)
        id_ = id_of(request.scope["query_string"])
        if id_ is None:
            return PlainTextResponse("This is not a link of this server.\n", 400, _HEADERS)
        return Response(status_code=303, headers=_HEADERS | {"location": base + id_})

    return page
