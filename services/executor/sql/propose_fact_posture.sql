-- target: fact_posture_proposals
-- refused: The fact no longer stands or is not in this matter.
-- A recommendation beside the decided posture, which is an attorney's alone and does not change.
WITH made AS (
  INSERT INTO record.fact_posture_proposals (id, case_id, fact_id, model, proposed_posture, basis, proposed_at, decision_id, recorded_by)
  SELECT :new_id::uuid, :case_id::uuid, f.id, 'an agent, by proposal ' || :proposal_id::uuid, :posture::text, :basis::text, :decided_at::timestamptz,
         :proposal_id, :recorded_by::text
    FROM record.case_fact_records f
   WHERE f.case_id = :case_id AND f.id = :fact_id::uuid AND f.retired_at IS NULL AND f.merged_into IS NULL
  RETURNING id, fact_id
)
SELECT m.id AS target_id, 'A recommendation on ' || f.code AS subject, 'The recommendation is recorded. The decided posture has not changed.' AS done
  FROM made m JOIN record.case_fact_records f ON f.id = m.fact_id
