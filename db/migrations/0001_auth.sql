-- Who may do what: people, keys, access, screens, rates, usage; and the audit chain. No matter data.
CREATE SCHEMA auth;
CREATE SCHEMA audit;

CREATE TABLE auth.users (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (name <> ''),
  email text NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE auth.matter_access (
  user_id uuid NOT NULL REFERENCES auth.users,
  case_id uuid NOT NULL,
  granted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, case_id)
);

-- A screen is a fact with a beginning and an end; it is lifted, never deleted.
CREATE TABLE auth.ethical_screens (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES auth.users,
  case_id uuid NOT NULL,
  reason text NOT NULL CHECK (reason <> ''),
  raised_at timestamptz NOT NULL DEFAULT now(),
  lifted_at timestamptz
);
CREATE UNIQUE INDEX ethical_screens_standing ON auth.ethical_screens (user_id, case_id) WHERE lifted_at IS NULL;

CREATE TABLE auth.api_keys (
  id uuid PRIMARY KEY,
  public_id text NOT NULL UNIQUE CHECK (public_id ~ '^[0-9A-Za-z]{8}$'),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  name text NOT NULL CHECK (name <> ''),
  owner_id uuid NOT NULL REFERENCES auth.users,
  secret_hash bytea NOT NULL CHECK (length(secret_hash) = 32),
  scopes text[] NOT NULL CHECK (cardinality(scopes) > 0),
  -- Free text on purpose: a word that this version does not know must act as client_safe, not stop the service.
  credential_class text NOT NULL,
  allow_list uuid[],
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  read_per_minute int NOT NULL DEFAULT 120 CHECK (read_per_minute > 0),
  retrieval_per_minute int NOT NULL DEFAULT 20 CHECK (retrieval_per_minute > 0)
);

-- Admitted calls of a key by second over 61 seconds, so that no 60 seconds ever hold more than the limit, on any number of instances.
CREATE TABLE auth.rate_lanes (
  key_id uuid NOT NULL REFERENCES auth.api_keys,
  lane text NOT NULL CHECK (lane IN ('read', 'retrieval')),
  second bigint NOT NULL,
  counts int[] NOT NULL CHECK (cardinality(counts) = 61),
  PRIMARY KEY (key_id, lane)
) WITH (fillfactor = 50);

CREATE TABLE auth.usage (
  key_id uuid NOT NULL REFERENCES auth.api_keys,
  method text NOT NULL,
  hour timestamptz NOT NULL,
  allowed bigint NOT NULL DEFAULT 0,
  refused bigint NOT NULL DEFAULT 0,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (key_id, hour, method)
) WITH (fillfactor = 70);

-- Each row holds the hash of the one before it. No field may hold a line feed: the hashed form joins them with it.
CREATE TABLE audit.log (
  seq bigint PRIMARY KEY CHECK (seq > 0),
  at timestamptz NOT NULL,
  actor text NOT NULL CHECK (actor !~ E'\n'),
  action text NOT NULL CHECK (action !~ E'\n'),
  case_id uuid,
  outcome text NOT NULL CHECK (outcome !~ E'\n'),
  detail_sha256 bytea NOT NULL,
  prev_hash bytea NOT NULL,
  hash bytea NOT NULL
);

CREATE FUNCTION audit.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit rows are only ever added' USING ERRCODE = '42501';
END $$;
CREATE TRIGGER log_rows_stand BEFORE UPDATE OR DELETE ON audit.log FOR EACH ROW EXECUTE FUNCTION audit.refuse_change();
CREATE TRIGGER log_stands BEFORE TRUNCATE ON audit.log FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change();

-- Takes the end of the chain until the transaction ends. Whoever appends, or locks several keys, takes it first, so that nothing can deadlock.
CREATE FUNCTION audit.hold() RETURNS void LANGUAGE sql AS $$ SELECT pg_advisory_xact_lock(4815162342) $$;

