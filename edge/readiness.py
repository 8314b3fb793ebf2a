"""Whether the programs behind the edge serve, asked at most once a second whoever asks how often."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from kit import limits


class Readiness:
    """Asks the health service of each program."""

    def __init__(self, channels: Mapping[str, grpc.aio.Channel], now: Callable[[], float]) -> None:
        self._stubs = {name: health_pb2_grpc.HealthStub(channel) for name, channel in channels.items()}
        self._now = now
        self._asked_at = float("-inf")
        self._missing: list[str] = []
        self._lock = asyncio.Lock()

    async def missing(self) -> list[str]:
        """Names of the programs that do not serve."""
        async with self._lock:
            if self._now() - self._asked_at >= 1.0:
                answers = await asyncio.gather(*(self._serves(stub) for stub in self._stubs.values()))
                self._missing = [name for name, serves in zip(self._stubs, answers, strict=True) if not serves]
                self._asked_at = self._now()
        return self._missing

    @staticmethod
    async def _serves(stub: health_pb2_grpc.HealthStub) -> bool:
        try:
            answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=limits.READINESS_SECONDS)
        except grpc.aio.AioRpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
