-- name: prepare
WITH made AS (
  INSERT INTO record.client_messages (id, case_id, decision_id, address, subject, body, message_id, provenance_id, as_of, recorded_by)
  VALUES (:new_id::uuid, :case_id::uuid, :proposal_id::uuid, :to::text, :subject::text, :body::text, '<' || :new_id || '@' || :domain::text || '>',
          :provenance_id::text, :decided_at::timestamptz, :recorded_by::text)
  ON CONFLICT (decision_id) DO NOTHING
  RETURNING id, address
)
INSERT INTO record.provenance (urn, case_id, target_table, target_id, decision_id, subject, locator, extractor, as_of, recorded_by)
SELECT :provenance_id, :case_id, 'client_messages', m.id, :proposal_id, 'The message to ' || m.address,
       'decision of ' || (:decided_at AT TIME ZONE 'UTC')::date, :recorded_by, :decided_at, :recorded_by
  FROM made m;

-- name: letters
SELECT m.id, m.status, m.address, m.message_id, m.subject, m.body, m.detail
  FROM record.client_messages m
 WHERE m.case_id = :case_id::uuid AND m.decision_id = :proposal_id::uuid;
