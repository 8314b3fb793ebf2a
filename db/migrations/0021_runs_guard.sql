-- A generated column has no value yet where a trigger stands before the row: what a task is, is read from what it was begun with.
CREATE OR REPLACE FUNCTION runs.guard_run() RETURNS trigger LANGUAGE plpgsql AS $$
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
    IF NEW.status = 'DONE' AND NEW.launch_ctx ? 'mcp_task'
       AND NOT EXISTS (SELECT FROM runs.agent_run_steps s WHERE s.run_id = NEW.id AND s.result IS NOT NULL) THEN
      RAISE EXCEPTION 'a task is not done without a result' USING ERRCODE = 'P0412';
    END IF;
    NEW.updated_at := greatest(clock_timestamp(), OLD.updated_at);
  END IF;
  RETURN NEW;
END $$;
