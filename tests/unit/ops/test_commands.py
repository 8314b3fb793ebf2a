"""The operator commands: usage, exit codes, and what they make of what they are given."""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb2

from kit import limits
from ops import __main__ as commands
from ops import connect, keys, mcp_client, owner, tools
from ops.cli import OperatorError
from ops.files import open_log
from ops.layout import ROOT, DataDir
from ops.process import back_off, deaths
from ops.stack import check_port
from tests.system.stack import command

EVERY = [*commands.COMMANDS, "check", "keys create", "keys list", "keys revoke", "people list", "people create"]
EVERY += ["people grant", "people withdraw", "people screen", "people lift"]


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in commands.TOOLS:
        assert "example" in command(name, "--help").stdout
        return
    with pytest.raises(SystemExit) as ended:
        commands.main([*name.split(), "--help"])
    assert ended.value.code == 0
    assert "example:\n  ./run " in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["nothing"],
        ["up", "--port", "many"],
        ["up", "--port", "70000"],
        ["call"],
        ["call", "get_matter", "--args", "{"],
        ["call", "get_matter", "--args", "[]"],
        ["keys"],
        ["keys", "create", "--owner", "a", "--name", "b", "--scopes", "everything"],
        ["keys", "create", "--owner", "a", "--name", "b", "--expires", "soon"],
        ["people", "screen", "a", "b"],
        ["serve", "nobody", "--config", "x"],
        ["check", "no such check"],
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(wrong: list[str]) -> None:
    assert command(*wrong).returncode == 2


