-- What the executor writes: the rows that actions make, each leading to the decision behind it, and the order in which it may be carried out.

-- A row that rests on a person's decision says which. The urn of its provenance names the decision itself, where it is the one that the decision
-- made first; what the same decision made beside it has a urn of its own and names the same decision.
ALTER TABLE record.provenance ADD COLUMN decision_id uuid REFERENCES ledger.decisions;
ALTER TABLE record.provenance DROP CONSTRAINT provenance_urn_check;
ALTER TABLE record.provenance ADD CONSTRAINT provenance_urn_check CHECK (
  urn ~ '^urn:substrate:record:[a-z_]+:[0-9a-f-]{36}$' OR (decision_id IS NOT NULL AND urn = 'urn:substrate:ledger:decision:' || decision_id));

-- Day, time and words of a deadline that a person decided on; and what a decision superseded, which no later import may undo.
ALTER TABLE record.deadlines DROP CONSTRAINT deadlines_source_kind_check;
ALTER TABLE record.deadlines ADD CONSTRAINT deadlines_source_kind_check CHECK (source_kind IN ('order', 'rule', 'agreement', 'decision'));
ALTER TABLE record.deadlines ADD COLUMN trigger_fact_id uuid;
ALTER TABLE record.deadlines ADD COLUMN ended_by_decision uuid REFERENCES ledger.decisions;
ALTER TABLE record.deadlines ADD FOREIGN KEY (case_id, trigger_fact_id) REFERENCES record.case_fact_records (case_id, id);

CREATE FUNCTION record.keep_what_was_decided() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.ended_by_decision IS NOT NULL THEN
    NEW.ended_by_decision := OLD.ended_by_decision;
    NEW.status := OLD.status;
    NEW.status_note := OLD.status_note;
    NEW.superseded_by_id := OLD.superseded_by_id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep_what_was_decided BEFORE UPDATE ON record.deadlines FOR EACH ROW EXECUTE FUNCTION record.keep_what_was_decided();

-- Null where a model's recommendation came with an import.
ALTER TABLE record.fact_posture_proposals ADD COLUMN decision_id uuid REFERENCES ledger.decisions;

CREATE TABLE record.tasks (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  title text NOT NULL CHECK (title <> ''),
  due_date date,
  assignee text,
  deadline_id uuid,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'done')),
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, deadline_id) REFERENCES record.deadlines (case_id, id)
);
CREATE INDEX tasks_by_due ON record.tasks (case_id, due_date);

CREATE TABLE record.notes (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  text text NOT NULL CHECK (text <> ''),
  target_table text,
  target_id uuid,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((target_table IS NULL) = (target_id IS NULL))
);
CREATE INDEX notes_by_case ON record.notes (case_id, created_at);

CREATE TABLE record.custodians (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  name text NOT NULL CHECK (name <> ''),
  title text,
  role_from date,
  role_to date CHECK (role_to >= role_from),
  sources text[] NOT NULL DEFAULT '{}',
  email text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id)
);

CREATE TABLE record.litigation_holds (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  trigger_event text NOT NULL CHECK (trigger_event <> ''),
  scope text NOT NULL CHECK (scope <> ''),
  effective_from date NOT NULL,
  released_at timestamptz,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id)
);

CREATE TABLE record.hold_custodians (
  case_id uuid NOT NULL,
  hold_id uuid NOT NULL,
  custodian_id uuid NOT NULL,
  PRIMARY KEY (hold_id, custodian_id),
  FOREIGN KEY (case_id, hold_id) REFERENCES record.litigation_holds (case_id, id),
  FOREIGN KEY (case_id, custodian_id) REFERENCES record.custodians (case_id, id)
);

-- One notice to one custodian. 'sending' is written before the mail goes and ends as 'sent' or 'failed'; where the program stopped in between,
-- nobody can know, and it ends as 'failed' with that said.
CREATE TABLE record.hold_notices (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  hold_id uuid NOT NULL,
  custodian_id uuid NOT NULL,
  decision_id uuid NOT NULL REFERENCES ledger.decisions,
  template text NOT NULL CHECK (template IN ('standard', 'reminder')),
  address text NOT NULL CHECK (address <> ''),
  message_id text NOT NULL UNIQUE,
  status text NOT NULL DEFAULT 'prepared' CHECK (status IN ('prepared', 'sending', 'sent', 'failed')),
  attempt int,  -- of the execution that last worked on it
  intent_at timestamptz,
  finished_at timestamptz,
  detail text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (decision_id, custodian_id),
  FOREIGN KEY (case_id, hold_id) REFERENCES record.litigation_holds (case_id, id),
  FOREIGN KEY (case_id, custodian_id) REFERENCES record.custodians (case_id, id),
  CHECK (status IN ('prepared', 'failed') OR intent_at IS NOT NULL)
);

