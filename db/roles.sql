-- Every grant of the system, on one page, re-applied after each migration. What is not granted here is refused.
-- The logins themselves are made by the operator's commands; this file runs as the owner of the schemas.

REVOKE ALL ON SCHEMA public FROM PUBLIC;

-- auth: reads and writes who may do what; appends to the audit chain and can change nothing in it. No matter data.
REVOKE ALL ON SCHEMA auth, audit FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA auth, audit FROM PUBLIC, svc_auth;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA auth, audit FROM PUBLIC, svc_auth;
GRANT USAGE ON SCHEMA auth, audit TO svc_auth;
GRANT SELECT, INSERT ON auth.users, auth.matter_access, auth.ethical_screens, auth.api_keys, auth.rate_lanes, auth.usage, audit.log TO svc_auth;
GRANT DELETE ON auth.matter_access TO svc_auth;
GRANT UPDATE (lifted_at) ON auth.ethical_screens TO svc_auth;
GRANT UPDATE (scopes, allow_list, expires_at, revoked_at, credential_class, read_per_minute, retrieval_per_minute) ON auth.api_keys TO svc_auth;
GRANT UPDATE (second, counts) ON auth.rate_lanes TO svc_auth;
GRANT UPDATE (allowed, refused, last_at) ON auth.usage TO svc_auth;
GRANT SELECT, INSERT, UPDATE ON auth.passwords, auth.totp TO svc_auth;
GRANT SELECT, INSERT, DELETE, UPDATE (sealed, set_at) ON auth.inference_credentials TO svc_auth;
GRANT SELECT, INSERT, UPDATE, DELETE ON auth.attempts TO svc_auth;
GRANT SELECT, INSERT (issuer, subject, user_id), DELETE ON auth.subjects TO svc_auth;
GRANT EXECUTE ON FUNCTION auth.authorize, auth.charge, auth.reachable, audit.append, audit.hold TO svc_auth;

-- ---------------------------------------------------------------------------------------------------------------------------------------
-- record: reads selects under row security, the loader writes, and nobody else has a way in.
-- Every table has the same three policies, made here for whatever tables the migrations made.
-- ---------------------------------------------------------------------------------------------------------------------------------------
REVOKE ALL ON SCHEMA record FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA record FROM PUBLIC, svc_auth, svc_reads, substrate_loader;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA record FROM PUBLIC, svc_auth, svc_reads, substrate_loader;
GRANT USAGE ON SCHEMA record TO svc_reads, substrate_loader;
GRANT SELECT ON ALL TABLES IN SCHEMA record TO svc_reads;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA record TO substrate_loader;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA record TO svc_reads, substrate_loader;
REVOKE EXECUTE ON FUNCTION record.load_rows, record.left_over FROM svc_reads;

DO $$
DECLARE
  relation regclass;
BEGIN
  FOR relation IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'record'::regnamespace AND c.relkind IN ('r', 'p') LOOP
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', relation);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', relation);
    EXECUTE format('DROP POLICY IF EXISTS visible ON %s', relation);
    EXECUTE format('DROP POLICY IF EXISTS owned ON %s', relation);
    EXECUTE format('DROP POLICY IF EXISTS loaded ON %s', relation);
    -- The sub-select makes the planner ask once a statement, not once a row.
    EXECUTE format('CREATE POLICY visible ON %s FOR SELECT TO svc_reads USING (case_id = ANY((SELECT record.visible_cases())::uuid[]))', relation);
    EXECUTE format('CREATE POLICY owned ON %s TO substrate_owner USING (true) WITH CHECK (true)', relation);
    EXECUTE format('CREATE POLICY loaded ON %s TO substrate_loader USING (true) WITH CHECK (true)', relation);
  END LOOP;
END $$;

