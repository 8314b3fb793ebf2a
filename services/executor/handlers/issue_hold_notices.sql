-- name: prepare
WITH hold AS (
  SELECT h.id FROM record.litigation_holds h WHERE h.case_id = :case_id::uuid AND h.id = :hold_id::uuid AND h.released_at IS NULL
), named AS (
  SELECT c.id, c.email
    FROM record.hold_custodians l JOIN record.custodians c ON c.case_id = l.case_id AND c.id = l.custodian_id
   WHERE l.case_id = :case_id AND l.hold_id = :hold_id AND c.id = ANY(:custodian_ids::uuid[]) AND c.email <> ''
), made AS (
  INSERT INTO record.hold_notices (id, case_id, hold_id, custodian_id, decision_id, template, address, message_id, provenance_id, as_of, recorded_by)
  SELECT g.notice_id, :case_id, h.id, n.id, :proposal_id::uuid, :template::text, n.email, '<' || g.notice_id || '@' || :domain::text || '>',
         CASE g.position WHEN 1 THEN :provenance_id::text ELSE 'urn:substrate:record:hold_notice:' || g.notice_id END,
         :decided_at::timestamptz, :recorded_by::text
    FROM hold h
   CROSS JOIN unnest(:custodian_ids, :notice_ids::uuid[]) WITH ORDINALITY AS g (custodian_id, notice_id, position)
    JOIN named n ON n.id = g.custodian_id
   WHERE (SELECT count(*) FROM named) = cardinality(:custodian_ids)
  ON CONFLICT (decision_id, custodian_id) DO NOTHING
  RETURNING id, provenance_id, address
)
INSERT INTO record.provenance (urn, case_id, target_table, target_id, decision_id, subject, locator, extractor, as_of, recorded_by)
SELECT m.provenance_id, :case_id, 'hold_notices', m.id, :proposal_id, 'The hold notice to ' || m.address, 'decision of ' || (:decided_at AT TIME ZONE 'UTC')::date,
       :recorded_by, :decided_at, :recorded_by
  FROM made m;

-- name: letters
SELECT n.id, n.status, n.address, n.message_id, n.template, n.detail, c.name, h.trigger_event, h.scope, h.effective_from, m.caption
  FROM record.hold_notices n
  JOIN record.custodians c ON c.case_id = n.case_id AND c.id = n.custodian_id
  JOIN record.litigation_holds h ON h.case_id = n.case_id AND h.id = n.hold_id
  JOIN record.matters m ON m.case_id = n.case_id
 WHERE n.case_id = :case_id::uuid AND n.decision_id = :proposal_id::uuid
 ORDER BY c.name, n.id;
