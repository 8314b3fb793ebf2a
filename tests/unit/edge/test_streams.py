"""A held stream ends when it is told to, whatever else happens in that moment."""

import asyncio
from typing import Any

import pytest

from edge import sessions, streams
from edge.channel import SessionStream
from edge.config import Timing
from edge.http import Exchange
from edge.sessions import Capabilities, Session
from kit import credentials

KEY = credentials.mint("test")


class Socket:
    """The server's side of a connection, which takes each part when the test says so."""

    def __init__(self) -> None:
        self.offered: asyncio.Queue[asyncio.Future[None]] = asyncio.Queue()

    async def receive(self) -> dict[str, Any]:
        """Nothing more comes."""
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    async def send(self, _message: Any) -> None:
        """Waits until the part was taken."""
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self.offered.put(taken)
        await taken


@pytest.mark.parametrize("ticks", range(6))
async def test_a_stream_that_is_ended_while_a_part_is_being_taken_writes_no_other(ticks: int) -> None:
    socket = Socket()
    exchange = Exchange({"method": "GET", "query_string": b"", "headers": []}, socket.receive, socket.send)
    stream = SessionStream(Session(sessions.new_id(), "k", sessions.digest(KEY), "2025-11-25", Capabilities(), 0.0))
    writing = asyncio.create_task(streams._write(exchange, stream, Timing(heartbeat_seconds=0.001)))
    (await socket.offered.get()).set_result(None)
    for _ in range(ticks):
        await asyncio.sleep(0)
    writing.cancel()
    done, _ = await asyncio.wait([writing], timeout=2)
    assert done == {writing}
    assert writing.cancelled()