-- A document that may not be produced does not exist for the reads, whatever a statement forgets; nor do its versions, pages and passages.
DROP POLICY IF EXISTS producible ON record.documents;
CREATE POLICY producible ON record.documents AS RESTRICTIVE FOR SELECT TO svc_reads USING (record.producible(privilege_class, reviewed_at));
DROP POLICY IF EXISTS producible ON record.document_versions;
CREATE POLICY producible ON record.document_versions AS RESTRICTIVE FOR SELECT TO svc_reads
  USING (EXISTS (SELECT FROM record.documents d WHERE d.id = document_id));
DROP POLICY IF EXISTS producible ON record.document_pages;
CREATE POLICY producible ON record.document_pages AS RESTRICTIVE FOR SELECT TO svc_reads
  USING (EXISTS (SELECT FROM record.document_versions v WHERE v.id = document_version_id));
DROP POLICY IF EXISTS producible ON record.passages;
CREATE POLICY producible ON record.passages AS RESTRICTIVE FOR SELECT TO svc_reads
  USING (EXISTS (SELECT FROM record.documents d WHERE d.id = document_id));

REVOKE ALL ON SCHEMA trigram FROM PUBLIC;
GRANT USAGE ON SCHEMA trigram TO svc_reads;

-- The knowledge graph: a reader of the client lane sees neither a row of the firm lane nor anything that hangs on one.
DROP POLICY IF EXISTS in_lane ON record.kg_entities;
CREATE POLICY in_lane ON record.kg_entities AS RESTRICTIVE FOR SELECT TO svc_reads USING (lane = ANY((SELECT record.lanes())::text[]));
DROP POLICY IF EXISTS in_lane ON record.kg_relationships;
CREATE POLICY in_lane ON record.kg_relationships AS RESTRICTIVE FOR SELECT TO svc_reads USING (
  lane = ANY((SELECT record.lanes())::text[]) AND EXISTS (SELECT FROM record.kg_entities e WHERE e.id = subject_id)
  AND EXISTS (SELECT FROM record.kg_entities e WHERE e.id = object_id));
DROP POLICY IF EXISTS in_lane ON record.kg_aliases;
CREATE POLICY in_lane ON record.kg_aliases AS RESTRICTIVE FOR SELECT TO svc_reads
  USING (EXISTS (SELECT FROM record.kg_entities e WHERE e.id = entity_id));
DROP POLICY IF EXISTS in_lane ON record.kg_provenance;
CREATE POLICY in_lane ON record.kg_provenance AS RESTRICTIVE FOR SELECT TO svc_reads USING (
  EXISTS (SELECT FROM record.kg_entities e WHERE e.id = target_id) OR EXISTS (SELECT FROM record.kg_aliases a WHERE a.id = target_id)
  OR EXISTS (SELECT FROM record.kg_relationships r WHERE r.id = target_id));

-- The firm's own memos and drafts are never in the client lane, and what is withheld lies nowhere.
DROP POLICY IF EXISTS in_lane ON record.work_products;
CREATE POLICY in_lane ON record.work_products AS RESTRICTIVE FOR SELECT TO svc_reads USING ('firm' = ANY((SELECT record.lanes())::text[]));
DROP POLICY IF EXISTS in_lane ON record.work_product_passages;
CREATE POLICY in_lane ON record.work_product_passages AS RESTRICTIVE FOR SELECT TO svc_reads USING ('firm' = ANY((SELECT record.lanes())::text[]));
DROP POLICY IF EXISTS producible ON record.passage_vectors;
CREATE POLICY producible ON record.passage_vectors AS RESTRICTIVE FOR SELECT TO svc_reads
  USING (EXISTS (SELECT FROM record.passages g WHERE g.id = passage_id)
         OR EXISTS (SELECT FROM record.work_product_passages w WHERE w.id = passage_id));

