"""From the operator's command to the program that pays: a credential is sealed on the way, and only reads can open it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from substrate.auth.v1 import auth_service_pb2 as auth_pb
from substrate.auth.v1 import inference_service_pb2 as pb
from substrate.auth.v1 import inference_service_pb2_grpc
from substrate.reads.v1 import retrieval_pb2, retrieval_pb2_grpc

from kit import config, db
from kit.sealed_credentials import read_key
from kit.server import Call
from ops import probe
from ops.layout import ROOT
from ops.pki import Pair
from ops.process import python_environ
from services.reads.thinking.credential import NONE, NOT_ASKED, NOT_OPENED, PLATFORM_ONLY, Resolution, SealedCredentials
from tests import anthropic_server
from tests.poll import until
from tests.system.stack import Stack

OWN, SHARED, PLATFORM = "sk-ant-api03-own", "sk-ant-api03-firm", "sk-ant-api03-platform"


def credential(stack: Stack, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    """The operator's command, with something on its standard input."""
    command = [sys.executable, "-m", "ops", "people", "credential", *arguments, "--data-dir", str(stack.data.root)]
    environ = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}
    return subprocess.run(command, input=typed, capture_output=True, text=True, env=environ, cwd=ROOT, timeout=60, check=False)


@pytest.fixture
def clean(stack: Stack) -> Iterator[None]:
    """Leaves no credential behind."""
    yield
    for holder in ("ada.reyes@firm.example", "firm", "platform"):
        credential(stack, holder, "--remove")


def ada(stack: Stack) -> str:
    """Id of the person who owns the demonstration keys."""
    return str(next(line.split()[-1] for line in stack.run("people", "list").stdout.splitlines() if "ada.reyes@" in line))


async def resolved(stack: Stack, owner: str, key: bytes | None = None, address: str = "") -> Resolution:
    """What reads is told, over its own certificate."""
    pair = Pair.of(stack.data.pki, "reads")
    tls = config.Tls(str(stack.data.pki / "ca.pem"), str(pair.cert), str(pair.key))
    at = config.Peer(address or stack.grpc_address("auth"))
    resolver = SealedCredentials(at, tls, key or read_key(config.secret(str(stack.data.credentials_key))))
    try:
        return await resolver.resolve_owner_credential(Call("/any", auth_pb.Principal(owner_id=owner)))
    finally:
        await resolver.close_channel()


@pytest.mark.usefixtures("clean")
async def test_the_owners_own_comes_before_the_firms_and_the_platforms_pays_for_nothing(stack: Stack) -> None:
    owner = ada(stack)
    assert await resolved(stack, owner) == Resolution(NONE)
    for holder, typed, expected in (
        ("platform", PLATFORM, Resolution(PLATFORM_ONLY)),
        ("firm", SHARED, Resolution("", "firm", SHARED)),
        ("ada.reyes@firm.example", OWN, Resolution("", "personal", OWN)),
    ):
        done = credential(stack, holder, typed=f"{typed}\n")
        assert done.returncode == 0, done.stderr
        assert typed not in done.stdout + done.stderr
        assert await resolved(stack, owner) == expected
    assert (await resolved(stack, "00000000-0000-4000-8000-000000000000")).kind == "firm"
    listed = credential(stack).stdout
    assert [line.split()[:2] for line in listed.splitlines()[1:]] == [
        ["firm", "firm"],
        ["ada.reyes@firm.example", "personal"],
        ["platform", "platform"],
    ]
    assert credential(stack, "ada.reyes@firm.example", "--remove").returncode == 0
    assert (await resolved(stack, owner)).kind == "firm"


@pytest.mark.usefixtures("clean")
async def test_a_credential_is_nowhere_in_the_database_and_does_not_open_for_another_holder(stack: Stack) -> None:
    owner = ada(stack)
    assert credential(stack, "ada.reyes@firm.example", typed=OWN).returncode == 0
    admin = await db.connect_one(stack.admin_dsn)
    try:
        sealed = await admin.fetchval("SELECT sealed FROM auth.inference_credentials")
        assert OWN.encode() not in sealed
        await admin.execute("UPDATE auth.inference_credentials SET kind = 'firm', owner_id = NULL")
        assert await resolved(stack, owner) == Resolution(NOT_OPENED)
    finally:
        await admin.execute("DELETE FROM auth.inference_credentials")
        await admin.close()
    assert OWN not in stack.log("auth") + stack.log("reads")


