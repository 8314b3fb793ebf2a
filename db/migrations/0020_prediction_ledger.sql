-- The firm's own accuracy record: what was predicted, and what came of it, in one chain over all matters. Rows are only ever added.
CREATE TABLE record.prediction_outcomes (
  id uuid PRIMARY KEY,
  -- No reference to a matter: the ledger keeps what was predicted in matters that are long gone from the record.
  case_id uuid NOT NULL,
  seq bigint NOT NULL UNIQUE CHECK (seq > 0),
  kind text NOT NULL CHECK (kind IN ('prediction', 'outcome')),
  prediction_id uuid REFERENCES record.prediction_outcomes,  -- of an outcome: what it resolves
  question text CHECK (question !~ E'\n'),
  probability numeric(5, 4) CHECK (probability BETWEEN 0 AND 1),
  made_by text NOT NULL CHECK (made_by !~ E'\n'),
  at timestamptz NOT NULL,
  resolves_by date,
  happened boolean,
  source text CHECK (source !~ E'\n'),
  prev_hash text NOT NULL,
  row_hash text NOT NULL,
  urn text NOT NULL CHECK (urn = 'urn:substrate:record:prediction:' || id),
  as_of timestamptz NOT NULL,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((kind = 'prediction') = (question IS NOT NULL AND probability IS NOT NULL)),
  CHECK ((kind = 'outcome') = (prediction_id IS NOT NULL AND happened IS NOT NULL))
);
CREATE UNIQUE INDEX prediction_outcomes_resolved_once ON record.prediction_outcomes (prediction_id) WHERE prediction_id IS NOT NULL;
CREATE INDEX prediction_outcomes_by_case ON record.prediction_outcomes (case_id, seq);

-- The hash of a row after another. services/reads/engines/calibration.py is its twin, and tests/db holds the two against each other.
CREATE FUNCTION record.prediction_hash(p record.prediction_outcomes, prev_hash text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN encode(sha256(convert_to(concat_ws(E'\n', prev_hash, p.seq, p.id, p.case_id, p.kind, coalesce(p.prediction_id::text, '-'), coalesce(p.question, '-'),
  coalesce(p.probability::text, '-'), p.made_by, (extract(epoch FROM p.at) * 1000000)::bigint,
  coalesce(((p.resolves_by - DATE '1970-01-01'))::text, '-'), coalesce(p.happened::int::text, '-'), coalesce(p.source, '-')), 'UTF8')), 'hex');

-- Takes the end of the chain and puts a new row behind it. A row that is there already keeps its place.
CREATE FUNCTION record.chain_prediction() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  there record.prediction_outcomes;
BEGIN
  PERFORM pg_advisory_xact_lock(4815162343);
  SELECT * INTO there FROM record.prediction_outcomes o WHERE o.id = NEW.id;
  IF FOUND THEN
    NEW.seq := there.seq;
    NEW.prev_hash := there.prev_hash;
    NEW.row_hash := there.row_hash;
    RETURN NEW;
  END IF;
  SELECT * INTO there FROM record.prediction_outcomes o ORDER BY o.seq DESC LIMIT 1;
  NEW.seq := coalesce(there.seq, 0) + 1;
  NEW.prev_hash := coalesce(there.row_hash, repeat('0', 64));
  NEW.row_hash := record.prediction_hash(NEW, NEW.prev_hash);
  RETURN NEW;
END $$;
CREATE TRIGGER prediction_is_chained BEFORE INSERT ON record.prediction_outcomes FOR EACH ROW EXECUTE FUNCTION record.chain_prediction();
CREATE TRIGGER predictions_stand BEFORE UPDATE OR DELETE ON record.prediction_outcomes FOR EACH ROW EXECUTE FUNCTION record.refuse_change();

-- The whole ledger, without what tells one matter from another: hashes, probabilities and outcomes, and matters numbered as they first appear.
-- It runs with the owner's rights, since a chain that is seen in part can be neither established nor scored.
CREATE FUNCTION record.ledger_links(row_limit int)
RETURNS TABLE (seq bigint, kind text, prediction_seq bigint, matter int, probability numeric, happened boolean, prev_hash text, row_hash text, recomputed text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT o.seq, o.kind, p.seq, m.number, o.probability, o.happened, o.prev_hash, o.row_hash, record.prediction_hash(o, o.prev_hash)
    FROM record.prediction_outcomes o
    LEFT JOIN record.prediction_outcomes p ON p.id = o.prediction_id
    JOIN (SELECT f.case_id, row_number() OVER (ORDER BY min(f.seq))::int AS number FROM record.prediction_outcomes f GROUP BY f.case_id) m
      ON m.case_id = o.case_id
   ORDER BY o.seq
   LIMIT row_limit
$$;
