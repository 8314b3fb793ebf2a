-- How people show who they are when they sign in to decide. Kept apart from keys: neither opens what the other does.
CREATE TABLE auth.passwords (
  user_id uuid PRIMARY KEY REFERENCES auth.users,
  argon2id text NOT NULL CHECK (argon2id LIKE '$argon2id$%'),
  set_at timestamptz NOT NULL DEFAULT now()
);

-- last_step is the newest time step that was used: a code, and every older one, works once.
CREATE TABLE auth.totp (
  user_id uuid PRIMARY KEY REFERENCES auth.users,
  sealed_secret bytea NOT NULL,
  last_step bigint NOT NULL DEFAULT 0,
  enrolled_at timestamptz NOT NULL DEFAULT now()
);

-- Wrong tries by what was typed or who was meant, so that guessing is slow whoever it is aimed at.
CREATE TABLE auth.attempts (
  subject bytea PRIMARY KEY CHECK (length(subject) = 32),
  failures int NOT NULL DEFAULT 0,
  window_start timestamptz NOT NULL DEFAULT now()
);
