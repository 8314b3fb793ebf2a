"""Dispatches the operator commands of ./run."""

import importlib
import os
import subprocess
import sys

from ops.layout import ROOT

# command -> (module of ops, what it does)
COMMANDS = {
    "up": ("ops.up", "start everything on this machine and say how to connect"),
    "down": ("ops.down", "stop what `up` started"),
    "connect": ("ops.lookup", "print one value of connect.json, e.g. keys.firm"),
    "call": ("ops.call", "call one tool over MCP"),
    "tools": ("ops.tools", "list the tools, or explain one"),
    "keys": ("ops.keys", "create, list and revoke API keys"),
    "people": ("ops.people", "people, their matters and ethical screens"),
    "prompts": ("ops.prompts", "the published prompts, and the firm's own texts for them"),
    "proposals": ("ops.proposals", "what was proposed, decided and carried out"),
    "serve": ("ops.serve", "run one program in the foreground"),
    "migrate": ("ops.migrate", "bring a database to the current schema"),
}
# command -> (arguments for Python, what it does)
TOOLS = {
    "test": (["-m", "pytest"], "run the tests; takes pytest's arguments"),
    "check": (["scripts/check.py"], "format, lint, types, contracts, protos, generated code, locks"),
    "gen": (["scripts/gen.py"], "make gen/ from protos/"),
    "lock": (["scripts/lock.py"], "pin the packages of every program from pyproject.toml"),
    "bench": (["-m", "tests.bench"], "measure"),
    "conformance": (["-m", "tests.conformance"], "hold the edge against the official suite of the protocol"),
}
# How the whole of the tests is run: a file stays on one process, so that what a file shares is made once.
PARALLEL = ["-n", str(max(2, min(os.cpu_count() or 2, 4))), "--dist", "loadfile"]
EXAMPLE = """example:
  ./run up --detach && ./run call list_matters --args '{}'

exit codes: 0 done, 1 failed, 2 wrong usage"""


def usage() -> str:
    """The overview."""
    lines = [f"  {name:9} {purpose}" for name, (_, purpose) in (*COMMANDS.items(), *TOOLS.items())]
    return "\n".join(["usage: ./run COMMAND [arguments]; each has --help", "", *lines, "", EXAMPLE])


def main(arguments: list[str]) -> int:
    """Run one command; a reader of its output that goes away early ends it quietly."""
    try:
        code = _command(arguments)
        sys.stdout.flush()  # here, where a broken pipe is no surprise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _command(arguments: list[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(usage())
        return 0 if arguments else 2
    name, rest = arguments[0], arguments[1:]
    if name in COMMANDS:
        run = importlib.import_module(COMMANDS[name][0]).main
        try:
            return int(run(rest))
        except KeyboardInterrupt:
            return 130
    if name in TOOLS:
        return _tool(name, rest)
    print(f"run: there is no command {name!r}.\n\n{usage()}", file=sys.stderr)
    return 2


def _tool(name: str, rest: list[str]) -> int:
    """Run a development tool from the root of the repository; pytest's own exit codes become ours."""
    whole = PARALLEL if name == "test" and not rest else []
    code = subprocess.call([sys.executable, *TOOLS[name][0], *whole, *rest], cwd=ROOT)
    if name == "test" and code == 4:  # pytest: wrong usage
        return 2
    return min(code, 1) if name == "test" and code > 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
