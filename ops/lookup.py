"""Prints one value of connect.json, for shell scripts."""

import json
import sys
from typing import Any

from ops import cli
from ops.layout import DataDir


def main(arguments: list[str]) -> int:
    """`./run connect PATH`: the value at a dotted path, e.g. keys.firm."""
    made = cli.parser("connect", "print one value of connect.json", "./run connect keys.firm")
    cli.add_data_dir(made)
    made.add_argument("path", metavar="PATH", help="dotted path, e.g. mcp_url, keys.firm, matters.mclean, grpc.reads, ca")
    given = made.parse_args(arguments)
    connect = DataDir(given.data_dir).connect
    if not connect.exists():
        print("nothing runs here yet; start it with ./run up", file=sys.stderr)
        return 1
    value: Any = json.loads(connect.read_text(encoding="utf-8"))
    for part in str(given.path).split("."):
        if not isinstance(value, dict) or part not in value:
            known = ", ".join(sorted(value)) if isinstance(value, dict) else "nothing below it"
            print(f"connect.json has no {given.path}; there is {known}", file=sys.stderr)
            return 2
        value = value[part]
    print(value if isinstance(value, str) else json.dumps(value))
    return 0
