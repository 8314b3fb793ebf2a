-- Places in the database where an execution can be held still while its process is killed. The program knows nothing of them.
CREATE SCHEMA stops;
CREATE TABLE stops.armed (proposal_id uuid PRIMARY KEY, stop text NOT NULL, lane int NOT NULL);

CREATE FUNCTION stops.wait(p_proposal uuid, p_stop text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_lane int;
BEGIN
  SELECT a.lane INTO v_lane FROM stops.armed a WHERE a.proposal_id = p_proposal AND a.stop = p_stop;
  IF FOUND THEN
    PERFORM pg_advisory_xact_lock_shared(4242, v_lane);
  END IF;
END $$;

CREATE FUNCTION stops.execution() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = stops, pg_temp AS $$
BEGIN
  PERFORM set_config('stops.proposal', NEW.proposal_id::text, true);
  PERFORM stops.wait(NEW.proposal_id, TG_ARGV[0]);
  RETURN NEW;
END $$;

CREATE FUNCTION stops.row() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = stops, pg_temp AS $$
BEGIN
  PERFORM stops.wait(substr(NEW.recorded_by, 10)::uuid, TG_ARGV[0]);
  RETURN NEW;
END $$;

CREATE FUNCTION stops.account() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = stops, pg_temp AS $$
BEGIN
  PERFORM stops.wait(current_setting('stops.proposal')::uuid, TG_ARGV[0]);
  RETURN NEW;
END $$;

CREATE TRIGGER a_claim BEFORE INSERT ON ledger.executions FOR EACH ROW EXECUTE FUNCTION stops.execution('in the claim');
CREATE TRIGGER a_intent BEFORE UPDATE ON ledger.executions FOR EACH ROW WHEN (NEW.outcome IS NULL AND NEW.intent_at IS DISTINCT FROM OLD.intent_at)
  EXECUTE FUNCTION stops.execution('after the claim');
CREATE TRIGGER a_effect BEFORE INSERT ON record.tasks FOR EACH ROW EXECUTE FUNCTION stops.row('after the intent');
CREATE TRIGGER a_made AFTER INSERT ON record.tasks FOR EACH ROW EXECUTE FUNCTION stops.row('after the effect');
CREATE TRIGGER a_outcome BEFORE UPDATE ON ledger.executions FOR EACH ROW WHEN (NEW.outcome IS NOT NULL) EXECUTE FUNCTION stops.execution('before the outcome');
CREATE TRIGGER a_account AFTER INSERT ON audit.log FOR EACH ROW WHEN (NEW.actor = 'executor') EXECUTE FUNCTION stops.account('after the outcome');
CREATE CONSTRAINT TRIGGER a_commit AFTER UPDATE ON ledger.executions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.outcome IS NOT NULL)
  EXECUTE FUNCTION stops.execution('in the commit');
