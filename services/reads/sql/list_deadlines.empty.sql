SELECT 'Superseded or vacated deadlines left out: ' || count(*) || '. include_superseded shows them.' AS note
  FROM record.deadlines d
 WHERE d.case_id = :case_id::uuid AND NOT :include_superseded::bool
   AND (d.superseded_by_entry_id IS NOT NULL OR d.superseded_by_id IS NOT NULL OR d.status IN ('superseded', 'vacated'))
HAVING count(*) > 0
