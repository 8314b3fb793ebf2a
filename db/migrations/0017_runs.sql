-- Workflow runs of the firm and their steps. A tool call that an agent runs as a task is one run with one step and `launch_ctx.mcp_task`;
-- there is no other store of tasks.
CREATE SCHEMA runs;

CREATE TABLE runs.agent_runs (
  id uuid PRIMARY KEY,
  workflow text NOT NULL CHECK (workflow <> ''),
  owner_id uuid NOT NULL,
  case_id uuid,
  status text NOT NULL DEFAULT 'PENDING'
    CHECK (status IN ('PENDING', 'QUEUED', 'RUNNING', 'AWAITING_INPUT', 'DONE', 'FAILED', 'ABORTED', 'DENIED')),
  status_message text NOT NULL DEFAULT '',
  launch_ctx jsonb NOT NULL,
  -- The key that a task belongs to; null for runs that are no tasks.
  key_id uuid GENERATED ALWAYS AS ((launch_ctx #>> '{mcp_task,key_id}')::uuid) STORED,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- From when on a worker may take it, by when it has to have left its status, and until when it is kept.
  ready_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  deadline_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The fence rises with every claim; only its holder may go on.
  fence bigint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0,
  lease_owner text,
  lease_until timestamptz,
  CHECK ((status = 'RUNNING') = (lease_owner IS NOT NULL)),
  CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
  CHECK (NOT launch_ctx ? 'mcp_task' OR (key_id IS NOT NULL AND launch_ctx #>> '{mcp_task,tool}' <> '' AND launch_ctx #>> '{mcp_task,method}' <> ''))
);
CREATE INDEX agent_runs_waiting ON runs.agent_runs (ready_at) WHERE status IN ('PENDING', 'QUEUED');
CREATE INDEX agent_runs_running ON runs.agent_runs (key_id) WHERE status = 'RUNNING';
CREATE INDEX agent_runs_open ON runs.agent_runs (deadline_at) WHERE status IN ('PENDING', 'QUEUED', 'RUNNING', 'AWAITING_INPUT');
CREATE INDEX agent_runs_by_key ON runs.agent_runs (key_id, created_at DESC, id) WHERE key_id IS NOT NULL;
CREATE INDEX agent_runs_by_end ON runs.agent_runs (expires_at);

CREATE TABLE runs.agent_run_steps (
  run_id uuid NOT NULL REFERENCES runs.agent_runs ON DELETE CASCADE,
  position int NOT NULL CHECK (position > 0),
  kind text NOT NULL CHECK (kind <> ''),
  input bytea NOT NULL,
  input_sha256 bytea NOT NULL CHECK (input_sha256 = sha256(input)),
  -- What the caller told besides the arguments; what the step asked, with what it wants to be told again; and what was answered.
  given bytea NOT NULL DEFAULT '',
  asked bytea,
  state bytea,
  answered bytea,
  progress float8,
  progress_total float8,
  progress_message text NOT NULL DEFAULT '',
  -- The exact bytes, written once.
  result bytea,
  result_is_error boolean,
  PRIMARY KEY (run_id, position),
  CHECK ((result IS NULL) = (result_is_error IS NULL))
);

-- The transitions of a status. What is not listed does not happen, whoever asks for it.
CREATE TABLE runs.transitions (
  before text NOT NULL,
  after text NOT NULL,
  PRIMARY KEY (before, after)
);
INSERT INTO runs.transitions (before, after) VALUES
  ('PENDING', 'QUEUED'), ('PENDING', 'RUNNING'), ('PENDING', 'ABORTED'), ('PENDING', 'DENIED'),
  ('QUEUED', 'RUNNING'), ('QUEUED', 'ABORTED'), ('QUEUED', 'DENIED'),
  ('RUNNING', 'QUEUED'), ('RUNNING', 'AWAITING_INPUT'), ('RUNNING', 'DONE'), ('RUNNING', 'FAILED'), ('RUNNING', 'ABORTED'), ('RUNNING', 'DENIED'),
  ('AWAITING_INPUT', 'QUEUED'), ('AWAITING_INPUT', 'ABORTED'), ('AWAITING_INPUT', 'DENIED');

CREATE FUNCTION runs.guard_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.status NOT IN ('PENDING', 'QUEUED') OR NEW.fence <> 0 OR NEW.attempts <> 0 THEN
      RAISE EXCEPTION 'a run begins waiting' USING ERRCODE = 'P0412';
    END IF;
    RETURN NEW;
  END IF;
  IF (NEW.id, NEW.workflow, NEW.owner_id, NEW.case_id, NEW.launch_ctx, NEW.created_at, NEW.expires_at)
     IS DISTINCT FROM (OLD.id, OLD.workflow, OLD.owner_id, OLD.case_id, OLD.launch_ctx, OLD.created_at, OLD.expires_at) THEN
    RAISE EXCEPTION 'what a run was begun with does not change' USING ERRCODE = 'P0412';
  END IF;
  IF OLD.status IN ('DONE', 'FAILED', 'ABORTED', 'DENIED') THEN
    RAISE EXCEPTION 'the run is %', OLD.status USING ERRCODE = 'P0412';
  END IF;
  IF NEW.fence < OLD.fence OR (NEW.status = 'RUNNING' AND OLD.status <> 'RUNNING' AND NEW.fence = OLD.fence) THEN
    RAISE EXCEPTION 'a claim raises the fence' USING ERRCODE = 'P0412';
  END IF;
  IF NEW.status <> OLD.status THEN
    IF NOT EXISTS (SELECT FROM runs.transitions t WHERE t.before = OLD.status AND t.after = NEW.status) THEN
      RAISE EXCEPTION 'a run that is % does not become %', OLD.status, NEW.status USING ERRCODE = 'P0412';
    END IF;
    IF NEW.status = 'DONE' AND NEW.key_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM runs.agent_run_steps s WHERE s.run_id = NEW.id AND s.result IS NOT NULL) THEN
      RAISE EXCEPTION 'a task is not done without a result' USING ERRCODE = 'P0412';
    END IF;
    NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON runs.agent_runs FOR EACH ROW EXECUTE FUNCTION runs.guard_run();

-- A result is written once, by who runs the run, and stands if and only if the run is done.
CREATE FUNCTION runs.guard_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.run_id, NEW.position, NEW.kind, NEW.input, NEW.given) IS DISTINCT FROM (OLD.run_id, OLD.position, OLD.kind, OLD.input, OLD.given) THEN
    RAISE EXCEPTION 'what a step was begun with does not change' USING ERRCODE = 'P0412';
  END IF;
  IF OLD.result IS NOT NULL THEN
    RAISE EXCEPTION 'the step has its result' USING ERRCODE = 'P0412';
  END IF;
  IF NEW.progress <= OLD.progress THEN
    RAISE EXCEPTION 'progress rises' USING ERRCODE = 'P0412';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE UPDATE ON runs.agent_run_steps FOR EACH ROW
  WHEN (OLD.result IS NOT NULL OR NEW.input IS DISTINCT FROM OLD.input OR NEW.given IS DISTINCT FROM OLD.given OR NEW.kind <> OLD.kind
        OR NEW.run_id <> OLD.run_id OR NEW.position <> OLD.position OR NEW.progress IS DISTINCT FROM OLD.progress)
  EXECUTE FUNCTION runs.guard_step();

CREATE FUNCTION runs.result_stands() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  v_status text;
BEGIN
  SELECT r.status INTO v_status FROM runs.agent_runs r WHERE r.id = NEW.run_id;
  IF FOUND AND v_status <> 'DONE' THEN
    RAISE EXCEPTION 'a run that is % has no result', v_status USING ERRCODE = 'P0412';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER result_stands AFTER INSERT OR UPDATE ON runs.agent_run_steps DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.result IS NOT NULL) EXECUTE FUNCTION runs.result_stands();

-- Wakes who waits for a change, and who looks for work. The payload is an id and nothing else.
CREATE FUNCTION runs.announce_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('substrate_run', NEW.id::text);
  IF NEW.key_id IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.status = 'QUEUED' OR OLD.status = 'RUNNING') THEN
    PERFORM pg_notify('substrate_run_waiting', '');
  END IF;
  IF NEW.key_id IS NOT NULL AND TG_OP = 'UPDATE' AND OLD.status = 'RUNNING' AND NEW.status IN ('DENIED', 'ABORTED', 'QUEUED') THEN
    PERFORM pg_notify('substrate_run_let_go', '');
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER announce_new AFTER INSERT ON runs.agent_runs FOR EACH ROW EXECUTE FUNCTION runs.announce_run();
CREATE TRIGGER announce AFTER UPDATE ON runs.agent_runs FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION runs.announce_run();

