-- method: The rows that each section cites were checked as they are in their own answers; that the prose follows from them was not checked.
-- store: matter_briefs
-- note: This brief is as it was composed; nothing refreshes it when it is read.
SELECT b.id, b.title, b.composed_by, b.computed_at, since.many > 0 AS stale, since.many AS rows_since, s.sections,
       ARRAY[b.provenance_id] AS provenance_ids, s.status AS verification_status, b.as_of,
       s.notes || array_remove(ARRAY[
         CASE WHEN since.many > 0
           THEN 'This brief is stale: ' || since.many || ' rows came into the record after it was composed on '
                || to_char(b.computed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC, and it says nothing of them.' END
       ], NULL) AS notes
  FROM record.matter_briefs b
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS many FROM record.provenance p WHERE p.case_id = b.case_id AND p.created_at > b.computed_at AND p.target_table <> 'matter_briefs'
 ) since
 CROSS JOIN LATERAL (
   SELECT coalesce(jsonb_agg(jsonb_build_object(
            'heading', n.heading, 'text', CASE WHEN NOT c.withheld THEN n.text END, 'cites', c.subjects,
            'provenance_ids', n.cites, 'verification_status', c.status) ORDER BY n.position), '[]') AS sections,
          record.weakest(array_agg(c.status)) AS status,
          array_remove(array_agg(CASE
            WHEN c.withheld THEN n.heading || ': a source behind it is withheld, so its text is not shown.'
            WHEN cardinality(n.cites) = 0 THEN n.heading || ': it cites no row of the record.'
            WHEN c.lost > 0 THEN n.heading || ': ' || c.lost || ' of the rows that it cites are not in the record.' END ORDER BY n.position), NULL) AS notes
     FROM record.brief_sections n
    CROSS JOIN LATERAL (
      SELECT coalesce(jsonb_agg(p.subject ORDER BY u.place) FILTER (WHERE p.urn IS NOT NULL), '[]') AS subjects,
             count(*) FILTER (WHERE p.urn IS NULL) AS lost, coalesce(bool_or(q.withheld OR r.withheld), false) AS withheld,
             record.weakest(array_agg(CASE WHEN p.urn IS NULL THEN 'unknown' ELSE coalesce(q.status, r.status) END)) AS status
        FROM unnest(n.cites) WITH ORDINALITY AS u (urn, place)
        LEFT JOIN record.provenance p ON p.urn = u.urn
        LEFT JOIN LATERAL record.fact_quotes(p.target_id, p.subject) q ON p.target_table = 'case_fact_records'
        LEFT JOIN LATERAL record.row_status(p.target_id, NULL) r ON p.target_table <> 'case_fact_records'
    ) c
    WHERE n.brief_id = b.id
 ) s
 WHERE b.case_id = :case_id::uuid
 ORDER BY b.computed_at DESC, b.id
 LIMIT 1
