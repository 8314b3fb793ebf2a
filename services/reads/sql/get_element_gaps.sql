-- method: Links between facts and elements were counted, and of each supporting fact whether its quotes were found; whether the support is enough was not judged.
-- store: claim_elements
-- fallback: get_element_gaps.before_670.sql
-- fallback_when: retired_at, merged_into
-- fallback_note: The live distinction is unavailable: this installation does not record which facts are retired or merged, so no gap can be established.
WITH counted AS (
  SELECT c.position AS claim_position, c.code AS claim_code, CASE WHEN NOT (cs.withheld AND c.pleaded_as IS NULL) THEN c.name ELSE c.code END AS claim_name,
         e.id AS element_id, e.position, e.code, e.text, coalesce(e.as_of, c.as_of) AS as_of, c.id AS claim_id, cs.provenance_ids AS claim_urns,
         cs.status AS claim_status,
         count(*) FILTER (WHERE l.role = 'supports' AND f.live)::int4 AS live_support,
         count(*) FILTER (WHERE l.role = 'supports' AND f.live AND q.status = 'grounded')::int4 AS grounded_support,
         count(*) FILTER (WHERE l.role = 'supports' AND f.live AND q.status = 'grounded' AND f.posture IN (
           'undisputed_stipulated', 'undisputed_admitted', 'judicially_noticed', 'found_by_court'))::int4 AS settled_support,
         count(*) FILTER (WHERE l.role = 'undermines' AND f.live)::int4 AS undermining,
         count(*) FILTER (WHERE l.role = 'supports' AND NOT f.live)::int4 AS retired_support
    FROM record.claims c
   CROSS JOIN LATERAL record.row_status(c.id, coalesce(c.pleaded_as, c.name)) cs
    LEFT JOIN record.claim_elements e ON e.claim_id = c.id
    LEFT JOIN record.fact_element_links l ON l.element_id = e.id
    LEFT JOIN LATERAL (
      SELECT r.id, r.code, r.posture, r.retired_at IS NULL AND r.merged_into IS NULL AS live FROM record.case_fact_records r WHERE r.id = l.fact_id
    ) f ON true
    LEFT JOIN LATERAL record.fact_quotes(f.id, f.code) q ON f.live
   WHERE c.case_id = :case_id::uuid
     AND (:claim::text IS NULL OR c.code = :claim::text OR c.id::text = lower(:claim::text))
   GROUP BY c.id, cs.withheld, cs.provenance_ids, cs.status, e.id
),
named AS (
  SELECT n.*, CASE
           WHEN n.element_id IS NULL THEN 'no_elements_recorded'
           WHEN n.settled_support > 0 THEN 'covered'
           WHEN n.grounded_support > 0 THEN 'only_unsettled_facts'
           WHEN n.live_support > 0 THEN 'no_quote_stands'
           WHEN n.retired_support > 0 THEN 'only_retired_facts'
           ELSE 'no_facts_linked' END AS gap
    FROM counted n
)
SELECT n.element_id, n.code, CASE WHEN NOT s.withheld THEN n.text END AS text, n.claim_code, n.claim_name, n.gap,
       CASE WHEN n.element_id IS NOT NULL THEN n.live_support END AS live_support,
       CASE WHEN n.element_id IS NOT NULL THEN n.grounded_support END AS grounded_support,
       CASE WHEN n.element_id IS NOT NULL THEN n.settled_support END AS settled_support,
       CASE WHEN n.element_id IS NOT NULL THEN n.undermining END AS undermining,
       CASE WHEN n.element_id IS NOT NULL THEN n.retired_support END AS retired_support,
       CASE WHEN n.element_id IS NULL THEN n.claim_urns ELSE s.provenance_ids END AS provenance_ids,
       CASE WHEN n.element_id IS NULL THEN n.claim_status ELSE s.status END AS verification_status, n.as_of,
       s.notes || array_remove(ARRAY[
         CASE WHEN covered.many > 0 AND NOT :include_covered::bool
           THEN 'Elements that are covered and left out: ' || covered.many || '. include_covered shows them.' END
       ], NULL) AS notes
  FROM named n
 CROSS JOIN (SELECT count(*) AS many FROM named WHERE gap = 'covered') covered
 CROSS JOIN LATERAL record.row_status(n.element_id, n.text) s
 WHERE n.gap <> 'covered' OR :include_covered::bool
 ORDER BY n.claim_position, n.position
