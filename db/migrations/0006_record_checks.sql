-- How far a row was checked, computed whenever it is read, from what is behind it at that moment.

-- What became of a check: 'found' where the words stand on the page; otherwise the reason why not.
-- A set-returning function in plain SQL, so that the planner folds it into the statement that calls it.
CREATE FUNCTION record.source_reason(version uuid, page_from int, page_to int, quote text) RETURNS TABLE (reason text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT CASE
    WHEN version IS NULL THEN 'no_source'
    WHEN v.sha256 IS NULL THEN 'version_not_loaded'
    WHEN page_from IS NULL AND quote IS NOT NULL THEN 'no_page'
    WHEN page_from IS NULL AND EXISTS (SELECT FROM record.document_pages any_page WHERE any_page.document_version_id = version) THEN 'custody'
    WHEN page_from IS NULL THEN 'page_not_loaded'
    WHEN p.loaded <= page_to - page_from THEN 'page_not_loaded'
    WHEN p.with_text < p.loaded THEN 'no_text'
    WHEN quote IS NULL THEN 'page'
    WHEN record.stands_in(quote, p.text, p.normalized, p.numbered) THEN CASE WHEN p.ocr THEN 'found_in_ocr' ELSE 'found' END
    WHEN p.ocr THEN 'ocr_differs'
    ELSE 'quote_not_on_page'
  END
  FROM (VALUES (1)) AS one (n)
  LEFT JOIN record.document_versions v ON v.id = version
  LEFT JOIN LATERAL (
    SELECT count(*) AS loaded, count(page.text) AS with_text, bool_or(page.text_source = 'ocr') AS ocr,
           bool_or(page.line_numbers IS NOT NULL) AS numbered,
           string_agg(page.text, E'\n' ORDER BY page.page_number) AS text,
           string_agg(page.normalized, ' ' ORDER BY page.page_number) AS normalized
      FROM record.document_pages page
     WHERE page.document_version_id = version AND page.page_number BETWEEN page_from AND page_to
  ) p ON true
$$;

CREATE FUNCTION record.status_of(reason text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN reason IN ('found', 'found_in_ocr', 'page', 'custody') THEN 'grounded'
  WHEN reason IN ('no_source', 'quote_not_on_page') THEN 'ungrounded'
  ELSE 'unknown'
END;

-- The check in one call, for one place.
CREATE FUNCTION record.source_status(version uuid, page_from int, page_to int, quote text) RETURNS TABLE (status text, reason text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT record.status_of(r.reason), r.reason FROM record.source_reason(version, page_from, page_to, quote) r
$$;

-- The note for a row that is not simply found; null for one that is.
CREATE FUNCTION record.reason_note(reason text, subject text, locator text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE reason
  WHEN 'no_source' THEN subject || ': it cites no source in the record.'
  WHEN 'version_not_loaded' THEN subject || ': its source is known by an index only and is not loaded, so nothing was checked.'
  WHEN 'no_page' THEN subject || ': its source is cited without a page, so nothing was checked.'
  WHEN 'page_not_loaded' THEN subject || ': ' || coalesce(locator, 'the cited page') || ' is not loaded, so it was not checked.'
  WHEN 'no_text' THEN subject || ': ' || coalesce(locator, 'the cited page') || ' has no text layer, so it was not checked.'
  WHEN 'quote_not_on_page' THEN subject || ': the quote is not on ' || coalesce(locator, 'the cited page') || '.'
  WHEN 'ocr_differs' THEN subject || ': the quote was not found in the machine-read text of ' || coalesce(locator, 'the cited page')
    || '; machine reading gets letters wrong, so this counts as not checked.'
  WHEN 'found_in_ocr' THEN subject || ': the quote was found in machine-read text, ' || coalesce(locator, 'the cited page') || '.'
END;

-- The weakest of several statuses; a row with nothing behind it is ungrounded.
CREATE FUNCTION record.weakest(statuses text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN 'unknown' = ANY(statuses) THEN 'unknown'
  WHEN 'ungrounded' = ANY(statuses) THEN 'ungrounded'
  WHEN 'grounded' = ANY(statuses) THEN 'grounded'
  ELSE 'ungrounded'
END;

-- All places behind one row, and the weakest of their checks. Where a place has no quote of its own, the row's words must stand there:
-- `words` at its source, `others` at its other places, such as an index or where the court rules.
CREATE FUNCTION record.row_status(target uuid, words text, others text DEFAULT NULL)
RETURNS TABLE (provenance_ids text[], status text, notes text[], locator text, quote text) LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(array_agg(p.urn ORDER BY p.role DESC), '{}'),
         record.weakest(array_agg(record.status_of(r.reason))),
         array_remove(array_agg(record.reason_note(r.reason, p.subject, p.locator) ORDER BY p.role DESC), NULL),
         max(p.locator) FILTER (WHERE p.role = 'source'),
         max(p.quote) FILTER (WHERE p.role = 'source')
    FROM record.provenance p
   CROSS JOIN LATERAL record.source_reason(
     p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, CASE p.role WHEN 'source' THEN words ELSE others END)) r
   WHERE p.target_id = target
$$;

-- Writes rows of one table from JSON: new ones are inserted, changed ones updated, the others left alone. Returns how many were written.
CREATE FUNCTION record.load_rows(table_name text, rows jsonb) RETURNS int LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  relation regclass := format('record.%I', table_name)::regclass;
  columns text;
  changes text;
  ours text;
  theirs text;
  keys text;
  written int;
BEGIN
  SELECT string_agg(format('%I', k), ', '), string_agg(format('%I = excluded.%I', k, k), ', '),
         string_agg(format('t.%I', k), ', '), string_agg(format('excluded.%I', k), ', ')
    INTO columns, changes, ours, theirs
    FROM jsonb_object_keys(rows -> 0) k;
  IF columns IS NULL THEN
    RETURN 0;
  END IF;
  SELECT string_agg(format('%I', a.attname), ', ') INTO keys
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
   WHERE i.indrelid = relation AND i.indisprimary;
  EXECUTE format(
    'INSERT INTO %s AS t (%s) SELECT %s FROM jsonb_populate_recordset(NULL::%s, $1) ON CONFLICT (%s) DO UPDATE SET %s WHERE (%s) IS DISTINCT FROM (%s)',
    relation, columns, columns, relation, keys, changes, ours, theirs) USING rows;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

-- The quotes behind a fact, each checked, and the weakest of them.
CREATE FUNCTION record.fact_quotes(fact uuid, code text) RETURNS TABLE (quotes jsonb, provenance_ids text[], status text, notes text[])
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object(
           'assertion_id', a.id, 'quote', a.quote, 'source_class', a.source_class, 'party', a.party, 'stance', a.stance,
           'document_title', d.title, 'document_id', d.id, 'page_from', a.page_from, 'page_to', a.page_to, 'citation', p.locator,
           'provenance_ids', jsonb_build_array(a.provenance_id), 'verification_status', record.status_of(r.reason)) ORDER BY a.position), '[]'),
         coalesce(array_agg(a.provenance_id ORDER BY a.position), '{}'),
         record.weakest(array_agg(record.status_of(r.reason))),
         CASE WHEN count(*) = 0 THEN ARRAY[code || ': no quote stands behind it.']
              ELSE array_remove(array_agg(record.reason_note(r.reason, code, p.locator) ORDER BY a.position), NULL) END
    FROM record.case_fact_assertions a
    JOIN record.provenance p ON p.urn = a.provenance_id
    LEFT JOIN record.document_versions v ON v.id = a.document_version_id
    LEFT JOIN record.documents d ON d.id = v.document_id
   CROSS JOIN LATERAL record.source_reason(a.document_version_id, a.page_from, a.page_to, a.quote) r
   WHERE a.fact_id = fact
$$;

-- The claim elements that a fact is linked to, each checked against the paper that states it.
CREATE FUNCTION record.fact_elements(fact uuid) RETURNS TABLE (elements jsonb, notes text[]) LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object(
           'element_id', e.id, 'code', e.code, 'text', e.text, 'role', l.role, 'linked_by', l.linked_by,
           'provenance_ids', s.provenance_ids, 'verification_status', s.status) ORDER BY e.code), '[]'),
         array_remove(array_agg(s.notes[1]), NULL)
    FROM record.fact_element_links l
    JOIN record.claim_elements e ON e.id = l.element_id
   CROSS JOIN LATERAL record.row_status(e.id, e.text) s
   WHERE l.fact_id = fact
$$;

-- What a model last proposed about a fact's posture; null where none did.
CREATE FUNCTION record.latest_posture_proposal(fact uuid) RETURNS TABLE (proposal jsonb) LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT (SELECT jsonb_build_object('proposed_posture', m.proposed_posture, 'model', m.model, 'basis', m.basis, 'proposed_at', m.proposed_at,
                                    'effect', 'Changes nothing until an attorney acts.')
            FROM record.fact_posture_proposals m WHERE m.fact_id = fact ORDER BY m.proposed_at DESC, m.id LIMIT 1)
$$;