CREATE TABLE record.productions (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  volume text NOT NULL CHECK (volume <> ''),
  format text NOT NULL CHECK (format IN ('tiff', 'pdf', 'native')),
  request_ids text[] NOT NULL DEFAULT '{}',
  bates_prefix text NOT NULL,
  bates_first int NOT NULL CHECK (bates_first > 0),
  bates_last int NOT NULL CHECK (bates_last >= bates_first),
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  UNIQUE (case_id, volume)
);

-- The manifest of a production, frozen when it was built.
CREATE TABLE record.production_documents (
  case_id uuid NOT NULL,
  production_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  document_id uuid NOT NULL,
  document_version_id uuid NOT NULL,
  sha256 text NOT NULL,
  bates_begin text NOT NULL,
  bates_end text NOT NULL,
  PRIMARY KEY (production_id, position),
  UNIQUE (production_id, document_id),
  FOREIGN KEY (case_id, production_id) REFERENCES record.productions (case_id, id),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id)
);

CREATE TABLE record.discovery_responses (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  request text NOT NULL CHECK (request <> ''),
  response text NOT NULL CHECK (response <> ''),
  objections text[] NOT NULL DEFAULT '{}',
  withholding boolean NOT NULL,
  served_on date,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX discovery_responses_by_request ON record.discovery_responses (case_id, request);

-- What was decided and a person at the firm has to carry out, since no program of ours can.
CREATE TABLE record.work_items (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  action text NOT NULL CHECK (action <> ''),
  title text NOT NULL CHECK (title <> ''),
  details jsonb NOT NULL,
  due_date date,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'done')),
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX work_items_open ON record.work_items (case_id, created_at) WHERE status = 'open';

-- A decision is the word of a person, not of a paper. A row that rests on it alone cites no source; one that names a place and no words
-- there has not been checked; one that quotes words is checked like any other.
CREATE FUNCTION record.decided_reason(reason text, decision uuid, version uuid, quote text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN decision IS NULL OR reason = 'withheld' THEN reason
  WHEN version IS NULL THEN 'decision'
  WHEN quote IS NULL THEN 'decision_without_words'
  ELSE reason
END;

CREATE OR REPLACE FUNCTION record.status_of(reason text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN reason IN ('found', 'found_in_ocr', 'page', 'custody') THEN 'grounded'
  WHEN reason IN ('no_source', 'quote_not_on_page', 'decision') THEN 'ungrounded'
  ELSE 'unknown'
END;

-- The note for a row that rests on a decision and on no words of the record; null for any other.
CREATE FUNCTION record.decision_note(reason text, subject text, locator text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE reason
  WHEN 'decision' THEN subject || ': it rests on a person''s decision and on no document of the record.'
  WHEN 'decision_without_words' THEN subject || ': it rests on a person''s decision, which cites ' || coalesce(locator, 'a document')
    || ' and no words of it, so nothing was checked.'
END;

CREATE OR REPLACE FUNCTION record.row_status(target uuid, words text, others text DEFAULT NULL)
RETURNS TABLE (provenance_ids text[], status text, notes text[], locator text, quote text, withheld boolean)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(array_agg(p.urn ORDER BY p.role DESC), '{}'),
         record.weakest(array_agg(record.status_of(d.reason))),
         array_remove(array_agg(coalesce(record.decision_note(d.reason, p.subject, p.locator),
                                         record.reason_note(d.reason, p.subject, p.locator, r.missing)) ORDER BY p.role DESC), NULL),
         max(p.locator) FILTER (WHERE p.role = 'source'),
         max(p.quote) FILTER (WHERE p.role = 'source' AND r.reason <> 'withheld'),
         coalesce(bool_or(r.reason = 'withheld'), false)
    FROM record.provenance p
   CROSS JOIN LATERAL (SELECT coalesce(p.quote, CASE p.role WHEN 'source' THEN words ELSE others END)) w (quote)
   CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, w.quote) r
   CROSS JOIN LATERAL (SELECT record.decided_reason(r.reason, p.decision_id, p.document_version_id, w.quote)) d (reason)
   WHERE p.target_id = target
$$;

-- Approved decisions that do not belong to a stored proposal: nothing of ours can make one, so somebody else did.
CREATE VIEW ledger.mismatched AS
SELECT d.proposal_id, p.case_id, p.action
  FROM ledger.decisions d LEFT JOIN ledger.proposals p ON p.id = d.proposal_id
 WHERE d.decision = 'approved' AND p.args_digest IS DISTINCT FROM d.args_digest;
