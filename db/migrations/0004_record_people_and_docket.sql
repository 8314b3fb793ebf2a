-- Who is in a matter, what is claimed, what the docket says and what is due.
CREATE TABLE record.parties (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  position int NOT NULL CHECK (position > 0),  -- order of the caption or docket
  name text NOT NULL CHECK (name <> ''),
  printed_as text,  -- where the source spells the name in another way
  party_type text NOT NULL,
  capacity text,
  description text,
  date_joined date,
  date_terminated date,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id)
);
CREATE INDEX parties_by_position ON record.parties (case_id, position);

CREATE TABLE record.counsel_appearances (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  position int NOT NULL CHECK (position > 0),
  attorney text NOT NULL CHECK (attorney <> ''),
  printed_as text,
  firm text,
  party_id uuid,
  appears_for text NOT NULL,
  roles text[] NOT NULL DEFAULT '{}',
  pro_se boolean NOT NULL DEFAULT false,
  date_appeared date,
  date_terminated date,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, party_id) REFERENCES record.parties (case_id, id)
);
CREATE INDEX counsel_appearances_by_position ON record.counsel_appearances (case_id, position);

CREATE TABLE record.claims (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  position int NOT NULL CHECK (position > 0),
  code text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('claim', 'counterclaim', 'crossclaim', 'defense')),
  name text NOT NULL,
  pleaded_as text,
  asserted_by text,
  asserted_against text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  UNIQUE (case_id, code)
);

CREATE TABLE record.claim_elements (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  claim_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  code text NOT NULL,
  text text NOT NULL,
  burden text,
  authority text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  UNIQUE (case_id, code),
  FOREIGN KEY (case_id, claim_id) REFERENCES record.claims (case_id, id)
);
CREATE INDEX claim_elements_by_claim ON record.claim_elements (claim_id, position);

-- Sealed text is not kept here at all: the constraint is what stands between it and an answer.
CREATE TABLE record.docket_entries (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  position int NOT NULL CHECK (position > 0),  -- order of the docket
  entry_number int CHECK (entry_number > 0),
  date_filed date,
  date_entered date,
  kind text,
  text text CHECK (text <> ''),
  sealed boolean NOT NULL DEFAULT false,
  text_only boolean NOT NULL DEFAULT false,
  modification_note text,
  pacer_doc_id text,
  refers_to int[] NOT NULL DEFAULT '{}',
  corrected_by int,
  filed_by text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  UNIQUE (case_id, entry_number),
  CHECK (NOT sealed OR (text IS NULL AND modification_note IS NULL AND refers_to = '{}'))
);
CREATE INDEX docket_entries_by_position ON record.docket_entries (case_id, position);
CREATE INDEX docket_entries_by_date ON record.docket_entries (case_id, date_filed);
CREATE INDEX docket_entries_refers_to ON record.docket_entries USING gin (refers_to);

CREATE TABLE record.docket_attachments (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  docket_entry_id uuid NOT NULL,
  attachment_number int NOT NULL CHECK (attachment_number > 0),
  description text CHECK (description <> ''),
  pacer_doc_id text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (docket_entry_id, attachment_number),
  FOREIGN KEY (case_id, docket_entry_id) REFERENCES record.docket_entries (case_id, id)
);

CREATE TABLE record.deadlines (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  title text NOT NULL CHECK (title <> ''),
  due_date date NOT NULL,
  due_time time,
  source_kind text NOT NULL CHECK (source_kind IN ('order', 'rule', 'agreement')),
  source_entry_id uuid,
  rule text,
  status text NOT NULL CHECK (status IN ('pending', 'met', 'held', 'passed', 'superseded', 'vacated', 'unclear')),
  status_note text,
  superseded_by_entry_id uuid,
  superseded_by_id uuid,
  responsible text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  FOREIGN KEY (case_id, source_entry_id) REFERENCES record.docket_entries (case_id, id),
  FOREIGN KEY (case_id, superseded_by_entry_id) REFERENCES record.docket_entries (case_id, id),
  FOREIGN KEY (case_id, superseded_by_id) REFERENCES record.deadlines (case_id, id) DEFERRABLE INITIALLY DEFERRED,
  CHECK (superseded_by_id <> id)
);
CREATE INDEX deadlines_by_due ON record.deadlines (case_id, due_date, due_time);
