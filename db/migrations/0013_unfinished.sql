-- What the executor still has to look at, so that a look costs what is unfinished and not all that was ever decided. It is an index and no state:
-- what may be done is derived from decisions, executions and retries as before, and a look at everything, now and then, needs no row of this.
CREATE TABLE ledger.unfinished (
  proposal_id uuid PRIMARY KEY
);

CREATE FUNCTION ledger.to_be_done() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  INSERT INTO ledger.unfinished VALUES (NEW.proposal_id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE FUNCTION ledger.has_ended() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  DELETE FROM ledger.unfinished u
   WHERE u.proposal_id = NEW.proposal_id
     AND NOT (NEW.outcome = 'failed' AND EXISTS (SELECT FROM ledger.retries r WHERE r.proposal_id = NEW.proposal_id AND r.attempt = NEW.attempts));
  RETURN NULL;
END $$;

-- ALWAYS: a row that a superuser slips in with the other triggers off is looked at as well, and reported.
CREATE TRIGGER to_be_done AFTER INSERT OR UPDATE ON ledger.decisions FOR EACH ROW WHEN (NEW.decision = 'approved') EXECUTE FUNCTION ledger.to_be_done();
CREATE TRIGGER to_be_done AFTER INSERT ON ledger.retries FOR EACH ROW EXECUTE FUNCTION ledger.to_be_done();
CREATE TRIGGER has_ended AFTER UPDATE OF outcome ON ledger.executions FOR EACH ROW WHEN (NEW.outcome IS NOT NULL) EXECUTE FUNCTION ledger.has_ended();
ALTER TABLE ledger.decisions ENABLE ALWAYS TRIGGER to_be_done;
ALTER TABLE ledger.retries ENABLE ALWAYS TRIGGER to_be_done;

INSERT INTO ledger.unfinished
SELECT d.proposal_id FROM ledger.decisions d LEFT JOIN ledger.executions e ON e.proposal_id = d.proposal_id
 WHERE d.decision = 'approved'
   AND (e.outcome IS NULL OR (e.outcome = 'failed' AND EXISTS (SELECT FROM ledger.retries r WHERE r.proposal_id = d.proposal_id AND r.attempt = e.attempts)));
