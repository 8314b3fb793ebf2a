-- method: The words of each objection, and what the court said to it, were looked for on the transcript pages cited for them; the weaker result counts. Grounds and rulings are as logged.
-- store: trial_objections
-- note: A ruling is null until the court rules.
WITH chosen AS (
  SELECT o.*, lpad(coalesce(o.transcript_page, 0)::text, 8, '0') || lpad(coalesce(o.line_from, 0)::text, 4, '0') || o.id AS cursor_key,
         count(*) OVER ()::int4 AS total_count
    FROM record.trial_objections o
   WHERE o.case_id = :case_id::uuid
     AND (:page_from::int4 IS NULL OR o.transcript_page >= :page_from::int4)
     AND (:page_to::int4 IS NULL OR o.transcript_page <= :page_to::int4)
     AND (:ruled::bool IS NULL OR (o.ruling IS NOT NULL) = :ruled::bool)
     AND (:words::text IS NULL OR strpos(lower(concat_ws(' ', o.ground, o.objecting_counsel,
           CASE WHEN record.shown((SELECT w.document_version_id FROM record.provenance w WHERE w.urn = o.provenance_id)) THEN o.text_as_typed END)),
           lower(:words::text)) > 0)
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT o.id, o.transcript_page, o.line_from, o.line_to, o.trial_date::text AS trial_date, o.witness, o.objecting_counsel, o.objecting_side, o.ground,
       CASE WHEN NOT s.withheld THEN o.text_as_typed END AS text_as_typed, o.ruling,
       CASE WHEN NOT s.withheld THEN o.court_words END AS court_words, o.ruling_page, o.ruling_line,
       CASE WHEN NOT s.withheld THEN o.note END AS note, p.subject AS citation,
       s.provenance_ids, s.status AS verification_status, o.as_of, s.notes, o.cursor_key, o.total_count
  FROM page o
  JOIN record.provenance p ON p.urn = o.provenance_id
 CROSS JOIN LATERAL record.row_status(o.id, o.text_as_typed, o.court_words) s
 ORDER BY o.cursor_key
