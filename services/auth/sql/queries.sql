-- name: authorize
SELECT outcome, key_id, owner_id, scopes, credential_class, case_ids, limit_per_minute, retry_after_seconds
  FROM auth.authorize(:public_ids::text[], :hashes::bytea[], :methods::text[], :scopes::text[], :class_refused::bool[], :lanes::text[], :names_case::bool[], :case_ids::uuid[], :digests::bytea[]);

-- name: authenticate
SELECT id, owner_id, scopes, credential_class
  FROM auth.api_keys
 WHERE public_id = :public_id AND secret_hash = :hash AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp());

-- name: keys_by_row
SELECT id, public_id, secret_hash FROM auth.api_keys WHERE id = ANY (:key_ids::uuid[]);

-- name: review
WITH k AS (
  SELECT scopes, credential_class, auth.reachable(owner_id, allow_list) AS reachable
    FROM auth.api_keys WHERE id = :key_id::uuid AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())
)
SELECT k.scopes IS NOT NULL AS live, c.n,
       CASE
         WHEN k.scopes IS NULL THEN 'unauthenticated'
         WHEN c.scope IS NULL OR NOT c.scope = ANY (k.scopes) THEN 'scope_missing'
         WHEN c.class_refused AND k.credential_class <> 'firm' THEN 'class_refused'
         WHEN c.needs_case <> (c.case_id IS NOT NULL) OR (c.needs_case AND NOT c.case_id = ANY (k.reachable)) THEN 'matter_not_accessible'
         ELSE 'allowed'
       END AS outcome
  FROM (SELECT 1) one
  LEFT JOIN k ON true
  LEFT JOIN unnest(:scopes::text[], :class_refused::bool[], :case_ids::uuid[], :needs_case::bool[]) WITH ORDINALITY
         AS c (scope, class_refused, case_id, needs_case, n) ON true
 ORDER BY c.n;

-- name: insert_key
INSERT INTO auth.api_keys (id, public_id, environment, name, owner_id, secret_hash, scopes, credential_class, allow_list, expires_at, read_per_minute, retrieval_per_minute)
VALUES (:id, :public_id, :environment, :name, :owner_id, :secret_hash, :scopes, :credential_class, :allow_list, :expires_at, :read_per_minute, :retrieval_per_minute);

-- name: list_keys
SELECT k.id, k.public_id, k.environment, k.name, k.owner_id, k.scopes, k.credential_class, k.allow_list, k.created_at, k.expires_at, k.revoked_at,
       k.read_per_minute, k.retrieval_per_minute, (SELECT max(u.last_at) FROM auth.usage u WHERE u.key_id = k.id) AS last_used_at
  FROM auth.api_keys k
 WHERE :key::text IS NULL OR k.id::text = :key OR k.public_id = :key
 ORDER BY k.created_at DESC, k.id;

-- name: revoke_key
UPDATE auth.api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE id = :id;

-- name: update_key
UPDATE auth.api_keys
   SET scopes = coalesce(:scopes::text[], scopes), allow_list = coalesce(:allow_list::uuid[], allow_list), expires_at = coalesce(:expires_at::timestamptz, expires_at),
       credential_class = coalesce(:credential_class::text, credential_class), read_per_minute = coalesce(:read_per_minute::int, read_per_minute),
       retrieval_per_minute = coalesce(:retrieval_per_minute::int, retrieval_per_minute)
 WHERE id = :id;

-- name: insert_user
INSERT INTO auth.users (id, name, email) VALUES (:id, :name, :email);

-- name: list_users
SELECT u.id, u.name, u.email,
       (SELECT coalesce(array_agg(a.case_id ORDER BY a.case_id), '{}') FROM auth.matter_access a WHERE a.user_id = u.id) AS case_ids,
       (SELECT coalesce(array_agg(s.case_id ORDER BY s.case_id), '{}') FROM auth.ethical_screens s WHERE s.user_id = u.id AND s.lifted_at IS NULL) AS screened_case_ids
  FROM auth.users u
 ORDER BY u.name, u.id;

-- name: grant_matter_access
INSERT INTO auth.matter_access (user_id, case_id) VALUES (:user_id, :case_id) ON CONFLICT DO NOTHING;

-- name: withdraw_matter_access
DELETE FROM auth.matter_access WHERE user_id = :user_id AND case_id = :case_id RETURNING 1;

-- name: raise_ethical_screen
INSERT INTO auth.ethical_screens (id, user_id, case_id, reason) VALUES (:id, :user_id, :case_id, :reason) ON CONFLICT DO NOTHING;

