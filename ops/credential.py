"""`./run people credential`: with whose credential a model is asked, sealed here before it is sent anywhere."""

from __future__ import annotations

import argparse
import getpass
import secrets
import sys
from typing import Any

from substrate.auth.v1 import inference_service_pb2 as pb
from substrate.auth.v1 import inference_service_pb2_grpc

from kit import config, limits
from kit.sealed_credentials import NONCE_BYTES, read_key, seal
from ops import admin, cli, connect, probe
from ops.cli import OperatorError
from ops.layout import DataDir
from ops.names import user_id

_SHARED = {"firm": pb.INFERENCE_CREDENTIAL_KIND_FIRM, "platform": pb.INFERENCE_CREDENTIAL_KIND_PLATFORM}
_WORDS = {pb.INFERENCE_CREDENTIAL_KIND_PERSONAL: "personal", **{number: word for word, number in _SHARED.items()}}


def add(actions: Any) -> None:
    """The action `credential` of `./run people`."""
    one = cli.action(
        actions,
        "credential",
        "set the Anthropic credential that pays for a person's questions; it is read from standard input and kept sealed",
        "./run people credential ada.reyes@firm.example < key.txt",
    )
    one.add_argument("holder", metavar="HOLDER", nargs="?", help="mail address, name or id; or firm, or platform. Without it: list them")
    one.add_argument("--remove", action="store_true", help="remove it instead")


def run(people: Any, options: argparse.Namespace, data: DataDir) -> None:
    """Sets, removes or lists."""
    with probe.channel(connect.read(data)["grpc"]["auth"], "auth", data.pki) as to:
        stub = inference_service_pb2_grpc.InferenceAdminServiceStub(to)
        if options.holder is None:
            print(_listed(people, stub))
            return
        kind = _SHARED.get(options.holder, pb.INFERENCE_CREDENTIAL_KIND_PERSONAL)
        owner = user_id(people, options.holder) if kind == pb.INFERENCE_CREDENTIAL_KIND_PERSONAL else ""
        if options.remove:
            admin.call(stub.RemoveInferenceCredential, pb.RemoveInferenceCredentialRequest(kind=kind, owner_id=owner))
            print(f"{options.holder}: credential removed")
            return
        key = read_key(config.secret(str(data.credentials_key)))
        sealed = seal(key, _WORDS[kind], owner, _typed(), secrets.token_bytes(NONCE_BYTES))
        admin.call(stub.SetInferenceCredential, pb.SetInferenceCredentialRequest(kind=kind, owner_id=owner, sealed=sealed))
        print(f"{options.holder}: credential set; it holds from the next question on")


def _typed() -> str:
    text = (getpass.getpass("credential: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not text or len(text) > limits.INFERENCE_CREDENTIAL_MAX_CHARS or not text.isascii() or not text.isprintable() or " " in text:
        raise OperatorError(f"expected one credential of at most {limits.INFERENCE_CREDENTIAL_MAX_CHARS} letters, without spaces.")
    return text


def _listed(people: Any, stub: Any) -> str:
    from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb2

    names = {u.id: u.email for u in admin.call(people.ListUsers, admin_pb2.ListUsersRequest()).users}
    found = admin.call(stub.ListInferenceCredentials, pb.ListInferenceCredentialsRequest()).credentials
    rows = [("holder", "kind", "set")]
    rows += [(names.get(c.owner_id, c.owner_id) or _WORDS[c.kind], _WORDS[c.kind], c.set_time.ToJsonString()) for c in found]
    return cli.table(rows)