-- proposals: files and reads proposals; can change none, decide none, carry out none.
REVOKE ALL ON SCHEMA ledger FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA ledger FROM PUBLIC, svc_proposals, svc_approvals, svc_executor;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC, svc_proposals, svc_approvals, svc_executor;
GRANT USAGE ON SCHEMA ledger, audit TO svc_proposals, svc_approvals, svc_executor;
GRANT EXECUTE ON FUNCTION audit.append TO svc_proposals, svc_approvals, svc_executor;
GRANT SELECT ON ledger.proposals, ledger.states, ledger.handoffs, ledger.handoff_answers TO svc_proposals;
GRANT INSERT (id, key_id, owner_id, case_id, action, args, args_digest, what_will_happen, reason, overrides_ignored, request_id, supersedes, expires_at)
  ON ledger.proposals TO svc_proposals;
GRANT INSERT (proposal_id, key_id) ON ledger.withdrawals TO svc_proposals;
GRANT INSERT (handoff_hash, proposal_id, key_id, owner_id, session_hash, expires_at) ON ledger.handoffs TO svc_proposals;
GRANT INSERT (handoff_hash, answer) ON ledger.handoff_answers TO svc_proposals;

-- tasks: keeps runs of tool calls, and takes them away when they are over. It appends to the audit chain, and has no other way in.
REVOKE ALL ON SCHEMA runs FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA runs FROM PUBLIC, svc_tasks;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA runs FROM PUBLIC, svc_tasks;
GRANT USAGE ON SCHEMA runs, audit TO svc_tasks;
GRANT EXECUTE ON FUNCTION audit.append TO svc_tasks;
GRANT SELECT ON runs.transitions TO svc_tasks;
GRANT SELECT, DELETE, INSERT (id, workflow, owner_id, case_id, launch_ctx, deadline_at, expires_at),
  UPDATE (status, status_message, updated_at, ready_at, deadline_at, fence, attempts, lease_owner, lease_until) ON runs.agent_runs TO svc_tasks;
GRANT SELECT, INSERT (run_id, position, kind, input, input_sha256, given),
  UPDATE (asked, state, answered, progress, progress_total, progress_message, result, result_is_error) ON runs.agent_run_steps TO svc_tasks;
GRANT EXECUTE ON FUNCTION runs.claim, runs.complete, runs.ask TO svc_tasks;
-- The firm's other runs do not exist for it.
ALTER TABLE runs.agent_runs ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS tasks_alone ON runs.agent_runs;
CREATE POLICY tasks_alone ON runs.agent_runs TO svc_tasks USING (key_id IS NOT NULL) WITH CHECK (key_id IS NOT NULL);

-- approvals: reads what waits, inserts what a person decided. It carries nothing out and changes no proposal.
GRANT SELECT ON ledger.proposals, ledger.withdrawals, ledger.states, ledger.decisions, ledger.nonces, ledger.executions, ledger.retries, ledger.handoffs,
  ledger.handoff_answers TO svc_approvals;
GRANT INSERT (nonce_hash, proposal_id, action, case_id, user_id, args_digest, expires_at), UPDATE (used_at) ON ledger.nonces TO svc_approvals;
GRANT INSERT ON ledger.decisions TO svc_approvals;
GRANT INSERT (proposal_id, attempt, requested_by) ON ledger.retries TO svc_approvals;

-- executor: looks at what was decided, keeps what it did, and is the one program that writes the record.
GRANT SELECT ON ledger.decided, ledger.unfinished, ledger.executions, ledger.retries TO svc_executor;
GRANT INSERT (proposal_id, fence, lease_owner, lease_until), UPDATE (fence, lease_owner, lease_until, attempts, intent, intent_at, outcome, detail, finished_at)
  ON ledger.executions TO svc_executor;