CREATE FUNCTION runs.announce_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('substrate_run', NEW.run_id::text);
  RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER UPDATE OF progress ON runs.agent_run_steps FOR EACH ROW EXECUTE FUNCTION runs.announce_step();

-- Gives a worker up to p_count tasks under a lease, the longest waiting first, and of no key more than p_per_key at once on all workers together.
-- Claims stand in line, so that the count is exact.
CREATE FUNCTION runs.claim(p_owner text, p_count int, p_per_key int, p_lease_seconds float8, p_run_seconds float8)
RETURNS TABLE (run_id uuid, run_fence bigint, run_attempts int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('runs.claim', 13));
  FOR i IN 1 .. p_count LOOP
    SELECT r.id INTO run_id
      FROM runs.agent_runs r
      LEFT JOIN (SELECT b.key_id, count(*) AS running FROM runs.agent_runs b WHERE b.status = 'RUNNING' GROUP BY b.key_id) busy ON busy.key_id = r.key_id
     WHERE r.status IN ('PENDING', 'QUEUED') AND r.key_id IS NOT NULL AND r.ready_at <= clock_timestamp()
       AND least(r.deadline_at, r.expires_at) > clock_timestamp() AND coalesce(busy.running, 0) < p_per_key
     ORDER BY r.ready_at LIMIT 1
       FOR UPDATE OF r SKIP LOCKED;
    EXIT WHEN NOT FOUND;
    UPDATE runs.agent_runs r
       SET status = 'RUNNING', status_message = '', fence = r.fence + 1, attempts = r.attempts + 1, lease_owner = p_owner,
           lease_until = clock_timestamp() + make_interval(secs => p_lease_seconds), deadline_at = clock_timestamp() + make_interval(secs => p_run_seconds)
     WHERE r.id = run_id AND r.status IN ('PENDING', 'QUEUED')
    RETURNING r.fence, r.attempts INTO run_fence, run_attempts;
    RETURN NEXT;
  END LOOP;
