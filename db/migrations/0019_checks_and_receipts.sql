-- What the engines answer from: briefs, validation, imports, receipts, audits, stipulations, errata, outcomes and the ledger of predictions.
COMMENT ON FUNCTION record.normalize(text) IS 'kit/typography.py is its twin; tests/db holds the two against each other.';

CREATE FUNCTION record.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are only ever added', TG_TABLE_NAME USING ERRCODE = '42501';
END $$;

-- The brief of a matter as it was composed. It is read as it is: no read refreshes it.
CREATE TABLE record.matter_briefs (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  title text NOT NULL CHECK (title <> ''),
  composed_by text NOT NULL,
  computed_at timestamptz NOT NULL,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  CHECK (as_of = computed_at)
);
CREATE INDEX matter_briefs_latest ON record.matter_briefs (case_id, computed_at DESC);

CREATE TABLE record.brief_sections (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  brief_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  heading text NOT NULL CHECK (heading <> ''),
  text text NOT NULL CHECK (text <> ''),
  cites text[] NOT NULL DEFAULT '{}',  -- urns of the rows that it rests on
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (brief_id, position),
  FOREIGN KEY (case_id, brief_id) REFERENCES record.matter_briefs (case_id, id)
);

-- What was drawn to see how good a review was. The numbers that go into an interval are counted from the items when they are read.
CREATE TABLE record.validation_runs (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  code text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('control_set', 'elusion')),
  population text NOT NULL CHECK (population <> ''),
  population_size int NOT NULL CHECK (population_size > 0),
  stratum text,
  draw_method text NOT NULL,
  draw_seed text NOT NULL,
  sample_size int NOT NULL CHECK (sample_size BETWEEN 1 AND population_size),
  confidence numeric(4, 3) NOT NULL CHECK (confidence > 0 AND confidence < 1),
  -- Of an elusion run: what the review found in the rest of the collection, so that a recall can be derived.
  responsive_found int CHECK (responsive_found >= 0),
  reviewer text NOT NULL,
  blind boolean,
  drawn_at timestamptz NOT NULL,
  frozen_at timestamptz,
  report text,
  report_sha256 text CHECK (report_sha256 ~ '^[0-9a-f]{64}$'),
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  UNIQUE (case_id, code)
);

CREATE TABLE record.validation_items (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  run_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  retrieved boolean NOT NULL,
  responsive boolean,  -- null until it was coded
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (run_id, position),
  FOREIGN KEY (case_id, run_id) REFERENCES record.validation_runs (case_id, id)
);

CREATE TABLE record.inbound_imports (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  producing_party text NOT NULL,
  volume text NOT NULL,
  received_on date,
  load_file_sha256 text NOT NULL CHECK (load_file_sha256 ~ '^[0-9a-f]{64}$'),
  image_file_sha256 text CHECK (image_file_sha256 ~ '^[0-9a-f]{64}$'),
  member_set_sha256 text NOT NULL CHECK (member_set_sha256 ~ '^[0-9a-f]{64}$'),
  encoding text NOT NULL,
  delimiters text NOT NULL,
  row_count int NOT NULL CHECK (row_count >= 0),
  findings text[] NOT NULL DEFAULT '{}',
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  UNIQUE (case_id, producing_party, volume)
);

-- What came with an import, row by row: the first 500, which is as many as an answer shows. row_count has the whole.
CREATE TABLE record.import_members (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  import_id uuid NOT NULL,
  position int NOT NULL CHECK (position BETWEEN 1 AND 500),
  bates_begin text NOT NULL,
  bates_end text NOT NULL,
  sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  match text NOT NULL CHECK (match IN ('matched', 'unmatched', 'duplicate')),
  document_id uuid,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (import_id, position),
  FOREIGN KEY (case_id, import_id) REFERENCES record.inbound_imports (case_id, id),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id),
  CHECK ((match = 'matched') = (document_id IS NOT NULL))
);

CREATE TABLE record.import_attempts (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  import_id uuid NOT NULL,
  attempt int NOT NULL CHECK (attempt > 0),
  kind text NOT NULL CHECK (kind IN ('apply', 'replay')),
  at timestamptz NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('applied', 'nothing_new', 'refused', 'failed')),
  rows_written int NOT NULL CHECK (rows_written >= 0),
  detail text,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (import_id, attempt),
  FOREIGN KEY (case_id, import_id) REFERENCES record.inbound_imports (case_id, id)
);
CREATE TRIGGER import_attempts_stand BEFORE UPDATE OR DELETE ON record.import_attempts FOR EACH ROW EXECUTE FUNCTION record.refuse_change();

-- When a production was served: rows are only ever added. The texts leave only where they are asked for.
CREATE TABLE record.service_receipts (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  production_id uuid NOT NULL,
  served_at timestamptz NOT NULL,
  served_on text NOT NULL,
  means text NOT NULL CHECK (means IN ('electronic', 'mail', 'hand', 'file_transfer', 'other')),
  transmittal_text text,
  certificate_text text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, production_id) REFERENCES record.productions (case_id, id)
);
CREATE INDEX service_receipts_by_time ON record.service_receipts (case_id, served_at, id);
CREATE TRIGGER service_receipts_stand BEFORE UPDATE OR DELETE ON record.service_receipts FOR EACH ROW EXECUTE FUNCTION record.refuse_change();

