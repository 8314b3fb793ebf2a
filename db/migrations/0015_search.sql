-- What retrieval searches: the words of passages, and the firm's own memos and drafts, which no client lane holds.

ALTER TABLE record.passages ADD COLUMN words tsvector GENERATED ALWAYS AS (to_tsvector('english'::regconfig, text)) STORED;
CREATE INDEX passages_by_words ON record.passages USING gin (words);

-- The place of a passage among those that answer a search: best first, and the same whenever it is asked again.
CREATE FUNCTION record.search_place(rank real) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lpad((1000000 - least(greatest((rank * 1000000)::int, 0), 1000000))::text, 7, '0');

-- A piece of a text that shows why it was found: the text's own letters, nothing marked, nothing joined.
CREATE FUNCTION record.excerpt(whole text, query tsquery) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ts_headline('english'::regconfig, whole, query, 'StartSel="", StopSel="", MaxFragments=1, MaxWords=60, MinWords=30');

-- A memo, draft or note of the firm: its own thinking, never evidence and never for a client's agent.
CREATE TABLE record.work_products (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  kind text NOT NULL CHECK (kind IN ('memo', 'draft', 'outline', 'notes')),
  title text NOT NULL CHECK (title <> ''),
  author text NOT NULL CHECK (author <> ''),
  written_on date,
  version int NOT NULL CHECK (version > 0),
  status text NOT NULL CHECK (status IN ('working', 'final', 'superseded')),
  text text NOT NULL CHECK (text <> ''),
  sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id)
);

CREATE TABLE record.work_product_passages (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  work_product_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  section text,
  text text NOT NULL CHECK (text <> ''),
  words tsvector GENERATED ALWAYS AS (to_tsvector('english'::regconfig, text)) STORED,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (work_product_id, position),
  FOREIGN KEY (case_id, work_product_id) REFERENCES record.work_products (case_id, id)
);
CREATE INDEX work_product_passages_by_case ON record.work_product_passages (case_id);
CREATE INDEX work_product_passages_by_words ON record.work_product_passages USING gin (words);

-- What can be said of a passage of the firm's own: that it stands in a version whose digest is the recorded one. Nothing about what it claims.
CREATE FUNCTION record.own_words_status(passage text, whole text, digest text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN encode(sha256(convert_to(whole, 'UTF8')), 'hex') <> digest THEN 'ungrounded'
  WHEN strpos(whole, passage) > 0 THEN 'grounded'
  ELSE 'ungrounded'
END;

-- Where each passage lies among all others in meaning, as one model sees it. Rows of another model than the one that is installed are left alone.
CREATE TABLE record.passage_vectors (
  passage_id uuid NOT NULL,
  case_id uuid NOT NULL REFERENCES record.matters,
  model text NOT NULL CHECK (model <> ''),
  vector bytea NOT NULL CHECK (length(vector) BETWEEN 16 AND 8192),  -- a signed byte a dimension, of unit length before rounding
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (passage_id)
);
CREATE INDEX passage_vectors_by_case ON record.passage_vectors (case_id, model);