END $$;

-- Ends a task with its result, if it is still RUNNING under this fence. Says whether it was.
CREATE FUNCTION runs.complete(p_id uuid, p_owner text, p_fence bigint, p_result bytea, p_is_error boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM runs.agent_runs r WHERE r.id = p_id AND r.status = 'RUNNING' AND r.lease_owner = p_owner AND r.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE runs.agent_run_steps s SET result = p_result, result_is_error = p_is_error WHERE s.run_id = p_id AND s.position = 1;
  UPDATE runs.agent_runs r SET status = 'DONE', lease_owner = NULL, lease_until = NULL WHERE r.id = p_id;
  RETURN true;
END $$;

-- Lets a task wait for answers, under the same condition.
CREATE FUNCTION runs.ask(p_id uuid, p_owner text, p_fence bigint, p_asked bytea, p_state bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM runs.agent_runs r WHERE r.id = p_id AND r.status = 'RUNNING' AND r.lease_owner = p_owner AND r.fence = p_fence FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  UPDATE runs.agent_run_steps s SET asked = p_asked, state = p_state, answered = NULL WHERE s.run_id = p_id AND s.position = 1;
  UPDATE runs.agent_runs r
     SET status = 'AWAITING_INPUT', status_message = 'Waiting for an answer.', lease_owner = NULL, lease_until = NULL, deadline_at = r.expires_at
   WHERE r.id = p_id;
  RETURN true;
END $$;
