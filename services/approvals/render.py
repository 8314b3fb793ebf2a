"""Makes pages from templates, parsed once at the start, and the bytes of a card whose digest a decision carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kit.visible import visible
from services.approvals.card import Card, as_json

TEMPLATES = Path(__file__).parent / "templates"
PAGE, ROW, JSON = "page", "row", "json"  # the ways in which a card is shown


def when(moment: datetime | str) -> str:
    """A moment in words, in UTC."""
    at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return f"{at.day} {at:%B %Y, %H:%M} UTC"


def words(name: str) -> str:
    """A name of a field or state as a person would write it."""
    return name.replace("_", " ")


class Renderer:
    """The templates of this room."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {"visible": visible, "when": when, "words": words}
        self._views: Mapping[str, Callable[[Card], bytes]] = {
            PAGE: lambda card: self.fragment("_card.html", card),
            ROW: lambda card: self.fragment("_row.html", card),
            JSON: as_json,
        }

    def fragment(self, template: str, card: Card) -> bytes:
        """One card as it stands in a page: made of the card and nothing else, so that the same card is the same bytes."""
        return self._environment.get_template(template).render(card=card).encode("utf-8")

    def shown(self, view: str, card: Card) -> tuple[bytes, bytes]:
        """The bytes of a card in one view, and their digest."""
        body = self._views[view](card)
        return body, sha256(body).digest()

    def page(self, template: str, **values: Any) -> bytes:
        """A whole page."""
        return self._environment.get_template(template).render(**values).encode("utf-8")
