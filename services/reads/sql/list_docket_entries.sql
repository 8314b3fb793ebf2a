-- method: The text of each entry was looked for in its unit of the docket sheet that was imported; sealed text is not kept and not checked.
-- store: docket_entries
WITH chosen AS (
  SELECT e.*, lpad(e.position::text, 8, '0') || e.id AS cursor_key, count(*) OVER ()::int4 AS total_count, count(*) FILTER (WHERE e.sealed) OVER () AS sealed_count
    FROM record.docket_entries e
   WHERE e.case_id = :case_id::uuid
     AND (:filed_from::text IS NULL OR e.date_filed::text >= :filed_from::text)
     AND (:filed_to::text IS NULL OR e.date_filed::text <= :filed_to::text)
     AND (:number_from::int4 IS NULL OR e.entry_number >= :number_from::int4)
     AND (:number_to::int4 IS NULL OR e.entry_number <= :number_to::int4)
     AND (:kind::text IS NULL OR e.kind = lower(:kind::text))
     AND (:words::text IS NULL OR (strpos(lower(e.text), lower(:words::text)) > 0
          AND record.shown((SELECT w.document_version_id FROM record.provenance w WHERE w.urn = e.provenance_id))))
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT e.id, e.entry_number, e.date_filed::text AS date_filed, e.date_entered::text AS date_entered, e.kind, CASE WHEN r.reason <> 'withheld' THEN e.text END AS text,
       CASE WHEN e.sealed THEN 'sealed' WHEN r.reason = 'withheld' THEN 'source_withheld' WHEN e.text IS NULL THEN 'none_on_docket' ELSE 'present' END AS text_state,
       e.text_only, a.attachment_count, e.corrected_by, p.locator AS citation,
       ARRAY[e.provenance_id] AS provenance_ids, record.status_of(r.reason) AS verification_status, e.as_of,
       array_remove(ARRAY[
         CASE WHEN e.sealed_count > 0 THEN 'Sealed entries in this selection: ' || e.sealed_count || '. Their text is withheld and was not checked.' END,
         CASE
           WHEN e.sealed THEN NULL
           WHEN e.text IS NULL AND r.reason <> 'withheld' THEN p.subject || ': the docket shows no text, so there was nothing to check.'
           ELSE record.reason_note(r.reason, p.subject, p.locator, r.missing)
         END,
         CASE WHEN e.corrected_by IS NOT NULL THEN p.subject || ': ECF No. ' || e.corrected_by || ' says to disregard it.' END
       ], NULL) AS notes,
       e.cursor_key, e.total_count
  FROM page e
  JOIN record.provenance p ON p.urn = e.provenance_id
 CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, e.text)) r
 CROSS JOIN LATERAL (SELECT count(*)::int4 AS attachment_count FROM record.docket_attachments t WHERE t.docket_entry_id = e.id) a
 ORDER BY e.cursor_key
