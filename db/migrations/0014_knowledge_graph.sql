-- The knowledge graph of a matter: who and what occurs in it, how they are related, and the place that each statement was taken from.
-- Entities and relationships lie in one of two lanes. A reader of the client lane sees no row of the firm lane, whatever a statement forgets.

-- The lanes that the running transaction may see. A transaction that names none sees the client lane only.
CREATE FUNCTION record.lanes() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN current_setting('substrate.lane', true) = 'firm' THEN ARRAY['client', 'firm'] ELSE ARRAY['client'] END;

-- The lanes of an answer: what was asked for, as far as the reader may see it. A reader of the client lane gets it whatever was asked for.
CREATE FUNCTION record.lanes_asked(asked text) RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN asked = ANY(record.lanes()) THEN ARRAY[asked] ELSE record.lanes() END;

CREATE FUNCTION record.lane_note(asked text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
  WHEN 'firm' = ANY(record.lanes()) THEN NULL
  WHEN asked = 'firm' THEN 'The firm lane was asked for and the client lane was read: this key sees no other, whatever the arguments say.'
  ELSE 'The client lane was read: this key sees no other.'
END;

-- Likeness of names, for the reader who has one only in part or misspelled.
CREATE SCHEMA trigram;
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA trigram;

-- How well a name answers to the words asked for, 0 to 1000: the same, a part of it, or like it. 0 is no match.
CREATE FUNCTION record.likeness(words text, name text) RETURNS int LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
  WHEN lower(words) = lower(name) THEN 1000
  WHEN strpos(lower(name), lower(words)) > 0 THEN 900
  WHEN trigram.word_similarity(lower(words), lower(name)) >= 0.5 THEN (trigram.word_similarity(lower(words), lower(name)) * 800)::int
  ELSE 0
END;

CREATE TABLE record.kg_entities (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  kind text NOT NULL CHECK (kind IN ('person', 'organization', 'document', 'event', 'place', 'account')),
  name text NOT NULL CHECK (name <> ''),
  description text CHECK (description <> ''),
  attributes text[] NOT NULL DEFAULT '{}',
  lane text NOT NULL CHECK (lane IN ('client', 'firm')),
  merged_into uuid,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (case_id, id),
  FOREIGN KEY (case_id, merged_into) REFERENCES record.kg_entities (case_id, id) DEFERRABLE INITIALLY DEFERRED,
  CHECK (merged_into <> id)
);
CREATE INDEX kg_entities_by_case ON record.kg_entities (case_id, name);

-- Another name that a paper gives an entity, misprints among them.
CREATE TABLE record.kg_aliases (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  entity_id uuid NOT NULL,
  alias text NOT NULL CHECK (alias <> ''),
  note text,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (entity_id, alias),
  FOREIGN KEY (case_id, entity_id) REFERENCES record.kg_entities (case_id, id)
);

CREATE TABLE record.kg_relationships (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL,
  subject_id uuid NOT NULL,
  predicate text NOT NULL CHECK (predicate ~ '^[a-z][a-z_]{1,39}$'),
  object_id uuid NOT NULL,
  qualifier text CHECK (qualifier <> ''),
  valid_from date,
  valid_to date CHECK (valid_to >= valid_from),
  lane text NOT NULL CHECK (lane IN ('client', 'firm')),
  -- Whether a paper states it, or somebody concluded it.
  basis text NOT NULL CHECK (basis IN ('stated', 'inferred')),
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (case_id, subject_id) REFERENCES record.kg_entities (case_id, id),
  FOREIGN KEY (case_id, object_id) REFERENCES record.kg_entities (case_id, id),
  CHECK (subject_id <> object_id)
);
CREATE INDEX kg_relationships_by_subject ON record.kg_relationships (subject_id, predicate);
CREATE INDEX kg_relationships_by_object ON record.kg_relationships (object_id, predicate);
CREATE INDEX kg_relationships_by_case ON record.kg_relationships (case_id);

-- Where a statement of the graph was taken from, and by whom. A statement may have several places.
CREATE TABLE record.kg_provenance (
  urn text PRIMARY KEY CHECK (urn ~ '^urn:substrate:kg:prov:[0-9a-f-]{36}$'),
  case_id uuid NOT NULL REFERENCES record.matters,
  target_kind text NOT NULL CHECK (target_kind IN ('entity', 'alias', 'relationship')),
  target_id uuid NOT NULL,
  position int NOT NULL CHECK (position > 0),
  subject text NOT NULL CHECK (subject <> ''),  -- names the statement in a note
  document_version_id uuid,
  page_from int,
  page_to int,
  char_from int CHECK (char_from >= 0),  -- of the page's text, where the quote stands there letter by letter
  char_to int CHECK (char_to > char_from),
  locator text,
  quote text,  -- null where the statement's own name is what must stand there
  source_class text,
  extractor text NOT NULL CHECK (extractor <> ''),
  extractor_kind text NOT NULL CHECK (extractor_kind IN ('person', 'import', 'model')),
  extracted_at timestamptz NOT NULL,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (target_id, position),
  FOREIGN KEY (case_id, document_version_id) REFERENCES record.document_versions (case_id, id),
  CHECK ((page_from IS NULL) = (page_to IS NULL)),
  CHECK (page_to >= page_from),
  CHECK ((char_from IS NULL) = (char_to IS NULL))
);
CREATE INDEX kg_provenance_by_case ON record.kg_provenance (case_id);

-- Whether a statement of the graph may be shown at all: one whose every place is withheld says what only a withheld paper says.
CREATE FUNCTION record.kg_shown(target uuid) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN NOT EXISTS (SELECT FROM record.kg_provenance p WHERE p.target_id = target)
  OR EXISTS (SELECT FROM record.kg_provenance p WHERE p.target_id = target AND record.shown(p.document_version_id));

-- All places behind one statement, and the weakest of their checks. Where a place has no quote of its own, the statement's name must stand there.
CREATE FUNCTION record.kg_status(target uuid, words text)
RETURNS TABLE (provenance_ids text[], status text, notes text[], locator text, quote text) LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(array_agg(p.urn ORDER BY p.position), '{}'),
         record.weakest(array_agg(record.status_of(r.reason))),
         array_remove(array_agg(record.reason_note(r.reason, p.subject, p.locator, r.missing) ORDER BY p.position), NULL),
         (array_agg(p.locator ORDER BY p.position) FILTER (WHERE r.reason <> 'withheld'))[1],
         (array_agg(p.quote ORDER BY p.position) FILTER (WHERE r.reason <> 'withheld'))[1]
    FROM record.kg_provenance p
   CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, words)) r
   WHERE p.target_id = target
