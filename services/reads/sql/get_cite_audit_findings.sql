-- method: Each cite was looked for on the page where the audit says that the document prints it; what the audit found about it is as recorded.
-- store: cite_audit_findings
-- note: That no finding is recorded does not mean that the citations are good: it is no evidence that they were checked.
WITH chosen AS (
  SELECT f.*, d.title, d.id AS audited_document, v.sha256, a.ran_at, a.citations_found, a.authorities_found, a.not_parsed,
         coalesce(d.title, '') || ' ' || coalesce(f.document_version_id::text, '') || ' ' || lpad(coalesce(f.page, 0)::text, 6, '0') || f.id AS cursor_key,
         count(*) OVER ()::int4 AS total_count
    FROM record.cite_audit_findings f
    LEFT JOIN record.document_versions v ON v.id = f.document_version_id
    LEFT JOIN record.documents d ON d.id = v.document_id
    LEFT JOIN record.cite_audits a ON a.id = f.audit_id
   WHERE f.case_id = :case_id::uuid
     AND (:document_id::uuid IS NULL OR d.id = :document_id::uuid)
     AND (:kind::text IS NULL OR f.kind = :kind::text)
     AND (f.closed_at IS NULL OR :include_closed::bool)
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT f.id, f.kind, CASE WHEN NOT s.withheld AND f.sha256 IS NOT NULL THEN f.cite END AS cite, f.expected, f.title AS document_title,
       f.audited_document AS document_id, f.sha256 AS document_sha256, f.page, f.ran_at AS audited_at,
       CASE WHEN f.closed_at IS NULL THEN 'open' ELSE 'closed' END AS status, f.closed_by, f.closed_at, f.closing_note, s.locator AS citation,
       s.provenance_ids, s.status AS verification_status, f.as_of,
       s.notes || array_remove(ARRAY[
         f.title || ': the audit of ' || to_char(f.ran_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') || ' found ' || f.citations_found || ' cites of '
           || f.authorities_found || ' authorities; cite-like strings that it could not parse: ' || f.not_parsed || '.'
       ], NULL) AS notes,
       f.cursor_key, f.total_count
  FROM page f
 CROSS JOIN LATERAL record.row_status(f.id, f.cite) s
 ORDER BY f.cursor_key COLLATE "C"
