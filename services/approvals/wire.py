"""What is fetched from the identity provider: over bounded conversations, kept for a while, and never asked for in a hurry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

import httpx2

from kit import limits
from kit.clock import Clock

Value = TypeVar("Value")


class ProviderDownError(Exception):
    """The provider does not answer, or with nothing that makes sense. The text is for the log."""


class _Capped(httpx2.AsyncByteStream):
    """A body that ends the conversation where it is longer than any honest answer."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The body, counted."""
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > limits.PROVIDER_ANSWER_MAX_BYTES:
                raise httpx2.ReadError("the answer is too long")
            yield chunk

    async def aclose(self) -> None:
        """Closes the body."""
        await self._stream.aclose()


class Wire(httpx2.AsyncHTTPTransport):
    """HTTP with bodies of bounded length."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request."""
        response = await super().handle_async_request(request)
        response.stream = _Capped(cast("httpx2.AsyncByteStream", response.stream))
        return response


class Kept(Generic[Value]):
    """One document of the provider."""

    def __init__(self, client: Callable[[], Any], clock: Clock, read: Callable[[Any], Value]) -> None:
        self._client, self._clock, self._read = client, clock, read
        self._value: Value | None = None
        self._at: datetime | None = None
        self._asked: datetime | None = None
        self._lock = asyncio.Lock()

    async def get(self, url: str, *, anew: bool = False) -> Value:
        """What is kept, or what is there now: one request at a time, and none soon after another, whoever asks for it."""
        async with self._lock:
            fresh = self._age(self._at) < limits.PROVIDER_METADATA_SECONDS
            soon = self._age(self._asked) < limits.PROVIDER_PAUSE_SECONDS
            if self._value is not None and (soon or (fresh and not anew)):
                return self._value
            if soon:
                raise ProviderDownError("it did not answer a moment ago")
            self._asked = self._clock()
            self._value = self._understood(url, await self._fetch(url))
            self._at = self._asked
            return self._value

    def _age(self, at: datetime | None) -> float:
        return float("inf") if at is None else abs((self._clock() - at).total_seconds())

    def _understood(self, url: str, tree: Any) -> Value:
        try:
            return self._read(tree)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProviderDownError(f"{url} makes no sense: {error}") from error

    async def _fetch(self, url: str) -> Any:
        try:
            async with asyncio.timeout(limits.PROVIDER_SECONDS), self._client() as client:
                response = await client.request("GET", url, withhold_token=True)
                response.raise_for_status()
                return response.json()
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            raise ProviderDownError(f"{url} did not answer") from error
