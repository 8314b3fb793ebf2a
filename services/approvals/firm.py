"""Signing in through the firm's identity provider: leaving for it, and coming back from it to the browser that left."""

from __future__ import annotations

import hmac
import json
import logging
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kit import limits
from kit.clock import Clock
from services.approvals import incoming, tokens
from services.approvals.identity import Directory
from services.approvals.incoming import Problem, Site
from services.approvals.oidc import NotVouchedError, Provider
from services.approvals.render import Renderer
from services.approvals.sessions import Sessions
from services.approvals.shell import html
from services.approvals.wire import ProviderDownError

log = logging.getLogger(__name__)
SEAL_NONCE_BYTES = 12
CODE_MAX_CHARS = 4_096
START_AGAIN = Problem(
    403,
    "This sign-in is over",
    "It was not begun in this browser, was used before, or took too long. Nobody was signed in. Go to Today and sign in again.",
)
NOT_SIGNED_IN = Problem(403, "You are not signed in", "Your firm's sign-in did not let you in. Go to Today to try again.")
NOT_KNOWN = Problem(
    403,
    "You are not known here",
    "Your firm's sign-in knows you, but no person here belongs to that account. Ask whoever runs this system to add you.",
)
DOWN = Problem(503, "Your firm's sign-in does not answer", "Nobody was signed in and nothing was changed. Try again shortly.")


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a browser keeps, sealed, while its person is at the provider."""

    state: str
    nonce: str
    verifier: str
    next: str
    until: float


class LeavingSeal:
    """Keeps it unreadable and unchangeable for the browser; every instance of the program has the key."""

    def __init__(self, secret: str) -> None:
        self._aead = AESGCM(sha256(b"substrate/sign-in/1:" + secret.encode("utf-8")).digest())

    def close(self, leaving: Leaving, nonce: bytes) -> str:
        """The sealed text."""
        return urlsafe_b64encode(nonce + self._aead.encrypt(nonce, json.dumps(asdict(leaving)).encode("ascii"), None)).decode("ascii")

    def open(self, text: str) -> Leaving | None:
        """What was sealed, or None where somebody else made it."""
        try:
            raw = urlsafe_b64decode(text)
            return Leaving(**json.loads(self._aead.decrypt(raw[:SEAL_NONCE_BYTES], raw[SEAL_NONCE_BYTES:], None)))
        except (InvalidTag, ValueError):
            return None


class FirmEntrance:
    """The two routes. Anybody may ask for them; only whom the provider and the directory both know gets a session."""

    def __init__(
        self,
        site: Site,
        provider: Provider,
        seal: LeavingSeal,
        sessions: Sessions,
        directory: Directory,
        renderer: Renderer,
        clock: Clock,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._site, self._provider, self._seal, self._sessions = site, provider, seal, sessions
        self._directory, self._renderer, self._clock, self._random = directory, renderer, clock, random

    @property
    def _cookie(self) -> str:
        return "__Host-sign-in" if self._site.secure else "substrate_sign_in"

    async def leave(self, request: Request) -> Response:
        """Sends a person to the provider."""
        state, nonce, verifier = (tokens.nonce(self._random) for _ in range(3))
        until = self._clock() + timedelta(seconds=limits.SIGN_IN_OPEN_SECONDS)
        leaving = Leaving(state, nonce, verifier, incoming.safe_next(request.query_params.get("next", "/")), until.timestamp())
        try:
            response = RedirectResponse(await self._provider.address(state, nonce, verifier), 303)
        except ProviderDownError as error:
            log.warning("the identity provider is not usable", exc_info=error)
            raise DOWN from None
        sealed = self._seal.close(leaving, self._random(SEAL_NONCE_BYTES))
        # Lax: the way back begins at the provider, which is another site.
        response.set_cookie(
            self._cookie, sealed, int(limits.SIGN_IN_OPEN_SECONDS), path="/", secure=self._site.secure, httponly=True, samesite="lax"
        )
        return response

    async def come_back(self, request: Request) -> Response:
        """Signs in whoever the provider vouches for, in the browser that left for it, once."""
        leaving = await self._left(request)
        code = self._one(request, "code")
        if self._one(request, "error") is not None or not code:
            raise NOT_SIGNED_IN
        try:
            somebody = await self._provider.vouch(code, leaving.nonce, leaving.verifier, self._one(request, "iss"))
        except ProviderDownError as error:
            log.warning("the identity provider is not usable", exc_info=error)
            raise DOWN from None
        except NotVouchedError as error:
            log.warning("a sign-in through the identity provider was refused", exc_info=error)
            raise NOT_SIGNED_IN from None
        person = await self._directory.vouched(somebody.issuer, somebody.subject, somebody.email)
        if person is None:
            log.warning("the identity provider vouches for somebody who is not known here")
            raise NOT_KNOWN
        token = await self._sessions.begin(person)
        # A page of ours leads on, not a redirect: the session's cookie is not sent with what another site began.
        response = html(self._renderer.page("signed_in.html", person=None, next=leaving.next))
        response.set_cookie(self._site.cookie, token, path="/", secure=self._site.secure, httponly=True, samesite="strict")
        response.delete_cookie(self._cookie, path="/", secure=self._site.secure, httponly=True, samesite="lax")
        return response

    async def _left(self, request: Request) -> Leaving:
        """The sign-in that this answer belongs to; used up from here on, whatever comes of it."""
        leaving = self._seal.open(request.cookies.get(self._cookie, ""))
        state = self._one(request, "state") or ""
        if leaving is None or not hmac.compare_digest(leaving.state.encode(), state.encode()):
            raise START_AGAIN
        if leaving.until <= self._clock().timestamp() or not await self._sessions.use_leave(state):
            raise START_AGAIN
        return leaving

    @staticmethod
    def _one(request: Request, name: str) -> str | None:
        values = request.query_params.getlist(name)
        if len(values) > 1 or any(len(v) > CODE_MAX_CHARS or "\0" in v for v in values):
            raise START_AGAIN
        return values[0] if values else None