@pytest.mark.parametrize("name", [["keys", "list"], ["people", "list"], ["call", "list_matters"], ["migrate"]], ids=" ".join)
def test_without_a_stack_a_command_fails_with_one_sentence(name: list[str], tmp_path: Path) -> None:
    done = command(*name, "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert "./run up" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_down_where_nothing_runs_is_no_failure(tmp_path: Path) -> None:
    done = command("down", "--data-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, f"nothing runs in {tmp_path}\n")


def test_serve_without_its_file_says_so() -> None:
    done = command("serve", "auth", "--config", "/no/such.toml")
    assert (done.returncode, done.stderr) == (1, "serve: there is no file /no/such.toml.\n")


def test_a_machine_without_a_new_python_is_told_in_one_sentence(tmp_path: Path) -> None:
    shutil.copy(ROOT / "run", tmp_path / "run")
    bare = tmp_path / "bin"
    bare.mkdir()
    for tool in ("dirname", "cmp", "sh"):
        (bare / tool).symlink_to(str(shutil.which(tool)))
    old = bare / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    text = (tmp_path / "run").read_text().replace("/usr/bin/python3", "/no/python3")
    (tmp_path / "run").write_text(text)
    done = subprocess.run(["sh", str(tmp_path / "run"), "up"], env={"PATH": str(bare)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "run: Python 3.11 or newer is needed and was not found; install it, or name it with PYTHON=/path/to/python3.\n"


def test_a_machine_without_pip_is_told_in_one_sentence(tmp_path: Path) -> None:
    for part in ("scripts", "locks"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "hidden" / "pip").mkdir(parents=True)
    (tmp_path / "hidden" / "pip" / "__main__.py").write_text("raise SystemExit(1)")
    environ = os.environ | {"PYTHONPATH": str(tmp_path / "hidden")}
    script = [sys.executable, str(tmp_path / "scripts" / "environment.py")]
    done = subprocess.run(script, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("has no pip; install it (on Debian: apt-get install python3-pip).")


def test_a_taken_port_names_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(Exception, match=r"port \d+ is taken; name another with --port N, or --port 0 for any"):
            check_port(taken.getsockname()[1])


def test_one_process_owns_a_data_folder(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    assert owner.holder(data) is None
    with owner.lock(data) as ours:
        assert ours
        assert owner.holder(data) == os.getpid()
        with owner.lock(data) as second:
            assert not second
    assert owner.holder(data) is None


def test_a_new_owner_is_not_taken_for_ready_because_the_one_before_was(tmp_path: Path) -> None:
    data = DataDir(tmp_path)
    data.run.mkdir()
    data.ready.touch()
    with owner.lock(data):
        assert not data.ready.exists()


@pytest.mark.parametrize("change", ["dependencies", "extra", "python", "none"])
def test_locks_are_stale_when_what_they_were_made_from_changes(tmp_path: Path, change: str) -> None:
    for part in ("scripts", "locks", "deploy"):
        shutil.copytree(ROOT / part, tmp_path / part)
    text = (ROOT / "pyproject.toml").read_text()
    edits = {"dependencies": ("grpcio>=1.85", "grpcio>=1.84"), "extra": ("orjson>=3.13", "orjson>=3.12"), "python": (">=3.11", ">=3.12")}
    before, after = edits.get(change, ("line-length = 140", "line-length = 139"))
    assert before in text
    (tmp_path / "pyproject.toml").write_text(text.replace(before, after))
    done = subprocess.run([sys.executable, str(tmp_path / "scripts" / "lock.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == (0 if change == "none" else 1)
    assert ("dev.lock" in done.stdout) == (change != "none")


def test_an_expiry_is_an_age_or_a_moment() -> None:
    assert abs(keys.expiry("90d") - datetime.now(UTC) - timedelta(days=90)) < timedelta(minutes=1)
    assert keys.expiry("2027-01-31T00:00:00Z") == datetime(2027, 1, 31, tzinfo=UTC)
    assert keys.expiry("2027-01-31") == datetime(2027, 1, 31, tzinfo=UTC)
    with pytest.raises(argparse.ArgumentTypeError):
        keys.expiry("tomorrow")


def test_the_state_of_a_key_is_what_auth_will_make_of_it() -> None:
    now = datetime(2026, 6, 1, tzinfo=UTC)
    key = admin_pb2.Key()
    assert keys.state(key, now) == "live"
    key.expire_time.FromDatetime(now + timedelta(hours=1))
    assert keys.state(key, now) == "until 2026-06-01 01:00"
    assert keys.state(key, now + timedelta(hours=1)) == "expired"
    key.revoke_time.FromDatetime(now)
    assert keys.state(key, now) == "revoked"


def test_a_program_that_keeps_dying_is_started_later_and_later_up_to_a_limit() -> None:
    assert [back_off(n) for n in (1, 2, 3, 4, 20)] == [0.2, 0.4, 0.8, 1.6, 10.0]


def test_a_program_that_had_settled_begins_its_back_off_anew() -> None:
    assert deaths(5, limits.PROGRAM_SETTLED_SECONDS - 1) == 6
    assert deaths(5, limits.PROGRAM_SETTLED_SECONDS + 1) == 1


def test_a_log_that_has_grown_past_its_limit_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PROGRAM_LOG_MAX_BYTES", 10)
    log = tmp_path / "auth.log"
    log.write_text("x" * 10)
    os.close(open_log(log))
    assert log.read_text() == "x" * 10
    log.write_text("x" * 11)
    os.close(open_log(log))
    assert (log.read_text(), (tmp_path / "auth.log.1").read_text()) == ("", "x" * 11)


def test_a_result_is_found_in_json_and_in_an_event_stream() -> None:
    message = {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
    assert mcp_client.answer("application/json", json.dumps(message)) == message
    progress = {"jsonrpc": "2.0", "method": "notifications/progress"}
    stream = f": hello\r\n\r\ndata: {json.dumps(progress)}\r\n\r\nevent: message\r\ndata: {json.dumps(message)}\r\n\r\n"
    assert mcp_client.answer("text/event-stream; charset=utf-8", stream) == message
    with pytest.raises(OperatorError, match="without a response"):
        mcp_client.answer("text/event-stream", ": hello\n\n")


def test_a_tool_name_that_no_header_can_carry_is_encoded() -> None:
    assert mcp_client.headers("k", "tools/call", "get_matter")["Mcp-Name"] == "get_matter"
    assert mcp_client.headers("k", "tools/call", "né")["Mcp-Name"] == "=?base64?bsOp?="


def test_explaining_an_unknown_tool_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert tools.main(["--explain", "execute"]) == 1
    assert "there is no tool 'execute'" in capsys.readouterr().err


def test_a_tool_is_explained_from_its_declaration(capsys: pytest.CaptureFixture[str]) -> None:
    assert tools.main(["--explain", "get_fact_record"]) == 0
    said = capsys.readouterr().out
    for part in ("scope", "cost", "client_safe key", "as a task", "RPC", "SQL", "bron://matters/{case_id}/facts", "case_id"):
        assert part in said


def test_every_tool_is_listed_with_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert tools.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"list_matters", "get_fact_record", "get_passage"} <= {line.split()[0] for line in lines}
    assert all(line.endswith(".") for line in lines)


def test_the_snippets_name_the_endpoint_and_the_key() -> None:
    for line in connect.snippets("http://127.0.0.1:9/mcp", "brk_live_x"):
        if "127.0.0.1" in line:
            assert "brk_live_x" in line


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("0", "0")])
def test_the_machines_own_authorities_are_trusted_when_packages_are_fetched(given: str | None, used: str) -> None:
    asked = "import sys; sys.path.insert(0, 'scripts'); import environment; print(environment._environ()['UV_SYSTEM_CERTS'])"
    environ = {k: v for k, v in os.environ.items() if k != "UV_SYSTEM_CERTS"} | ({} if given is None else {"UV_SYSTEM_CERTS": given})
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == used


@pytest.mark.parametrize("asked", ["tools", "--help"])
def test_a_reader_that_goes_away_is_no_traceback(asked: str) -> None:
    read, write = os.pipe()
    os.close(read)
    environ = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}
    with os.fdopen(write, "w") as gone:
        command = [sys.executable, "-m", "ops", asked]
        done = subprocess.run(command, cwd=ROOT, env=environ, stdout=gone, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
