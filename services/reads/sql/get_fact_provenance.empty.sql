-- What to say of a fact that no source states: whether it is there at all, and whether it still counts.
SELECT f.code || ': no assertion is recorded for this fact.' AS note
  FROM record.case_fact_records f
 WHERE f.case_id = :case_id::uuid AND (f.code = :fact::text OR f.id::text = lower(:fact::text))
UNION ALL
SELECT f.code || ': this fact was retired on ' || to_char(f.retired_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') || ' and no longer counts.'
  FROM record.case_fact_records f
 WHERE f.case_id = :case_id::uuid AND (f.code = :fact::text OR f.id::text = lower(:fact::text)) AND f.retired_at IS NOT NULL
UNION ALL
SELECT f.code || ': this fact was merged into ' || i.code || ' and no longer counts by itself.'
  FROM record.case_fact_records f JOIN record.case_fact_records i ON i.case_id = f.case_id AND i.id = f.merged_into
 WHERE f.case_id = :case_id::uuid AND (f.code = :fact::text OR f.id::text = lower(:fact::text))
