-- method: For each document, that its current version has a digest and every page that it says it has is loaded; title, date and author are as recorded.
-- store: documents
-- note: Only documents that were reviewed and found not privileged are listed.
WITH chosen AS (
  SELECT d.*, coalesce(d.document_date::text, '9999') || ' ' || d.title || ' ' || d.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.documents d
   WHERE d.case_id = :case_id::uuid
     AND record.producible(d.privilege_class, d.reviewed_at)
     AND (:document_type::text IS NULL OR lower(d.document_type) = lower(:document_type::text))
     AND (:dated_from::text IS NULL OR d.document_date::text >= :dated_from::text)
     AND (:dated_to::text IS NULL OR d.document_date::text <= :dated_to::text)
     AND (:words::text IS NULL OR strpos(lower(d.title), lower(:words::text)) > 0)
     AND (:bates::text IS NULL OR (length(d.bates_begin) = length(:bates::text) AND upper(:bates::text) BETWEEN upper(d.bates_begin) AND upper(coalesce(d.bates_end, d.bates_begin))))
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT d.id, d.title, d.document_type, d.document_date::text AS document_date, d.date_kind, d.author, d.bates_begin, d.bates_end, d.confidentiality,
       d.docket_entry_number, v.id AS version_id, v.sha256, v.byte_count, v.media_type, v.page_count, l.pages_loaded, l.text_source,
       (SELECT g.id FROM record.passages g WHERE g.document_version_id = v.id ORDER BY g.position LIMIT 1) AS first_passage_id,
       d.short_cite AS citation, ARRAY[d.provenance_id] AS provenance_ids, record.status_of(l.reason) AS verification_status, d.as_of,
       array_remove(ARRAY[
         record.reason_note(l.reason, d.title, d.short_cite, (v.page_count - l.pages_loaded) || ' of ' || v.page_count),
         CASE WHEN l.text_source = 'ocr' THEN d.title || ': its text was read off pictures by machine.' END
       ], NULL) AS notes,
       d.cursor_key, d.total_count
  FROM page d
  LEFT JOIN record.document_versions v ON v.id = record.current_version(d.id)
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS pages_loaded,
          CASE WHEN v.id IS NULL THEN 'no_source' ELSE record.whole_reason(v.sha256, v.page_count, count(*)) END AS reason,
          CASE WHEN bool_or(p.text_source = 'none') THEN 'none' WHEN bool_or(p.text_source = 'ocr') THEN 'ocr' WHEN count(*) > 0 THEN 'native' END AS text_source
     FROM record.document_pages p WHERE p.document_version_id = v.id
 ) l
 ORDER BY d.cursor_key COLLATE "C"
