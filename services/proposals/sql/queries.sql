-- name: insert_proposal
INSERT INTO ledger.proposals (id, key_id, owner_id, case_id, action, args, args_digest, what_will_happen, reason, overrides_ignored, request_id, supersedes, expires_at)
VALUES (:id, :key_id, :owner_id, :case_id, :action, :args, :args_digest, :what_will_happen, :reason, :overrides_ignored, :request_id, :supersedes, :expires_at);

-- name: read_back
SELECT id, action, args, args_digest, what_will_happen, overrides_ignored, expires_at, reason, supersedes
  FROM ledger.proposals WHERE id = :id AND key_id = :key_id AND case_id = :case_id;

-- name: by_request_id
SELECT id, case_id, action, args_digest, reason, supersedes FROM ledger.proposals WHERE key_id = :key_id AND request_id = :request_id;

-- name: list_proposals
WITH chosen AS (
  SELECT p.id, p.case_id, p.action, p.what_will_happen, s.state, s.execution, s.decision_reason, s.superseded_by, p.filed_at, s.decided_at, p.expires_at,
         (9000000000000000 - (extract(epoch FROM p.filed_at) * 1000000)::bigint)::text || ' ' || p.id AS cursor_key
    FROM ledger.proposals p JOIN ledger.states s ON s.id = p.id
   WHERE p.key_id = :key_id AND p.case_id = :case_id AND (:state::text IS NULL OR s.state = :state)
)
SELECT c.*, (SELECT count(*) FROM chosen)::int AS total_count
  FROM chosen c WHERE :page_after::text IS NULL OR c.cursor_key > :page_after ORDER BY c.cursor_key LIMIT :page_limit;

-- name: one_proposal
SELECT p.id, p.case_id, p.action, p.what_will_happen, s.state, s.execution, s.decision_reason, s.superseded_by, p.filed_at, s.decided_at, p.expires_at
  FROM ledger.proposals p JOIN ledger.states s ON s.id = p.id
 WHERE p.id = :id AND p.key_id = :key_id AND p.case_id = :case_id;

-- name: insert_withdrawal
INSERT INTO ledger.withdrawals (proposal_id, key_id) VALUES (:id, :key_id);

-- name: insert_handoff
INSERT INTO ledger.handoffs (handoff_hash, proposal_id, key_id, owner_id, session_hash, expires_at)
VALUES (:handoff_hash, :proposal_id, :key_id, :owner_id, :session_hash, :expires_at);

-- name: answer_handoff
INSERT INTO ledger.handoff_answers (handoff_hash, answer) VALUES (:handoff_hash, :answer) ON CONFLICT DO NOTHING;

-- name: find_handoff
SELECT h.proposal_id, h.expires_at > clock_timestamp() AS live, a.answer
  FROM ledger.handoffs h LEFT JOIN ledger.handoff_answers a ON a.handoff_hash = h.handoff_hash
 WHERE h.handoff_hash = :handoff_hash AND h.key_id = :key_id AND h.session_hash = :session_hash;

-- name: end_of_chain
WITH RECURSIVE chain AS (
  SELECT s.id, s.state, s.superseded_by FROM ledger.states s WHERE s.id = :id
  UNION ALL
  SELECT s.id, s.state, s.superseded_by FROM chain c JOIN ledger.states s ON s.id = c.superseded_by
)
SELECT state FROM chain WHERE superseded_by IS NULL;

-- name: append_audit
SELECT audit.append(:actor::text, :action::text, :case_id::uuid, :outcome::text, :detail::bytea);

-- name: ready
SELECT 1 FROM ledger.states LIMIT 1;
