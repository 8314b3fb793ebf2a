-- get_element_gaps for an installation that does not record which facts are retired or merged.
-- method: Elements were listed; no support could be counted.
-- store: claim_elements
SELECT e.id AS element_id, e.code, CASE WHEN NOT s.withheld THEN e.text END AS text, c.code AS claim_code,
       CASE WHEN NOT (cs.withheld AND c.pleaded_as IS NULL) THEN c.name ELSE c.code END AS claim_name, 'not_established' AS gap,
       NULL::int4 AS live_support, NULL::int4 AS grounded_support, NULL::int4 AS settled_support, NULL::int4 AS undermining, NULL::int4 AS retired_support,
       s.provenance_ids, s.status AS verification_status, e.as_of, s.notes
  FROM record.claim_elements e
  JOIN record.claims c ON c.id = e.claim_id
 CROSS JOIN LATERAL record.row_status(c.id, coalesce(c.pleaded_as, c.name)) cs
 CROSS JOIN LATERAL record.row_status(e.id, e.text) s
 WHERE e.case_id = :case_id::uuid AND (:claim::text IS NULL OR c.code = :claim::text OR c.id::text = lower(:claim::text))
   AND :include_covered::bool IS NOT NULL
 ORDER BY c.position, e.position
