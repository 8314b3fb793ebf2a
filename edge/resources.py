"""Resources: addresses of tools. Each is read through the tool that it names, and through nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.auth.v1 import auth_service_pb2
from substrate.tools.v1 import exchange_pb2

from edge import identity
from edge.call import ToolCalls
from edge.errors import Fault
from edge.families import Asked, Serve
from edge.jsonrpc import INVALID_PARAMS
from edge.revisions import Revision
from edge.tools import Card
from kit import limits
from kit.errors import Refusal
from kit.results import block

JSON = "application/json"
_PLACE = re.compile(r"\{([a-z_]+)\}")
_CURSOR = "page_token"


@dataclass(frozen=True, slots=True)
class Address:
    """One declared address, and the tool that answers at it."""

    template: str
    card: Card
    places: tuple[str, ...]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, card: Card) -> Address:
        """Of a tool that declares one."""
        template = card.tool.resource
        parts = _PLACE.split(template)
        pattern = "".join(re.escape(part) if n % 2 == 0 else f"(?P<{part}>[^/{{}}]+)" for n, part in enumerate(parts))
        return cls(template, card, tuple(parts[1::2]), re.compile(pattern))

    @property
    def collection(self) -> str:
        """The address that lists what the first place can be."""
        return self.template.partition("/{")[0]

    def open_to(self, principal: auth_service_pb2.Principal) -> bool:
        """Whether this key has any use for it, by the declaration that the services themselves judge by."""
        tool = self.card.tool
        firm = principal.credential_class == auth_service_pb2.CREDENTIAL_CLASS_FIRM
        return tool.scope in principal.scopes and (firm or tool.client_safe != "refused")


class Resources:
    """Serves resources/list, resources/templates/list and resources/read."""

    def __init__(self, calls: ToolCalls, cards: Iterable[Card], changing: bool = False) -> None:
        self._calls = calls
        self._said = identity.LIST_CHANGED | {"subscribe": True} if changing else {}
        self._addresses = [Address.of(card) for card in cards]

    @property
    def methods(self) -> Mapping[str, Serve]:
        """By name."""
        return {"resources/list": self._listed, "resources/templates/list": self._templates, "resources/read": self.read}

    def capabilities(self, _revision: Revision) -> dict[str, Any]:
        """What is said of them."""
        return {"resources": self._said}

    async def _listed(self, asked: Asked) -> Any:
        principal = await asked.caller.authenticate()
        cursor = asked.params.get("cursor")
        if cursor is not None and (not isinstance(cursor, str) or not cursor):
            raise _bad_cursor()
        known = [a for a in self._addresses if a.open_to(principal)]
        fixed = [_resource(a, a.template, a.card.tool.title, asked.revision) for a in known if not a.places] if cursor is None else []
        expanded, following = await self._expanded(asked, known, cursor)
        return asked.revision.listed({"resources": fixed + expanded} | ({"nextCursor": following} if following else {}))

    async def _expanded(self, asked: Asked, known: list[Address], cursor: str | None) -> tuple[list[dict[str, Any]], str]:
        """One page of the addresses that stand below a collection: an item of the collection each, as the key itself may list it."""
        below = [a for a in known if len(a.places) == 1]
        over = next((a for a in known if not a.places and any(b.collection == a.template for b in below)), None)
        if over is None:
            if cursor is not None:
                raise _bad_cursor()
            return [], ""
        pages = _CURSOR in over.card.tool.request.fields_by_name
        try:
            answer: Any = await self._answer(over, asked, {_CURSOR: cursor} if cursor is not None and pages else {})
        except Refusal as refusal:
            if cursor is not None and any(field.path == _CURSOR for field in refusal.fields):
                raise _bad_cursor() from None
            raise
        items = over.card.tool.encode(answer)
        found = [
            _resource(a, a.template.replace(f"{{{a.places[0]}}}", str(item[a.places[0]])), _title(a, item), asked.revision)
            for item in _items(items, below[0].places[0])
            for a in below
            if a.collection == over.template
        ]
        return found, items.get("next_page_token") or ""

    async def _templates(self, asked: Asked) -> Any:
        principal = await asked.caller.authenticate()
        if asked.params.get("cursor") is not None:
            raise _bad_cursor()
        known = [a for a in self._addresses if a.places and a.open_to(principal)]
        return asked.revision.listed({"resourceTemplates": [_template(a, asked.revision) for a in known]})

    async def read(self, asked: Asked) -> Any:
        """What stands at the address that a request names."""
        uri = asked.params.get("uri")
        if not isinstance(uri, str):
            raise Fault(INVALID_PARAMS, "uri must be a string: an address of resources/list.")
        answer = await self.answer_at(asked, uri)
        address, _ = self._found(uri)
        return answer if isinstance(answer, dict) else asked.revision.listed({"contents": _contents(address, uri, answer)})

    async def answer_at(self, asked: Asked, uri: str) -> Message | dict[str, Any]:
        """The answer of the tool at an address, as the key behind the request gets it."""
        address, bound = self._found(uri)
        try:
            return await self._answer(address, asked, bound)
        except Refusal as refusal:
            if refusal.fields:  # what stands in the address cannot be an id
                raise unknown(uri) from None
            raise

    def _found(self, uri: str) -> tuple[Address, dict[str, str]]:
        if len(uri) <= limits.URI_MAX_CHARS:
            for address in self._addresses:
                if (matched := address.pattern.fullmatch(uri)) is not None:
                    return address, matched.groupdict()
        raise unknown(uri)

    async def _answer(self, address: Address, asked: Asked, arguments: Mapping[str, Any]) -> Message | dict[str, Any]:
        return await self._calls.answer(address.card.tool, address.card.decode(arguments), asked.caller, asked.talk)


def unknown(uri: str) -> Fault:
    """The answer for an address that names nothing here."""
    return Fault(INVALID_PARAMS, "Unknown resource: resources/list has those that this key reaches.", {"uri": uri[: limits.URI_MAX_CHARS]})


def _bad_cursor() -> Fault:
    return Fault(INVALID_PARAMS, "Unknown cursor: it is the nextCursor of a list that this key was given, and nothing else.")


def _items(answer: Mapping[str, Any], place: str) -> Iterator[Mapping[str, Any]]:
    """The items of a collection that have a value for a place."""
    for value in answer.values():
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, dict) and place in item)


def _title(address: Address, item: Mapping[str, Any]) -> str:
    name = item.get("short_name") or item.get("caption") or item[address.places[0]]
    return f"{name}: {address.card.tool.title}"


def _resource(address: Address, uri: str, title: str, revision: Revision) -> dict[str, Any]:
    shown = {"uri": uri, "name": title, "description": address.card.tool.description}
    if not address.card.tool.free:
        shown["mimeType"] = JSON
    return shown | ({"title": title} if revision.structured else {})


def _template(address: Address, revision: Revision) -> dict[str, Any]:
    tool = address.card.tool
    shown = {"uriTemplate": address.template, "name": tool.title, "description": tool.description}
    if not tool.free:
        shown["mimeType"] = JSON
    return shown | ({"title": tool.title} if revision.structured else {})


def _contents(address: Address, uri: str, answer: Message) -> list[dict[str, Any]]:
    """What stands at the address: the tool's whole answer, or the resources that free content encloses."""
    if isinstance(answer, exchange_pb2.Content):
        return [block(part)["resource"] | {"uri": uri} for part in answer.blocks if part.WhichOneof("kind") == "resource"]
    return [{"uri": uri, "mimeType": JSON, "text": orjson.dumps(address.card.tool.encode(answer)).decode()}]
