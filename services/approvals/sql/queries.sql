-- name: find
SELECT * FROM approvals.proposals WHERE id = :id AND owner_id = :user_id AND case_id = ANY (:case_ids::uuid[]);

-- name: waiting
SELECT * FROM approvals.proposals
 WHERE owner_id = :user_id AND case_id = ANY (:case_ids::uuid[]) AND state = 'undecided' AND (:ids::uuid[] IS NULL OR id = ANY (:ids::uuid[]))
 ORDER BY expires_at, filed_at, id
 LIMIT :limit;

-- name: count_waiting
SELECT count(*) AS number FROM approvals.proposals WHERE owner_id = :user_id AND case_id = ANY (:case_ids::uuid[]) AND state = 'undecided';

-- name: history
SELECT * FROM approvals.proposals
 WHERE owner_id = :user_id AND case_id = ANY (:case_ids::uuid[]) AND state <> 'undecided' AND (:before::timestamptz IS NULL OR filed_at < :before)
 ORDER BY filed_at DESC, id
 LIMIT :limit;

-- name: matters
SELECT case_id, name FROM approvals.matters(:case_ids::uuid[]);

-- name: rows_named
SELECT id, words FROM approvals.rows_named(:case_id, :ids::uuid[]);

-- name: cleared
SELECT id FROM approvals.cleared(:case_id, :ids::uuid[]);

-- name: cited
SELECT approvals.cited(:case_id::uuid, :document_version_id::uuid, :page_from::int, :page_to::int, :quote::text) AS reason;

-- name: hold
SELECT ledger.hold(:id);

-- name: nonce
SELECT proposal_id, action, case_id, user_id, args_digest, expires_at, used_at FROM ledger.nonces WHERE nonce_hash = :nonce_hash;

-- name: count_live_nonces
SELECT count(*) AS number FROM ledger.nonces WHERE user_id = :user_id AND used_at IS NULL AND expires_at > clock_timestamp();

-- name: mint_nonce
INSERT INTO ledger.nonces (nonce_hash, proposal_id, action, case_id, user_id, args_digest, expires_at)
VALUES (:nonce_hash, :proposal_id, :action, :case_id, :user_id, :args_digest, :expires_at);

-- name: decide_confirmed
WITH used AS (
  UPDATE ledger.nonces SET used_at = clock_timestamp()
   WHERE nonce_hash = :nonce_hash AND used_at IS NULL AND expires_at > clock_timestamp() AND proposal_id = :proposal_id AND action = :action
     AND case_id = :case_id AND user_id = :decided_by AND args_digest = :args_digest
  RETURNING nonce_hash
)
INSERT INTO ledger.decisions (proposal_id, args_digest, decision, decided_by, decided_at, reason, shown_sha256, nonce_hash, step_up, signature)
SELECT :proposal_id, :args_digest, :decision, :decided_by, :decided_at, :reason, :shown_sha256, used.nonce_hash, :step_up, :signature FROM used
RETURNING proposal_id;

-- name: decide_plainly
INSERT INTO ledger.decisions (proposal_id, args_digest, decision, decided_by, decided_at, reason, shown_sha256, nonce_hash, step_up, signature)
VALUES (:proposal_id, :args_digest, :decision, :decided_by, :decided_at, :reason, :shown_sha256, NULL, :step_up, :signature)
RETURNING proposal_id;

-- name: retry
INSERT INTO ledger.retries (proposal_id, attempt, requested_by) VALUES (:proposal_id, :attempt, :requested_by) ON CONFLICT DO NOTHING RETURNING proposal_id;

-- name: append_audit
SELECT audit.append(:actor::text, :action::text, :case_id::uuid, :outcome::text, :detail::bytea);

-- name: handoff_owner
-- A link that was declined or cancelled is over. Whether one without an answer was agreed to is not known, so it anchors nothing.
SELECT h.owner_id, a.answer IS NOT NULL AS accepted
  FROM ledger.handoffs h LEFT JOIN ledger.handoff_answers a ON a.handoff_hash = h.handoff_hash
 WHERE h.handoff_hash = :handoff_hash AND h.expires_at > clock_timestamp() AND coalesce(a.answer, 'accepted') = 'accepted';

