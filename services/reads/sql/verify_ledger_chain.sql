-- shape: own
-- method: The hash of each row of the ledger was computed anew from its fields and compared with the one it holds, and with the next row.
-- store: prediction_outcomes
SELECT l.seq::int4 AS seq, l.kind, l.prediction_seq::int4 AS prediction_seq, l.matter, l.probability::float8 AS probability, l.happened, l.prev_hash, l.row_hash,
       l.recomputed, (SELECT count(*)::int4 FROM record.prediction_outcomes o WHERE o.case_id = :case_id::uuid) AS rows_of_matter,
       (SELECT max(o.as_of) FROM record.prediction_outcomes o WHERE o.case_id = :case_id::uuid) AS as_of,
       (SELECT array_agg(o.urn ORDER BY o.seq) FROM record.prediction_outcomes o WHERE o.case_id = :case_id::uuid) AS provenance_ids
  FROM record.ledger_links(:row_limit::int4) l
 WHERE EXISTS (SELECT FROM record.matters m WHERE m.case_id = :case_id::uuid)
 ORDER BY l.seq
