-- target: discovery_responses
WITH made AS (
  INSERT INTO record.discovery_responses (id, case_id, request, response, objections, withholding, served_on, provenance_id, as_of, recorded_by)
  VALUES (:new_id::uuid, :case_id::uuid, :request::text, :response::text, :objections::text[], :withholding::boolean, :served_on::date, :provenance_id::text,
          :decided_at::timestamptz, :recorded_by::text)
  RETURNING id, request
)
SELECT m.id AS target_id, 'The response to ' || m.request AS subject, 'The response is recorded.' AS done FROM made m
