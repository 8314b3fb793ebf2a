"""Makes the knowledge graph of a matter: from the people that its papers name, and from an index of further entities and relationships."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kit import typography
from ops.importers.library import Library, count_checks
from ops.importers.pages import ImportFailure
from ops.importers.rows import Rows, Source

FILE = "graph.json"


@dataclass(frozen=True, slots=True)
class Extractor:
    """Who or what took a statement from a paper, and when."""

    name: str
    kind: str
    at: str


@dataclass
class Graph:
    """The entities of one matter by key, and what is checked of them while they are added."""

    library: Library
    extractor: Extractor
    ids: dict[str, str] = field(default_factory=dict)
    checks: list[tuple[str, bool | None]] = field(default_factory=list)
    relationships: int = 0

    @property
    def rows(self) -> Rows:
        """The rows that the graph is added to."""
        return self.library.rows

    def entity(self, key: str, kind: str, name: str, places: Iterable[Source], **more: Any) -> str:
        """Adds an entity and returns its id; one that is there already gets the further places only."""
        places = list(places)
        known = self.ids.get(key)
        if known is not None:
            self._places("entity", known, name, name, places, self.extractor)
            return known
        entity_id = self.ids[key] = self.rows.id("kg_entities", key)
        values = {
            "kind": kind,
            "name": name,
            "description": more.get("description"),
            "attributes": list(more.get("attributes", ())),
            "lane": more.get("lane", "client"),
            "merged_into": more.get("merged_into"),
            "as_of": more.get("as_of") or _oldest(places) or self.library.undated_as_of,
        }
        self.rows.plain("kg_entities", entity_id, values)
        self._places("entity", entity_id, name, name, places, more.get("extractor") or self.extractor)
        return entity_id

    def alias(self, key: str, alias: str, place: Source, note: str | None = None) -> None:
        """Adds another name that a paper gives an entity."""
        alias_id = self.rows.id("kg_aliases", key, alias)
        values = {"entity_id": self.ids[key], "alias": alias, "note": note, "as_of": place.as_of}
        self.rows.plain("kg_aliases", alias_id, values)
        self._places("alias", alias_id, f"the name {alias}", alias, [place], self.extractor)

    def relate(self, subject: str, predicate: str, object_: str, place: Source, **more: Any) -> None:
        """Adds a relationship between two entities."""
        missing = [k for k in (subject, object_) if k not in self.ids]
        if missing:
            raise ImportFailure(f"{self.rows.matter}: the graph relates {missing[0]!r}, and no entity has that key.")
        row_id = self.rows.id("kg_relationships", subject, predicate, object_)
        values = {
            "subject_id": self.ids[subject],
            "predicate": predicate,
            "object_id": self.ids[object_],
            "qualifier": more.get("qualifier"),
            "valid_from": more.get("valid_from"),
            "valid_to": more.get("valid_to"),
            "lane": more.get("lane", "client"),
            "basis": more.get("basis", "stated"),
            "as_of": place.as_of,
        }
        self.rows.plain("kg_relationships", row_id, values)
        self.relationships += 1
        self._places("relationship", row_id, f"{subject} {predicate} {object_}", None, [place], more.get("extractor") or self.extractor)

    def _places(self, kind: str, target: str, subject: str, words: str | None, places: list[Source], by: Extractor) -> None:
        for place in places:
            many = sum(p["target_id"] == target for p in self.rows.tables["kg_provenance"])
            self._place(kind, target, many + 1, subject, words, place, by)

    def _place(self, kind: str, target: str, position: int, subject: str, words: str | None, place: Source, by: Extractor) -> None:
        quote = place.quote or words
        text = self.text(place)
        at = text.find(quote) if text is not None and quote else -1
        if quote and place.version_id:
            self.checks.append((f"{subject} at {place.locator}", None if text is None else typography.stands_in(quote, text)))
        self.rows.tables["kg_provenance"].append(
            {
                "urn": f"urn:substrate:kg:prov:{self.rows.id('kg_provenance', target, position)}",
                "case_id": self.rows.case_id,
                "target_kind": kind,
                "target_id": target,
                "position": position,
                "subject": subject,
                "document_version_id": place.version_id,
                "page_from": place.page_from,
                "page_to": place.page_to,
                "char_from": at if at >= 0 else None,
                "char_to": at + len(quote) if quote and at >= 0 else None,
                "locator": place.locator,
                "quote": place.quote,
                "source_class": place.source_class,
                "extractor": by.name,
                "extractor_kind": by.kind,
                "extracted_at": by.at,
                "as_of": place.as_of,
                "recorded_by": self.rows.recorded_by,
            }
        )

    def text(self, place: Source) -> str | None:
        """The text of the page that a place names, where it is loaded."""
        paper = next((p for p in self.library.papers.values() if p.version_id == place.version_id), None)
        page = paper.pages.get(place.page_from) if paper and place.page_from is not None else None
        return page.text if page else None

    def report(self) -> None:
        """Says how many statements stand where they are cited."""
        self.library.report += count_checks(f"{len(self.ids)} entities, {self.relationships} relationships", self.checks)


def _oldest(places: Iterable[Source]) -> str | None:
    whens = [p.as_of for p in places]
    return min((w for w in whens if w), default=None) if all(whens) else None


def _is_organization(name: str) -> bool:
    words = (
        *("Association", "Board", "Committee", "Congress", "Coalition", "Congregations", "District", "State of", "Teachers"),
        *("LLC", "LLP", "Inc", "Incorporated", "P.C.", "PLC", "LPA"),
    )
    return any(w in name for w in words)


def people(graph: Graph, proceeding: str) -> None:
    """Entities for the parties and counsel that were loaded, at the places that their rows were taken from."""
    rows = graph.rows
    places = {p["target_id"]: p for p in rows.tables["provenance"]}
    for party in rows.tables["parties"]:
        place = _at(places[party["id"]])
        name, printed = party["name"], party["printed_as"]
        _person(graph, "organization" if _is_organization(name) else "person", name, printed, place)
        if (name, proceeding) not in _related(graph):
            graph.relate(name, "party_to", proceeding, replace(place, quote=printed or name), qualifier=party["party_type"])
    for counsel in rows.tables["counsel_appearances"]:
        _counsel(graph, counsel, _at(places[counsel["id"]]), proceeding)


def _person(graph: Graph, kind: str, name: str, printed: str | None, place: Source) -> None:
    """An entity at a place; where the paper prints another name, that is what must stand there, and it is an alias too."""
    if name in graph.ids:
        return
    graph.entity(name, kind, name, [replace(place, quote=printed)] if place.version_id else [], as_of=place.as_of)
    if printed:
        graph.alias(name, printed, place, "as the paper prints it")


def _counsel(graph: Graph, counsel: Mapping[str, Any], place: Source, proceeding: str) -> None:
    name, printed, firm = counsel["attorney"], counsel["printed_as"], counsel["firm"]
    for_party = next((p["name"] for p in graph.rows.tables["parties"] if p["id"] == counsel["party_id"]), None)
    if name == for_party:
        return
    _person(graph, "person", name, printed, place)
    target, predicate = (for_party, "represents") if for_party else (proceeding, "appears_in")
    known = _related(graph)
    if (name, target) not in known:
        quote = replace(place, quote=(printed or name) if place.version_id else None)
        graph.relate(name, predicate, target, quote, qualifier=None if for_party else f"for {counsel['appears_for']}")
    if firm and (name, firm) not in known:
        printed_there = _where_printed(graph, firm, place)
        graph.entity(firm, "organization", firm, [printed_there] if printed_there.version_id else [], as_of=place.as_of)
        graph.relate(name, "works_for", firm, printed_there)


def _where_printed(graph: Graph, words: str, place: Source) -> Source:
    """The place, if the words stand there; otherwise nowhere, and the statement then counts as ungrounded."""
    text = graph.text(place)
    stands = text is not None and typography.stands_in(words, text)
    return replace(place, quote=words) if stands else Source(as_of=place.as_of)


def _related(graph: Graph) -> set[tuple[str, str]]:
    by_id = {i: k for k, i in graph.ids.items()}
    return {(by_id[r["subject_id"]], by_id[r["object_id"]]) for r in graph.rows.tables["kg_relationships"]}


def _at(row: Mapping[str, Any]) -> Source:
    return Source(row["document_version_id"], row["page_from"], row["page_to"], row["locator"], None, row["source_class"], row["as_of"])


def build(library: Library) -> None:
    """The whole graph of a matter that has an index of it."""
    if not (library.root / FILE).exists():
        return
    file = library.read(FILE)
    given = json.loads(file.text())
    graph = Graph(library, Extractor(library.rows.recorded_by, "import", library.reviewed_at))
    by = {None: graph.extractor} | {k: Extractor(v["name"], v["kind"], v["at"]) for k, v in given.get("extractors", {}).items()}
    proceeding = given["proceeding"]
    for spec in given["entities"]:
        places = [library.place(p) for p in spec.get("places", ())]
        more = {k: spec[k] for k in ("description", "attributes", "lane") if k in spec}
        graph.entity(spec["name"], spec["kind"], spec["name"], places, extractor=by[spec.get("by")], **more)
    people(graph, proceeding)
    for spec in given.get("aliases", ()):
        graph.alias(spec["entity"], spec["alias"], library.place(spec["place"]), spec.get("note"))
    for spec in given["relationships"]:
        more = {k: spec[k] for k in ("qualifier", "valid_from", "valid_to", "lane", "basis") if k in spec}
        place = library.place({**spec["place"], "quote": spec["quote"]})
        graph.relate(spec["subject"], spec["predicate"], spec["object"], place, extractor=by[spec.get("by")], **more)
    graph.report()
