"""Every program of the whole system is killed while tasks wait and run, and started again by its supervisor: each task has its answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ops import probe
from tests.poll import until
from tests.system.stack import Stack, running

META, TOOL, TASKS = "io.modelcontextprotocol/", "find_entity_paths", 6
TERMINAL = ("completed", "failed", "cancelled")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose programs this suite may kill."""
    with running(tmp_path_factory.mktemp("restarts") / "data") as started:
        yield started


def said(stack: Stack, method: str, params: dict[str, Any], *, tasks: bool = True) -> dict[str, Any] | None:
    """The result of a request of 2026-07-28; None where nobody can answer it now."""
    capabilities: dict[str, Any] = {"extensions": {f"{META}tasks": {}}} if tasks else {}
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": capabilities}
    routing = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": params.get("name", params.get("taskId", ""))}
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {stack.keys['firm']}"} | routing
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params | {"_meta": meta}}
    try:
        answer = httpx.post(stack.mcp_url, json=body, headers=headers, timeout=20)
    except httpx.TransportError:
        return None
    found: dict[str, Any] | None = answer.json().get("result") if answer.status_code == 200 else None
    return found


def surely(stack: Stack, method: str, params: dict[str, Any], *, tasks: bool = True) -> dict[str, Any]:
    """The same, asked until somebody can answer it."""
    found = until(lambda: said(stack, method, params, tasks=tasks), f"an answer to {method}", 30)
    assert found is not None
    return found


def stable(result: dict[str, Any]) -> dict[str, Any]:
    """An answer without what says when it was made."""
    return {name: value for name, value in result["structuredContent"].items() if name != "generated_at"}


def pid_of(stack: Stack, program: str) -> int:
    """The process of a program, or of the database."""
    if program == "postgres":
        return int((stack.data.root / "pgdata" / "postmaster.pid").read_text(encoding="utf-8").splitlines()[0])
    wanted = str(stack.data.config / f"{program}.toml").encode()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in line and b"-m" in line:
            return int(entry.parent.name)
    raise AssertionError(f"{program} does not run")


@pytest.fixture(scope="module")
def arguments(own: Stack) -> dict[str, Any]:
    """A question with an answer: a way between two entities of a matter."""
    case_id = own.matters["mclean"]
    found = [
        surely(own, "tools/call", {"name": "search_entities", "arguments": {"case_id": case_id, "words": name}})
        for name in ("Ellwanger", "Carl Hunt")
    ]
    one, other = (each["structuredContent"]["entities"][0]["id"] for each in found)
    return {"case_id": case_id, "from_entity_id": one, "to_entity_id": other}


@pytest.mark.slow
@pytest.mark.parametrize("program", ["tasks", "reads", "auth", "edge", "postgres"])
def test_a_program_that_is_killed_loses_no_task(own: Stack, arguments: dict[str, Any], program: str) -> None:
    expected = stable(surely(own, "tools/call", {"name": TOOL, "arguments": arguments}, tasks=False))
    made = [surely(own, "tools/call", {"name": TOOL, "arguments": arguments}) for _ in range(TASKS)]
    os.kill(pid_of(own, program), signal.SIGKILL)
    for task in made:
        wanted = {"taskId": task["taskId"]}

        def ended(wanted: dict[str, Any] = wanted) -> dict[str, Any] | None:
            found = said(own, "tasks/get", wanted)
            return found if found is not None and found["status"] in TERMINAL else None

        found = until(ended, f"the task ends although {program} was killed", 60)
        assert found is not None
        assert found["status"] == "completed", found
        # A read that the database was taken from says so, as the call would have said it.
        said_so = program == "postgres" and found["result"]["structuredContent"]["read_state"] == "unreadable"
        assert said_so or stable(found["result"]) == expected
    until(lambda: probe.http_serving(own.mcp_url.removeprefix("http://").removesuffix("/mcp")), "the edge serves", 30)
