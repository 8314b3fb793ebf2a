"""How to connect to a running stack: the file that says so, and what is printed."""

import json
from collections.abc import Mapping
from typing import Any

from ops.cli import OperatorError
from ops.files import write_private
from ops.layout import DataDir


def document(
    data: DataDir, listen: Mapping[str, str], grpc: Mapping[str, str], matters: Mapping[str, str], demo: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of connect.json."""
    return {
        "mcp_url": f"http://{listen['edge']}/mcp",
        "approvals_url": f"http://{listen['approvals']}",
        "keys": demo["keys"],
        "matters": dict(matters),
        "grpc": dict(grpc),
        "ca": str(data.pki / "ca.pem"),
        "client_cert": str(data.pki / "firm.pem"),
        "client_key": str(data.pki / "firm.key"),
        "people": demo["people"],
    }


def read(data: DataDir) -> dict[str, Any]:
    """What a stack wrote about itself."""
    try:
        found: dict[str, Any] = json.loads(data.connect.read_text(encoding="utf-8"))
    except OSError:
        raise OperatorError(f"there is no stack in {data.root}; start it with ./run up.") from None
    return found


def write(data: DataDir, content: Mapping[str, Any]) -> None:
    """Write connect.json, which holds keys."""
    write_private(data.connect, json.dumps(content, indent=2) + "\n")


def summary(data: DataDir, content: Mapping[str, Any]) -> str:
    """What an operator sees when the stack serves."""
    keys, url = content["keys"], content["mcp_url"]
    notes = {
        "firm": "every matter of its owner, both lanes",
        "client_safe": "answers a client may see",
        "soilworks_only": "narrowed to one matter",
    }
    lines = [
        f"MCP endpoint   {url}",
        f"approvals      {content['approvals_url']}  (for people)",
        *(f"gRPC {name:9} {address}  (mutual TLS)" for name, address in content["grpc"].items()),
    ]
    lines += ["", "keys", *(f"  {name:15} {key}   {notes.get(name, '')}".rstrip() for name, key in keys.items())]
    lines += ["", "matters", *(f"  {name:15} {case_id}" for name, case_id in content["matters"].items())]
    lines += ["", "people who sign in to approvals", *(f"  {p['email']:24} {p['password']}" for p in content["people"].values())]
    lines += ["", "connect an agent", *snippets(url, keys["firm"])]
    lines += ["", f"all of this is in {data.connect} (readable by you alone)"]
    return "\n".join(lines)


def snippets(url: str, key: str) -> list[str]:
    """How the usual clients are told about the endpoint."""
    header = f"Authorization: Bearer {key}"
    entry = {"url": url, "headers": {"Authorization": f"Bearer {key}"}}
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}},
    }
    return [
        "  Claude Code",
        f'    claude mcp add --transport http substrate {url} --header "{header}"',
        "  Cursor (.cursor/mcp.json)",
        f"    {json.dumps({'mcpServers': {'substrate': entry}})}",
        "  VS Code (.vscode/mcp.json)",
        f"    {json.dumps({'servers': {'substrate': {'type': 'http', **entry}}})}",
        "  curl",
        f"    curl -s {url} -H '{header}' -H 'Content-Type: application/json' \\",
        f"      -H 'Accept: application/json, text/event-stream' -d '{json.dumps(initialize)}'",
        "  here",
        "    ./run call list_matters --args '{}'",
    ]
