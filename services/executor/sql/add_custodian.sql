-- target: custodians
-- refused: The last day in the role is before the first.
WITH made AS (
  INSERT INTO record.custodians (id, case_id, name, title, role_from, role_to, sources, email, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id::uuid, :name::text, :title::text, :from::date, :to::date, :sources::text[], :email::text, :provenance_id::text,
         :decided_at::timestamptz, :recorded_by::text
   WHERE :to::date IS NULL OR :from::date IS NULL OR :to >= :from
  RETURNING id, name
)
SELECT m.id AS target_id, 'Custodian ' || m.name AS subject, 'The custodian is on the list.' AS done FROM made m
