SELECT 'Superseded or vacated deadlines left out: ' || count(*) || '. include_superseded shows them.' AS note
  FROM record.deadlines d
 WHERE d.case_id = :case_id::uuid AND NOT :include_superseded::bool
   AND (d.superseded_by_entry_id IS NOT NULL OR d.superseded_by_id IS NOT NULL OR d.status IN ('superseded', 'vacated'))
   AND (:due_from::text IS NULL OR d.due_date::text >= :due_from::text)
   AND (:due_to::text IS NULL OR d.due_date::text <= :due_to::text)
   AND (:status::text IS NULL OR d.status = :status::text)
   AND (:words::text IS NULL OR strpos(lower(d.title), lower(:words::text)) > 0)
HAVING count(*) > 0
