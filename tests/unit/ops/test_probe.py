"""Health probes: what counts as serving, and what does not."""

import http.server
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import grpc_testing
import pytest
from grpc_health.v1 import health_pb2

from ops import probe

CHECK = health_pb2.DESCRIPTOR.services_by_name["Health"].methods_by_name["Check"]


def asked(answer: int | None, code: grpc.StatusCode = grpc.StatusCode.OK) -> bool:
    """What the probe says when the health service answers this."""
    channel = grpc_testing.channel(health_pb2.DESCRIPTOR.services_by_name.values(), grpc_testing.strict_real_time())
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(probe.serving, channel, 5.0)
        _, request, rpc = channel.take_unary_unary(CHECK)
        assert request == health_pb2.HealthCheckRequest()
        rpc.send_initial_metadata(())
        rpc.terminate(None if answer is None else health_pb2.HealthCheckResponse(status=answer), (), code, "")
        return said.result(timeout=5)


def test_serving_is_a_yes() -> None:
    assert asked(health_pb2.HealthCheckResponse.SERVING) is True


@pytest.mark.parametrize("status", [health_pb2.HealthCheckResponse.NOT_SERVING, health_pb2.HealthCheckResponse.UNKNOWN])
def test_any_other_status_is_a_no(status: int) -> None:
    assert asked(status) is False


@pytest.mark.parametrize("code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.DEADLINE_EXCEEDED])
def test_an_error_is_a_no(code: grpc.StatusCode) -> None:
    assert asked(None, code) is False


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers every request with the server's status."""

    def do_GET(self) -> None:
        self.send_response(getattr(self.server, "status", 500))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing."""


@pytest.fixture
def edge() -> Iterator[http.server.HTTPServer]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False), (500, False), (404, False)])
def test_an_http_program_serves_when_its_readiness_page_says_so(edge: http.server.HTTPServer, status: int, healthy: bool) -> None:
    edge.status = status  # type: ignore[attr-defined]
    assert probe.http_serving(f"127.0.0.1:{edge.server_port}") is healthy


def test_an_edge_that_nobody_runs_does_not_serve(edge: http.server.HTTPServer) -> None:
    port = edge.server_port
    edge.shutdown()
    edge.server_close()
    assert probe.http_serving(f"127.0.0.1:{port}") is False
