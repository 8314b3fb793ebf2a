-- name: waiting
-- OFFSET 0 keeps it a look-up for each unfinished row, whatever the planner believes of how many there are.
SELECT d.id
  FROM ledger.unfinished u
 CROSS JOIN LATERAL (SELECT d.id, d.decided_at FROM ledger.decided d WHERE d.id = u.proposal_id OFFSET 0) d
  LEFT JOIN LATERAL (SELECT e.* FROM ledger.executions e WHERE e.proposal_id = u.proposal_id OFFSET 0) e ON true
 WHERE e.proposal_id IS NULL
    OR (e.outcome IS NULL AND e.lease_until <= clock_timestamp())
    OR (e.outcome = 'failed' AND EXISTS (SELECT FROM ledger.retries r WHERE r.proposal_id = d.id AND r.attempt = e.attempts))
 ORDER BY d.decided_at, d.id LIMIT :limit;

-- name: mismatched
SELECT u.proposal_id
  FROM ledger.unfinished u
  LEFT JOIN LATERAL (SELECT d.id FROM ledger.decided d WHERE d.id = u.proposal_id OFFSET 0) d ON true
  LEFT JOIN LATERAL (SELECT e.* FROM ledger.executions e WHERE e.proposal_id = u.proposal_id OFFSET 0) e ON true
 WHERE d.id IS NULL AND (e.proposal_id IS NULL OR (e.outcome IS NULL AND e.lease_until <= clock_timestamp()))
 LIMIT :limit;

-- name: waiting_of_all
SELECT d.id
  FROM ledger.decided d LEFT JOIN ledger.executions e ON e.proposal_id = d.id
 WHERE e.proposal_id IS NULL
    OR (e.outcome IS NULL AND e.lease_until <= clock_timestamp())
    OR (e.outcome = 'failed' AND EXISTS (SELECT FROM ledger.retries r WHERE r.proposal_id = d.id AND r.attempt = e.attempts))
 ORDER BY d.decided_at, d.id LIMIT :limit;

-- name: mismatched_of_all
SELECT m.proposal_id
  FROM ledger.mismatched m LEFT JOIN ledger.executions e ON e.proposal_id = m.proposal_id
 WHERE e.proposal_id IS NULL OR (e.outcome IS NULL AND e.lease_until <= clock_timestamp())
 LIMIT :limit;

-- name: claim
INSERT INTO ledger.executions AS e (proposal_id, fence, lease_owner, lease_until)
VALUES (:proposal_id::uuid, 1, :owner::text, clock_timestamp() + make_interval(secs => :lease_seconds::float8))
ON CONFLICT (proposal_id) DO UPDATE
   SET fence = e.fence + 1, lease_owner = excluded.lease_owner, lease_until = excluded.lease_until, attempts = e.attempts + 1,
       outcome = NULL, detail = NULL, finished_at = NULL
 WHERE (e.outcome IS NULL AND e.lease_until <= clock_timestamp())
    OR (e.outcome = 'failed' AND EXISTS (SELECT FROM ledger.retries r WHERE r.proposal_id = e.proposal_id AND r.attempt = e.attempts))
RETURNING fence, attempts;

-- name: decided
SELECT id, case_id, action, args, args_digest, decision, decided_by, decided_at, reason, shown_sha256, nonce_hash, step_up, signature
  FROM ledger.decided WHERE id = :proposal_id::uuid;

-- name: intend
UPDATE ledger.executions
   SET intent = :intent::text, intent_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => :lease_seconds::float8)
 WHERE proposal_id = :proposal_id::uuid AND fence = :fence::bigint AND lease_owner = :owner::text AND outcome IS NULL AND lease_until > clock_timestamp()
RETURNING fence;

-- name: hold
SELECT fence FROM ledger.executions
 WHERE proposal_id = :proposal_id::uuid AND fence = :fence::bigint AND lease_owner = :owner::text AND outcome IS NULL AND lease_until > clock_timestamp()
   FOR UPDATE;

-- name: one_at_a_time
SELECT pg_advisory_xact_lock(hashtextextended(:case_id::text, 12));

-- name: renew
UPDATE ledger.executions SET lease_until = clock_timestamp() + make_interval(secs => :lease_seconds::float8)
 WHERE proposal_id = :proposal_id::uuid AND fence = :fence::bigint;

-- name: lay_down
UPDATE ledger.executions SET lease_until = clock_timestamp() + make_interval(secs => :pause_seconds::float8)
 WHERE proposal_id = :proposal_id::uuid AND fence = :fence::bigint AND lease_owner = :owner::text AND outcome IS NULL;

-- name: lead_to_decision
INSERT INTO record.provenance (urn, case_id, target_table, target_id, decision_id, subject, document_version_id, page_from, page_to, locator, quote,
                               extractor, as_of, recorded_by)
VALUES (:provenance_id::text, :case_id::uuid, :target_table::text, :target_id::uuid, :proposal_id::uuid, :subject::text, :document_version_id::uuid,
        :page_from::int, :page_to::int, coalesce(:locator::text, 'decision of ' || (:decided_at::timestamptz AT TIME ZONE 'UTC')::date), :quote::text,
        :recorded_by::text, :decided_at, :recorded_by)
ON CONFLICT (urn) DO NOTHING;

-- name: finish
UPDATE ledger.executions
   SET outcome = :outcome::text, detail = :detail::text, finished_at = clock_timestamp(), intent = coalesce(intent, 'nothing was begun'),
       intent_at = coalesce(intent_at, clock_timestamp())
 WHERE proposal_id = :proposal_id::uuid AND fence = :fence::bigint;

-- name: audit
SELECT audit.append('executor', :action::text, :case_id::uuid, :outcome::text, :detail::bytea);

-- name: ready
SELECT 1 FROM ledger.executions LIMIT 1;
