-- The fact record, and what happened at depositions and at trial.
CREATE TABLE record.case_fact_records (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  code text NOT NULL,
  proposition text NOT NULL CHECK (proposition <> ''),
  event_date date,
  event_date_precision text CHECK (event_date_precision IN ('day', 'month', 'year')),
  -- As an attorney decided it. A model writes to fact_posture_proposals, which nothing here reads.
  posture text NOT NULL DEFAULT 'not_decided' CHECK (posture IN (
    'undisputed_stipulated', 'undisputed_admitted', 'disputed', 'partly_disputed', 'unresponded', 'judicially_noticed', 'found_by_court',
    'not_decided')),
  decided_by text,
  decided_at timestamptz,
  basis text,
  note text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  UNIQUE (case_id, code),
  CHECK ((posture = 'not_decided') = (decided_by IS NULL)),
  CHECK ((decided_by IS NULL) = (decided_at IS NULL))
);

-- Facts that no longer count. An installation without these columns cannot tell live facts from others, and its answers say so.
ALTER TABLE record.case_fact_records
  ADD COLUMN retired_at timestamptz,
  ADD COLUMN retired_reason text,
  ADD COLUMN merged_into uuid,
  ADD FOREIGN KEY (case_id, merged_into) REFERENCES record.case_fact_records (case_id, id) DEFERRABLE INITIALLY DEFERRED,
  ADD CHECK (merged_into <> id),
  ADD CHECK ((retired_at IS NULL) = (retired_reason IS NULL));

CREATE TABLE record.fact_posture_proposals (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  fact_id uuid NOT NULL,
  model text NOT NULL CHECK (model <> ''),
  proposed_posture text NOT NULL CHECK (proposed_posture IN (
    'undisputed_stipulated', 'undisputed_admitted', 'disputed', 'partly_disputed', 'unresponded', 'judicially_noticed', 'found_by_court',
    'not_decided')),
  basis text NOT NULL CHECK (basis <> ''),
  proposed_at timestamptz NOT NULL,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, fact_id) REFERENCES record.case_fact_records (case_id, id)
);
CREATE INDEX fact_posture_proposals_latest ON record.fact_posture_proposals (fact_id, proposed_at DESC);

CREATE TABLE record.case_fact_assertions (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  fact_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  source_class text NOT NULL CHECK (source_class IN (
    'pleading', 'stipulation', 'interrogatory_answer', 'admission', 'deposition', 'trial_testimony', 'declaration', 'exhibit', 'esi',
    'public_record', 'attorney_note')),
  party text,
  document_version_id uuid,
  page_from int,
  page_to int,
  quote text CHECK (quote <> ''),
  stance text NOT NULL CHECK (stance IN ('supports', 'denies', 'qualifies')),
  under_oath boolean,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (fact_id, position),
  FOREIGN KEY (case_id, fact_id) REFERENCES record.case_fact_records (case_id, id),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id),
  CHECK ((page_from IS NULL) = (page_to IS NULL)),
  CHECK (page_to >= page_from)
);
CREATE INDEX case_fact_assertions_by_case ON record.case_fact_assertions (case_id);

CREATE TABLE record.fact_element_links (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  fact_id uuid NOT NULL,
  element_id uuid NOT NULL,
  role text NOT NULL CHECK (role IN ('supports', 'undermines')),
  linked_by text NOT NULL,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (fact_id, element_id),
  FOREIGN KEY (case_id, fact_id) REFERENCES record.case_fact_records (case_id, id),
  FOREIGN KEY (case_id, element_id) REFERENCES record.claim_elements (case_id, id)
);
CREATE INDEX fact_element_links_by_element ON record.fact_element_links (element_id, fact_id);

CREATE TABLE record.exhibits (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  position int NOT NULL CHECK (position > 0),  -- order of offer
  exhibit_number text NOT NULL,
  number_from int,
  number_to int,
  side text NOT NULL CHECK (side IN ('plaintiffs', 'defendants', 'joint', 'court')),
  description text,
  document_id uuid,
  offered_page int,
  received_page int,
  volume text,
  objection text,
  ruling text,
  stipulated boolean,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, side, exhibit_number),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id)
);
CREATE INDEX exhibits_by_position ON record.exhibits (case_id, position);

CREATE TABLE record.trial_objections (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  transcript_page int,
  line_from int,
  line_to int,
  trial_date date,
  witness text,
  objecting_counsel text NOT NULL,
  objecting_side text,
  ground text NOT NULL,
  text_as_typed text NOT NULL CHECK (text_as_typed <> ''),
  ruling text CHECK (ruling <> ''),  -- null until the court rules
  court_words text,
  ruling_page int,
  ruling_line int,
  note text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX trial_objections_by_place ON record.trial_objections (case_id, transcript_page, line_from);

CREATE TABLE record.transcripts (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  document_id uuid NOT NULL,
  document_version_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('deposition', 'trial', 'hearing')),
  witness text,
  short_cite text NOT NULL,
  taken_on date,
  volume text,
  certified boolean,
  -- Designations from before the register had rows: read only where a transcript has none there.
  legacy_designations jsonb CHECK (jsonb_typeof(legacy_designations) = 'array'),
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id)
);
CREATE INDEX transcripts_by_witness ON record.transcripts (case_id, witness);

CREATE TABLE record.designations (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  transcript_id uuid NOT NULL,
  page_from int NOT NULL,
  line_from int,
  page_to int NOT NULL,
  line_to int,
  side text NOT NULL CHECK (side IN ('plaintiffs', 'defendants', 'joint', 'court')),
  kind text NOT NULL CHECK (kind IN ('affirmative', 'counter', 'completeness')),
  opening_words text,
  objection text,
  ruling text,
  note text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, transcript_id) REFERENCES record.transcripts (case_id, id),
  CHECK (page_to >= page_from)
);
CREATE INDEX designations_by_transcript ON record.designations (transcript_id, page_from);
CREATE INDEX designations_by_case ON record.designations (case_id);
