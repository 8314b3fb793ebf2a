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
