-- name: hold_key
SELECT pg_advisory_xact_lock(hashtextextended(:key_id::text, 14));

-- name: count
SELECT count(*)::int AS kept, (count(*) FILTER (WHERE status IN ('PENDING', 'QUEUED', 'RUNNING', 'AWAITING_INPUT')))::int AS open
  FROM runs.agent_runs WHERE key_id = :key_id::uuid AND expires_at > clock_timestamp();

-- name: insert_run
INSERT INTO runs.agent_runs (id, workflow, owner_id, case_id, launch_ctx, deadline_at, expires_at)
VALUES (:id::uuid, 'mcp_tool_call', :owner_id::uuid, :case_id::uuid, :launch_ctx::text::jsonb,
        clock_timestamp() + make_interval(secs => :queue_seconds::float8), clock_timestamp() + make_interval(secs => :ttl_ms::float8 / 1000));

-- name: insert_step
INSERT INTO runs.agent_run_steps (run_id, position, kind, input, input_sha256, given)
VALUES (:id::uuid, 1, 'mcp_tool', :input::bytea, :input_sha256::bytea, :given::bytea);

-- name: audit
SELECT audit.append(:actor::text, :action::text, :case_id::uuid, :outcome::text, :detail::bytea);

-- name: find
SELECT r.id, r.key_id, r.case_id, r.status, r.status_message, r.created_at, r.updated_at, r.launch_ctx -> 'mcp_task' AS task,
       (extract(epoch FROM r.expires_at - r.created_at) * 1000)::bigint AS ttl_ms, s.asked, s.answered, s.result_is_error, s.progress, s.progress_total,
       s.progress_message
  FROM runs.agent_runs r JOIN runs.agent_run_steps s ON s.run_id = r.id AND s.position = 1
 WHERE r.id = ANY (:ids::uuid[]) AND r.key_id = :key_id::uuid AND r.expires_at > clock_timestamp();

-- name: in_session
SELECT r.id
  FROM runs.agent_runs r
 WHERE r.key_id = :key_id::uuid AND r.launch_ctx #>> '{mcp_task,session_sha256}' = :session::text AND r.expires_at > clock_timestamp()
   AND (r.status IN ('PENDING', 'QUEUED', 'RUNNING', 'AWAITING_INPUT') OR r.created_at > :since::timestamptz)
 ORDER BY r.created_at, r.id LIMIT :limit;

-- name: result
SELECT s.result
  FROM runs.agent_runs r JOIN runs.agent_run_steps s ON s.run_id = r.id AND s.position = 1
 WHERE r.id = :id::uuid AND r.key_id = :key_id::uuid AND r.status = 'DONE' AND r.expires_at > clock_timestamp();

-- name: page
SELECT r.id, r.key_id, r.case_id, r.status, r.status_message, r.created_at, r.updated_at, r.launch_ctx -> 'mcp_task' AS task,
       (extract(epoch FROM r.expires_at - r.created_at) * 1000)::bigint AS ttl_ms, s.asked, s.answered, s.result_is_error, s.progress, s.progress_total,
       s.progress_message
  FROM runs.agent_runs r JOIN runs.agent_run_steps s ON s.run_id = r.id AND s.position = 1
 WHERE r.key_id = :key_id::uuid AND r.expires_at > clock_timestamp()
   AND (:after_at::timestamptz IS NULL OR (r.created_at, r.id) < (:after_at, :after_id::uuid))
 ORDER BY r.created_at DESC, r.id DESC LIMIT :limit;

-- name: cancel
UPDATE runs.agent_runs r
   SET status = 'DENIED', status_message = 'The task was cancelled.', lease_owner = NULL, lease_until = NULL
 WHERE r.id = :id::uuid AND r.key_id = :key_id::uuid AND r.status = :expected::text AND r.expires_at > clock_timestamp()
RETURNING r.id;

-- name: lock_for_answers
SELECT s.asked, s.answered
  FROM runs.agent_runs r JOIN runs.agent_run_steps s ON s.run_id = r.id AND s.position = 1
 WHERE r.id = :id::uuid AND r.key_id = :key_id::uuid AND r.status = 'AWAITING_INPUT' AND r.expires_at > clock_timestamp()
   FOR UPDATE OF r;

-- name: keep_answers
UPDATE runs.agent_run_steps SET answered = :answered::bytea WHERE run_id = :id::uuid AND position = 1;

-- name: go_on
UPDATE runs.agent_runs
   SET status = 'QUEUED', status_message = '', attempts = 0, ready_at = clock_timestamp(),
       deadline_at = clock_timestamp() + make_interval(secs => :queue_seconds::float8)
 WHERE id = :id::uuid AND status = 'AWAITING_INPUT';

