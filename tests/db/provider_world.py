"""An OpenID Connect provider over real HTTP that keeps the rules of the protocol, unless a test tells it to break one."""

from __future__ import annotations

import asyncio
import base64
import html
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from kit import listener

CLIENT, SECRET = "substrate-approvals", "a secret of the client"


@dataclass
class Asked:
    """One authorization request that somebody consented to."""

    nonce: str
    challenge: str
    redirect_uri: str
    claims: Mapping[str, Any]
    used: bool = False


@dataclass
class Provider:
    """What a test says of its people, and where it makes the provider lie."""

    issuer: str
    clock: Callable[[], datetime]
    keys: list[Any] = field(default_factory=lambda: [RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})])
    algorithm: str = "RS256"
    person: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)  # changes to what it says of itself
    claims: dict[str, Any] = field(default_factory=dict)  # changes to its ID tokens; None takes a claim out
    forge: Callable[[dict[str, Any]], str] | None = None  # makes the ID token instead of it
    answer: Response | None = None  # what its token endpoint says instead
    down: bool = False
    asks: bool = False  # whether it shows a page of its own before it sends somebody back
    requests: list[str] = field(default_factory=list)

    def described(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }

    async def discovery(self, request: Request) -> Response:
        return JSONResponse(self.described())

    async def jwks(self, request: Request) -> Response:
        return JSONResponse(KeySet(self.keys).as_dict(private=False))

    async def authorize(self, request: Request) -> Response:
        """Consents at once, and sends the browser back."""
        given = request.query_params
        if given.get("client_id") != CLIENT or given.get("response_type") != "code" or given.get("code_challenge_method") != "S256":
            return PlainTextResponse("refused", 400)
        if "openid" not in given["scope"].split():
            return PlainTextResponse("refused", 400)
        code = secrets.token_urlsafe(16)
        self.asked[code] = Asked(given["nonce"], given["code_challenge"], given["redirect_uri"], dict(self.person))
        back = {"code": code, "state": given["state"], "iss": self.issuer}
        if self.asks:
            address = html.escape(f"{given['redirect_uri']}?{urlencode(back)}")
            return HTMLResponse(f'<title>Provider</title><a href="{address}">Yes, it is me</a>')
        return RedirectResponse(f"{given['redirect_uri']}?{urlencode(back)}", 303)

    async def token(self, request: Request) -> Response:
        """Takes a code once, from the client that it was made for, with the verifier of its challenge."""
        if self.answer is not None:
            return self.answer
        given = {k: v[0] for k, v in parse_qs((await request.body()).decode()).items()}
        wanted = "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != wanted:
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.asked.get(given.get("code", ""))
        challenge = base64.urlsafe_b64encode(sha256(given.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        bad = asked is None or asked.used or asked.challenge != challenge or asked.redirect_uri != given.get("redirect_uri")
        if asked is None or bad or given.get("grant_type") != "authorization_code":
            return JSONResponse({"error": "invalid_grant"}, 400)
        asked.used = True
        return JSONResponse({"access_token": "opaque", "token_type": "Bearer", "id_token": self.id_token(asked)})

    def id_token(self, asked: Asked) -> str:
        now = int(self.clock().timestamp())
        made = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked.nonce, **asked.claims, **self.claims}
        made = {k: v for k, v in made.items() if v is not None}
        if self.forge is not None:
            return self.forge(made)
        key = self.keys[-1]
        return jwt.encode({"alg": self.algorithm, "kid": key.kid}, made, key, algorithms=[self.algorithm])

    def rotate(self) -> None:
        """New keys, of another kind; the old ones are gone."""
        self.keys, self.algorithm = [ECKey.generate_key("P-256", {"kid": "two", "use": "sig", "alg": "ES256"})], "ES256"

    async def leave(self, request: Request) -> Response:
        """Signs out at the provider."""
        return PlainTextResponse("Signed out at the provider")

    def app(self) -> Starlette:
        def guarded(handler: Any) -> Any:
            async def handle(request: Request) -> Response:
                self.requests.append(request.url.path)
                if self.down:
                    return PlainTextResponse("down", 503)
                found: Response = await handler(request)
                return found

            return handle

        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", guarded(self.discovery)),
                Route("/keys", guarded(self.jwks)),
                Route("/leave", guarded(self.leave)),
                Route("/authorize", guarded(self.authorize)),
                Route("/token", guarded(self.token), methods=["POST"]),
            ]
        )


@asynccontextmanager
async def provider(clock: Callable[[], datetime]) -> AsyncIterator[Provider]:
    """The provider, serving."""
    sock = listener.bind("127.0.0.1:0")
    made = Provider(f"http://{listener.address(sock)}", clock)
    server = uvicorn.Server(uvicorn.Config(made.app(), log_config=None, lifespan="off"))
    running = asyncio.create_task(server.serve([sock]))
    try:
        yield made
    finally:
        server.should_exit = True
        await running


def sent(url: str) -> dict[str, str]:
    """The parameters of an address."""
    return {k: v[0] for k, v in parse_qs(urlsplit(url).query).items()}
