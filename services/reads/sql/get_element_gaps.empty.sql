-- What to say of an answer without gaps: whether there were elements to look at.
SELECT CASE WHEN count(*) > 0 AND NOT :include_covered::bool
         THEN 'Every one of the ' || count(*) || ' elements that were looked at is covered. include_covered shows them.'
       END AS note
  FROM record.claim_elements e
  JOIN record.claims c ON c.id = e.claim_id
 WHERE e.case_id = :case_id::uuid AND (:claim::text IS NULL OR c.code = :claim::text OR c.id::text = lower(:claim::text))
