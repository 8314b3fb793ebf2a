-- Passkeys that people show themselves with when they approve what always asks for it. A public key is no secret; a removed one stays, since
-- decisions were made with it.
CREATE TABLE approvals.passkeys (
  id uuid PRIMARY KEY,
  credential_id bytea NOT NULL UNIQUE CHECK (length(credential_id) BETWEEN 1 AND 1023),
  user_id uuid NOT NULL,
  name text NOT NULL CHECK (name <> ''),
  public_key bytea NOT NULL,
  sign_count bigint NOT NULL CHECK (sign_count >= 0),
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_used_at timestamptz,
  removed_at timestamptz
);
CREATE INDEX passkeys_of_a_person ON approvals.passkeys (user_id) WHERE removed_at IS NULL;

-- Challenges for new passkeys: given to one session after a one-time code, good once.
CREATE TABLE approvals.passkey_challenges (
  challenge_hash bytea PRIMARY KEY CHECK (length(challenge_hash) = 32),
  user_id uuid NOT NULL,
  session_hash bytea NOT NULL CHECK (length(session_hash) = 32),
  name text NOT NULL CHECK (name <> ''),
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
