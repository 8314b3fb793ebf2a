-- target: deadlines
-- refused: The docket entry or the fact that it rests on is not in this matter.
-- The place of the docket entry is kept, and no words of it: nobody has shown that they set this day.
WITH made AS (
  INSERT INTO record.deadlines (id, case_id, title, due_date, source_kind, source_entry_id, rule, trigger_fact_id, status, responsible, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id::uuid, :title::text, :due_date::date, 'decision', :source_entry_id::uuid, :rule_id::text, :trigger_fact_id::uuid, 'pending',
         :responsible::text, :provenance_id::text, :decided_at::timestamptz, :recorded_by::text
   WHERE (:source_entry_id::uuid IS NULL OR EXISTS (SELECT FROM record.docket_entries e WHERE e.case_id = :case_id AND e.id = :source_entry_id))
     AND (:trigger_fact_id::uuid IS NULL OR EXISTS (SELECT FROM record.case_fact_records f WHERE f.case_id = :case_id AND f.id = :trigger_fact_id))
  RETURNING id, title, due_date, source_entry_id
)
SELECT m.id AS target_id, m.title || ', ' || m.due_date AS subject, p.document_version_id, p.page_from, p.page_to, p.locator, NULL::text AS quote,
       'The deadline is on the calendar for ' || m.due_date || '.' AS done
  FROM made m
  LEFT JOIN record.docket_entries e ON e.id = m.source_entry_id
  LEFT JOIN record.provenance p ON p.urn = e.provenance_id