@pytest.mark.usefixtures("clean")
async def test_another_key_opens_nothing_and_an_auth_that_is_away_is_said(stack: Stack) -> None:
    owner = ada(stack)
    assert credential(stack, "firm", typed=SHARED).returncode == 0
    assert await resolved(stack, owner, key=bytes(32)) == Resolution(NOT_OPENED)
    assert await resolved(stack, owner, address="127.0.0.1:1") == Resolution(NOT_ASKED)


@contextmanager
def reads_beside(stack: Stack, folder: Path, **environ: str) -> Iterator[str]:
    """Another instance of reads with the stack's own configuration but for these; yields where it serves."""
    ready = folder / "ready"
    told = python_environ() | {"SUBSTRATE_SERVER_LISTEN": "127.0.0.1:0", "SUBSTRATE_SERVER_READY_FILE": str(ready), **environ}
    command = [sys.executable, "-m", "services.reads", "--config", str(stack.data.config / "reads.toml")]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, cwd=ROOT, env=told, stderr=log, stdout=log) as running:
        try:
            until(lambda: ready.exists() or running.poll() is not None, "reads serves", 60)
            assert running.poll() is None, (folder / "log").read_text(encoding="utf-8")
            yield ready.read_text(encoding="utf-8")
        finally:
            running.terminate()


@pytest.mark.usefixtures("clean")
def test_a_question_is_reranked_with_the_credential_of_the_keys_owner_through_the_whole_system(stack: Stack, tmp_path: Path) -> None:
    assert credential(stack, "ada.reyes@firm.example", typed=OWN).returncode == 0
    request = retrieval_pb2.RetrieveRequest(case_id=stack.matters["mclean"], query="Who drafted the model act?", max_passages=2)
    key = (("authorization", f"Bearer {stack.keys['firm']}"),)
    with anthropic_server.provider() as provider:
        provider.reply = anthropic_server.order(5)
        with (
            reads_beside(stack, tmp_path, SUBSTRATE_INFERENCE_BASE_URL=provider.url) as address,
            probe.channel(address, "reads", stack.data.pki, "firm") as channel,
        ):
            answer = retrieval_pb2_grpc.RetrievalServiceStub(channel).Retrieve(request, metadata=key, timeout=30)
    with stack.channel("reads", "firm") as channel:
        assert credential(stack, "ada.reyes@firm.example", "--remove").returncode == 0
        plain = retrieval_pb2_grpc.RetrievalServiceStub(channel).Retrieve(request, metadata=key, timeout=30)
    assert [h["authorization"] for h in provider.headers] == [f"Bearer {OWN}"]
    assert "with the personal credential of the owner of this key" in " ".join(answer.attestation.verification.notes)
    assert "Not reranked: no Anthropic credential" in " ".join(plain.attestation.verification.notes)
    assert answer.passages[1].id == plain.passages[0].id, "the model put another first"
    assert OWN not in (tmp_path / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize("typed", ["", "two words", "x" * 501, "naïve"])
def test_what_is_no_credential_is_refused_in_words(stack: Stack, typed: str) -> None:
    done = credential(stack, "firm", typed=typed)
    assert done.returncode == 1
    assert "expected one credential" in done.stderr


def test_nobody_is_asked_to_remove_what_is_not_there(stack: Stack) -> None:
    assert "No such credential" in credential(stack, "firm", "--remove").stderr
    assert credential(stack, "nobody@firm.example", typed="x").returncode == 1


def test_auth_refuses_a_personal_credential_of_nobody_and_a_shared_one_of_somebody(stack: Stack) -> None:
    import grpc

    with stack.channel("auth", "operator") as channel:
        stub: Any = inference_service_pb2_grpc.InferenceAdminServiceStub(channel)
        kinds: tuple[tuple[Any, str], ...] = (
            (1, ""),
            (2, "00000000-0000-4000-8000-000000000001"),
            (0, ""),
            (1, "00000000-0000-4000-8000-000000000001"),
        )
        for kind, owner in kinds:
            with pytest.raises(grpc.RpcError):
                stub.SetInferenceCredential(pb.SetInferenceCredentialRequest(kind=kind, owner_id=owner, sealed=bytes(40)), timeout=10)
