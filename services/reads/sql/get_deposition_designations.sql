-- method: The opening words of each designation were looked for on the pages cited for it; where a designation records none, only that its pages are loaded.
-- store: designations
WITH sidecars AS MATERIALIZED (
  SELECT t.id AS transcript_id, t.witness, t.short_cite, t.provenance_id, t.as_of, g.position, g.entry, record.readable_designation(g.entry) AS readable
    FROM record.transcripts t
   CROSS JOIN LATERAL jsonb_array_elements(t.legacy_designations) WITH ORDINALITY AS g (entry, position)
   WHERE t.case_id = :case_id::uuid AND NOT EXISTS (SELECT FROM record.designations d WHERE d.transcript_id = t.id)
),
register AS (
  SELECT d.id, 'register' AS register_kind, d.transcript_id, d.page_from, d.line_from, d.page_to, d.line_to, d.side, d.kind, d.opening_words,
         d.objection, d.ruling, d.note, d.provenance_id, d.as_of, 0 AS position
    FROM record.designations d
   WHERE d.case_id = :case_id::uuid
   UNION ALL
  SELECT NULL, 'legacy_sidecar', g.transcript_id, (g.entry ->> 'page_from')::int4, (g.entry ->> 'line_from')::int4,
         coalesce((g.entry ->> 'page_to')::int4, (g.entry ->> 'page_from')::int4), (g.entry ->> 'line_to')::int4,
         g.entry ->> 'side', g.entry ->> 'kind', g.entry ->> 'opening_words', g.entry ->> 'objection', g.entry ->> 'ruling', g.entry ->> 'note',
         g.provenance_id, g.as_of, g.position::int4
    FROM sidecars g
   WHERE g.readable
),
chosen AS (
  SELECT r.*, t.witness, t.taken_on, t.short_cite, t.document_version_id,
         coalesce(t.witness, '') || ' ' || t.id || ' ' || lpad(r.page_from::text, 6, '0') || lpad(coalesce(r.line_from, 0)::text, 4, '0')
           || lpad(r.position::text, 6, '0') || coalesce(r.id::text, '') AS cursor_key,
         count(*) OVER ()::int4 AS total_count
    FROM register r
    JOIN record.transcripts t ON t.id = r.transcript_id
   WHERE (:deponent::text IS NULL OR strpos(lower(t.witness), lower(:deponent::text)) > 0)
     AND (:side::text IS NULL OR r.side = :side::text)
     AND (:kind::text IS NULL OR r.kind = :kind::text)
),
unread AS (
  SELECT array_agg(n.note ORDER BY n.note) AS notes
    FROM (
      SELECT g.short_cite || ': ' || count(*) FILTER (WHERE NOT g.readable) || ' of ' || count(*)
               || ' entries of the older sidecar could not be read and are not shown.' AS note
        FROM sidecars g
       WHERE :deponent::text IS NULL OR strpos(lower(g.witness), lower(:deponent::text)) > 0
       GROUP BY g.transcript_id, g.short_cite
      HAVING count(*) FILTER (WHERE NOT g.readable) > 0
    ) n
),
page AS (
  SELECT *, short_cite || ' ' || page_from || coalesce(':' || line_from, '')
            || CASE WHEN page_to <> page_from OR line_to IS NOT NULL THEN '-' || page_to || coalesce(':' || line_to, '') ELSE '' END AS citation
    FROM chosen
   WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT r.id, r.register_kind, r.transcript_id, coalesce(r.witness, '') AS deponent, r.taken_on::text AS deposition_date,
       r.page_from, r.line_from, r.page_to, r.line_to, r.side, r.kind,
       CASE WHEN c.reason <> 'withheld' THEN r.opening_words END AS opening_words, r.objection, r.ruling,
       CASE WHEN c.reason <> 'withheld' THEN r.note END AS note, r.citation,
       ARRAY[r.provenance_id] AS provenance_ids, record.status_of(c.reason) AS verification_status, r.as_of,
       array_remove(ARRAY[
         record.reason_note(c.reason, 'Designation ' || r.citation, r.citation),
         CASE WHEN r.register_kind = 'legacy_sidecar'
           THEN r.citation || ' is an entry of the older sidecar: it has no id of its own and cites its transcript.' END
       ], NULL) || unread.notes AS notes,
       r.cursor_key, r.total_count
  FROM page r
 CROSS JOIN unread
 CROSS JOIN LATERAL record.source_reason(r.document_version_id, r.page_from, r.page_to, r.opening_words) c
 ORDER BY r.cursor_key COLLATE "C"
