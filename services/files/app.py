"""The two routes of files: a document by its signed link, and whether the program is well."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kit import file_links, limits
from kit.file_links import Link
from kit.object_store import Altered, ObjectStore, OutOfReach, TooLarge

log = logging.getLogger(__name__)
# What a browser may be told a file is. Anything else is bytes to be saved.
_SHOWN_AS = {"application/pdf": "application/pdf", "text/plain": "text/plain; charset=utf-8"}
_ALWAYS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; sandbox",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
NO_LINK = "There is nothing here. Ask for the document again with get_document.\n"
ENDED = "This link has ended: it is good for five minutes. Ask for the document again with get_document.\n"
GONE = "The file is not in the store.\n"
ALTERED = "The stored file is not the one that was cited, so nothing is sent.\n"
AWAY = "The store did not answer. Try again in a moment.\n"


@dataclass(frozen=True, slots=True)
class Files:
    """What the routes stand on."""

    key: Ed25519PublicKey
    store: ObjectStore
    now: Callable[[], float]
    busy: asyncio.Semaphore

    async def file(self, request: Request) -> Response:
        """The bytes that a link names, if they still have the digest that was cited."""
        try:
            if request.url.query:
                raise file_links.NoLink
            link = file_links.read(self.key, request.path_params["token"], self.now())
        except file_links.Ended:
            return _said(410, ENDED)
        except file_links.NoLink:
            return _said(404, NO_LINK)
        return await self._fetched(link)

    async def _fetched(self, link: Link) -> Response:
        try:
            async with self.busy:
                content = await asyncio.to_thread(self.store.fetch_object, link.sha256)
        except (Altered, TooLarge):
            log.error("stored file is not what its name says", extra={"sha256": link.sha256})
            return _said(500, ALTERED)
        except OutOfReach:
            log.warning("store out of reach")
            return _said(503, AWAY)
        return _said(404, GONE) if content is None else Response(content, headers=_headers(link))

    async def alive(self, _request: Request) -> Response:
        """The program runs."""
        return _said(200, "ok\n")


def _headers(link: Link) -> dict[str, str]:
    digest = base64.b64encode(bytes.fromhex(link.sha256)).decode("ascii")
    return {
        **_ALWAYS,
        "content-type": _SHOWN_AS.get(link.media_type, "application/octet-stream"),
        "content-disposition": f'attachment; filename="{link.name}"',
        "repr-digest": f"sha-256=:{digest}:",
        "etag": f'"{link.sha256}"',
    }


def _said(status: int, text: str) -> Response:
    return PlainTextResponse(text, status, headers=_ALWAYS)


async def _not_found(_request: Request, _error: Exception) -> Response:
    return _said(404, NO_LINK)


async def _not_allowed(_request: Request, _error: Exception) -> Response:
    return PlainTextResponse("Only GET and HEAD.\n", 405, headers={**_ALWAYS, "allow": "GET, HEAD"})


def build(key: Ed25519PublicKey, store: ObjectStore, now: Callable[[], float]) -> Starlette:
    """The application."""
    files = Files(key, store, now, asyncio.Semaphore(limits.FILES_AT_ONCE_MAX))
    routes = [
        Route("/files/{token}", files.file, methods=["GET"]),
        Route("/healthz", files.alive, methods=["GET"]),
        Route("/readyz", files.alive, methods=["GET"]),
    ]
    made = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_allowed})
    made.router.redirect_slashes = False
    return made
