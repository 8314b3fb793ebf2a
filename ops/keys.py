"""`./run keys`: create, list and revoke API keys."""

import argparse
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb2
from substrate.auth.v1 import auth_service_pb2

from ops import admin, cli
from ops.cli import OperatorError
from ops.demonstration import SCOPES
from ops.layout import DataDir
from ops.names import matter_id, user_id, user_names

_CLASSES = {"firm": auth_service_pb2.CREDENTIAL_CLASS_FIRM, "client_safe": auth_service_pb2.CREDENTIAL_CLASS_CLIENT_SAFE}
_AGE = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def expiry(text: str) -> datetime:
    """A moment, from an age such as 90d or an ISO 8601 time."""
    aged = _AGE.fullmatch(text)
    if aged:
        return datetime.now(UTC) + timedelta(**{_UNITS[aged[2]]: int(aged[1])})
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("expected an age such as 12h, 90d or 4w, or a time such as 2027-01-31T00:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _scopes(text: str) -> list[str]:
    found = list(SCOPES) if text == "all" else [s.strip() for s in text.split(",") if s.strip()]
    unknown = sorted(set(found) - set(SCOPES))
    if unknown or not found:
        raise argparse.ArgumentTypeError(f"unknown scope {unknown[0] if unknown else text!r}; there are: all, {', '.join(SCOPES)}")
    return found


def _parser() -> argparse.ArgumentParser:
    example = "./run keys create --owner ada.reyes@firm.example --name research --scopes read,docs:read --matters soilworks --expires 90d"
    parser = cli.parser("keys", "Create, list and revoke API keys.", example)
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
    create = cli.action(actions, "create", "make a key; its text is shown once", example)
    create.add_argument("--owner", required=True, help="mail address, name or id of the person whose access it can never exceed")
    create.add_argument("--name", required=True, help="what it is for")
    create.add_argument("--scopes", type=_scopes, default=["read"], help=f"all, or some of {', '.join(SCOPES)} (default: read)")
    create.add_argument(
        "--class", dest="credential_class", choices=_CLASSES, default="client_safe", help="default: client_safe, the narrower one"
    )
    create.add_argument(
        "--matters", type=lambda t: [m.strip() for m in t.split(",") if m.strip()], help="narrow it to these matters, ids or short names"
    )
    create.add_argument("--expires", type=expiry, help="12h, 90d, 4w or a time (default: never)")
    create.add_argument("--reads-per-minute", type=int, help="default: 120")
    create.add_argument("--retrievals-per-minute", type=int, help="default: 20")
    create.add_argument("--environment", choices=("live", "test"), default="live", help="default: live")
    cli.action(actions, "list", "list every key, without secrets", "./run keys list")
    revoke = cli.action(actions, "revoke", "revoke a key: it is refused from its next call on", "./run keys revoke 3fA91xQz")
    revoke.add_argument("key", metavar="KEY", help="the eight characters after brk_live_, or the row id")
    return parser


def main(arguments: list[str]) -> int:
    """Run the command `keys`."""
    options = _parser().parse_args(arguments)
    data = DataDir(options.data_dir)
    try:
        with admin.of_stack(data) as stub:
            return {"create": _create, "list": _list, "revoke": _revoke}[options.action](stub, options, data)
    except OperatorError as error:
        print(f"keys: {error}", file=sys.stderr)
        return 1


def _create(stub: Any, options: argparse.Namespace, data: DataDir) -> int:
    request = admin_pb2.CreateKeyRequest(
        owner_id=user_id(stub, options.owner),
        name=options.name,
        scopes=options.scopes,
        credential_class=_CLASSES[options.credential_class],
        environment=options.environment,
        read_per_minute=options.reads_per_minute,
        retrieval_per_minute=options.retrievals_per_minute,
    )
    if options.matters is not None:
        request.allow_list.SetInParent()
        request.allow_list.case_ids.extend(matter_id(data, m) for m in options.matters)
    if options.expires is not None:
        request.expire_time.FromDatetime(options.expires)
    made = admin.call(stub.CreateKey, request)
    print(f"{made.api_key}\n\nThis is the only time the key is shown. Its id is {made.key.public_id}.")
    return 0


def state(key: admin_pb2.Key, now: datetime) -> str:
    """Whether a key works."""
    if key.HasField("revoke_time"):
        return "revoked"
    if key.HasField("expire_time"):
        until = key.expire_time.ToDatetime(UTC)
        return "expired" if until <= now else f"until {until:%Y-%m-%d %H:%M}"
    return "live"


def _row(key: admin_pb2.Key, owner: str, now: datetime) -> tuple[str, ...]:
    return (
        f"{key.environment}_{key.public_id}",
        key.name,
        owner,
        auth_service_pb2.CredentialClass.Name(key.credential_class).removeprefix("CREDENTIAL_CLASS_").lower(),
        state(key, now),
        str(len(key.allow_list.case_ids)) if key.HasField("allow_list") else "owner's",
        f"{key.read_per_minute}/{key.retrieval_per_minute}",
        f"{key.last_used_time.ToDatetime(UTC):%Y-%m-%d %H:%M}" if key.HasField("last_used_time") else "never",
        ",".join(key.scopes),
    )


def _list(stub: Any, _options: argparse.Namespace, _data: DataDir) -> int:
    names, now = user_names(stub), datetime.now(UTC)
    heads = ("id", "name", "owner", "class", "state", "matters", "per minute", "last used", "scopes")
    keys = admin.call(stub.ListKeys, admin_pb2.ListKeysRequest()).keys
    print(cli.table([heads, *(_row(key, names.get(key.owner_id, key.owner_id), now) for key in keys)]))
    return 0


def _revoke(stub: Any, options: argparse.Namespace, _data: DataDir) -> int:
    revoked = admin.call(stub.RevokeKey, admin_pb2.RevokeKeyRequest(key=options.key)).key
    print(f"revoked {revoked.public_id} ({revoked.name})")
    return 0
