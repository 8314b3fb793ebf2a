"""Rows of one matter, ready to be written: ids that follow from what a row is, and a source with each."""

import uuid
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ops.importers.pages import ImportFailure

_NAMESPACE = uuid.UUID("6f1f4dbb-8a0c-5c52-9a53-2f6f0d2c7a11")
# Tables in the order they are written, with the word that their urns use. Rows refer to earlier tables, or to their own.
TABLES = {
    "matters": "matter",
    "store_refreshes": "store_refresh",
    "documents": "document",
    "document_versions": "document_version",
    "document_pages": "document_page",
    "provenance": "provenance",
    "passages": "passage",
    "parties": "party",
    "counsel_appearances": "counsel_appearance",
    "claims": "claim",
    "claim_elements": "claim_element",
    "docket_entries": "docket_entry",
    "docket_attachments": "docket_attachment",
    "deadlines": "deadline",
    "case_fact_records": "fact",
    "fact_posture_proposals": "posture_proposal",
    "case_fact_assertions": "fact_assertion",
    "fact_element_links": "fact_element_link",
    "exhibits": "exhibit",
    "trial_objections": "trial_objection",
    "transcripts": "transcript",
    "designations": "designation",
    "kg_entities": "kg_entity",
    "kg_aliases": "kg_alias",
    "kg_relationships": "kg_relationship",
    "kg_provenance": "kg_provenance",
    "work_products": "work_product",
    "work_product_passages": "work_product_passage",
    "passage_vectors": "passage_vector",
    "matter_briefs": "brief",
    "brief_sections": "brief_section",
    "validation_runs": "validation_run",
    "validation_items": "validation_item",
    "inbound_imports": "inbound_import",
    "import_members": "import_member",
    "import_attempts": "import_attempt",
    "productions": "production",
    "production_documents": "production_document",
    "service_receipts": "service_receipt",
    "redaction_receipts": "redaction_receipt",
    "stipulations": "stipulation",
    "errata": "erratum",
    "matter_outcomes": "outcome",
    "authorities": "authority",
    "cite_audits": "cite_audit",
    "cite_audit_findings": "cite_audit_finding",
}
# What a caller knows as a store: the tables that answers are made of.
STORES = (
    "matters", "documents", "passages", "parties", "counsel_appearances", "claims", "docket_entries", "deadlines", "case_fact_records",
    "case_fact_assertions", "exhibits", "trial_objections", "transcripts", "designations",
    "kg_entities", "kg_relationships", "kg_provenance", "work_products",
    "matter_briefs", "validation_runs", "inbound_imports", "service_receipts", "redaction_receipts", "stipulations", "matter_outcomes",
    "cite_audit_findings", "claim_elements", "prediction_outcomes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """Where a row comes from: a place in a version, and the words that must stand there."""

    version_id: str | None = None
    page_from: int | None = None
    page_to: int | None = None
    locator: str | None = None
    quote: str | None = None  # None: the row's own text must stand there
    source_class: str | None = None
    as_of: str | None = None


class Rows:
    """Collects the rows of one matter, table by table."""

    def __init__(self, matter: str, recorded_by: str) -> None:
        self.matter, self.recorded_by = matter, recorded_by
        self.case_id = str(uuid.uuid5(_NAMESPACE, f"matter:{matter}"))
        self.tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._ids: set[str] = set()

    def id(self, table: str, *key: object) -> str:
        """The id of a row: the same whenever the same thing is loaded."""
        return str(uuid.uuid5(_NAMESPACE, ":".join([self.matter, table, *map(str, key)])))

    def plain(self, table: str, row_id: str, values: dict[str, Any]) -> str:
        """Adds a row that needs no source of its own: a version, a page, a link."""
        if row_id in self._ids:
            raise ImportFailure(f"{self.matter}: two rows of {table} are the same thing: {str(values)[:200]}")
        self._ids.add(row_id)
        self.tables[table].append({"id": row_id, "case_id": self.case_id, "recorded_by": self.recorded_by, **values})
        return row_id

    def add(self, table: str, key: tuple[object, ...], subject: str, source: Source, values: dict[str, Any]) -> str:
        """Adds a row of evidence with its source and returns its id. `subject` names it in notes."""
        row_id = self.id(table, *key)
        urn = self.source(table, row_id, subject, source)
        return self.plain(table, row_id, {"provenance_id": urn, "as_of": source.as_of, **values})

    def source(self, table: str, row_id: str, subject: str, source: Source, role: str = "source") -> str:
        """Adds a place behind a row and returns its urn."""
        word = TABLES[table] if role == "source" else f"{TABLES[table]}_{role}"
        urn = f"urn:substrate:record:{word}:{row_id}"
        self.tables["provenance"].append(
            {
                "urn": urn,
                "case_id": self.case_id,
                "target_table": table,
                "target_id": row_id,
                "role": role,
                "subject": subject,
                "document_version_id": source.version_id,
                "page_from": source.page_from,
                "page_to": source.page_to,
                "locator": source.locator,
                "quote": source.quote,
                "source_class": source.source_class,
                "extractor": self.recorded_by,
                "as_of": source.as_of,
                "recorded_by": self.recorded_by,
            }
        )
        return urn

    def matter_row(self, source: Source, values: dict[str, Any]) -> None:
        """Adds the matter itself."""
        urn = self.source("matters", self.case_id, values["docket_number"], source)
        self.tables["matters"].append(
            {"case_id": self.case_id, "provenance_id": urn, "as_of": source.as_of, "recorded_by": self.recorded_by, **values}
        )

    def refreshed(self, at: str) -> None:
        """Says that every store of the matter was refreshed at this time."""
        self.tables["store_refreshes"] = [{"case_id": self.case_id, "store": s, "refreshed_at": at} for s in STORES]
