"""What stands around every route: the headers of every answer, the refusals before any route, and words for what went wrong."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kit import db
from kit.errors import Refusal
from services.approvals.incoming import Problem, Site, check_host, check_no_key, not_found
from services.approvals.render import Renderer

log = logging.getLogger(__name__)
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode("ascii")),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
HTML = "text/html; charset=utf-8"
Endpoint = Callable[[Request], Awaitable[Response]]
UNAVAILABLE = Problem(503, "Not available now", "Something this page needs does not answer. Nothing was changed; try again shortly.")


def html(body: bytes, status: int = 200) -> Response:
    """A page."""
    return Response(body, status, media_type=HTML)


def json(tree: object, status: int = 200) -> Response:
    """A JSON answer."""
    return Response(orjson.dumps(tree), status, media_type="application/json")


def wants_json(path: str) -> bool:
    """Whether a path belongs to the JSON interface."""
    return path == "/approvals" or path.startswith("/approvals/")


class Shell:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, site: Site, renderer: Renderer) -> None:
        self._app, self._site, self._renderer = app, site, renderer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = [(n, v) for n, v in message.get("headers", ()) if n.lower() not in dict(HEADERS)]
                message["headers"] = [*given, *HEADERS]
            await send(message)

        try:
            check_no_key(scope["headers"], scope.get("raw_path", b"") + b"?" + scope["query_string"])
            check_host(self._site, scope["headers"])
        except Problem as problem:
            await problem_answer(self._renderer, scope["path"], problem)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)


def problem_answer(renderer: Renderer, path: str, problem: Problem) -> Response:
    """A refusal, as a page or as JSON."""
    if wants_json(path):
        return json({"error": {"status": problem.status, "title": problem.title, "message": problem.message}}, problem.status)
    return html(renderer.page("error.html", problem=problem, person=None), problem.status)


def guarded(endpoint: Endpoint, renderer: Renderer) -> Endpoint:
    """Runs an endpoint and turns whatever goes wrong into an answer that says no more than it should."""

    async def run(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Problem as problem:
            found = problem
        except Refusal:
            log.warning("another program refused or did not answer", exc_info=True)
            found = UNAVAILABLE
        except Exception as error:  # noqa: BLE001 - the outermost place of a request
            found = _failure(error)
        return problem_answer(renderer, request.url.path, found)

    return run


def _failure(error: Exception) -> Problem:
    """A store that is away, or a defect of ours with an id to report."""
    if db.why_unreadable(error) is not None:
        log.warning("the database did not answer", exc_info=error)
        return UNAVAILABLE
    incident = secrets.token_hex(4)
    log.error("unexpected", exc_info=error, extra={"incident": incident})
    return Problem(500, "Something failed", f"Something failed inside the service. Nothing was changed. Report incident {incident}.")


def no_route(renderer: Renderer) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The answer where no route fits, or not with this method."""

    async def answer(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        found = not_found()
        if error.status_code != HTTPStatus.NOT_FOUND:
            found = Problem(error.status_code, HTTPStatus(error.status_code).phrase, "This page does not take such a request.")
        response = problem_answer(renderer, request.url.path, found)
        response.headers.update({k: v for k, v in (error.headers or {}).items() if k.lower() == "allow"})
        return response

    return answer