-- name: lift_ethical_screen
UPDATE auth.ethical_screens SET lifted_at = clock_timestamp() WHERE user_id = :user_id AND case_id = :case_id AND lifted_at IS NULL RETURNING 1;

-- name: append_audit
SELECT audit.append(:actor::text, :action::text, :case_id::uuid, 'done', :detail::bytea);

-- name: audit_rows
SELECT seq, (extract(epoch FROM at) * 1000000)::bigint AS at_us, actor, action, case_id, outcome, detail_sha256, prev_hash, hash FROM audit.log WHERE seq > :after ORDER BY seq LIMIT :limit;

-- name: ready
SELECT 1 FROM auth.api_keys LIMIT 1;

-- name: person_by_email
SELECT u.id, u.name, u.email, p.argon2id, t.user_id IS NOT NULL AS totp_enrolled, auth.reachable(u.id, NULL) AS case_ids
  FROM auth.users u LEFT JOIN auth.passwords p ON p.user_id = u.id LEFT JOIN auth.totp t ON t.user_id = u.id
 WHERE lower(u.email) = lower(:email);

-- name: person_by_id
SELECT u.id, u.name, u.email, t.user_id IS NOT NULL AS totp_enrolled, auth.reachable(u.id, NULL) AS case_ids
  FROM auth.users u LEFT JOIN auth.totp t ON t.user_id = u.id
 WHERE u.id = :user_id;

-- name: person_by_subject
SELECT u.id, u.name, u.email, t.user_id IS NOT NULL AS totp_enrolled, auth.reachable(u.id, NULL) AS case_ids
  FROM auth.subjects s JOIN auth.users u ON u.id = s.user_id LEFT JOIN auth.totp t ON t.user_id = u.id
 WHERE s.issuer = :issuer AND s.subject = :subject;

-- name: bind_account
INSERT INTO auth.subjects (issuer, subject, user_id)
SELECT :issuer, :subject, u.id FROM auth.users u WHERE lower(u.email) = lower(:email)
ON CONFLICT DO NOTHING
RETURNING user_id;

-- name: release_account
DELETE FROM auth.subjects WHERE user_id = :user_id RETURNING 1;

-- name: attempts
SELECT failures, window_start FROM auth.attempts WHERE subject = :subject;

-- name: note_failure
INSERT INTO auth.attempts AS a (subject, failures, window_start) VALUES (:subject, 1, :now)
ON CONFLICT (subject) DO UPDATE
   SET failures = CASE WHEN a.window_start < :window_from THEN 1 ELSE a.failures + 1 END,
       window_start = CASE WHEN a.window_start < :window_from THEN excluded.window_start ELSE a.window_start END;

-- name: forget_failures
DELETE FROM auth.attempts WHERE subject = :subject;

-- name: totp
SELECT sealed_secret, last_step FROM auth.totp WHERE user_id = :user_id;

-- name: use_totp_step
UPDATE auth.totp SET last_step = :step WHERE user_id = :user_id AND last_step < :step RETURNING last_step;

-- name: set_password
INSERT INTO auth.passwords (user_id, argon2id) VALUES (:user_id, :argon2id)
ON CONFLICT (user_id) DO UPDATE SET argon2id = excluded.argon2id, set_at = now();

-- name: enroll_totp
INSERT INTO auth.totp (user_id, sealed_secret) VALUES (:user_id, :sealed_secret)
ON CONFLICT (user_id) DO UPDATE SET sealed_secret = excluded.sealed_secret, last_step = 0, enrolled_at = now();

-- name: resolve_inference_credential
SELECT kind, sealed FROM auth.inference_credentials
 WHERE kind <> 'personal' OR owner_id = :owner_id::uuid
 ORDER BY array_position(ARRAY['personal', 'firm', 'platform'], kind) LIMIT 1;

-- name: set_inference_credential
INSERT INTO auth.inference_credentials (id, kind, owner_id, sealed) VALUES (:id, :kind, :owner_id, :sealed)
ON CONFLICT (kind, coalesce(owner_id, '00000000-0000-0000-0000-000000000000')) DO UPDATE SET sealed = excluded.sealed, set_at = now() RETURNING id;

-- name: remove_inference_credential
DELETE FROM auth.inference_credentials WHERE kind = :kind AND owner_id IS NOT DISTINCT FROM :owner_id::uuid RETURNING id;

-- name: list_inference_credentials
SELECT kind, owner_id, set_at FROM auth.inference_credentials ORDER BY kind, set_at;
