-- What agents propose, what people decide, what was carried out. Rows are only ever added; state is derived, so nobody can flip it.
CREATE SCHEMA ledger;

CREATE TABLE ledger.proposals (
  id uuid PRIMARY KEY,
  key_id uuid NOT NULL,
  owner_id uuid NOT NULL,
  case_id uuid NOT NULL,
  action text NOT NULL CHECK (action <> ''),
  -- Canonical JSON. The digest is taken once, over these bytes, and everything later compares with it.
  args bytea NOT NULL,
  args_digest bytea NOT NULL CHECK (args_digest = sha256(args)),
  what_will_happen text NOT NULL CHECK (what_will_happen <> ''),
  reason text NOT NULL CHECK (reason <> ''),
  overrides_ignored text[] NOT NULL,
  request_id text,
  supersedes uuid UNIQUE REFERENCES ledger.proposals,
  filed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  UNIQUE (id, args_digest),
  UNIQUE (key_id, request_id),
  CHECK (expires_at > filed_at),
  CHECK (supersedes IS NULL OR supersedes <> id)
);
CREATE INDEX proposals_by_key ON ledger.proposals (key_id, case_id, filed_at DESC);
CREATE INDEX proposals_by_owner ON ledger.proposals (owner_id, filed_at);
CREATE INDEX proposals_by_matter ON ledger.proposals (case_id, filed_at);

