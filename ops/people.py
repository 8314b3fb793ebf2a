"""`./run people`: the people of the firm, the matters they may see, and the ethical screens that keep them out."""

import argparse
import secrets
import sys
from typing import Any

from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb2

from ops import admin, cli, credential
from ops.cli import OperatorError
from ops.layout import DataDir
from ops.names import matter_id, matter_names, user_id

PERSON = "mail address, name or id"
PASSWORD_BYTES = 15
SIGN_IN = {
    "password": "make a new password for a person and print it; the old one stops working",
    "codes": "make a new secret for one-time codes and print its otpauth address; the old one stops working",
    "release": "forget which account at the identity provider is a person's",
}


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(
        "people",
        "People, their matters and ethical screens.",
        "./run people screen ben.cole@firm.example soilworks --reason 'former counsel of Soilworks'",
    )
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="list|create|password|codes|release|grant|withdraw|screen|lift|credential"
    )
    cli.action(actions, "list", "list everyone with matters and screens", "./run people list")
    create = cli.action(actions, "create", "add a person", "./run people create 'Cy Dunn' cy.dunn@firm.example")
    create.add_argument("name", metavar="NAME")
    create.add_argument("email", metavar="EMAIL")
    credential.add(actions)
    for name, purpose in SIGN_IN.items():
        cli.action(actions, name, purpose, f"./run people {name} ben.cole@firm.example").add_argument(
            "person", metavar="PERSON", help=PERSON
        )
    purposes = {
        "grant": "give a person access to a matter",
        "withdraw": "take a person's access to a matter away",
        "screen": "raise an ethical screen: it wins over any access",
        "lift": "lift an ethical screen",
    }
    for name, purpose in purposes.items():
        reason = " --reason 'former counsel'" if name == "screen" else ""
        one = cli.action(actions, name, purpose, f"./run people {name} ben.cole@firm.example soilworks{reason}")
        one.add_argument("person", metavar="PERSON", help=PERSON)
        one.add_argument("matter", metavar="MATTER", help="id, or a demonstration matter's short name")
        if name == "screen":
            one.add_argument("--reason", required=True, help="why, for the screening memo")
    return parser


def main(arguments: list[str]) -> int:
    """Run the command `people`."""
    options = _parser().parse_args(arguments)
    data = DataDir(options.data_dir)
    try:
        with admin.of_stack(data) as stub:
            if options.action == "list":
                print(_table(stub, data))
            elif options.action == "create":
                user = admin.call(stub.CreateUser, admin_pb2.CreateUserRequest(name=options.name, email=options.email)).user
                print(f"{user.name} has the id {user.id} and no matters yet")
            elif options.action == "credential":
                credential.run(stub, options, data)
            elif options.action in SIGN_IN:
                print(_sign_in(stub, options.action, user_id(stub, options.person)))
            else:
                _change(stub, options, data)
    except OperatorError as error:
        print(f"people: {error}", file=sys.stderr)
        return 1
    return 0


def _sign_in(stub: Any, action: str, user: str) -> str:
    """What a person signs in and confirms with; secrets are shown here, once."""
    if action == "password":
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        admin.call(stub.SetPassword, admin_pb2.SetPasswordRequest(user_id=user, password=password))
        return password
    if action == "codes":
        return str(admin.call(stub.EnrollTotp, admin_pb2.EnrollTotpRequest(user_id=user)).uri)
    admin.call(stub.ReleaseAccount, admin_pb2.ReleaseAccountRequest(user_id=user))
    return "the next sign-in at the identity provider with this person's mail address binds an account anew"


def _change(stub: Any, options: argparse.Namespace, data: DataDir) -> None:
    user, case = user_id(stub, options.person), matter_id(data, options.matter)
    if options.action == "grant":
        admin.call(stub.GrantMatterAccess, admin_pb2.GrantMatterAccessRequest(user_id=user, case_id=case))
    elif options.action == "withdraw":
        admin.call(stub.WithdrawMatterAccess, admin_pb2.WithdrawMatterAccessRequest(user_id=user, case_id=case))
    elif options.action == "screen":
        admin.call(stub.RaiseEthicalScreen, admin_pb2.RaiseEthicalScreenRequest(user_id=user, case_id=case, reason=options.reason))
    else:
        admin.call(stub.LiftEthicalScreen, admin_pb2.LiftEthicalScreenRequest(user_id=user, case_id=case))
    done = {"grant": "may see", "withdraw": "may no longer see", "screen": "is screened from", "lift": "is no longer screened from"}
    print(f"{options.person} {done[options.action]} {options.matter}")


def _table(stub: Any, data: DataDir) -> str:
    names = matter_names(data)
    rows = [("name", "mail", "matters", "screened from", "id")]
    for user in admin.call(stub.ListUsers, admin_pb2.ListUsersRequest()).users:
        matters, screened = (", ".join(names.get(c, c) for c in ids) or "-" for ids in (user.case_ids, user.screened_case_ids))
        rows.append((user.name, user.email, matters, screened, user.id))
    return cli.table(rows)
