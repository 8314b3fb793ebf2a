-- The firm's own texts for prompts. Append-only: the newest edition of a name counts, and an edition without a text goes back to the release's.
CREATE SCHEMA firm;
CREATE TABLE firm.prompt_editions (
  name text NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,63}$'),
  edition int NOT NULL CHECK (edition > 0),
  text text CHECK (text <> ''),
  of_version text NOT NULL CHECK (of_version <> ''),
  edited_by text NOT NULL CHECK (edited_by <> ''),
  edited_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (name, edition)
);
