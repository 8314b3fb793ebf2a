"""Serves the published prompts: the firm's own edition of a text where there is one, and the release's where a prompt is locked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from substrate.prompts.v1 import prompt_service_pb2 as pb

from kit import prompts
from kit.db import Database, load_statement
from kit.errors import FieldError, invalid
from kit.prompts import Prompt
from kit.server import Call, Handler
from services.reads.prompts.published import PUBLISHED

FOLDER = Path(__file__).parent
SERVICE = "substrate.prompts.v1.PromptService"


def published(folder: Path = FOLDER, names: tuple[str, ...] = PUBLISHED) -> dict[str, Prompt]:
    """The allow-list with what this release says of each. A name without a file stops the start."""
    known = prompts.load(folder)
    if missing := [name for name in names if name not in known]:
        raise prompts.Malformed(f"{', '.join(missing)}: published, and there is no such file.")
    return {name: known[name] for name in names}


class Prompts:
    """The handlers of PromptService. Listing asks nobody anything."""

    def __init__(self, database: Database) -> None:
        self._db, self._known = database, published()
        self._edition = load_statement(FOLDER / "edition.sql")
        self._listed = pb.ListPromptsResponse(prompts=[_shown(p) for p in self._known.values()])

    def handlers(self) -> Mapping[str, Handler]:
        """Method to handler."""
        return {"ListPrompts": self._list, "GetPrompt": self._get, "CompletePrompt": self._complete}

    async def _list(self, _request: Any, _call: Call) -> Message:
        return self._listed

    async def _get(self, request: Any, _call: Call) -> Message:
        prompt = self._known.get(request.name)
        if prompt is None:
            raise invalid([FieldError("name", f"expected one of {', '.join(self._known)}")])
        if wrong := prompts.wrong_arguments(prompt, request.arguments):
            raise invalid(wrong)
        version, text = (prompt.version, prompt.text) if prompt.locked else await self._of_the_firm(prompt)
        said = pb.PromptMessage(role=pb.ROLE_USER)
        said.content.text.text = prompts.fill(text, request.arguments)
        return pb.GetPromptResponse(description=prompt.description, messages=[said], locked=prompt.locked, version=version)

    async def _of_the_firm(self, prompt: Prompt) -> tuple[str, str]:
        """The firm's text where it has one that still fits the prompt. A store that cannot be read refuses the call: the release's text is
        not what the firm decided on."""
        async with self._db.connection() as connection:
            row = await connection.fetchrow(self._edition.sql, prompt.name)
        if row is None or row["text"] is None:
            return prompt.version, prompt.text
        if prompts.problem(prompt, row["text"]):  # written for another release's arguments
            return prompt.version, prompt.text
        return f"{prompt.version}, firm edition {row['edition']}", row["text"]

    async def _complete(self, _request: Any, _call: Call) -> Message:
        """No argument has values that could be named without reading a matter."""
        return pb.CompletePromptResponse(total=0)


def _shown(prompt: Prompt) -> pb.Prompt:
    arguments = [pb.PromptArgument(name=a.name, description=a.description, required=a.required) for a in prompt.arguments]
    return pb.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, version=prompt.version, arguments=arguments)
