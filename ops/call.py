"""`./run call`: call one tool over MCP, as an agent would."""

import argparse
import json
import sys
from typing import Any

from ops import cli, connect, mcp_client
from ops.cli import OperatorError
from ops.layout import DataDir


def _arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError("the arguments must be a JSON object")
    return found


def main(arguments: list[str]) -> int:
    """Run the command `call`."""
    example = """./run call get_matter --args '{"case_id": "mclean"}' --key client_safe"""
    parser = cli.parser("call", "Call one tool over MCP and print its structured result.", example)
    parser.add_argument("tool", metavar="TOOL", help="name of the tool; ./run tools lists them")
    parser.add_argument(
        "--args", type=_arguments, default={}, metavar="JSON", help="arguments; a case_id may be a demonstration matter's short name"
    )
    parser.add_argument(
        "--key", default="firm", metavar="K", help="an API key, or a demonstration key's name: firm, client_safe, soilworks_only"
    )
    cli.add_data_dir(parser)
    options = parser.parse_args(arguments)
    try:
        known = connect.read(DataDir(options.data_dir))
        key = known["keys"].get(options.key, options.key)
        given = dict(options.args)
        if isinstance(given.get("case_id"), str):
            given["case_id"] = known["matters"].get(given["case_id"], given["case_id"])
        result = mcp_client.call(known["mcp_url"], key, "tools/call", {"name": options.tool, "arguments": given})
    except OperatorError as error:
        print(f"call: {error}", file=sys.stderr)
        return 1
    return show(result)


def show(result: dict[str, Any]) -> int:
    """Print a result: its structure where it has one, a failure on standard error."""
    text = "\n".join(block.get("text", "") for block in result.get("content", []) if block.get("type") == "text")
    if result.get("isError"):
        print(f"call: {text}", file=sys.stderr)
        return 1
    structured = result.get("structuredContent")
    print(json.dumps(structured, indent=2, ensure_ascii=False) if structured is not None else text)
    return 0