-- The one digest of a production's frozen manifest: SHA-256 over a line a row, in order: position, first and last number, digest of the version.
CREATE FUNCTION record.manifest_sha256(production uuid) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT encode(sha256(convert_to(coalesce(string_agg(concat_ws(' ', m.position, m.bates_begin, m.bates_end, m.sha256), E'\n' ORDER BY m.position), ''), 'UTF8')), 'hex')
          FROM record.production_documents m WHERE m.production_id = production);

CREATE TABLE record.redaction_receipts (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  document_id uuid NOT NULL,
  source_version_id uuid NOT NULL,
  source_sha256 text NOT NULL CHECK (source_sha256 ~ '^[0-9a-f]{64}$'),
  derivative_id uuid NOT NULL,
  output_sha256 text NOT NULL CHECK (output_sha256 ~ '^[0-9a-f]{64}$'),
  region_count int NOT NULL CHECK (region_count >= 0),
  page_count int NOT NULL CHECK (page_count >= 0),
  pages int[] NOT NULL,
  reason_codes text[] NOT NULL DEFAULT '{}',
  -- Whether the text under the regions is gone from the output's text layer.
  text_check text NOT NULL CHECK (text_check IN ('text_removed', 'text_still_there', 'not_checked')),
  redacted_by text NOT NULL,
  redacted_at timestamptz NOT NULL,
  audit_seq bigint,  -- of the row of the audit chain that was appended with it
  audit_hash text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id),
  FOREIGN KEY (case_id, source_version_id) REFERENCES record.document_versions (case_id, id)
);
CREATE INDEX redaction_receipts_by_time ON record.redaction_receipts (case_id, redacted_at, id);

-- A receipt that is new gets a row of the audit chain, and names it. One that is written again does not.
CREATE FUNCTION record.chain_redaction() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  v_seq bigint := audit.append(NEW.recorded_by, 'record.redaction_receipts', NEW.case_id, 'recorded',
                             sha256(convert_to(concat_ws(' ', NEW.id, NEW.source_sha256, NEW.output_sha256), 'UTF8')));
BEGIN
  UPDATE record.redaction_receipts r SET audit_seq = v_seq, audit_hash = (SELECT encode(l.hash, 'hex') FROM audit.log l WHERE l.seq = v_seq)
   WHERE r.id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER redaction_is_chained AFTER INSERT ON record.redaction_receipts FOR EACH ROW EXECUTE FUNCTION record.chain_redaction();

CREATE TABLE record.stipulations (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  position int NOT NULL CHECK (position > 0),
  kind text NOT NULL CHECK (kind IN ('facts', 'extension_of_time', 'change_of_time', 'protective_order', 'dismissal', 'other')),
  title text NOT NULL CHECK (title <> ''),
  stipulated_by text,  -- as the source names them
  filed_on date,
  entry_number int,
  document_id uuid,
  order_entry_number int,  -- the order that rules on it, where one does
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, position),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id)
);

CREATE TABLE record.errata (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  transcript_id uuid NOT NULL,
  page int NOT NULL,
  line int,
  from_text text NOT NULL CHECK (from_text <> ''),
  to_text text NOT NULL,
  reason text,
  signed_on date,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, transcript_id) REFERENCES record.transcripts (case_id, id)
);
CREATE INDEX errata_by_place ON record.errata (transcript_id, page, line);

CREATE TABLE record.matter_outcomes (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  position int NOT NULL CHECK (position > 0),
  disposition text NOT NULL CHECK (disposition IN (
    'judgment', 'settlement', 'dismissed_with_prejudice', 'dismissed_without_prejudice', 'remanded', 'transferred', 'other')),
  for_whom text,
  relief text,
  amount text,
  decided_on date,
  decided_by text,
  appealed boolean,
  note text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, position)
);

-- What somebody found when they looked a reported place up: a case with its pages, or that there is none.
CREATE TABLE record.authorities (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  volume text NOT NULL,
  reporter text NOT NULL,
  page_from int NOT NULL,
  page_to int NOT NULL CHECK (page_to >= page_from),
  found boolean NOT NULL,
  name text,
  court text,
  year text,
  basis text NOT NULL,
  checked_at timestamptz NOT NULL,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, volume, reporter, page_from),
  CHECK (NOT found OR name IS NOT NULL)
);

CREATE TABLE record.cite_audits (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  document_version_id uuid NOT NULL,
  ran_at timestamptz NOT NULL,
  citations_found int NOT NULL,
  authorities_found int NOT NULL,
  not_parsed int NOT NULL,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id)
);
CREATE INDEX cite_audits_latest ON record.cite_audits (document_version_id, ran_at DESC);

ALTER TABLE record.cite_audit_findings
  ADD COLUMN audit_id uuid,
  ADD COLUMN cite text CHECK (cite <> ''),
  ADD COLUMN page int,
  ADD COLUMN expected text,
  ADD COLUMN closed_by text,
  ADD COLUMN closing_note text,
  ADD COLUMN provenance_id text REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  ADD COLUMN as_of timestamptz,
  ADD FOREIGN KEY (case_id, audit_id) REFERENCES record.cite_audits (case_id, id),
  ADD CHECK (kind IN ('authority_not_found', 'name_mismatch', 'court_or_year_mismatch', 'misquote', 'wrong_pincite', 'pincite_out_of_range',
                      'unresolved_short_form', 'not_checked')),
  ADD CHECK (closed_by IS NULL OR closed_at IS NOT NULL);