$$;

-- The names that papers give an entity, each checked.
CREATE FUNCTION record.kg_names(entity uuid) RETURNS TABLE (aliases jsonb, notes text[]) LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object(
           'id', a.id, 'alias', a.alias, 'note', a.note, 'citation', s.locator, 'provenance_ids', s.provenance_ids,
           'verification_status', s.status) ORDER BY a.alias), '[]'),
         array_remove(array_agg(s.notes[1]), NULL)
    FROM record.kg_aliases a
   CROSS JOIN LATERAL record.kg_status(a.id, a.alias) s
   WHERE a.entity_id = entity AND record.kg_shown(a.id)
$$;

-- Ways from one entity to another over relationships in these lanes, shortest first. Entities that no way of the asked length can lead through
-- are put aside before any way is walked, so that a crowded middle costs little.
CREATE FUNCTION record.kg_paths(matter uuid, origin uuid, target uuid, hops int, lanes text[], most int)
RETURNS TABLE (relationship_ids uuid[], entity_ids uuid[]) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE edges AS MATERIALIZED (
    SELECT r.id, e.a, e.b
      FROM record.kg_relationships r
      JOIN record.kg_entities s ON s.id = r.subject_id AND s.lane = ANY(lanes) AND s.merged_into IS NULL
      JOIN record.kg_entities o ON o.id = r.object_id AND o.lane = ANY(lanes) AND o.merged_into IS NULL
     CROSS JOIN LATERAL (VALUES (r.subject_id, r.object_id), (r.object_id, r.subject_id)) AS e (a, b)
     WHERE r.case_id = matter AND r.lane = ANY(lanes) AND record.kg_shown(r.id) AND record.kg_shown(s.id) AND record.kg_shown(o.id)
  ),
  reach AS (
    SELECT target AS node, 0 AS distance
    UNION
    SELECT e.a, r.distance + 1 FROM reach r JOIN edges e ON e.b = r.node WHERE r.distance < hops
  ),
  near AS MATERIALIZED (SELECT node, min(distance) AS distance FROM reach GROUP BY node),
  walk AS (
    SELECT '{}'::uuid[] AS relationship_ids, ARRAY[origin] AS entity_ids, origin AS at
     WHERE origin <> target
    UNION ALL
    SELECT w.relationship_ids || e.id, w.entity_ids || e.b, e.b
      FROM walk w
      JOIN edges e ON e.a = w.at
      JOIN near n ON n.node = e.b
     WHERE w.at <> target AND e.b <> ALL(w.entity_ids) AND cardinality(w.relationship_ids) + 1 + n.distance <= hops
  ),
  found AS (SELECT w.relationship_ids, w.entity_ids FROM walk w WHERE w.at = target LIMIT 1000)
  SELECT f.relationship_ids, f.entity_ids FROM found f ORDER BY cardinality(f.relationship_ids), f.relationship_ids LIMIT most
$$;

-- The steps of a way, each as its relationship states it and each checked.
CREATE FUNCTION record.kg_steps(relationship_ids uuid[], entity_ids uuid[])
RETURNS TABLE (steps jsonb, provenance_ids text[], status text, notes text[], as_of timestamptz) LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT jsonb_agg(jsonb_build_object(
           'relationship_id', r.id, 'subject_id', s.id, 'subject_name', s.name, 'predicate', r.predicate, 'object_id', o.id, 'object_name', o.name,
           'qualifier', r.qualifier, 'against_direction', r.subject_id <> entity_ids[n.i], 'quote', k.quote, 'citation', k.locator,
           'provenance_ids', k.provenance_ids, 'verification_status', k.status) ORDER BY n.i),
         ARRAY(SELECT p.urn FROM record.kg_provenance p WHERE p.target_id = ANY(relationship_ids) ORDER BY p.urn), record.weakest(array_agg(k.status)), array_remove(array_agg(DISTINCT k.notes[1]), NULL),
         CASE WHEN bool_and(r.as_of IS NOT NULL) THEN min(r.as_of) END
    FROM unnest(relationship_ids) WITH ORDINALITY AS n (id, i)
    JOIN record.kg_relationships r ON r.id = n.id
    JOIN record.kg_entities s ON s.id = r.subject_id
    JOIN record.kg_entities o ON o.id = r.object_id
   CROSS JOIN LATERAL record.kg_status(r.id, NULL) k
$$;
