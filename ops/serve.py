"""`./run serve`: run one program in the foreground, as a service manager would."""

import os
import sys
from pathlib import Path

from ops import cli, programs
from ops.layout import ROOT


def main(arguments: list[str]) -> int:
    """Become the program; only a failure returns."""
    table = programs.load()
    parser = cli.parser("serve", "Run one program in the foreground.", "./run serve reads --config /etc/substrate/reads.toml")
    parser.add_argument(
        "program", metavar="PROGRAM", choices=[p.name for p in table.programs], help=", ".join(p.name for p in table.programs)
    )
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="its configuration, TOML")
    options = parser.parse_args(arguments)
    if options.config.is_file():
        environ = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}
        os.execve(
            sys.executable, [sys.executable, "-m", table[options.program].module, "--config", str(options.config.absolute())], environ
        )
    print(f"serve: there is no file {options.config}.", file=sys.stderr)
    return 1
