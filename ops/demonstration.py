"""The people and keys that a demonstration stack starts with: made once, found again later."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb2
from substrate.auth.v1 import auth_service_pb2

from ops import admin
from ops.files import write_private
from ops.layout import DataDir

SCOPES = ("read", "write", "kg:read", "retrieval:query", "docs:read", "drafting:check", "tasks:read", "analysis:read")
FIRM, CLIENT_SAFE = auth_service_pb2.CREDENTIAL_CLASS_FIRM, auth_service_pb2.CREDENTIAL_CLASS_CLIENT_SAFE


@dataclass(frozen=True)
class Person:
    """A person of the demonstration firm."""

    name: str
    email: str
    role: str
    matters: tuple[str, ...]


@dataclass(frozen=True)
class DemoKey:
    """A key of the demonstration."""

    name: str
    credential_class: auth_service_pb2.CredentialClass.ValueType
    matters: tuple[str, ...] | None


PEOPLE = (
    Person("Ada Reyes", "ada.reyes@firm.example", "partner", ("mclean", "soilworks", "mata")),
    Person("Ben Cole", "ben.cole@firm.example", "associate", ("soilworks", "mata")),
)
KEYS = (
    DemoKey("firm", FIRM, None),
    DemoKey("client_safe", CLIENT_SAFE, None),
    DemoKey("soilworks_only", FIRM, ("soilworks",)),
)


def ensure(data: DataDir, stub: Any, matters: Mapping[str, str]) -> dict[str, Any]:
    """The people and the keys' texts; what is gone from the database is made anew."""
    kept = _kept(data)
    there = {u.email: u for u in admin.call(stub.ListUsers, admin_pb2.ListUsersRequest()).users}
    # Access is given once: what an operator took away since then stays away.
    people = {p.name: there[p.email].id if kept["people"] and p.email in there else _make(stub, p, there, matters) for p in PEOPLE}
    kept["people"] = people
    for person, user_id in people.items():
        if person not in kept.setdefault("sign_in", {}):
            kept["sign_in"][person] = _sign_in(stub, user_id)
    live = {k.id for k in admin.call(stub.ListKeys, admin_pb2.ListKeysRequest()).keys if not k.HasField("revoke_time")}
    for wanted in KEYS:
        if kept["keys"].get(wanted.name, {}).get("id") not in live:
            kept["keys"][wanted.name] = _make_key(stub, wanted, people["Ada Reyes"], matters)
            write_private(_file(data), json.dumps(kept, indent=2))
    write_private(_file(data), json.dumps(kept, indent=2))
    return {
        "keys": {name: entry["api_key"] for name, entry in kept["keys"].items()},
        "people": {
            p.name: {"id": people[p.name], "email": p.email, "role": p.role, "matters": list(p.matters), **kept["sign_in"][p.name]}
            for p in PEOPLE
        },
    }


def _file(data: DataDir) -> Any:
    return data.secrets / "demonstration.json"


def _kept(data: DataDir) -> dict[str, Any]:
    path = _file(data)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"people": {}, "keys": {}}
    return found


def _make(stub: Any, person: Person, there: Mapping[str, Any], matters: Mapping[str, str]) -> str:
    user = there.get(person.email) or admin.call(stub.CreateUser, admin_pb2.CreateUserRequest(name=person.name, email=person.email)).user
    for matter in person.matters:
        admin.call(stub.GrantMatterAccess, admin_pb2.GrantMatterAccessRequest(user_id=user.id, case_id=matters[matter]))
    return str(user.id)


def _sign_in(stub: Any, user_id: str) -> dict[str, str]:
    """A password and a secret for one-time codes, for signing in to approvals."""
    password = secrets.token_urlsafe(12)
    admin.call(stub.SetPassword, admin_pb2.SetPasswordRequest(user_id=user_id, password=password))
    enrolled = admin.call(stub.EnrollTotp, admin_pb2.EnrollTotpRequest(user_id=user_id))
    return {"password": password, "totp_secret": enrolled.secret}


def _make_key(stub: Any, wanted: DemoKey, owner: str, matters: Mapping[str, str]) -> dict[str, str]:
    request = admin_pb2.CreateKeyRequest(
        owner_id=owner,
        name=f"demonstration: {wanted.name}",
        scopes=SCOPES,
        credential_class=wanted.credential_class,
        environment="live",
    )
    if wanted.matters is not None:
        request.allow_list.case_ids.extend(matters[m] for m in wanted.matters)
    made = admin.call(stub.CreateKey, request)
    return {"id": made.key.id, "api_key": made.api_key}
