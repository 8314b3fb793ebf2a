SELECT 'Retired or merged facts left out: ' || count(*) || '. include_retired shows them.' AS note
  FROM record.case_fact_records f
 WHERE f.case_id = :case_id::uuid AND NOT :include_retired::bool AND (f.retired_at IS NOT NULL OR f.merged_into IS NOT NULL)
   AND (:posture::text IS NULL OR f.posture = :posture::text)
   AND (NOT :undisputed_only::bool OR f.posture IN ('undisputed_stipulated', 'undisputed_admitted', 'judicially_noticed'))
   AND (:fact::text IS NULL OR f.code = :fact::text OR f.id::text = lower(:fact::text))
   AND (:words::text IS NULL OR (strpos(lower(f.proposition), lower(:words::text)) > 0 AND record.fact_shown(f.id)))
   AND (:element::text IS NULL OR EXISTS (
     SELECT FROM record.fact_element_links l JOIN record.claim_elements e ON e.id = l.element_id
      WHERE l.fact_id = f.id AND (e.code = :element::text OR e.id::text = lower(:element::text))))
HAVING count(*) > 0
