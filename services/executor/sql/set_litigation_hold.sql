-- target: litigation_holds
-- refused: Not all of the custodians are in this matter.
WITH named AS (
  SELECT c.id FROM record.custodians c WHERE c.case_id = :case_id::uuid AND c.id = ANY(:custodian_ids::uuid[])
), made AS (
  INSERT INTO record.litigation_holds (id, case_id, trigger_event, scope, effective_from, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id, :trigger::text, :scope::text, :from::date, :provenance_id::text, :decided_at::timestamptz, :recorded_by::text
   WHERE (SELECT count(*) FROM named) = cardinality(:custodian_ids)
  RETURNING id, effective_from
), placed AS (
  INSERT INTO record.hold_custodians (case_id, hold_id, custodian_id) SELECT :case_id, m.id, n.id FROM made m CROSS JOIN named n
)
SELECT m.id AS target_id, 'The litigation hold from ' || m.effective_from AS subject, 'The hold is set. No notice has been sent.' AS done FROM made m
