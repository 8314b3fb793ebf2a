"""`./run prompts`: the published prompts, and the firm's own texts for those that are not locked."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from kit import db, prompts
from kit.prompts import Prompt
from ops import as_owner, cli
from ops.cli import OperatorError
from ops.layout import ROOT, DataDir

FOLDER = ROOT / "services" / "reads" / "prompts"
EDITIONS = "SELECT DISTINCT ON (name) name, edition, text, edited_by FROM firm.prompt_editions ORDER BY name, edition DESC"
KEEP = """
INSERT INTO firm.prompt_editions (name, edition, text, of_version, edited_by)
SELECT $1, coalesce(max(edition), 0) + 1, $2, $3, $4 FROM firm.prompt_editions WHERE name = $1 RETURNING edition
"""
AUDIT = "SELECT audit.append('operator', 'EditPrompt', NULL, 'done', convert_to($1, 'UTF8'))"


def _parser() -> argparse.ArgumentParser:
    parser = cli.parser(
        "prompts", "Prompts that agents may ask for, and the firm's own texts for them.", "./run prompts show review_a_draft"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|edit|reset")
    cli.action(actions, "list", "list the prompts and whose text each has", "./run prompts list")
    shown = cli.action(actions, "show", "print the text that agents get", "./run prompts show review_a_draft")
    edited = cli.action(
        actions,
        "edit",
        "replace the text of a prompt that is not locked",
        "./run prompts edit review_a_draft --file ours.md --by 'Ada Reyes'",
    )
    reset = cli.action(actions, "reset", "go back to the release's text", "./run prompts reset review_a_draft --by 'Ada Reyes'")
    for one in (shown, edited, reset):
        one.add_argument("name", metavar="NAME")
    edited.add_argument("--file", required=True, type=Path, help="the new text; arguments are written as {{name}}")
    for one in (edited, reset):
        one.add_argument("--by", required=True, help="who decided on it; kept with the edition and in the audit log")
    return parser


def main(arguments: list[str]) -> int:
    """Run the command `prompts`."""
    options = _parser().parse_args(arguments)
    try:
        print(asyncio.run(_run(options, prompts.load(FOLDER), DataDir(options.data_dir))))
    except OperatorError as error:
        print(f"prompts: {error}", file=sys.stderr)
        return 1
    return 0


async def _run(options: argparse.Namespace, known: dict[str, Prompt], data: DataDir) -> str:
    async with as_owner.connected(data) as connection:
        editions = {row["name"]: row for row in await connection.fetch(EDITIONS)}
        if options.action == "list":
            return _table(known, editions)
        prompt = known.get(options.name)
        if prompt is None:
            raise OperatorError(f"there is no prompt {options.name!r}; ./run prompts list shows them.")
        if options.action == "show":
            row = editions.get(prompt.name)
            return prompt.text if prompt.locked or row is None or row["text"] is None else str(row["text"])
        text = _text(prompt, options.file) if options.action == "edit" else None
        return await _keep(connection, prompt, text, options.by)


async def _keep(connection: db.Connection[db.Record], prompt: Prompt, text: str | None, by: str) -> str:
    """One more edition, and its line in the audit log."""
    if prompt.locked:
        raise OperatorError(f"{prompt.name} is locked: agents always get the text of the release.")
    async with connection.transaction():
        edition = await connection.fetchval(KEEP, prompt.name, text, prompt.version, by)
        await connection.execute(AUDIT, f"{prompt.name} edition {edition} by {by}")
    return f"{prompt.name}: edition {edition} is " + ("what agents get from now on" if text else "a return to the release's text")


def _text(prompt: Prompt, path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"{path} could not be read as text ({type(error).__name__}).") from None
    if wrong := prompts.problem(prompt, text):
        raise OperatorError(wrong)
    return text


def _table(known: dict[str, Prompt], editions: dict[str, db.Record]) -> str:
    rows = [("NAME", "VERSION", "TEXT", "TITLE")]
    for prompt in known.values():
        row = editions.get(prompt.name)
        whose = (
            "release, locked" if prompt.locked else "release" if row is None or row["text"] is None else f"firm, edition {row['edition']}"
        )
        rows.append((prompt.name, prompt.version, whose, prompt.title))
    return cli.table(rows)
