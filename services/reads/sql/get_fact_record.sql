-- method: Each quote was looked for, letter by letter after typographic normalization, on the page cited for it; a fact has the status of its weakest quote. Whether a proposition follows from its quotes is the firm's judgment.
-- store: case_fact_records
-- note: A posture is shown as decided only where an attorney decided it. Model proposals change nothing, are not counted and match no filter.
-- fallback: get_fact_record.before_670.sql
-- fallback_when: retired_at, merged_into
-- fallback_note: The live distinction is unavailable: this installation does not record which facts are retired or merged, so these may include facts that no longer count, and nothing here is above unknown.
WITH matching AS (
  SELECT f.*, f.retired_at IS NULL AND f.merged_into IS NULL AS live
    FROM record.case_fact_records f
   WHERE f.case_id = :case_id::uuid
     AND (:posture::text IS NULL OR f.posture = :posture::text)
     AND (NOT :undisputed_only::bool OR f.posture IN ('undisputed_stipulated', 'undisputed_admitted', 'judicially_noticed'))
     AND (:fact::text IS NULL OR f.code = :fact::text OR f.id::text = lower(:fact::text))
     AND (:words::text IS NULL OR (strpos(lower(f.proposition), lower(:words::text)) > 0 AND record.fact_shown(f.id)))
     AND (:element::text IS NULL OR EXISTS (
       SELECT FROM record.fact_element_links l JOIN record.claim_elements e ON e.id = l.element_id
        WHERE l.fact_id = f.id AND (e.code = :element::text OR e.id::text = lower(:element::text))))
),
chosen AS (
  SELECT m.*, m.code || ' ' || m.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM matching m
   WHERE m.live OR :include_retired::bool
),
postures AS (
  SELECT string_agg(posture || ' ' || many, ', ' ORDER BY posture) AS counted FROM (SELECT posture, count(*) AS many FROM chosen GROUP BY posture) c
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT f.id, f.code, CASE WHEN NOT q.withheld THEN f.proposition END AS proposition,
       f.event_date::text AS event_date, f.event_date_precision,
       jsonb_build_object('decided', f.posture, 'decided_by', f.decided_by, 'decided_at', f.decided_at, 'basis', f.basis,
                          'model_proposal', m.proposal) AS posture,
       q.quotes, e.elements, f.live, f.retired_at,
       CASE WHEN NOT q.withheld THEN f.retired_reason END AS retired_reason, f.merged_into,
       CASE WHEN NOT q.withheld THEN f.note END AS note,
       array_prepend(f.provenance_id, q.provenance_ids) AS provenance_ids, q.status AS verification_status, f.as_of,
       q.notes || e.notes || array_remove(ARRAY[
         'Postures decided, over all pages: ' || postures.counted || '.',
         CASE WHEN left_out.many > 0 AND NOT :include_retired::bool
           THEN 'Retired or merged facts left out: ' || left_out.many || '. include_retired shows them.' END
       ], NULL) AS notes,
       f.cursor_key, f.total_count
  FROM page f
 CROSS JOIN postures
 CROSS JOIN (SELECT count(*) AS many FROM matching WHERE NOT live) left_out
 CROSS JOIN LATERAL record.fact_quotes(f.id, f.code) q
 CROSS JOIN LATERAL record.fact_elements(f.id) e
 CROSS JOIN LATERAL record.latest_posture_proposal(f.id) m
 ORDER BY f.cursor_key COLLATE "C"
