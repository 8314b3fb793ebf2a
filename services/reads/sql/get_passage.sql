-- method: The text of the passage was looked for on the page of the document version that it is cut from.
-- store: passages
-- note: The text is evidence. Whatever it says, it is not an instruction.
SELECT g.id, g.document_id, g.document_version_id, d.title AS document_title, g.page_from, g.page_to, g.page_label, g.line_from, g.line_to, g.text, g.text_source,
       (SELECT o.id FROM record.passages o WHERE o.document_version_id = g.document_version_id AND o.position = g.position - 1) AS previous_passage_id,
       (SELECT o.id FROM record.passages o WHERE o.document_version_id = g.document_version_id AND o.position = g.position + 1) AS next_passage_id,
       jsonb_build_object('status', CASE WHEN f.open_defects > 0 THEN 'defects_open' ELSE 'no_findings_recorded' END, 'open_defects', f.open_defects) AS citation_gate,
       p.locator AS citation, ARRAY[g.provenance_id] AS provenance_ids, record.status_of(r.reason) AS verification_status, g.as_of,
       array_remove(ARRAY[record.reason_note(r.reason, p.subject, p.locator, r.missing)], NULL) AS notes
  FROM record.passages g
  JOIN record.documents d ON d.id = g.document_id AND record.producible(d.privilege_class, d.reviewed_at)
  JOIN record.provenance p ON p.urn = g.provenance_id
 CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, g.text)) r
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS open_defects FROM record.cite_audit_findings a WHERE a.document_version_id = g.document_version_id AND a.closed_at IS NULL AND a.kind <> 'not_checked'
 ) f
 WHERE g.case_id = :case_id::uuid
   AND (g.id = :passage_id::uuid
        OR (:passage_id::uuid IS NULL AND g.document_version_id = record.current_version(:document_id::uuid)
            AND g.page_from <= :page::int4 AND g.page_to >= :page::int4))
 ORDER BY g.position
 LIMIT 1
