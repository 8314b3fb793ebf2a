"""`./run tools`: the tools as they are declared, without a running stack."""

import re
import sys
from collections.abc import Iterator

from google.protobuf.descriptor import FieldDescriptor

from kit import catalogue
from ops import cli
from ops.layout import ROOT

_SENTENCE_END = re.compile(r"(?<=[a-z]{3}\.)\s+(?=[A-Z])")  # not after "Fed." or "R."
_TYPES = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "boolean",
    FieldDescriptor.TYPE_INT32: "integer",
    FieldDescriptor.TYPE_INT64: "integer",
    FieldDescriptor.TYPE_UINT32: "integer",
    FieldDescriptor.TYPE_BYTES: "bytes",
}


def _type(field: FieldDescriptor) -> str:
    if field.enum_type is not None:
        return "word"
    if field.message_type is not None:
        return str(field.message_type.name)
    return _TYPES.get(field.type, "number")


def _words(field: FieldDescriptor) -> str:
    """The words that an enum argument takes, as they stand in JSON."""
    if field.enum_type is None:
        return ""
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", field.enum_type.name).upper() + "_"
    return f" One of: {', '.join(v.name.removeprefix(prefix).lower() for v in field.enum_type.values if v.number)}."


def _sql(tool: catalogue.Tool) -> str:
    for path in (f"services/reads/custom/{tool.name}.py", f"services/reads/sql/{tool.name}.sql"):
        if (ROOT / path).exists():
            return path
    return "none"


def explain(tool: catalogue.Tool, comments: dict[str, str]) -> Iterator[str]:
    """Everything that is declared about one tool."""
    facts = {
        "title": tool.title,
        "scope": tool.scope,
        "cost": tool.cost,
        "rate lane": tool.rate_lane,
        "client_safe key": tool.client_safe.replace("_", " "),
        "as a task": tool.task_support,
        "changes data": "no" if tool.read_only else "yes",
        "RPC": tool.path,
        "SQL": _sql(tool),
        "resource": tool.resource or "none",
        "leads to a person": "yes" if tool.handoff else "no",
        "asks": "before it becomes a task" if tool.asks_first else "while it is answered, if at all",
        "arguments": "as its own JSON Schema says" if tool.arguments_schema else "as listed below",
    }
    yield tool.name
    yield f"  {tool.description}"
    yield ""
    yield from (f"  {name:16} {value}" for name, value in facts.items())
    yield ""
    yield "  arguments" if tool.request.fields else "  no arguments"
    for field in tool.request.fields:
        kind = f"{'list of ' if field.is_repeated else ''}{_type(field)}"
        yield f"    {field.name:20} {kind:16} {comments.get(field.full_name, '')}{_words(field)}"


def main(arguments: list[str]) -> int:
    """Run the command `tools`."""
    parser = cli.parser("tools", "List the tools, or explain one.", "./run tools --explain get_fact_record")
    parser.add_argument("--explain", metavar="NAME", help="everything that is declared about this tool")
    options = parser.parse_args(arguments)
    found = catalogue.load()
    if options.explain is None:
        for tool in found.tools:
            print(f"{tool.name:28} {tool.scope:16} {_SENTENCE_END.split(tool.description)[0]}")
        return 0
    chosen = found.by_name.get(options.explain)
    if chosen is None:
        print(f"tools: there is no tool {options.explain!r}; ./run tools lists them.", file=sys.stderr)
        return 1
    print("\n".join(explain(chosen, found.comments)))
    return 0
