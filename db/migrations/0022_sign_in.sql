-- Whose account at an identity provider belongs to which person. The provider's subject never changes hands, a mail address may: the first
-- sign-in binds them, and somebody who is given the address later is not taken for who had it before.
CREATE TABLE auth.subjects (
  issuer text NOT NULL CHECK (issuer <> ''),
  subject text NOT NULL CHECK (subject <> ''),
  user_id uuid NOT NULL REFERENCES auth.users,
  bound_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject),
  UNIQUE (issuer, user_id)
);

-- Returns from an identity provider that were used: each is good once.
CREATE TABLE approvals.returns (
  state_hash bytea PRIMARY KEY CHECK (length(state_hash) = 32),
  expires_at timestamptz NOT NULL
);
CREATE INDEX returns_by_end ON approvals.returns (expires_at);
