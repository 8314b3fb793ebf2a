-- name: reset
SET session_replication_role = replica;
DELETE FROM runs.agent_run_steps; DELETE FROM runs.agent_runs;
DELETE FROM auth.ethical_screens; DELETE FROM auth.matter_access; DELETE FROM auth.rate_lanes;
UPDATE auth.api_keys SET revoked_at = NULL;
INSERT INTO auth.matter_access (user_id, case_id) SELECT u.id, c.id::uuid FROM auth.users u, unnest(ARRAY[CASES]) AS c (id);
SET session_replication_role = origin;

-- name: add_run_of_the_firm
-- note: a run that is no task
WITH run AS (
  INSERT INTO runs.agent_runs (id, workflow, owner_id, case_id, launch_ctx, deadline_at, expires_at)
  VALUES (gen_random_uuid(), 'nightly_review', :owner_id, :case_id, '{}', 'infinity', 'infinity') RETURNING id)
INSERT INTO runs.agent_run_steps (run_id, position, kind, input, input_sha256) SELECT id, 1, 'review', '{}', sha256('{}') FROM run;

-- name: move_clock
UPDATE test_clock.reading SET at = :at;

-- name: lock_run
SELECT id FROM runs.agent_runs WHERE id = :id FOR UPDATE;

-- name: queued
SELECT count(*)::int AS number FROM pg_locks WHERE NOT granted;

-- name: everything
SELECT r.id, r.key_id, r.case_id, r.status, r.fence, r.attempts, r.lease_owner, r.launch_ctx #>> '{mcp_task,key_id}' AS launched_by, s.input,
       s.progress, s.result, s.result_is_error,
       (SELECT count(*) FROM runs.agent_runs f WHERE f.workflow = 'nightly_review' AND f.status = 'PENDING')::int AS runs_of_the_firm
  FROM runs.agent_runs r JOIN runs.agent_run_steps s ON s.run_id = r.id
 WHERE r.workflow = 'mcp_tool_call';