CREATE FUNCTION audit.append(p_actor text, p_action text, p_case uuid, p_outcome text, p_detail bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_last record;
  v_seq bigint := 1;
  v_prev bytea := decode(repeat('00', 32), 'hex');
  v_at timestamptz;
  v_entry text;
BEGIN
  PERFORM audit.hold();
  v_at := clock_timestamp();
  SELECT l.seq, l.hash INTO v_last FROM audit.log l ORDER BY l.seq DESC LIMIT 1;
  IF FOUND THEN
    v_seq := v_last.seq + 1;
    v_prev := v_last.hash;
  END IF;
  -- Microseconds as an integer: what is hashed is exactly what is stored.
  v_entry := concat_ws(E'\n', v_seq, (extract(epoch FROM v_at) * 1000000)::bigint, p_actor, p_action, coalesce(p_case::text, '-'), p_outcome, encode(p_detail, 'hex'));
  INSERT INTO audit.log VALUES (v_seq, v_at, p_actor, p_action, p_case, p_outcome, p_detail, v_prev, sha256(v_prev || convert_to(v_entry, 'UTF8')));
  RETURN v_seq;
END $$;

-- The matters a key reaches: its owner's access, screens subtracted, intersected with its allow-list.
CREATE FUNCTION auth.reachable(p_owner uuid, p_allow uuid[]) RETURNS uuid[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(a.case_id ORDER BY a.case_id), '{}')
    FROM auth.matter_access a
   WHERE a.user_id = p_owner
     AND (p_allow IS NULL OR a.case_id = ANY (p_allow))
     AND NOT EXISTS (SELECT 1 FROM auth.ethical_screens s WHERE s.user_id = p_owner AND s.case_id = a.case_id AND s.lifted_at IS NULL)
$$;

-- Charges one call to a lane. Returns 0 when it is admitted, else the seconds until the oldest admitted call leaves the window.
CREATE FUNCTION auth.charge(p_key uuid, p_lane text, p_limit int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := floor(extract(epoch FROM clock_timestamp()));
  v_row auth.rate_lanes;
  v_gone bigint;
BEGIN
  INSERT INTO auth.rate_lanes VALUES (p_key, p_lane, v_now, array_fill(0, ARRAY[61])) ON CONFLICT DO NOTHING;
  SELECT * INTO v_row FROM auth.rate_lanes WHERE key_id = p_key AND lane = p_lane FOR UPDATE;
  v_now := greatest(v_now, v_row.second);
  v_gone := least(v_now - v_row.second, 61);
  FOR i IN 1 .. v_gone LOOP
    v_row.counts[((v_row.second + i) % 61) + 1] := 0;
  END LOOP;
  IF (SELECT sum(c) FROM unnest(v_row.counts) c) >= p_limit THEN
    UPDATE auth.rate_lanes SET second = v_now, counts = v_row.counts WHERE key_id = p_key AND lane = p_lane;
    FOR i IN 1 .. 61 LOOP
      IF v_row.counts[((v_now + i) % 61) + 1] > 0 THEN
        RETURN i;
      END IF;
    END LOOP;
  END IF;
  v_row.counts[(v_now % 61) + 1] := v_row.counts[(v_now % 61) + 1] + 1;
  UPDATE auth.rate_lanes SET second = v_now, counts = v_row.counts WHERE key_id = p_key AND lane = p_lane;
  RETURN 0;
END $$;

-- One call as auth decided it. outcome is the refusal's word, or 'allowed'.
CREATE TYPE auth.decision AS (
  outcome text, key_id uuid, owner_id uuid, scopes text[], credential_class text, case_ids uuid[], limit_per_minute int, retry_after_seconds int
);

-- Decides each call by itself, in order: key, scope, class, rate, matter. The rate is charged before the matter is looked at, so that guessing ids is limited too.
CREATE FUNCTION auth.authorize(
  p_public_ids text[], p_hashes bytea[], p_methods text[], p_scopes text[], p_class_refused bool[], p_lanes text[], p_names_case bool[], p_case_ids uuid[], p_digests bytea[]
) RETURNS SETOF auth.decision LANGUAGE plpgsql AS $$
DECLARE
  v_key auth.api_keys;
  v_out auth.decision;
  v_class text;
  v_none auth.decision;
BEGIN
  PERFORM audit.hold();
  FOR i IN 1 .. cardinality(p_public_ids) LOOP
    v_out := v_none;
    SELECT * INTO v_key FROM auth.api_keys k
     WHERE k.public_id = p_public_ids[i] AND k.secret_hash = p_hashes[i] AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp());
    IF NOT FOUND THEN
      v_out.outcome := 'unauthenticated';
      -- A key that was good once and is used after its end is the row an auditor looks for; an unknown one has nobody to stand under.
      SELECT * INTO v_key FROM auth.api_keys k WHERE k.public_id = p_public_ids[i] AND k.secret_hash = p_hashes[i];
      IF FOUND THEN
        PERFORM audit.append('key:' || v_key.id, p_methods[i], p_case_ids[i], v_out.outcome, p_digests[i]);
      END IF;
      RETURN NEXT v_out;
      CONTINUE;
    END IF;
    v_class := CASE WHEN v_key.credential_class = 'firm' THEN 'firm' ELSE 'client_safe' END;
    v_out.limit_per_minute := CASE p_lanes[i] WHEN 'retrieval' THEN v_key.retrieval_per_minute ELSE v_key.read_per_minute END;
    IF NOT p_scopes[i] = ANY (v_key.scopes) THEN
      v_out.outcome := 'scope_missing';
    ELSIF v_class <> 'firm' AND p_class_refused[i] THEN
      v_out.outcome := 'class_refused';
    ELSE
      v_out.retry_after_seconds := auth.charge(v_key.id, p_lanes[i], v_out.limit_per_minute);
      v_out.case_ids := auth.reachable(v_key.owner_id, v_key.allow_list);
      v_out.outcome := CASE
        WHEN v_out.retry_after_seconds > 0 THEN 'rate_limited'
        WHEN p_case_ids[i] IS NOT NULL AND NOT p_case_ids[i] = ANY (v_out.case_ids) THEN 'matter_not_accessible'
        ELSE 'allowed'
      END;
    END IF;
    IF v_out.outcome = 'allowed' THEN
      v_out.key_id := v_key.id;
      v_out.owner_id := v_key.owner_id;
      v_out.scopes := v_key.scopes;
      v_out.credential_class := v_class;
      IF p_names_case[i] THEN
        -- A call that should name a matter and does not (its arguments were wrong) reaches none.
        v_out.case_ids := CASE WHEN p_case_ids[i] IS NULL THEN '{}'::uuid[] ELSE ARRAY[p_case_ids[i]] END;
      END IF;
    ELSE
      v_out.case_ids := '{}';
    END IF;
    INSERT INTO auth.usage AS u VALUES (v_key.id, p_methods[i], date_trunc('hour', clock_timestamp()), (v_out.outcome = 'allowed')::int, (v_out.outcome <> 'allowed')::int, clock_timestamp())
      ON CONFLICT (key_id, hour, method) DO UPDATE SET allowed = u.allowed + excluded.allowed, refused = u.refused + excluded.refused, last_at = excluded.last_at;
    PERFORM audit.append('key:' || v_key.id, p_methods[i], p_case_ids[i], v_out.outcome, p_digests[i]);
    RETURN NEXT v_out;
  END LOOP;
END $$;
