"""`./run proposals`: what waits, what was decided and what was carried out, for an operator to look at. It changes nothing."""

import argparse
import asyncio
import sys
from typing import Any

from kit import actions, db
from kit.visible import visible
from ops import as_owner, cli
from ops.cli import OperatorError
from ops.layout import DataDir
from ops.names import matter_id, matter_names

STATES = ("undecided", "approved", "declined", "sent_back", "withdrawn", "superseded", "expired")
LIST = """
SELECT p.id, p.case_id, p.action, p.what_will_happen, p.filed_at, s.state, s.execution
  FROM ledger.proposals p JOIN ledger.states s ON s.id = p.id
 WHERE ($1::text IS NULL OR s.state = $1) AND ($2::uuid IS NULL OR p.case_id = $2)
 ORDER BY p.filed_at DESC LIMIT $3
"""
SHOW = """
SELECT p.*, s.state, s.execution, s.superseded_by, d.decision, d.decided_by, d.decided_at, d.reason AS decision_reason, d.shown_sha256,
       d.step_up,
       e.attempts, e.intent_at, e.outcome, e.detail, e.finished_at
  FROM ledger.proposals p JOIN ledger.states s ON s.id = p.id
  LEFT JOIN ledger.decisions d ON d.proposal_id = p.id LEFT JOIN ledger.executions e ON e.proposal_id = p.id
 WHERE p.id::text = $1
"""


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(
        "proposals", "Proposals, decisions and executions; looks and changes nothing.", "./run proposals list --state undecided"
    )
    chosen = parser.add_subparsers(dest="action", required=True, metavar="list|show")
    listed = cli.action(chosen, "list", "list proposals, newest first", "./run proposals list --state undecided --matter soilworks")
    listed.add_argument("--state", choices=STATES)
    listed.add_argument("--matter", help="id, or a demonstration matter's short name")
    listed.add_argument("--limit", type=int, default=50, help="rows (default: 50)")
    shown = cli.action(chosen, "show", "show one with its evidence", "./run proposals show 0d7e…")
    shown.add_argument("proposal", metavar="ID")
    return parser


async def _ask(data: DataDir, statement: str, *values: Any) -> list[db.Record]:
    async with as_owner.connected(data) as connection:
        return await connection.fetch(statement, *values)


def _list(options: argparse.Namespace, data: DataDir) -> str:
    case_id = matter_id(data, options.matter) if options.matter else None
    rows = asyncio.run(_ask(data, LIST, options.state, case_id, options.limit))
    names = matter_names(data)
    head = ("ID", "FILED", "MATTER", "STATE", "WHAT WILL HAPPEN")
    body = [
        (
            str(r["id"]),
            f"{r['filed_at']:%Y-%m-%d %H:%M}",
            names.get(str(r["case_id"]), str(r["case_id"])),
            _state(r),
            visible(r["what_will_happen"]),
        )
        for r in rows
    ]
    return cli.table([head, *body]) if body else "no proposals"


def _state(row: db.Record) -> str:
    return f"{row['state']} ({row['execution']})" if row["execution"] else str(row["state"])


def _show(options: argparse.Namespace, data: DataDir) -> str:
    rows = asyncio.run(_ask(data, SHOW, options.proposal))
    if not rows:
        raise OperatorError(f"there is no proposal {options.proposal!r}; ./run proposals list shows them.")
    row = rows[0]
    action = actions.load().find(row["action"])
    lines = [f"{name}: {_text(value)}" for name, value in row.items() if value is not None and name != "args"]
    return "\n".join([*lines, "args:", actions.as_json(action.read(row["args"]))])


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else visible(str(value))


def main(arguments: list[str]) -> int:
    """Run the command `proposals`."""
    options = _parser().parse_args(arguments)
    data = DataDir(options.data_dir)
    try:
        print(_list(options, data) if options.action == "list" else _show(options, data))
    except OperatorError as error:
        print(f"proposals: {error}", file=sys.stderr)
        return 1
    return 0
