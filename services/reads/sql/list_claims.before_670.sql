-- list_claims for an installation that does not record which facts are retired or merged.
-- method: The heading of each claim, and the words that state each element, were looked for on the page cited for them; facts could not be counted.
-- store: claims
SELECT c.id, c.code, c.kind, CASE WHEN NOT (s.withheld AND c.pleaded_as IS NULL) THEN c.name END AS name,
       CASE WHEN NOT s.withheld THEN c.pleaded_as END AS pleaded_as, c.asserted_by, c.asserted_against, s.locator AS citation, e.elements,
       s.provenance_ids, s.status AS verification_status, c.as_of, s.notes || e.notes AS notes
  FROM record.claims c
 CROSS JOIN LATERAL record.row_status(c.id, coalesce(c.pleaded_as, c.name)) s
 CROSS JOIN LATERAL (
   SELECT coalesce(jsonb_agg(jsonb_build_object(
            'id', e.id, 'code', e.code, 'text', CASE WHEN NOT es.withheld THEN e.text END, 'burden', e.burden, 'authority', CASE WHEN NOT es.withheld THEN e.authority END, 'fact_count', NULL::int4,
            'provenance_ids', es.provenance_ids, 'verification_status', es.status) ORDER BY e.position), '[]') AS elements,
          array_remove(array_agg(es.notes[1]), NULL) AS notes
     FROM record.claim_elements e
    CROSS JOIN LATERAL record.row_status(e.id, e.text) es
    WHERE e.claim_id = c.id
 ) e
 WHERE c.case_id = :case_id::uuid AND (:kind::text IS NULL OR c.kind = :kind::text)
 ORDER BY c.position
