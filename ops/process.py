"""Runs one program of the stack: starts it, waits until it serves, starts it again when it dies, stops it."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import tenacity

from kit import limits
from kit.log import FILE_VARIABLE
from ops import child, configs, probe
from ops.files import open_log, tail
from ops.layout import ROOT, DataDir
from ops.programs import Program


class StackError(Exception):
    """Why the stack cannot run, in words for an operator."""


def python_environ() -> dict[str, str]:
    """The environment of our own programs."""
    keep = {k: v for k, v in os.environ.items() if k in {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"} or k.startswith("SUBSTRATE_")}
    keep.pop("SUBSTRATE_DATABASE_URL", None)  # the administrator's address is not for programs
    return keep | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}", "PYTHONUNBUFFERED": "1"}


def deaths(before: int, lasted: float) -> int:
    """Deaths in a row, this one included: a program that had settled begins anew."""
    return 1 if lasted > limits.PROGRAM_SETTLED_SECONDS else before + 1


def back_off(failures: int) -> float:
    """Seconds before the next start after so many deaths in a row."""
    return float(min(limits.PROGRAM_BACKOFF_FIRST_SECONDS * 2 ** (failures - 1), limits.PROGRAM_BACKOFF_MAX_SECONDS))


@dataclass
class Running:
    """One program of the stack."""

    program: Program
    data: DataDir
    listen: str
    addresses: Mapping[str, str]
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)

    @property
    def log(self) -> Path:
        """Where it writes."""
        return self.data.log / f"{self.program.name}.log"

    @property
    def _ready(self) -> Path:
        return self.data.run / f"{self.program.name}.ready"

    async def start(self) -> None:
        """Start it and return when it serves; from then on it keeps its address."""
        configs.write(self.program, self.data, self.listen, self.addresses)
        self._ready.unlink(missing_ok=True)
        arguments = ["-m", self.program.module, "--config", str(self.data.config / f"{self.program.name}.toml")]
        output = open_log(self.log)
        try:
            self.process = await asyncio.create_subprocess_exec(
                *child.command([sys.executable, *arguments], dying=signal.SIGTERM),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=python_environ() | {FILE_VARIABLE: str(self.log)},
                cwd=ROOT,
                start_new_session=True,
            )
        finally:
            os.close(output)
        try:
            await self._wait_until_serving()
        except BaseException:
            await self.stop()
            raise

    async def _wait_until_serving(self) -> None:
        attempts = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_delay(limits.PROGRAM_START_SECONDS),
            wait=tenacity.wait_fixed(0.02),
            retry=tenacity.retry_if_result(lambda healthy: not healthy),
        )
        try:
            await attempts(self._serving)
        except tenacity.RetryError:
            raise StackError(
                f"{self.program.name} did not serve within {limits.PROGRAM_START_SECONDS:g} s; {self.log} ends:{tail(self.log)}"
            ) from None

    async def _serving(self) -> bool:
        if self.process is None or self.process.returncode is not None:
            raise StackError(f"{self.program.name} ended while it started; {self.log} ends:{tail(self.log)}")
        if not self._ready.exists():
            return False
        self.listen = self._ready.read_text(encoding="utf-8").strip() or self.listen
        return await self.healthy()

    async def healthy(self) -> bool:
        """Whether it answers now."""
        if self.program.serves == "http":
            return await asyncio.to_thread(probe.http_serving, self.listen)
        return await asyncio.to_thread(probe.grpc_serving, self.listen, self.program.name, self.data.pki)

    async def watch(self) -> None:
        """Start it again each time it dies, later and later while it does not last."""
        failures = 0
        while self.process is not None:
            began = time.monotonic()
            code = await self.process.wait()
            failures = deaths(failures, time.monotonic() - began)
            delay = back_off(failures)
            say(f"{self.program.name} ended with code {code}; starting it again in {delay:g} s")
            await asyncio.sleep(delay)
            try:
                await self.start()
                say(f"{self.program.name} serves again at {self.listen}")
            except StackError as error:
                say(str(error))

    async def stop(self) -> None:
        """Stop it: asked first, killed after the grace period."""
        process = self.process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(limits.PROGRAM_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            say(f"{self.program.name} did not stop within {limits.PROGRAM_STOP_SECONDS:g} s and was killed")
            process.kill()
            await process.wait()


def say(text: str) -> None:
    """A line of the supervisor's log."""
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {text}", file=sys.stderr, flush=True)
