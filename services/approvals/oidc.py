"""The firm's identity provider over OpenID Connect: where people are sent, and what the code that they come back with proves."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from kit import limits
from kit.clock import Clock
from services.approvals.config import SignInConfig, safe_address
from services.approvals.wire import Kept, ProviderDownError, Wire

# Signatures only: `none` signs nothing, and with HS256 whoever may check a token could make one.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]
ADDRESS = re.compile(r"[^\s@<>,;:\"()\[\]\\]{1,64}@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
SUBJECT_MAX_CHARS = 255
WELL_KNOWN = "/.well-known/openid-configuration"


class NotVouchedError(Exception):
    """What the provider said does not hold, or is not about somebody of this firm. The text is for the log."""


@dataclass(frozen=True, slots=True)
class Vouched:
    """Somebody whom the provider signed in: its own name for them, which never changes hands, and their mail address."""

    issuer: str
    subject: str
    email: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the provider says of itself."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str | None
    names_itself: bool  # its answers carry `iss` (RFC 9207)
    basic: bool  # takes the client's secret as HTTP Basic


class Provider:
    """The one identity provider of the configuration."""

    def __init__(self, settings: SignInConfig, secret: str, return_to: str, clock: Clock) -> None:
        self._settings, self._secret, self._return_to, self._clock = settings, secret, return_to, clock
        self._tls = ssl.create_default_context(cafile=settings.ca_file or None)
        self._metadata: Kept[Metadata] = Kept(self._client, clock, self._described)
        self._keys: Kept[KeySet] = Kept(self._client, clock, _key_set)
        self.name, self.issuer = settings.provider_name, settings.issuer

    def _client(self) -> AsyncOAuth2Client:
        """One a conversation, since it remembers the tokens of the last."""
        return AsyncOAuth2Client(
            client_id=self._settings.client_id,
            client_secret=self._secret,
            scope="openid email profile",
            redirect_uri=self._return_to,
            code_challenge_method="S256",
            transport=Wire(verify=self._tls),
            timeout=limits.PROVIDER_SECONDS,
            follow_redirects=False,
            trust_env=False,
            headers={"Accept-Encoding": "identity"},
        )

    async def address(self, state: str, nonce: str, verifier: str) -> str:
        """Where a person is sent to sign in."""
        metadata = await self.metadata()
        async with self._client() as client:
            url, _ = client.create_authorization_url(metadata.authorization_endpoint, state=state, code_verifier=verifier, nonce=nonce)
        return str(url)

    async def way_out(self, then: str) -> str | None:
        """Where a person signs out at the provider, or None where it has no such place or does not answer."""
        try:
            place = (await self.metadata()).end_session_endpoint
        except ProviderDownError:
            return None
        query = urlencode({"client_id": self._settings.client_id, "post_logout_redirect_uri": then})
        return f"{place}{'&' if '?' in place else '?'}{query}" if place else None

    async def vouch(self, code: str, nonce: str, verifier: str, named: str | None) -> Vouched:
        """Whom the code stands for. `named` is the issuer that the answer names, where it names one."""
        metadata = await self.metadata()
        if (named is None and metadata.names_itself) or named not in (None, self.issuer):
            raise NotVouchedError("the answer came from another provider")
        token = await self._exchange(metadata, code, verifier)
        text = token.get("id_token")
        if not isinstance(text, str):
            raise NotVouchedError("no ID token")
        return self._somebody(await self._claims(metadata, text, nonce, str(token.get("access_token", ""))))

    async def _exchange(self, metadata: Metadata, code: str, verifier: str) -> Mapping[str, Any]:
        """Takes the code to the provider, which takes each once and from us alone."""
        try:
            async with asyncio.timeout(limits.PROVIDER_SECONDS), self._client() as client:
                client.token_endpoint_auth_method = "client_secret_basic" if metadata.basic else "client_secret_post"
                found = await client.fetch_token(
                    metadata.token_endpoint,
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=verifier,
                    redirect_uri=self._return_to,
                )
        except AuthlibBaseError as error:
            raise NotVouchedError(f"the code was refused: {error.error}") from error
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            raise ProviderDownError("its token endpoint did not answer") from error
        if not isinstance(found, dict):
            raise ProviderDownError("its token endpoint answered with something else")
        return found

    async def _claims(self, metadata: Metadata, text: str, nonce: str, access_token: str) -> Mapping[str, Any]:
        """The claims of an ID token that is signed by the provider, for us, for this sign-in, and now."""
        try:
            token = jwt.decode(text, await self._keys_for(metadata, text), algorithms=ALGORITHMS)
            wanted = {"iss": {"essential": True, "value": self.issuer}, "aud": {"essential": True, "value": self._settings.client_id}}
            claims = CodeIDToken(
                token.claims,
                token.header,
                options=wanted | {"exp": {"essential": True}, "iat": {"essential": True}, "sub": {"essential": True}},
                params={"nonce": nonce, "client_id": self._settings.client_id, "access_token": access_token},
            )
            claims.validate(now=int(self._clock().timestamp()), leeway=limits.PROVIDER_CLOCK_SKEW_SECONDS)
        except (JoseError, AuthlibBaseError, ValueError, TypeError, KeyError) as error:
            raise NotVouchedError(f"the ID token does not hold: {error}") from error
        return dict(claims)

    async def _keys_for(self, metadata: Metadata, text: str) -> KeySet:
        """The provider's keys; asked for anew where the token names one that we do not know, so that it may change them at any time."""
        named = _key_named(text)
        keys = await self._keys.get(metadata.jwks_uri)
        if named is not None and all(key.kid != named for key in keys):
            keys = await self._keys.get(metadata.jwks_uri, anew=True)
        return keys

    def _somebody(self, claims: Mapping[str, Any]) -> Vouched:
        subject, email = claims["sub"], claims.get(self._settings.person_claim)
        if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_MAX_CHARS:
            raise NotVouchedError("no subject")
        found = ADDRESS.fullmatch(email) if isinstance(email, str) else None
        if found is None:
            raise NotVouchedError(f"the claim {self._settings.person_claim} is no mail address")
        verified = claims.get("email_verified", self._settings.person_claim != "email")
        if verified is not True:
            raise NotVouchedError("the provider has not verified the mail address")
        if found[1].lower() not in {d.lower() for d in self._settings.allowed_domains}:
            raise NotVouchedError("the mail address is not of an allowed domain")
        return Vouched(self.issuer, subject, found[0])

    async def metadata(self) -> Metadata:
        """What the provider says of itself."""
        return await self._metadata.get(self.issuer.rstrip("/") + WELL_KNOWN)

    def _described(self, tree: Mapping[str, Any]) -> Metadata:
        if tree.get("issuer") != self.issuer:
            raise ValueError("it names itself otherwise than the configuration")
        ways = tree.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        leave = tree.get("end_session_endpoint")
        return Metadata(
            authorization_endpoint=_endpoint(tree["authorization_endpoint"]),
            token_endpoint=_endpoint(tree["token_endpoint"]),
            jwks_uri=_endpoint(tree["jwks_uri"]),
            end_session_endpoint=_endpoint(leave) if leave else None,
            names_itself=tree.get("authorization_response_iss_parameter_supported") is True,
            basic="client_secret_basic" in ways,
        )


def _endpoint(url: Any) -> str:
    """An address of the provider that secrets may be sent to."""
    if not isinstance(url, str) or not safe_address(url.partition("?")[0]):
        raise ValueError("an endpoint is not reached over HTTPS")
    return url


def _key_set(tree: Any) -> KeySet:
    try:
        return KeySet.import_key_set(tree)
    except JoseError as error:
        raise ValueError("its keys cannot be read") from error


def _key_named(text: str) -> str | None:
    """The key id in the header of a token; whatever cannot be read is refused where the signature is checked."""
    try:
        named = json.loads(urlsafe_b64decode(text.partition(".")[0] + "==")).get("kid")
    except (ValueError, AttributeError):
        return None
    return named if isinstance(named, str) else None