-- name: claim
SELECT run_id, run_fence, run_attempts
  FROM runs.claim(:owner::text, :count::int, :per_key::int, :lease_seconds::float8, :run_seconds::float8);

-- name: launch
SELECT r.id, r.key_id, r.case_id, r.launch_ctx -> 'mcp_task' AS task, s.input, s.given, s.asked, s.state, s.answered, s.progress
  FROM runs.agent_runs r JOIN runs.agent_run_steps s ON s.run_id = r.id AND s.position = 1
 WHERE r.id = :id::uuid AND r.status = 'RUNNING' AND r.lease_owner = :owner::text AND r.fence = :fence::bigint;

-- name: renew
UPDATE runs.agent_runs SET lease_until = clock_timestamp() + make_interval(secs => :lease_seconds::float8)
 WHERE id = ANY (:ids::uuid[]) AND lease_owner = :owner::text AND status = 'RUNNING' AND expires_at > clock_timestamp()
RETURNING id, fence;

-- name: complete
SELECT runs.complete(:id::uuid, :owner::text, :fence::bigint, :result::bytea, :is_error::boolean) AS done;

-- name: ask
SELECT runs.ask(:id::uuid, :owner::text, :fence::bigint, :asked::bytea, :state::bytea) AS done;

-- name: break_off
UPDATE runs.agent_runs SET status = :status::text, status_message = :message::text, lease_owner = NULL, lease_until = NULL
 WHERE id = :id::uuid AND status = 'RUNNING' AND lease_owner = :owner::text AND fence = :fence::bigint
RETURNING id;

-- name: put_back
UPDATE runs.agent_runs
   SET status = 'QUEUED', status_message = :message::text, lease_owner = NULL, lease_until = NULL, attempts = greatest(0, attempts - :uncounted::int),
       ready_at = clock_timestamp() + make_interval(secs => :pause_seconds::float8),
       deadline_at = clock_timestamp() + make_interval(secs => :queue_seconds::float8)
 WHERE id = :id::uuid AND status = 'RUNNING' AND lease_owner = :owner::text AND fence = :fence::bigint
RETURNING id;

-- name: note_progress
UPDATE runs.agent_run_steps s SET progress = :progress::float8, progress_total = :total::float8, progress_message = :message::text
  FROM runs.agent_runs r
 WHERE s.run_id = :id::uuid AND s.position = 1 AND r.id = s.run_id AND r.status = 'RUNNING' AND r.lease_owner = :owner::text AND r.fence = :fence::bigint
   AND (s.progress IS NULL OR s.progress < :progress::float8);

-- name: take_up
UPDATE runs.agent_runs
   SET status = 'QUEUED', status_message = 'The worker that had it is gone; another takes it up.', lease_owner = NULL, lease_until = NULL,
       ready_at = clock_timestamp(), deadline_at = clock_timestamp() + make_interval(secs => :queue_seconds::float8)
 WHERE status = 'RUNNING' AND key_id IS NOT NULL AND lease_until <= clock_timestamp() AND deadline_at > clock_timestamp()
   AND attempts < :attempts_max::int AND (launch_ctx #>> '{mcp_task,read_only}')::boolean
RETURNING id;

-- name: abort_dead
UPDATE runs.agent_runs
   SET status = 'ABORTED', lease_owner = NULL, lease_until = NULL,
       status_message = CASE WHEN deadline_at <= clock_timestamp() THEN 'It did not end within its time.' ELSE 'The worker that had it is gone.' END
 WHERE status = 'RUNNING' AND key_id IS NOT NULL AND lease_until <= clock_timestamp()
   AND (attempts >= :attempts_max::int OR deadline_at <= clock_timestamp() OR NOT (launch_ctx #>> '{mcp_task,read_only}')::boolean)
RETURNING id;

-- name: abort_late
UPDATE runs.agent_runs
   SET status = 'ABORTED', status_message = 'No worker took it up within its time.'
 WHERE status IN ('PENDING', 'QUEUED') AND key_id IS NOT NULL AND deadline_at <= clock_timestamp()
RETURNING id;

-- name: purge
DELETE FROM runs.agent_runs WHERE id IN (
  SELECT id FROM runs.agent_runs WHERE key_id IS NOT NULL AND expires_at <= clock_timestamp() ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED)
RETURNING id;

-- name: ready
SELECT 1 FROM runs.agent_runs LIMIT 1;
