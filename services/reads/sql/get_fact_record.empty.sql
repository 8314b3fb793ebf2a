SELECT 'Retired or merged facts left out: ' || count(*) || '. include_retired shows them.' AS note
  FROM record.case_fact_records f
 WHERE f.case_id = :case_id::uuid AND NOT :include_retired::bool AND (f.retired_at IS NOT NULL OR f.merged_into IS NOT NULL)
HAVING count(*) > 0
