-- name: document
SELECT d.id AS document_id, v.id AS document_version_id, d.title, d.document_type, d.short_cite AS citation, v.sha256, v.byte_count, v.media_type,
       v.page_count, l.pages_loaded, l.text, d.provenance_id, d.as_of, record.status_of(l.reason) AS status,
       record.reason_note(l.reason, d.title, d.short_cite, (v.page_count - l.pages_loaded) || ' of ' || v.page_count) AS note
  FROM record.documents d
  JOIN record.document_versions v ON v.document_id = d.id AND v.id = coalesce(:document_version_id::uuid, record.current_version(d.id))
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS pages_loaded, string_agg(p.text, E'\n' ORDER BY p.page_number) AS text,
          record.whole_reason(v.sha256, v.page_count, count(*)) AS reason
     FROM record.document_pages p WHERE p.document_version_id = v.id
 ) l
 WHERE d.case_id = :case_id::uuid AND d.id = :document_id::uuid AND record.producible(d.privilege_class, d.reviewed_at);

-- name: findings
SELECT f.kind FROM record.cite_audit_findings f WHERE f.document_version_id = :document_version_id::uuid AND f.closed_at IS NULL ORDER BY f.id;

-- name: ledger
SELECT a.volume, a.reporter, a.page_from, a.page_to, a.found, a.name, a.court, a.year FROM record.authorities a WHERE a.case_id = :case_id::uuid
 ORDER BY a.volume, a.reporter, a.page_from;
