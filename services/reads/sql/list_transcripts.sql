-- method: Pages that are loaded were counted against the pages that each transcript has; no testimony was compared with anything.
-- store: transcripts
WITH chosen AS (
  SELECT t.*, coalesce(t.taken_on::text, '9999') || ' ' || t.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.transcripts t
   WHERE t.case_id = :case_id::uuid
     AND (:kind::text IS NULL OR t.kind = :kind::text)
     AND (:witness::text IS NULL OR strpos(lower(t.witness), lower(:witness::text)) > 0)
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT t.id, t.kind, t.witness, t.taken_on::text AS taken_on, t.volume, t.certified, t.short_cite, d.id AS document_id, v.page_count, g.pages_loaded,
       g.page_from, g.page_to, g.numbered_lines, e.errata_count, s.provenance_ids, s.status AS verification_status, t.as_of, s.notes,
       t.cursor_key, t.total_count
  FROM page t
  LEFT JOIN record.documents d ON d.id = t.document_id
  LEFT JOIN record.document_versions v ON v.id = t.document_version_id
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS pages_loaded, min(p.page_number) AS page_from, max(p.page_number) AS page_to,
          coalesce(bool_or(p.line_numbers IS NOT NULL), false) AS numbered_lines
     FROM record.document_pages p WHERE p.document_version_id = t.document_version_id
 ) g
 CROSS JOIN LATERAL (SELECT count(*)::int4 AS errata_count FROM record.errata x WHERE x.transcript_id = t.id) e
 CROSS JOIN LATERAL record.row_status(t.id, NULL) s
 ORDER BY t.cursor_key
