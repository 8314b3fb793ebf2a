-- method: The words that set each deadline were looked for in the docket entry cited for it; that the date follows from them, and its status, are as recorded.
-- store: deadlines
WITH matching AS (
  SELECT d.*, d.superseded_by_entry_id IS NULL AND d.superseded_by_id IS NULL AND d.status NOT IN ('superseded', 'vacated') AS live
    FROM record.deadlines d
   WHERE d.case_id = :case_id::uuid
     AND (:due_from::text IS NULL OR d.due_date::text >= :due_from::text)
     AND (:due_to::text IS NULL OR d.due_date::text <= :due_to::text)
     AND (:status::text IS NULL OR d.status = :status::text)
     AND (:words::text IS NULL OR strpos(lower(d.title), lower(:words::text)) > 0)
),
chosen AS (
  SELECT m.*, to_char(m.due_date, 'YYYY-MM-DD') || ' ' || coalesce(m.due_time::text, '24') || ' ' || m.id AS cursor_key,
         count(*) OVER ()::int4 AS total_count
    FROM matching m
   WHERE m.live OR :include_superseded::bool
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT d.id, d.title, d.due_date::text AS due_date, to_char(d.due_time, 'HH24:MI') AS due_time, d.source_kind,
       e.entry_number AS source_entry_number, d.source_entry_id, s.quote AS source_quote, d.rule, d.status, d.status_note,
       d.live, n.entry_number AS superseded_by_entry_number, d.superseded_by_id, d.responsible, s.locator AS citation,
       s.provenance_ids, s.status AS verification_status, d.as_of,
       s.notes || array_remove(ARRAY[
         CASE WHEN left_out.many > 0 AND NOT :include_superseded::bool
           THEN 'Superseded or vacated deadlines left out: ' || left_out.many || '. include_superseded shows them.' END,
         CASE WHEN e.corrected_by IS NOT NULL
           THEN d.title || ', ' || d.due_date || ': its source, ECF No. ' || e.entry_number || ', is to be disregarded (ECF No. ' || e.corrected_by || ').' END
       ], NULL) AS notes,
       d.cursor_key, d.total_count
  FROM page d
  LEFT JOIN record.docket_entries e ON e.id = d.source_entry_id
  LEFT JOIN record.docket_entries n ON n.id = d.superseded_by_entry_id
 CROSS JOIN LATERAL record.row_status(d.id, NULL) s
 CROSS JOIN (SELECT count(*) AS many FROM matching WHERE NOT live) left_out
 ORDER BY d.cursor_key
