-- name: reset
SET session_replication_role = replica;
DELETE FROM ledger.handoff_answers; DELETE FROM ledger.handoffs; DELETE FROM ledger.retries; DELETE FROM ledger.executions;
DELETE FROM ledger.decisions; DELETE FROM ledger.unfinished; DELETE FROM ledger.nonces; DELETE FROM ledger.withdrawals; DELETE FROM ledger.proposals;
DELETE FROM record.tasks; DELETE FROM record.deadlines; DELETE FROM record.discovery_responses; DELETE FROM record.provenance;
DELETE FROM auth.ethical_screens; DELETE FROM auth.matter_access; DELETE FROM auth.attempts; DELETE FROM auth.rate_lanes;
UPDATE auth.totp SET last_step = 0; UPDATE auth.api_keys SET revoked_at = NULL;
INSERT INTO auth.matter_access (user_id, case_id) SELECT u.id, m.case_id FROM auth.users u, record.matters m;
SET session_replication_role = origin;

-- name: add_matter
INSERT INTO record.matters (case_id, caption, court, docket_number, status, provenance_id, recorded_by)
VALUES (:case_id, 'A matter', 'A court', :docket_number, 'open', 'none', 'test');

-- name: fill_up
INSERT INTO ledger.proposals
  (id, key_id, owner_id, case_id, action, args, args_digest, what_will_happen, reason, overrides_ignored, expires_at)
SELECT gen_random_uuid(), :key_id, :key_id, :case_id, 'create_task', '{}', sha256('{}'), 'Nothing.', 'Ballast.', '{}', clock_timestamp() + make_interval(days => :days::int)
  FROM generate_series(1, :number::int);

-- name: forge
INSERT INTO ledger.decisions (proposal_id, args_digest, decision, decided_by, decided_at, shown_sha256, nonce_hash, step_up, signature)
VALUES (:proposal_id, :args_digest, 'approved', :decided_by, :decided_at, :shown_sha256, NULL, 'totp', :signature);

-- name: move_clock
UPDATE test_clock.reading SET at = :at;

-- name: hold
SELECT pg_advisory_xact_lock(hashtextextended(:id::text, :kind::bigint)), audit.hold();

-- name: queued
SELECT count(*)::int AS number FROM pg_locks WHERE NOT granted;

-- name: audited
SELECT coalesce(max(seq), 0) AS seq FROM audit.log;

-- name: everything
-- note: one look at the rows of the ledger, and beside each of them what was counted over all of it
WITH filed AS (
  SELECT p.id, p.key_id, p.owner_id, p.case_id, p.action, p.args, p.args_digest, p.supersedes, s.state, s.superseded_by,
         d.args_digest AS decided_digest, d.decision, d.decided_by, d.decided_at, d.reason, d.shown_sha256, d.nonce_hash, d.step_up, d.signature,
         e.fence, e.attempts, e.outcome,
         (SELECT count(*) FROM record.tasks t WHERE t.recorded_by = 'decision:' || p.id)
         + (SELECT count(*) FROM record.deadlines t WHERE t.recorded_by = 'decision:' || p.id)
         + (SELECT count(*) FROM record.discovery_responses t WHERE t.recorded_by = 'decision:' || p.id) AS effects,
         (SELECT count(*) FROM record.provenance t WHERE t.decision_id = p.id) AS provenance,
         (SELECT count(*) FROM ledger.nonces n WHERE n.proposal_id = p.id AND n.used_at IS NOT NULL) AS nonces_used,
         (SELECT count(*) FROM ledger.nonces n WHERE n.proposal_id = p.id
             AND (n.args_digest, n.case_id, n.user_id, n.action) IS DISTINCT FROM (p.args_digest, p.case_id, p.owner_id, p.action)) AS nonces_wrong
    FROM ledger.proposals p
    JOIN ledger.states s ON s.id = p.id
    LEFT JOIN ledger.decisions d ON d.proposal_id = p.id
    LEFT JOIN ledger.executions e ON e.proposal_id = p.id
   WHERE p.key_id <> :ballast_key
), counted AS (
  SELECT (SELECT count(*) FROM audit.log WHERE seq > :audited_before AND action = 'approvals.decide') AS all_decided,
         (SELECT count(*) FROM audit.log WHERE seq > :audited_before AND action LIKE 'execute.%' AND outcome = 'done') AS all_done,
         (SELECT count(*) FROM ledger.retries) AS all_retries,
         (SELECT count(*) FROM ledger.handoffs) AS all_links,
         (SELECT count(*) FROM ledger.handoff_answers) AS all_answers,
         (SELECT count(*) FROM ledger.decisions) AS all_decisions,
         (SELECT count(*) FROM ledger.withdrawals) AS all_withdrawals,
         (SELECT count(*) FROM ledger.executions) AS all_executions,
         (SELECT array_agg(nonce_hash) FROM ledger.nonces) AS all_nonces,
         (SELECT count(*) FROM record.tasks) + (SELECT count(*) FROM record.deadlines) + (SELECT count(*) FROM record.discovery_responses) AS all_effects,
         (SELECT count(*) FROM record.provenance) AS all_provenance,
         (SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM ledger.states WHERE state = 'undecided' GROUP BY case_id) m) AS fullest
)
SELECT * FROM counted LEFT JOIN filed ON true;