-- ---------------------------------------------------------------------------------------------------------------------------------------
-- approvals, its own room: web sessions, and the pages' one view. Nobody else has a way in, and no program deletes a decision's session trail
-- but for sessions that are long over.
-- ---------------------------------------------------------------------------------------------------------------------------------------
REVOKE ALL ON SCHEMA approvals FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA approvals FROM PUBLIC, svc_approvals;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA approvals FROM PUBLIC, svc_approvals;
GRANT USAGE ON SCHEMA approvals TO svc_approvals;
GRANT SELECT, DELETE, INSERT (id, token_hash, user_id, expires_at), UPDATE (last_seen_at, ended_at) ON approvals.sessions TO svc_approvals;
GRANT SELECT, DELETE, INSERT (state_hash, expires_at) ON approvals.returns TO svc_approvals;
GRANT SELECT, INSERT (id, credential_id, user_id, name, public_key, sign_count), UPDATE (sign_count, last_used_at, removed_at) ON approvals.passkeys
  TO svc_approvals;
GRANT SELECT, DELETE, INSERT (challenge_hash, user_id, session_hash, name, expires_at), UPDATE (used_at) ON approvals.passkey_challenges TO svc_approvals;
GRANT SELECT ON approvals.proposals TO svc_approvals;
GRANT EXECUTE ON FUNCTION approvals.matters, approvals.rows_named, approvals.cleared, approvals.cited, ledger.hold TO svc_approvals;

-- ---------------------------------------------------------------------------------------------------------------------------------------
-- executor on the record: it adds rows and ends deadlines, inside the one matter of the decision it carries out. It deletes nothing, and of what
-- is there it changes only what a listed action changes. Documents that may not be produced do not exist for it either.
-- ---------------------------------------------------------------------------------------------------------------------------------------
REVOKE ALL ON ALL TABLES IN SCHEMA record FROM svc_executor;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA record FROM svc_executor;
GRANT SELECT ON ledger.mismatched TO svc_executor;
GRANT USAGE ON SCHEMA record TO svc_executor;
GRANT EXECUTE ON FUNCTION record.visible_cases, record.current_version, record.producible TO svc_executor;
GRANT SELECT, INSERT ON record.provenance, record.deadlines, record.case_fact_records, record.case_fact_assertions, record.fact_posture_proposals,
  record.exhibits, record.trial_objections, record.tasks, record.notes, record.custodians, record.litigation_holds, record.hold_custodians,
  record.hold_notices, record.client_messages, record.productions, record.production_documents, record.discovery_responses, record.work_items
  TO svc_executor;
GRANT SELECT ON record.matters, record.docket_entries, record.documents, record.document_versions, record.document_pages, record.parties
  TO svc_executor;
GRANT UPDATE (status, status_note, superseded_by_id, ended_by_decision) ON record.deadlines TO svc_executor;
GRANT UPDATE (status, attempt, intent_at, finished_at, detail) ON record.hold_notices, record.client_messages TO svc_executor;

DO $$
DECLARE
  relation regclass;
BEGIN
  FOR relation IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'record'::regnamespace AND c.relkind IN ('r', 'p') LOOP
    EXECUTE format('DROP POLICY IF EXISTS carried_out ON %s', relation);
    EXECUTE format('CREATE POLICY carried_out ON %s TO svc_executor USING (case_id = ANY((SELECT record.visible_cases())::uuid[])) '
      'WITH CHECK (case_id = ANY((SELECT record.visible_cases())::uuid[]))', relation);
  END LOOP;
END $$;
DROP POLICY IF EXISTS producible_carried_out ON record.documents;
CREATE POLICY producible_carried_out ON record.documents AS RESTRICTIVE FOR SELECT TO svc_executor USING (record.producible(privilege_class, reviewed_at));

-- ---------------------------------------------------------------------------------------------------------------------------------------
-- firm: what holds for the whole firm and no one matter. reads takes it from here; only the operator's commands write it.
-- ---------------------------------------------------------------------------------------------------------------------------------------
REVOKE ALL ON SCHEMA firm FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA firm FROM PUBLIC, svc_reads;
GRANT USAGE ON SCHEMA firm TO svc_reads;
GRANT SELECT ON firm.prompt_editions TO svc_reads;
