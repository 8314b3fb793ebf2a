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
