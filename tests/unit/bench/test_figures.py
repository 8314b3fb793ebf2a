"""What the bench makes of its rounds."""

import asyncio

import pytest

from tests.bench import figures, load
from tests.bench.figures import FASTMCP, OURS, Goal, Round, Spread


def made(server: str, number: int, rate: float, connections: int = 16) -> Round:
    return Round(server, connections, number, rate, 1.0, 2.0, 100.0, 0, 0.0)


def test_a_ratio_is_taken_within_each_round_whatever_the_order_of_measuring() -> None:
    rounds = [made(FASTMCP, 1, 10), made(OURS, 0, 200), made(OURS, 1, 30), made(FASTMCP, 0, 100), made(FASTMCP, 2, 1), made(OURS, 2, 4)]
    assert figures.ratio(rounds, FASTMCP, 16) == Spread(3.0, 2.0, 4.0)


def test_a_ratio_with_a_missing_round_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        figures.ratio([made(OURS, 0, 1), made(OURS, 1, 1), made(FASTMCP, 0, 1)], FASTMCP, 16)


@pytest.mark.parametrize(("at_least", "value", "met"), [(True, 3.0, True), (True, 2.9, False), (False, 3.0, True), (False, 3.1, False)])
def test_a_goal_is_met_on_its_side_of_the_bound(at_least: bool, value: float, met: bool) -> None:
    assert Goal("a", 3.0, at_least, "x", Spread.of([value])).met is met


async def served(answer: bytes, connections: int, seconds: float) -> load.Taken:
    """What the load generator sees of a server that gives this answer in two parts, a moment apart."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1024):
            writer.write(answer[:30])
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(answer[30:])
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        target = load.Target("a", port, b"x", lambda head, body: None if body == b"right" else f"not right: {body!r}")
        return await load.run(target, connections, seconds)


async def test_answers_in_parts_are_put_together_and_each_is_counted_once() -> None:
    taken = await served(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nright", 4, 0.1)
    assert not taken.faults
    assert taken.timeouts == 0
    assert len(taken.latencies) > 4
    assert taken.rate == pytest.approx(len(taken.latencies) / taken.seconds)


async def test_a_wrong_answer_is_a_fault_and_no_figure() -> None:
    taken = await served(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong", 1, 0.1)
    assert taken.faults == ["not right: b'wrong'"]
    assert not taken.latencies
