"""Finds a person or a matter by what an operator calls it."""

import uuid
from typing import Any

from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb2

from ops import admin, connect
from ops.cli import OperatorError
from ops.layout import DataDir


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def user_id(stub: Any, said: str) -> str:
    """The id of a person, by id, mail address or name."""
    if _is_id(said):
        return said
    users = admin.call(stub.ListUsers, admin_pb2.ListUsersRequest()).users
    found = [u.id for u in users if said.casefold() in {u.email.casefold(), u.name.casefold()}]
    if len(found) != 1:
        raise OperatorError(f"{len(found) or 'no'} people are called {said!r}; ./run people list shows them.")
    return str(found[0])


def user_names(stub: Any) -> dict[str, str]:
    """Names by id."""
    return {u.id: u.name for u in admin.call(stub.ListUsers, admin_pb2.ListUsersRequest()).users}


def matter_id(data: DataDir, said: str) -> str:
    """The id of a matter, by id or by a demonstration matter's short name."""
    if _is_id(said):
        return said
    matters = connect.read(data)["matters"]
    if said not in matters:
        raise OperatorError(f"there is no matter {said!r}; give its id, or one of {', '.join(matters)}.")
    return str(matters[said])


def matter_names(data: DataDir) -> dict[str, str]:
    """Short names of the demonstration matters by id."""
    return {case_id: name for name, case_id in connect.read(data)["matters"].items()}
