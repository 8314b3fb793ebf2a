-- target: notes
-- refused: What the note is about is not in this matter.
WITH about AS (
  SELECT p.target_table, p.target_id FROM record.provenance p WHERE p.case_id = :case_id::uuid AND p.target_id = :target_id::uuid LIMIT 1
), made AS (
  INSERT INTO record.notes (id, case_id, text, target_table, target_id, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id::uuid, :text::text, a.target_table, a.target_id, :provenance_id::text, :decided_at::timestamptz, :recorded_by::text
    FROM (VALUES (1)) one (n) LEFT JOIN about a ON true
   WHERE :target_id::uuid IS NULL OR a.target_id IS NOT NULL
  RETURNING id
)
SELECT m.id AS target_id, 'A note to the file' AS subject, 'The note is in the file.' AS done FROM made m
