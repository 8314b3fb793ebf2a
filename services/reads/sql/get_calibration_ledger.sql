-- shape: own
-- method: The ledger's hash chain was recomputed row by row; predictions and outcomes are as recorded and were not checked against a source.
-- store: prediction_outcomes
-- note: An open prediction is listed and never graded. Summary and chain are over the whole ledger, which names no other matter.
SELECT p.id, p.seq::int4 AS seq, p.question, p.probability::text AS probability, p.made_by, p.at AS made_at, p.resolves_by::text AS resolves_by,
       o.happened, o.at AS resolved_at, o.source, p.row_hash, CASE WHEN o.id IS NULL THEN ARRAY[p.urn] ELSE ARRAY[p.urn, o.urn] END AS provenance_ids,
       least(p.as_of, o.as_of) AS as_of
  FROM record.prediction_outcomes p
  LEFT JOIN record.prediction_outcomes o ON o.prediction_id = p.id
 WHERE p.case_id = :case_id::uuid AND p.kind = 'prediction'
 ORDER BY p.seq
