"""The routes: which path is open, which takes a form or JSON, and what every request of a person has to show first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from services.approvals import incoming, tokens
from services.approvals.api import Api
from services.approvals.firm import FirmEntrance
from services.approvals.identity import SignIn
from services.approvals.incoming import Form, Problem, Site, Visit
from services.approvals.oidc import Provider
from services.approvals.pages import Pages
from services.approvals.passkey_pages import PasskeyPages
from services.approvals.render import Renderer
from services.approvals.sessions import Sessions
from services.approvals.shell import Shell, guarded, html, no_route
from services.approvals.store import Store

STATIC = Path(__file__).parent / "static"
Takes = Literal["nothing", "form", "json"]
Lifespan = Callable[[Starlette], AbstractAsyncContextManager[None]]
WRONG = "The mail address or the password is wrong."
NO_PASSWORDS = Problem(403, "Passwords are turned off", "Nobody was signed in. Sign in with your firm's account.")


@dataclass(frozen=True, slots=True)
class Door:
    """A route for somebody who is signed in."""

    path: str
    handler: Callable[[Visit], Awaitable[Response]]
    takes: Takes = "nothing"
    page: bool = True


def doors(pages: Pages, keeping: PasskeyPages, api: Api) -> list[Door]:
    """Every route that needs a person."""
    return [
        Door("/", pages.today),
        Door("/batch", pages.batch, "form"),
        Door("/proposals/{id:uuid}", pages.proposal),
        Door("/proposals/{id:uuid}/check", pages.check, "form"),
        Door("/proposals/{id:uuid}/decide", pages.decide, "form"),
        Door("/proposals/{id:uuid}/retry", pages.retry, "form"),
        Door("/history", pages.history),
        Door("/handoff/{link:str}", pages.handoff),
        Door("/passkeys", keeping.all),
        Door("/passkeys/new", keeping.new, "form"),
        Door("/passkeys", keeping.add, "form"),
        Door("/passkeys/{id:uuid}/remove", keeping.remove, "form"),
        Door("/approvals", api.waiting, page=False),
        Door("/approvals/review-run", api.review_run, "json", page=False),
        Door("/approvals/{id:uuid}", api.one, page=False),
        Door("/approvals/{id:uuid}/decision", api.decide, "json", page=False),
    ]


class Entrance:
    """Signing in and out, and the check of every other request."""

    def __init__(
        self, site: Site, sessions: Sessions, sign_in: SignIn | None, renderer: Renderer, provider: Provider | None = None
    ) -> None:
        self._site, self._sessions, self._sign_in, self._renderer, self._provider = site, sessions, sign_in, renderer, provider

    def enter(self, door: Door) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint of a door: origin, session, form token, and only then its handler."""

        async def endpoint(request: Request) -> Response:
            token, bearer = incoming.presented(self._site, request)
            if door.takes != "nothing":
                incoming.check_origin(self._site, request.headers, bearer=bearer and not door.page)
            person = await self._sessions.person(token) if token and not (bearer and door.page) else None
            if token is None or person is None:
                return self._stranger(request, door)
            if door.takes == "json":
                return await door.handler(Visit(request, person, token, tree=await incoming.json_of(request)))
            form = await self._form(request, token) if door.takes == "form" else Form({})
            return await door.handler(Visit(request, person, token, form))

        return endpoint

    async def _form(self, request: Request, token: str) -> Form:
        form = await incoming.form_of(request)
        if not tokens.form_token_holds(token, request.url.path, form.one("form_token")):
            raise Problem(
                403, "This form is out of date", "The form was not made for you, or you have signed in anew. Nothing was changed."
            )
        return form

    @staticmethod
    def _stranger(request: Request, door: Door) -> Response:
        if door.page and door.takes == "nothing":
            return RedirectResponse(f"/sign-in?next={quote(incoming.safe_next(request.url.path))}", 303)
        raise Problem(401, "You are not signed in", "Your session is over, or there was none. Nothing was changed. Sign in and try again.")

    async def show(self, request: Request) -> Response:
        """The page to sign in on."""
        return self._page(incoming.safe_next(request.query_params.get("next", "/")))

    def _page(self, next_: str, status: int = 200, email: str = "", error: str | None = None) -> Response:
        ways = {"passwords": self._sign_in is not None, "provider": self._provider.name if self._provider else None}
        return html(self._renderer.page("sign_in.html", person=None, next=next_, email=email, error=error, **ways), status)

    async def sign_in(self, request: Request) -> Response:
        """Signs in. A session that the browser brings along is never taken over."""
        incoming.check_origin(self._site, request.headers, bearer=False)
        if self._sign_in is None:
            raise NO_PASSWORDS
        form = await incoming.form_of(request)
        next_, email = incoming.safe_next(form.one("next")), form.one("email").strip()
        answer = await self._sign_in.sign_in(email, form.one("password"))
        if answer.retry_after_seconds is not None:
            return self._page(next_, 429, email, f"Too many wrong tries. Try again in {answer.retry_after_seconds} seconds.")
        if answer.person is None:
            return self._page(next_, 422, email, WRONG)
        response = RedirectResponse(next_, 303)
        token = await self._sessions.begin(answer.person)
        response.set_cookie(self._site.cookie, token, path="/", secure=self._site.secure, httponly=True, samesite="strict")
        return response

    async def sign_out(self, visit: Visit) -> Response:
        """Signs out here, and leads to signing out at the provider where there is one: a form may not go to another site by itself."""
        await self._sessions.end(visit.token)
        elsewhere = await self._provider.way_out(self._site.origin + "/sign-in") if self._provider else None
        response: Response = RedirectResponse("/sign-in", 303)
        if self._provider and elsewhere:
            response = html(self._renderer.page("signed_out.html", person=None, provider=self._provider.name, elsewhere=elsewhere))
        response.delete_cookie(self._site.cookie, path="/", secure=self._site.secure, httponly=True, samesite="strict")
        return response


