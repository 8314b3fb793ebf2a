-- With whose credential a model is asked. Only sealed bytes are kept: what opens them is not with auth, and not in the database.
CREATE TABLE auth.inference_credentials (
  id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('personal', 'firm', 'platform')),
  owner_id uuid REFERENCES auth.users,
  sealed bytea NOT NULL CHECK (length(sealed) BETWEEN 29 AND 1024),
  set_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((kind = 'personal') = (owner_id IS NOT NULL))
);
CREATE UNIQUE INDEX inference_credentials_one_each ON auth.inference_credentials (kind, coalesce(owner_id, '00000000-0000-0000-0000-000000000000'));

-- The passages that a retrieval may look at: of current versions of documents that may be produced, within what was asked.
CREATE FUNCTION record.retrievable(matter uuid, document uuid, kind text, dated_from text, dated_to text)
RETURNS SETOF record.passages LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT g.*
    FROM record.passages g
    JOIN record.documents d ON d.id = g.document_id AND record.producible(d.privilege_class, d.reviewed_at)
   WHERE g.case_id = matter AND g.document_version_id = record.current_version(d.id)
     AND (document IS NULL OR d.id = document)
     AND (kind IS NULL OR lower(d.document_type) = lower(kind))
     AND (dated_from IS NULL OR d.document_date::text >= dated_from)
     AND (dated_to IS NULL OR d.document_date::text <= dated_to)
$$;

-- A question in somebody's own words as a search for any of its words.
CREATE FUNCTION record.any_word(question text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN replace(plainto_tsquery('english'::regconfig, question)::text, ' & ', ' | ')::tsquery;

-- The words of a question that are worth looking for by likeness: long enough to be unlike others.
CREATE FUNCTION record.long_words(question text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT w.word FROM (
    SELECT DISTINCT m[1] AS word FROM regexp_matches(lower(left(question, 1000)), '[[:alpha:]]{5,}', 'g') AS m
  ) w WHERE numnode(plainto_tsquery('english'::regconfig, w.word)) > 0 ORDER BY w.word LIMIT 12
$$;
