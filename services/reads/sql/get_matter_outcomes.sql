-- method: The words that state each outcome were looked for at the place cited for them; its classification is as recorded.
-- store: matter_outcomes
SELECT o.id, o.disposition, o.for_whom, CASE WHEN NOT s.withheld THEN o.relief END AS relief, o.amount, o.decided_on::text AS decided_on, o.decided_by,
       o.appealed, s.quote, CASE WHEN NOT s.withheld THEN o.note END AS note, s.locator AS citation,
       s.provenance_ids, s.status AS verification_status, o.as_of, s.notes
  FROM record.matter_outcomes o
 CROSS JOIN LATERAL record.row_status(o.id, NULL) s
 WHERE o.case_id = :case_id::uuid
 ORDER BY o.position