def _file(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    body = (STATIC / name).read_bytes()

    async def answer(_request: Request) -> Response:
        return Response(body, media_type=media_type)

    return answer


def _health(store: Store) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    async def alive(_request: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def ready(_request: Request) -> Response:
        await store.ready()
        return PlainTextResponse("ready\n")

    return {"/healthz": alive, "/readyz": ready}


def routes(
    entrance: Entrance, needing_a_person: Sequence[Door], store: Store, renderer: Renderer, firm: FirmEntrance | None = None
) -> list[Route]:
    """The route table. What is not in it does not exist."""
    opened = {
        **_health(store),
        "/static/style.css": _file("style.css", "text/css; charset=utf-8"),
        "/static/keys.js": _file("keys.js", "text/javascript; charset=utf-8"),
        "/static/passkey.js": _file("passkey.js", "text/javascript; charset=utf-8"),
        "/sign-in": entrance.show,
        **({"/sign-in/firm": firm.leave, "/sign-in/return": firm.come_back} if firm else {}),
    }
    table = [Route(path, guarded(endpoint, renderer), methods=["GET"]) for path, endpoint in opened.items()]
    table.append(Route("/sign-in", guarded(entrance.sign_in, renderer), methods=["POST"]))
    for door in (*needing_a_person, Door("/sign-out", entrance.sign_out, "form")):
        method = "GET" if door.takes == "nothing" else "POST"
        table.append(Route(door.path, guarded(entrance.enter(door), renderer), methods=[method]))
    return table


def build(site: Site, table: list[Route], renderer: Renderer, lifespan: Lifespan) -> ASGIApp:
    """The application."""
    app = Starlette(routes=table, exception_handlers={HTTPException: no_route(renderer)}, lifespan=lifespan)
    app.router.redirect_slashes = False
    return Shell(app, site, renderer)
