"""Writes the configuration of each program of a one-machine stack."""

import json
from collections.abc import Mapping

from ops.database import dsn_file
from ops.files import write_private
from ops.layout import DataDir
from ops.pki import Pair
from ops.programs import Program

Section = dict[str, str | int | bool | list[str]]


def sections(program: Program, data: DataDir, listen: str, addresses: Mapping[str, str]) -> dict[str, Section]:
    """The configuration of a program that listens at `listen`, given where the programs it needs are."""
    pair = Pair.of(data.pki, program.name)
    ready = str(data.run / f"{program.name}.ready")
    found: dict[str, Section] = {"tls": {"ca_file": str(data.pki / "ca.pem"), "cert_file": str(pair.cert), "key_file": str(pair.key)}}
    if program.serves == "http":
        found["http"] = {
            "listen": listen,
            "ready_file": ready,
            "public_url": "" if listen.endswith(":0") else f"http://{listen}",
            "allowed_hosts": ["127.0.0.1", "localhost", "[::1]"],
        }
    else:
        found["server"] = {"listen": listen, "ready_file": ready, "reflection": True}
    if program.name == "edge":
        found["backends"] = {name: addresses[name] for name in program.needs if name != "approvals"}
        found["offers"] = {"prompts": "reads"}
        found["handoff"] = {"approvals_url": f"http://{addresses['approvals']}", "state_keys_file": str(data.state_keys)}
    elif "auth" in program.needs:
        found["auth"] = {"address": addresses["auth"]}
        if behind := [name for name in program.needs if name not in ("auth", "files")]:
            found["backends"] = {name: addresses[name] for name in behind}
    if program.role:
        found["database"] = {"dsn_file": str(dsn_file(data.secrets, program.role))}
    return found | _of_secrets(program, data, addresses)


def _of_secrets(program: Program, data: DataDir, addresses: Mapping[str, str]) -> dict[str, Section]:
    """The sections that name secrets, for a program that they are mounted into."""
    by_secret: dict[str, tuple[str, Section]] = {
        "decision.key": ("decision", {"key_file": str(data.decision_key)}),
        "decision.pub": ("decision", {"public_key_file": str(data.decision_pub)}),
        "links.key": ("links", {"base_url": f"http://{addresses.get('files', '')}", "key_file": str(data.links_key)}),
        "links.pub": ("links", {"public_key_file": str(data.links_pub)}),
        "store.keys": ("store", {"kind": "folder", "folder": str(data.store)}),
        "credentials.key": ("inference", {"key_file": str(data.credentials_key)}),
        "pepper": ("keys", {"pepper_file": str(data.pepper)}),
    }
    return dict(by_secret[secret] for secret in program.secrets if secret in by_secret)


def write(program: Program, data: DataDir, listen: str, addresses: Mapping[str, str]) -> None:
    """Write the configuration file of a program."""
    lines = [f"# Written by ./run up for {program.name}; changes are lost at its next start."]
    for name, section in sections(program, data, listen, addresses).items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in section.items())]
    write_private(data.config / f"{program.name}.toml", "\n".join(lines) + "\n")
