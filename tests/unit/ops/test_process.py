"""The supervisor of one program: it waits for health, says why a start failed, starts again what died, and stops what does not want to."""

import asyncio
import io
import os
import signal
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb2

from kit import limits
from ops import admin, pki, probe
from ops.cli import OperatorError
from ops.layout import DataDir
from ops.process import Running, StackError
from ops.programs import Program
from ops.progress import Plain
from ops.stack import Stack
from tests import poll


def fake(tmp_path: Path) -> Running:
    """A program that is not started yet."""
    data = DataDir(tmp_path)
    data.run.mkdir(parents=True, exist_ok=True)
    program = Program("fake", "tests.unit.ops.fake_program", "http", (), None, "edge", (), (), {})
    return Running(program, data, "127.0.0.1:0", {})


async def test_a_program_is_started_when_it_answers_and_gone_when_stopped(tmp_path: Path) -> None:
    one = fake(tmp_path)
    await one.start()
    assert not one.listen.endswith(":0")
    assert await one.healthy()
    await one.stop()
    assert not await one.healthy()


async def test_a_program_that_ends_at_once_is_said_with_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBSTRATE_FAKE", "ends")
    with pytest.raises(StackError, match=r"(?s)fake ended while it started.*the configuration is wrong"):
        await fake(tmp_path).start()


async def test_a_program_that_does_not_serve_in_time_is_stopped_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBSTRATE_FAKE", "silent")
    monkeypatch.setattr(limits, "PROGRAM_START_SECONDS", 0.2)
    one = fake(tmp_path)
    with pytest.raises(StackError, match=r"fake did not serve within 0\.2 s"):
        await one.start()
    assert one.process is not None
    assert one.process.returncode is not None


async def test_a_program_that_dies_serves_again_at_the_same_address(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    one = fake(tmp_path)
    await one.start()
    first, address = one.process, one.listen
    watching = asyncio.create_task(one.watch())
    try:
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)

        async def again() -> bool:
            return one.process is not first and await one.healthy()

        await poll.until_async(again, "it serves again")
        assert one.listen == address
    finally:
        watching.cancel()
        await one.stop()
    assert "fake ended with code -9; starting it again in 0.2 s" in capfd.readouterr().err


async def test_a_program_that_ignores_the_request_to_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBSTRATE_FAKE", "stubborn")
    monkeypatch.setattr(limits, "PROGRAM_STOP_SECONDS", 0.2)
    one = fake(tmp_path)
    await one.start()
    await one.stop()
    assert one.process is not None
    assert one.process.returncode == -signal.SIGKILL


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def test_an_edge_that_accepts_and_says_nothing_does_not_serve(silent: str) -> None:
    began = time.monotonic()
    assert probe.http_serving(silent, 0.1) is False
    assert time.monotonic() - began < limits.HEALTH_PROBE_SECONDS


def test_an_operator_command_does_not_wait_for_ever(silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OPERATOR_CALL_SECONDS", 0.1)
    pki.ensure(tmp_path, ("auth",), ("operator",), datetime.now(UTC))
    with pytest.raises(OperatorError, match=r"auth did not answer within 0\.1 s"), admin.connected(silent, tmp_path) as stub:
        admin.call(stub.ListUsers, admin_pb2.ListUsersRequest())


async def test_a_loader_that_takes_too_long_is_stopped_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOAD_SECONDS", 0.01)
    with pytest.raises(StackError, match=r"were not loaded within 0\.01 s"):
        await Stack(DataDir(tmp_path), 0, Plain(io.StringIO()))._load()
