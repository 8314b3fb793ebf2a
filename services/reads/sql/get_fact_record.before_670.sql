-- get_fact_record for an installation that does not record which facts are retired or merged: every fact is shown, and none above unknown.
-- method: Each quote was looked for on the page cited for it; but which facts are live is not recorded here, so every fact counts as unknown.
-- store: case_fact_records
-- note: A posture is shown as decided only where an attorney decided it. Model proposals change nothing, are not counted and match no filter.
WITH chosen AS (
  SELECT f.*, f.code || ' ' || f.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.case_fact_records f
   WHERE f.case_id = :case_id::uuid
     AND (:posture::text IS NULL OR f.posture = :posture::text)
     AND (NOT :undisputed_only::bool OR f.posture IN ('undisputed_stipulated', 'undisputed_admitted', 'judicially_noticed'))
     AND (:fact::text IS NULL OR f.code = :fact::text OR f.id::text = lower(:fact::text))
     AND (:words::text IS NULL OR (strpos(lower(f.proposition), lower(:words::text)) > 0 AND record.fact_shown(f.id)))
     AND (:element::text IS NULL OR EXISTS (
       SELECT FROM record.fact_element_links l JOIN record.claim_elements e ON e.id = l.element_id
        WHERE l.fact_id = f.id AND (e.code = :element::text OR e.id::text = lower(:element::text))))
     AND :include_retired::bool IS NOT NULL
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT f.id, f.code, CASE WHEN NOT q.withheld THEN f.proposition END AS proposition,
       f.event_date::text AS event_date, f.event_date_precision,
       jsonb_build_object('decided', f.posture, 'decided_by', f.decided_by, 'decided_at', f.decided_at, 'basis', f.basis,
                          'model_proposal', m.proposal) AS posture,
       q.quotes, e.elements, NULL::bool AS live, NULL::timestamptz AS retired_at, NULL::text AS retired_reason, NULL::uuid AS merged_into, CASE WHEN NOT q.withheld THEN f.note END AS note,
       array_prepend(f.provenance_id, q.provenance_ids) AS provenance_ids, 'unknown'::text AS verification_status, f.as_of,
       q.notes || e.notes AS notes, f.cursor_key, f.total_count
  FROM page f
 CROSS JOIN LATERAL record.fact_quotes(f.id, f.code) q
 CROSS JOIN LATERAL record.fact_elements(f.id) e
 CROSS JOIN LATERAL record.latest_posture_proposal(f.id) m
 ORDER BY f.cursor_key COLLATE "C"