-- name: handoff_anchor
-- The last proposal of the chain that began with the one that the link was made for, while it waits.
WITH RECURSIVE chain AS (
  SELECT s.id, s.state, s.superseded_by FROM ledger.handoffs h JOIN ledger.states s ON s.id = h.proposal_id WHERE h.handoff_hash = :handoff_hash
  UNION ALL
  SELECT s.id, s.state, s.superseded_by FROM chain c JOIN ledger.states s ON s.id = c.superseded_by
)
SELECT id FROM chain WHERE superseded_by IS NULL AND state = 'undecided';

-- name: forget_sessions
DELETE FROM approvals.sessions WHERE expires_at < clock_timestamp() - make_interval(secs => :kept_seconds);

-- name: begin_session
INSERT INTO approvals.sessions (id, token_hash, user_id, expires_at)
VALUES (:id, :token_hash, :user_id, clock_timestamp() + make_interval(secs => :seconds));

-- name: end_surplus_sessions
UPDATE approvals.sessions SET ended_at = clock_timestamp()
 WHERE ended_at IS NULL AND id IN (SELECT s.id FROM approvals.sessions s WHERE s.user_id = :user_id AND s.ended_at IS NULL ORDER BY s.made_at DESC OFFSET :kept);

-- name: use_session
UPDATE approvals.sessions SET last_seen_at = clock_timestamp()
 WHERE token_hash = :token_hash AND ended_at IS NULL AND expires_at > clock_timestamp() AND last_seen_at > clock_timestamp() - make_interval(secs => :idle_seconds)
RETURNING user_id;

-- name: end_session
UPDATE approvals.sessions SET ended_at = clock_timestamp() WHERE token_hash = :token_hash AND ended_at IS NULL RETURNING user_id;

-- name: forget_returns
DELETE FROM approvals.returns WHERE expires_at < clock_timestamp();

-- name: use_return
INSERT INTO approvals.returns (state_hash, expires_at) VALUES (:state_hash, clock_timestamp() + make_interval(secs => :seconds))
ON CONFLICT DO NOTHING
RETURNING state_hash;

-- name: passkeys
SELECT id, credential_id, name, made_at, last_used_at FROM approvals.passkeys WHERE user_id = :user_id AND removed_at IS NULL ORDER BY made_at, id;

-- name: passkey
SELECT id, public_key, sign_count FROM approvals.passkeys
 WHERE user_id = :user_id AND credential_id = :credential_id AND removed_at IS NULL
   FOR UPDATE;

-- name: use_passkey
UPDATE approvals.passkeys SET sign_count = :sign_count, last_used_at = clock_timestamp() WHERE id = :id;

-- name: forget_passkey_challenges
DELETE FROM approvals.passkey_challenges WHERE expires_at < clock_timestamp();

-- name: begin_passkey
INSERT INTO approvals.passkey_challenges (challenge_hash, user_id, session_hash, name, expires_at)
VALUES (:challenge_hash, :user_id, :session_hash, :label, clock_timestamp() + make_interval(secs => :seconds));

-- name: use_passkey_challenge
UPDATE approvals.passkey_challenges SET used_at = clock_timestamp()
 WHERE challenge_hash = :challenge_hash AND user_id = :user_id AND session_hash = :session_hash AND used_at IS NULL AND expires_at > clock_timestamp()
RETURNING name;

-- name: hold_passkeys
SELECT pg_advisory_xact_lock(hashtextextended('approvals.passkeys ' || :user_id::uuid::text, 0));

-- name: add_passkey
INSERT INTO approvals.passkeys (id, credential_id, user_id, name, public_key, sign_count)
SELECT :id, :credential_id, :user_id, :label, :public_key, :sign_count
 WHERE (SELECT count(*) FROM approvals.passkeys p WHERE p.user_id = :user_id AND p.removed_at IS NULL) < :most
ON CONFLICT DO NOTHING
RETURNING id;

-- name: remove_passkey
UPDATE approvals.passkeys SET removed_at = clock_timestamp() WHERE id = :id AND user_id = :user_id AND removed_at IS NULL RETURNING credential_id;

-- name: ready
SELECT count(*) AS number FROM approvals.proposals WHERE id IS NULL;
