-- Documents, their versions, pages and passages, and where every other row comes from.
CREATE TABLE record.documents (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  title text NOT NULL CHECK (title <> ''),
  document_type text NOT NULL,
  short_cite text,
  document_date date,
  date_kind text,
  author text,
  recipients text[] NOT NULL DEFAULT '{}',
  custodian text,
  control_number text,
  bates_begin text,
  bates_end text,
  confidentiality text,
  docket_entry_number int,
  parent_id uuid,
  -- Null means that nobody has classed it, and a document that nobody has classed is never shown.
  privilege_class text CHECK (privilege_class IN (
    'not_privileged', 'attorney_client', 'work_product_ordinary', 'work_product_opinion', 'common_interest', 'joint_defense',
    'mediation_or_408', 'medical_or_other', 'unreviewed')),
  privilege_basis text[] NOT NULL DEFAULT '{}',
  reviewed_by text,
  reviewed_at timestamptz,
  provenance_id text NOT NULL,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  FOREIGN KEY (case_id, parent_id) REFERENCES record.documents (case_id, id),
  CHECK ((reviewed_by IS NULL) = (reviewed_at IS NULL))
);
CREATE INDEX documents_by_date ON record.documents (case_id, document_date, title, id);

-- Reviewed and found not privileged: the one rule for what may leave.
CREATE FUNCTION record.producible(privilege_class text, reviewed_at timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(privilege_class = 'not_privileged' AND reviewed_at IS NOT NULL, false);

CREATE TABLE record.document_versions (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  document_id uuid NOT NULL,
  sha256 text CHECK (sha256 ~ '^[0-9a-f]{64}$'),  -- null: known by an index only, the bytes were never here
  byte_count int CHECK (byte_count >= 0),
  media_type text,
  page_count int CHECK (page_count >= 0),
  -- The files that the version was read from; where there are several, sha256 is of their bytes one after the other.
  files jsonb NOT NULL DEFAULT '[]',
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id)
);
CREATE INDEX document_versions_by_document ON record.document_versions (document_id, created_at DESC);

-- The version that a reader is shown: the one that was loaded last. Earlier ones stay, for what was cited from them.
CREATE FUNCTION record.current_version(document uuid) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT v.id FROM record.document_versions v WHERE v.document_id = document ORDER BY v.created_at DESC, v.id LIMIT 1);

CREATE TABLE record.document_pages (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  document_version_id uuid NOT NULL,
  page_number int NOT NULL CHECK (page_number >= 0),
  label text NOT NULL,
  text text,
  text_source text NOT NULL CHECK (text_source IN ('native', 'ocr', 'none')),
  -- For pages with numbered lines: the number of each line of the text, null for a line that bears none.
  line_numbers int[],
  normalized text GENERATED ALWAYS AS (record.normalize(text)) STORED,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (document_version_id, page_number),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id),
  CHECK ((text IS NULL) = (text_source = 'none'))
);

CREATE TABLE record.passages (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  document_id uuid NOT NULL,
  document_version_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  page_from int NOT NULL,
  page_to int NOT NULL CHECK (page_to >= page_from),
  page_label text NOT NULL,
  line_from int,
  line_to int,
  text text NOT NULL CHECK (text <> ''),
  text_source text NOT NULL CHECK (text_source IN ('native', 'ocr')),
  provenance_id text NOT NULL,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (document_version_id, position),
  FOREIGN KEY (case_id, document_id) REFERENCES record.documents (case_id, id),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id)
);
CREATE INDEX passages_by_page ON record.passages (document_version_id, page_from, position);
CREATE INDEX passages_by_case ON record.passages (case_id);

-- What a cite audit found in a version. No row is not a clean bill: it is not evidence that an audit ran.
CREATE TABLE record.cite_audit_findings (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  document_version_id uuid NOT NULL,
  kind text NOT NULL,
  closed_at timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id)
);
CREATE INDEX cite_audit_findings_open ON record.cite_audit_findings (document_version_id) WHERE closed_at IS NULL;

-- Where a row comes from: version, pages and the words that bear it out. A row may have several, one a role.
CREATE TABLE record.provenance (
  urn text PRIMARY KEY CHECK (urn ~ '^urn:substrate:record:[a-z_]+:[0-9a-f-]{36}$'),
  case_id uuid NOT NULL REFERENCES record.matters,
  target_table text NOT NULL,
  target_id uuid NOT NULL,
  role text NOT NULL DEFAULT 'source' CHECK (role IN ('source', 'index', 'ruling')),
  subject text NOT NULL CHECK (subject <> ''),  -- names the row in a note
  document_version_id uuid,
  page_from int,
  page_to int,
  locator text,  -- names the place in a note and in a cite
  quote text,  -- null where the row's own text is what must stand there
  source_class text,
  extractor text NOT NULL,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (target_id, role),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id),
  CHECK ((page_from IS NULL) = (page_to IS NULL)),
  CHECK (page_to >= page_from)
);
CREATE INDEX provenance_by_case ON record.provenance (case_id);

-- A row and its provenance come in one transaction, in either order.
ALTER TABLE record.matters ADD FOREIGN KEY (provenance_id) REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE record.documents ADD FOREIGN KEY (provenance_id) REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE record.passages ADD FOREIGN KEY (provenance_id) REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED;
