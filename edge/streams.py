"""Server-sent events: an answer in that form, and the stream that a GET holds open."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from edge.caller import Caller
from edge.channel import Stream
from edge.config import Timing
from edge.http import JSON_TYPE, SSE_TYPE, Answer, Exchange, Header
from edge.negotiation import Accepts
from kit.errors import Refusal

KEEPALIVE = b": keepalive\n\n"
HEADERS: tuple[Header, ...] = (
    SSE_TYPE,
    (b"cache-control", b"no-cache, no-transform"),  # and no compression: a buffered heartbeat keeps nobody awake
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
)


def event(message: bytes) -> bytes:
    """One message as one event. JSON as we write it has no line ends."""
    return b"event: message\ndata: " + message + b"\n\n"


def whole(body: bytes, accepts: Accepts, *headers: Header, before: Sequence[bytes] = ()) -> Answer:
    """A single answer in a form that the client takes. What goes to the client before it makes both a stream, one that ends at once."""
    if accepts.json and not before:
        return Answer(200, body, (JSON_TYPE, *headers))
    return Answer(200, b"".join(map(event, (*before, body))), (SSE_TYPE, (b"x-accel-buffering", b"no"), *headers))


async def hold(
    exchange: Exchange, stream: Stream, caller: Caller, timing: Timing, extra: tuple[Header, ...], first: bytes = KEEPALIVE
) -> None:
    """Carries a stream until its reader is gone, it is ended, or the key behind it is no longer good. `first` is said at once."""
    await exchange.begin((*HEADERS, *extra))
    await _first(exchange.gone(), _judge(caller, timing), _write(exchange, stream, timing, first))
    with suppress(TimeoutError):
        async with asyncio.timeout(timing.stall_seconds):
            await exchange.end()


async def _first(*works: Coroutine[Any, Any, None]) -> None:
    """Runs all until one is done, and ends the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _judge(caller: Caller, timing: Timing) -> None:
    """Returns when the key is refused, or nobody can say whether it is good."""
    with suppress(Refusal):
        while True:
            await asyncio.sleep(timing.reauthorize_seconds)
            await caller.again().authenticate()


async def _write(exchange: Exchange, stream: Stream, timing: Timing, first: bytes = KEEPALIVE) -> None:
    """Writes what comes, and a comment when nothing does, so that no proxy takes silence for death."""
    data = first
    with suppress(TimeoutError):  # a reader that takes nothing is let go
        while True:
            async with asyncio.timeout(timing.stall_seconds):
                await exchange.part(data)
            try:
                message = await stream.next(timing.heartbeat_seconds)
            except TimeoutError:
                data = KEEPALIVE
                continue
            if message is None:
                break
            data = message if stream.framed else event(message)
        if stream.retry_seconds is not None:
            async with asyncio.timeout(timing.stall_seconds):
                await exchange.part(b"retry: %d\n\n" % (stream.retry_seconds * 1000))
