"""The one command: starting, finding again, surviving deaths, stopping cleanly."""

import http.client
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit import db
from ops import owner, probe
from ops.layout import ROOT
from ops.postgres import Postgres
from tests import poll
from tests.system.stack import Stack, command, read, running, up

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack that these tests may maltreat, one after the other."""
    with running(tmp_path_factory.mktemp("own") / "data") as started:
        yield started


def processes(folder: Path) -> list[str]:
    """Command lines of the live processes that name the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and int(entry.parent.name) != os.getpid():
            found.append(line)
    return found


def pid_of(stack: Stack, program: str) -> int:
    """The process of a program."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(stack.data.config / f"{program}.toml") in line:
            return int(entry.parent.name)
    raise AssertionError(f"{program} does not run")


def serving(stack: Stack) -> bool:
    """Whether every program answers."""
    edge = stack.mcp_url.removeprefix("http://").removesuffix("/mcp")
    healthy = [probe.grpc_serving(address, name, stack.data.pki) for name, address in stack.connect["grpc"].items()]
    return all(healthy) and probe.http_serving(edge)


def test_it_writes_how_to_connect_for_its_owner_alone(own: Stack) -> None:
    assert own.data.connect.stat().st_mode & 0o777 == 0o600
    assert set(own.connect) == {"mcp_url", "approvals_url", "keys", "matters", "grpc", "ca", "client_cert", "client_key", "people"}
    assert set(own.keys) == {"firm", "client_safe", "soilworks_only"}
    assert set(own.matters) == {"mclean", "soilworks", "mata"}
    assert set(own.connect["grpc"]) == {"auth", "reads", "proposals", "tasks", "executor"}
    assert all(re.fullmatch(r"brk_live_[0-9A-Za-z]{46}", key) for key in own.keys.values())
    assert own.people["Ada Reyes"]["matters"] == ["mclean", "soilworks", "mata"]
    assert own.people["Ben Cole"]["matters"] == ["soilworks", "mata"]


def test_nothing_secret_in_the_folder_is_readable_by_others(own: Stack) -> None:
    secret = [own.data.connect, *own.data.secrets.iterdir(), *own.data.pki.glob("*.key"), *own.data.config.iterdir()]
    assert [p.name for p in secret if p.stat().st_mode & 0o077] == []
    assert own.data.root.stat().st_mode & 0o077 == 0


def test_a_second_up_says_that_it_runs_and_how_to_connect(own: Stack) -> None:
    again = up(own.data.root)
    assert again.returncode == 0
    assert again.stdout.startswith("already running\n")
    assert own.keys["firm"] in again.stdout
    assert read(own.data.root).connect == own.connect


def test_a_second_up_names_the_program_that_does_not_answer(own: Stack) -> None:
    pid = pid_of(own, "reads")
    os.kill(pid, signal.SIGSTOP)
    try:
        again = up(own.data.root)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert again.returncode == 1
    assert "reads" in again.stderr
    assert "does not answer" in again.stderr
    poll.until(lambda: serving(own), "it answers again")


def test_the_keys_and_the_people_are_in_the_database(own: Stack) -> None:
    keys = own.run("keys", "list").stdout
    assert all(name in keys for name in ("firm", "client_safe", "soilworks_only"))
    assert keys.count("120/20") == 3
    people = own.run("people", "list").stdout
    assert re.search(r"Ada Reyes +ada\.reyes@firm\.example +.*mclean.*soilworks.*mata", people) or "Ada Reyes" in people


def test_an_operator_makes_narrows_and_revokes_a_key(own: Stack) -> None:
    wanted = ["--owner", "Ben Cole", "--name", "for a test", "--scopes", "read", "--matters", "soilworks", "--expires", "1h"]
    made = own.run("keys", "create", *wanted, "--environment", "test")
    assert made.returncode == 0, made.stderr
    key = made.stdout.split()[0]
    assert key.startswith("brk_test_")
    assert key not in own.run("keys", "list").stdout
    listed = next(line for line in own.run("keys", "list").stdout.splitlines() if "for a test" in line)
    assert "client_safe" in listed
    assert "until" in listed
    assert own.run("keys", "revoke", key[9:17]).returncode == 0
    assert "revoked" in next(line for line in own.run("keys", "list").stdout.splitlines() if "for a test" in line)


def test_a_key_for_nobody_is_refused_in_one_sentence(own: Stack) -> None:
    done = own.run("keys", "create", "--owner", "Nobody", "--name", "x")
    assert (done.returncode, done.stderr) == (1, "keys: no people are called 'Nobody'; ./run people list shows them.\n")


def test_people_are_added_given_matters_screened_and_let_in_again(own: Stack) -> None:
    assert own.run("people", "create", "Cy Dunn", "cy.dunn@firm.example").returncode == 0
    steps = [("grant", []), ("screen", ["--reason", "former counsel"]), ("lift", []), ("withdraw", [])]
    for step, more in steps:
        done = own.run("people", step, "cy.dunn@firm.example", "mata", *more)
        assert done.returncode == 0, done.stderr
        line = next(row for row in own.run("people", "list").stdout.splitlines() if "Cy Dunn" in row)
        matters, screened = re.split(r"  +", line)[2:4]
        assert (matters == "mata", screened == "mata") == (step != "withdraw", step == "screen")


def test_a_tool_is_called_as_an_agent_would(own: Stack) -> None:
    done = own.run("call", "list_matters", "--args", "{}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verification_status"] in {"grounded", "ungrounded", "unknown"}


def test_a_call_with_a_key_that_is_none_fails_in_one_sentence(own: Stack) -> None:
    done = own.run("call", "list_matters", "--key", "brk_live_nonsense")
    assert done.returncode == 1
    assert done.stderr == "call: the key was refused: it is unknown, revoked or expired.\n"


@pytest.mark.parametrize("program", ["reads", "auth", "edge"])
def test_a_program_that_is_killed_serves_again(own: Stack, program: str) -> None:
    before = pid_of(own, program)
    os.kill(before, signal.SIGKILL)
    poll.until(lambda: not Path(f"/proc/{before}").exists(), "it is gone")
    poll.until(lambda: serving(own), f"{program} serves again", 30)
    assert pid_of(own, program) != before
    assert f"{program} ended with code -9" in own.log("up")


def test_a_database_that_is_killed_serves_again(own: Stack) -> None:
    pid = int((own.data.root / "pgdata" / "postmaster.pid").read_text().splitlines()[0])
    os.kill(pid, signal.SIGKILL)
    poll.until(lambda: "PostgreSQL serves again" in own.log("up"), "the database is started again", 30)
    poll.until(lambda: serving(own), "every program serves again", 30)
    assert own.run("keys", "list").returncode == 0


def test_killing_the_supervisor_ends_everything_and_the_next_up_finds_keys_and_matters(own: Stack) -> None:
    supervisor = owner.holder(own.data)
    assert supervisor is not None
    os.kill(supervisor, signal.SIGKILL)
    poll.until(lambda: not processes(own.data.root), "its children end by themselves", 15)
    again = up(own.data.root)
    assert again.returncode == 0, again.stdout + again.stderr
    found = read(own.data.root).connect
    assert (found["keys"], found["matters"], found["people"]) == (own.keys, own.matters, own.people)


def test_what_an_operator_took_away_stays_away_over_a_restart(own: Stack) -> None:
    assert own.run("people", "withdraw", "Ben Cole", "mata").returncode == 0
    assert own.run("down").returncode == 0
    assert up(own.data.root).returncode == 0
    ben = next(line for line in own.run("people", "list").stdout.splitlines() if "Ben Cole" in line)
    assert "mata" not in ben


def test_down_stops_every_process_and_a_second_down_finds_nothing(own: Stack) -> None:
    assert own.run("down").stdout == "stopped\n"
    assert processes(own.data.root) == []
    assert own.run("down").stdout == f"nothing runs in {own.data.root}\n"
    assert "database system is shut down" in own.log("postgres")


def test_a_taken_port_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = command("up", "--detach", "--port", str(taken.getsockname()[1]), "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1
    assert "is taken; name another with --port N" in done.stdout


def test_in_the_foreground_progress_is_shown_and_ctrl_c_stops_everything(tmp_path: Path) -> None:
    main, terminal = pty.openpty()
    environ = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}", "TERM": "xterm"}
    arguments = [sys.executable, "-m", "ops", "up", "--port", "0", "--data-dir", str(tmp_path / "data")]
    shown = b""
    with subprocess.Popen(arguments, stdin=terminal, stdout=terminal, stderr=terminal, env=environ, start_new_session=True) as process:
        os.close(terminal)
        while b"Ctrl-C stops everything" not in shown:
            shown += os.read(main, 4096)
        connect = read(tmp_path / "data")
        edge = http.client.HTTPConnection(connect.mcp_url.removeprefix("http://").removesuffix("/mcp"), timeout=5)
        edge.request("GET", "/healthz")
        assert edge.getresponse().status == 200
        edge.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    os.close(main)
    assert "✓".encode() in shown
    assert shown.count(b"\x1b[2K") > 8
    assert processes(tmp_path / "data") == []


async def test_a_database_that_somebody_else_runs_serves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Postgres(tmp_path / "server", fsync=False) as pg:
        admin = await db.connect_one(pg.admin_dsn)
        await admin.execute("CREATE DATABASE firm")
        await admin.close()
        monkeypatch.setenv("SUBSTRATE_DATABASE_URL", pg.admin_dsn.removesuffix("postgres") + "firm")
        with running(tmp_path / "data") as own:
            assert "/firm" in own.dsn("svc_auth")
            assert not (own.data.root / "pgdata").exists()
            assert own.run("keys", "list").returncode == 0


def test_a_stack_tied_to_a_process_ends_with_it(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as tied:
        folder = tmp_path / "data"
        done = command("up", "--detach", "--port", "0", "--data-dir", str(folder), "--until-exit-of", str(tied.pid))
        assert done.returncode == 0, done.stdout + done.stderr
    poll.until(lambda: not processes(folder), "the stack stops", 15)
