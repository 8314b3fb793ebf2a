-- The room in which people decide: their web sessions, and the one view of the ledger that its pages are made from.
CREATE SCHEMA approvals;

-- Only the hash of what the browser holds is kept. A session ends when it is idle, when its time is over, or when the person says so.
CREATE TABLE approvals.sessions (
  id uuid PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  user_id uuid NOT NULL,
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  CHECK (expires_at > made_at)
);
CREATE INDEX sessions_by_user ON approvals.sessions (user_id, made_at DESC);

-- A proposal with what became of it.
CREATE VIEW approvals.proposals AS
SELECT p.id, p.key_id, p.owner_id, p.case_id, p.action, p.args, p.args_digest, p.what_will_happen, p.reason, p.overrides_ignored, p.filed_at, p.expires_at,
       s.state, s.superseded_by, d.decided_by, d.decided_at, d.reason AS decision_reason, d.nonce_hash, d.step_up, s.execution, e.attempts, e.detail,
       e.finished_at, EXISTS (SELECT FROM ledger.retries r WHERE r.proposal_id = p.id AND r.attempt = e.attempts) AS retry_requested
  FROM ledger.proposals p
  JOIN ledger.states s ON s.id = p.id
  LEFT JOIN ledger.decisions d ON d.proposal_id = p.id
  LEFT JOIN ledger.executions e ON e.proposal_id = p.id;

-- What a person calls their matters. The room has no other way into the record than this function and the next.
CREATE FUNCTION approvals.matters(p_cases uuid[]) RETURNS TABLE (case_id uuid, name text) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = record, pg_temp AS $$
  SELECT m.case_id, m.caption FROM record.matters m WHERE m.case_id = ANY (p_cases)
$$;

-- The rows of one matter that a proposal names, in words, as they stand now. Text of a sealed entry is not shown.
CREATE FUNCTION approvals.rows_named(p_case uuid, p_ids uuid[]) RETURNS TABLE (id uuid, words text) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = record, pg_temp AS $$
  SELECT e.id, concat_ws(', ', 'docket entry ' || coalesce(e.entry_number::text, 'without a number'), 'filed ' || e.date_filed, CASE WHEN e.sealed THEN 'sealed' ELSE left(e.text, 300) END)
    FROM record.docket_entries e WHERE e.case_id = p_case AND e.id = ANY (p_ids)
  UNION ALL
  SELECT d.id, concat_ws(', ', 'deadline “' || d.title || '”', 'due ' || d.due_date, d.status) FROM record.deadlines d WHERE d.case_id = p_case AND d.id = ANY (p_ids)
  UNION ALL
  SELECT d.id, concat_ws(', ', 'document “' || d.title || '”', 'dated ' || d.document_date) FROM record.documents d WHERE d.case_id = p_case AND d.id = ANY (p_ids)
  UNION ALL
  SELECT v.id, 'a version of the document “' || d.title || '”'
    FROM record.document_versions v JOIN record.documents d ON d.case_id = v.case_id AND d.id = v.document_id WHERE v.case_id = p_case AND v.id = ANY (p_ids)
  UNION ALL
  SELECT p.id, concat_ws(', ', 'party ' || p.name, p.party_type) FROM record.parties p WHERE p.case_id = p_case AND p.id = ANY (p_ids)
$$;