CREATE TABLE ledger.withdrawals (
  proposal_id uuid PRIMARY KEY REFERENCES ledger.proposals,
  key_id uuid NOT NULL,
  withdrawn_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Minted when a person has reached the confirmation, bound to everything it confirms, used once. Only the hash is kept.
CREATE TABLE ledger.nonces (
  nonce_hash bytea PRIMARY KEY CHECK (length(nonce_hash) = 32),
  proposal_id uuid NOT NULL,
  action text NOT NULL,
  case_id uuid NOT NULL,
  user_id uuid NOT NULL,
  args_digest bytea NOT NULL,
  minted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  FOREIGN KEY (proposal_id, args_digest) REFERENCES ledger.proposals (id, args_digest)
);

-- One row a proposal, for good. The signature is made by approvals over every other column; the executor trusts it and not the row.
CREATE TABLE ledger.decisions (
  proposal_id uuid PRIMARY KEY,
  args_digest bytea NOT NULL,
  decision text NOT NULL CHECK (decision IN ('approved', 'declined', 'sent_back')),
  decided_by uuid NOT NULL,
  decided_at timestamptz NOT NULL,
  reason text CHECK (decision = 'approved' OR reason <> ''),
  -- SHA-256 of the card that the person was shown.
  shown_sha256 bytea NOT NULL CHECK (length(shown_sha256) = 32),
  nonce_hash bytea REFERENCES ledger.nonces,
  -- How the person showed again who they are, where the action asks for it: totp, webauthn.
  step_up text,
  signature bytea NOT NULL,
  FOREIGN KEY (proposal_id, args_digest) REFERENCES ledger.proposals (id, args_digest)
);

-- One row an approved proposal that an executor has taken up. The fence rises with every claim; only its holder may go on.
CREATE TABLE ledger.executions (
  proposal_id uuid PRIMARY KEY REFERENCES ledger.decisions,
  fence bigint NOT NULL,
  lease_owner text NOT NULL,
  lease_until timestamptz NOT NULL,
  attempts int NOT NULL DEFAULT 1,
  intent text,
  intent_at timestamptz,
  outcome text CHECK (outcome IN ('done', 'failed')),
  detail text,
  finished_at timestamptz,
  CHECK ((outcome IS NULL) = (finished_at IS NULL)),
  CHECK (outcome IS NULL OR intent_at IS NOT NULL)
);

-- A person asks for what failed to be tried again.
CREATE TABLE ledger.retries (
  proposal_id uuid NOT NULL REFERENCES ledger.executions,
  attempt int NOT NULL,
  requested_by uuid NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (proposal_id, attempt)
);

-- A link handed to a client. Only the hash of the opaque id is kept; what it is bound to never travels.
CREATE TABLE ledger.handoffs (
  handoff_hash bytea PRIMARY KEY CHECK (length(handoff_hash) = 32),
  proposal_id uuid NOT NULL REFERENCES ledger.proposals,
  key_id uuid NOT NULL,
  owner_id uuid NOT NULL,
  session_hash bytea NOT NULL CHECK (length(session_hash) = 32),
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL
);

-- What the client answered. accepted means that it agreed to open the link, and nothing else.
CREATE TABLE ledger.handoff_answers (
  handoff_hash bytea PRIMARY KEY REFERENCES ledger.handoffs,
  answer text NOT NULL CHECK (answer IN ('accepted', 'declined', 'cancelled')),
  answered_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of the ledger are only ever added' USING ERRCODE = '42501';
END $$;

DO $$
DECLARE
  v_table text;
BEGIN
  FOREACH v_table IN ARRAY ARRAY['proposals', 'withdrawals', 'decisions', 'retries', 'handoffs', 'handoff_answers'] LOOP
    EXECUTE format('CREATE TRIGGER rows_stand BEFORE UPDATE OR DELETE ON ledger.%I FOR EACH ROW EXECUTE FUNCTION ledger.refuse_change()', v_table);
    EXECUTE format('CREATE TRIGGER table_stands BEFORE TRUNCATE ON ledger.%I FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change()', v_table);
  END LOOP;
END $$;

-- The state of every proposal, derived. A decision is final; then a withdrawal, a replacement, the lapse of time.
CREATE VIEW ledger.states WITH (security_invoker = false) AS
SELECT p.id, p.case_id, p.owner_id, p.key_id, s.id AS superseded_by, d.decision, d.decided_at, d.reason AS decision_reason,
       CASE
         WHEN d.decision IS NOT NULL THEN d.decision
         WHEN w.proposal_id IS NOT NULL THEN 'withdrawn'
         WHEN s.id IS NOT NULL THEN 'superseded'
         WHEN p.expires_at <= clock_timestamp() THEN 'expired'
         ELSE 'undecided'
       END AS state,
       CASE WHEN d.decision = 'approved' THEN coalesce(e.outcome, 'waiting') END AS execution
  FROM ledger.proposals p
  LEFT JOIN ledger.decisions d ON d.proposal_id = p.id
  LEFT JOIN ledger.withdrawals w ON w.proposal_id = p.id
  LEFT JOIN ledger.proposals s ON s.supersedes = p.id
  LEFT JOIN ledger.executions e ON e.proposal_id = p.id;

-- Serializes what can end a proposal, so that exactly one of decision, withdrawal and replacement ends it.
CREATE FUNCTION ledger.hold(p_proposal uuid) RETURNS void LANGUAGE sql AS $$ SELECT pg_advisory_xact_lock(hashtextextended(p_proposal::text, 11)) $$;

CREATE FUNCTION ledger.must_be_undecided(p_proposal uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_state text;
BEGIN
  PERFORM ledger.hold(p_proposal);
  SELECT state INTO v_state FROM ledger.states WHERE id = p_proposal;
  IF v_state IS DISTINCT FROM 'undecided' THEN
    RAISE EXCEPTION 'the proposal is %', coalesce(v_state, 'absent') USING ERRCODE = 'P0409';
  END IF;
END $$;

-- At most 25 undecided proposals a matter, exact under races: an inbox that a person cannot triage is not supervision.
CREATE FUNCTION ledger.guard_proposal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  IF NEW.supersedes IS NOT NULL THEN
    PERFORM ledger.must_be_undecided(NEW.supersedes);
    IF NOT EXISTS (SELECT 1 FROM ledger.proposals o WHERE o.id = NEW.supersedes AND o.key_id = NEW.key_id AND o.case_id = NEW.case_id) THEN
      RAISE EXCEPTION 'the proposal is absent' USING ERRCODE = 'P0409';
    END IF;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(NEW.case_id::text, 7));
  IF (SELECT count(*) FROM ledger.states s WHERE s.case_id = NEW.case_id AND s.state = 'undecided' AND s.id IS DISTINCT FROM NEW.supersedes) >= 25 THEN
    RAISE EXCEPTION 'the matter holds 25 undecided proposals' USING ERRCODE = 'P0025';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT ON ledger.proposals FOR EACH ROW EXECUTE FUNCTION ledger.guard_proposal();

CREATE FUNCTION ledger.guard_end() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  PERFORM ledger.must_be_undecided(NEW.proposal_id);
  RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT ON ledger.withdrawals FOR EACH ROW EXECUTE FUNCTION ledger.guard_end();
CREATE TRIGGER guard BEFORE INSERT ON ledger.decisions FOR EACH ROW EXECUTE FUNCTION ledger.guard_end();

-- Wakes whoever waits for a decision or an outcome. The payload is an id and nothing else.
CREATE FUNCTION ledger.announce() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify(TG_ARGV[0], NEW.proposal_id::text);
  RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER INSERT ON ledger.decisions FOR EACH ROW EXECUTE FUNCTION ledger.announce('substrate_decided');
CREATE TRIGGER announce AFTER INSERT ON ledger.retries FOR EACH ROW EXECUTE FUNCTION ledger.announce('substrate_decided');
CREATE TRIGGER announce AFTER UPDATE OF outcome ON ledger.executions FOR EACH ROW WHEN (NEW.outcome IS NOT NULL) EXECUTE FUNCTION ledger.announce('substrate_carried_out');

-- What the executor may look at: approved, with the arguments whose digest was decided. It checks the signature and the digest itself.
CREATE VIEW ledger.decided AS
SELECT p.id, p.case_id, p.owner_id, p.key_id, p.action, p.args, p.args_digest, p.expires_at, d.decision, d.decided_by, d.decided_at, d.reason,
       d.shown_sha256, d.nonce_hash, d.step_up, d.signature
  FROM ledger.decisions d JOIN ledger.proposals p ON p.id = d.proposal_id AND p.args_digest = d.args_digest
 WHERE d.decision = 'approved';

-- The audit chain is appended to through this function alone, by every program that must account for what it did.
ALTER FUNCTION audit.append(text, text, uuid, text, bytea) SECURITY DEFINER SET search_path = audit, pg_temp;
ALTER FUNCTION audit.hold() SECURITY DEFINER SET search_path = audit, pg_temp;
