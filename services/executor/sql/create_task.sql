-- target: tasks
-- refused: The deadline that it serves is not in this matter.
WITH made AS (
  INSERT INTO record.tasks (id, case_id, title, due_date, assignee, deadline_id, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id::uuid, :title::text, :due_date::date, :assignee::text, :deadline_id::uuid, :provenance_id::text, :decided_at::timestamptz,
         :recorded_by::text
   WHERE :deadline_id::uuid IS NULL OR EXISTS (SELECT FROM record.deadlines d WHERE d.case_id = :case_id AND d.id = :deadline_id)
  RETURNING id, title
)
SELECT m.id AS target_id, m.title AS subject, 'The task is on the list.' AS done FROM made m
