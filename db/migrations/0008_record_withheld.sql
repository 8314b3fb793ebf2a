-- Words of a document that may not be produced are in no answer, wherever a row repeats them; and a document counts as shown as a whole only
-- with all of its pages. Row security hides versions and pages of such a document, and a version that is there and cannot be seen is withheld.

-- Whether the words of a source may be shown to this reader. A row without a source repeats nobody's words.
CREATE FUNCTION record.shown(version uuid) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN version IS NULL OR EXISTS (SELECT FROM record.document_versions v WHERE v.id = version);

DROP FUNCTION record.fact_elements(uuid);
DROP FUNCTION record.fact_quotes(uuid, text);
DROP FUNCTION record.row_status(uuid, text, text);
DROP FUNCTION record.reason_note(text, text, text);
DROP FUNCTION record.source_status(uuid, int, int, text);
DROP FUNCTION record.source_reason(uuid, int, int, text);

-- What can be said of a document as a whole: custody is shown by a digest and by every page that the version says it has.
CREATE FUNCTION record.whole_reason(sha256 text, page_count int, loaded bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN sha256 IS NULL THEN 'version_not_loaded'
  WHEN loaded = 0 THEN 'page_not_loaded'
  WHEN page_count IS NULL THEN 'pages_uncounted'
  WHEN loaded < page_count THEN 'pages_missing'
  ELSE 'custody'
END;

-- What became of a check: 'found' where the words stand on the page; otherwise the reason why not. Where a document is cited as a whole and
-- pages of it are not loaded, `missing` says how many, as in "50 of 205".
-- A set-returning function in plain SQL, so that the planner folds it into the statement that calls it.
CREATE FUNCTION record.source_reason(version uuid, page_from int, page_to int, quote text) RETURNS TABLE (reason text, missing text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT CASE
    WHEN version IS NULL THEN 'no_source'
    WHEN v.id IS NULL THEN 'withheld'
    WHEN v.sha256 IS NULL THEN 'version_not_loaded'
    WHEN page_from IS NULL AND quote IS NOT NULL THEN 'no_page'
    WHEN page_from IS NULL THEN record.whole_reason(v.sha256, v.page_count, w.loaded)
    WHEN p.loaded <= page_to - page_from THEN 'page_not_loaded'
    WHEN p.with_text < p.loaded THEN 'no_text'
    WHEN quote IS NULL THEN 'page'
    WHEN record.stands_in(quote, p.text, p.normalized, p.numbered) THEN CASE WHEN p.ocr THEN 'found_in_ocr' ELSE 'found' END
    WHEN p.ocr THEN 'ocr_differs'
    ELSE 'quote_not_on_page'
  END,
  CASE WHEN page_from IS NULL AND quote IS NULL AND w.loaded < v.page_count THEN (v.page_count - w.loaded) || ' of ' || v.page_count END
  FROM (VALUES (1)) AS one (n)
  LEFT JOIN record.document_versions v ON v.id = version
  LEFT JOIN LATERAL (
    SELECT count(*) AS loaded FROM record.document_pages page WHERE page.document_version_id = version AND page_from IS NULL AND quote IS NULL
  ) w ON true
  LEFT JOIN LATERAL (
    SELECT count(*) AS loaded, count(page.text) AS with_text, bool_or(page.text_source = 'ocr') AS ocr,
           bool_or(page.line_numbers IS NOT NULL) AS numbered,
           string_agg(page.text, E'\n' ORDER BY page.page_number) AS text,
           string_agg(page.normalized, ' ' ORDER BY page.page_number) AS normalized
      FROM record.document_pages page
     WHERE page.document_version_id = version AND page.page_number BETWEEN page_from AND page_to
  ) p ON true
$$;

-- The check in one call, for one place.
CREATE FUNCTION record.source_status(version uuid, page_from int, page_to int, quote text) RETURNS TABLE (status text, reason text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT record.status_of(r.reason), r.reason FROM record.source_reason(version, page_from, page_to, quote) r
$$;

-- The note for a row that is not simply found; null for one that is.
CREATE FUNCTION record.reason_note(reason text, subject text, locator text, missing text DEFAULT NULL) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE reason
  WHEN 'no_source' THEN subject || ': it cites no source in the record.'
  WHEN 'withheld' THEN subject || ': its source is withheld, so its words are not shown and were not checked.'
  WHEN 'version_not_loaded' THEN subject || ': its source is known by an index only and is not loaded, so nothing was checked.'
  WHEN 'no_page' THEN subject || ': its source is cited without a page, so nothing was checked.'
  WHEN 'page_not_loaded' THEN subject || ': ' || coalesce(locator, 'the cited page') || ' is not loaded, so it was not checked.'
  WHEN 'pages_missing' THEN subject || ': ' || coalesce(missing, 'some') || ' pages are not loaded, so the document as a whole does not count as grounded.'
  WHEN 'pages_uncounted' THEN subject || ': how many pages its source has is not recorded, so the document as a whole does not count as grounded.'
  WHEN 'no_text' THEN subject || ': ' || coalesce(locator, 'the cited page') || ' has no text layer, so it was not checked.'
  WHEN 'quote_not_on_page' THEN subject || ': the quote is not on ' || coalesce(locator, 'the cited page') || '.'
  WHEN 'ocr_differs' THEN subject || ': the quote was not found in the machine-read text of ' || coalesce(locator, 'the cited page')
    || '; machine reading gets letters wrong, so this counts as not checked.'
  WHEN 'found_in_ocr' THEN subject || ': the quote was found in machine-read text, ' || coalesce(locator, 'the cited page') || '.'
END;

-- All places behind one row, and the weakest of their checks. Where a place has no quote of its own, the row's words must stand there:
-- `words` at its source, `others` at its other places, such as an index or where the court rules. `withheld` says that one of these places
-- may not be shown: whoever calls then shows no words that the row repeats from there.
CREATE FUNCTION record.row_status(target uuid, words text, others text DEFAULT NULL)
RETURNS TABLE (provenance_ids text[], status text, notes text[], locator text, quote text, withheld boolean)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(array_agg(p.urn ORDER BY p.role DESC), '{}'),
         record.weakest(array_agg(record.status_of(r.reason))),
         array_remove(array_agg(record.reason_note(r.reason, p.subject, p.locator, r.missing) ORDER BY p.role DESC), NULL),
         max(p.locator) FILTER (WHERE p.role = 'source'),
         max(p.quote) FILTER (WHERE p.role = 'source' AND r.reason <> 'withheld'),
         coalesce(bool_or(r.reason = 'withheld'), false)
    FROM record.provenance p
   CROSS JOIN LATERAL record.source_reason(
     p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, CASE p.role WHEN 'source' THEN words ELSE others END)) r
   WHERE p.target_id = target
$$;

-- Whether what the firm says of a fact may be shown. Nobody can tell how closely a proposition follows its source, so where one of its sources
-- is withheld it is withheld too.
CREATE FUNCTION record.fact_shown(fact uuid) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
RETURN NOT EXISTS (
  SELECT FROM record.case_fact_assertions a
   WHERE a.fact_id = fact AND a.document_version_id IS NOT NULL
     AND NOT EXISTS (SELECT FROM record.document_versions v WHERE v.id = a.document_version_id));

-- The quotes behind a fact, each checked, and the weakest of them. A quote whose source is withheld is not shown.
CREATE FUNCTION record.fact_quotes(fact uuid, code text)
RETURNS TABLE (quotes jsonb, provenance_ids text[], status text, notes text[], withheld boolean)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_object(
           'assertion_id', a.id, 'quote', CASE WHEN r.reason <> 'withheld' THEN a.quote END, 'source_class', a.source_class, 'party', a.party,
           'stance', a.stance, 'document_title', d.title, 'document_id', d.id, 'page_from', a.page_from, 'page_to', a.page_to,
           'citation', p.locator, 'provenance_ids', jsonb_build_array(a.provenance_id),
           'verification_status', record.status_of(r.reason)) ORDER BY a.position), '[]'),
         coalesce(array_agg(a.provenance_id ORDER BY a.position), '{}'),
         record.weakest(array_agg(record.status_of(r.reason))),
         CASE WHEN count(*) = 0 THEN ARRAY[code || ': no quote stands behind it.']
              ELSE array_remove(array_agg(record.reason_note(r.reason, code, p.locator, r.missing) ORDER BY a.position), NULL) END,
         coalesce(bool_or(r.reason = 'withheld'), false)
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
           'element_id', e.id, 'code', e.code, 'text', CASE WHEN NOT s.withheld THEN e.text END, 'role', l.role, 'linked_by', l.linked_by,
           'provenance_ids', s.provenance_ids, 'verification_status', s.status) ORDER BY e.code), '[]'),
         array_remove(array_agg(s.notes[1]), NULL)
    FROM record.fact_element_links l
    JOIN record.claim_elements e ON e.id = l.element_id
   CROSS JOIN LATERAL record.row_status(e.id, e.text) s
   WHERE l.fact_id = fact
$$;

-- What a model last proposed about a fact's posture; null where none did. Its reasons may repeat the sources, so they are shown as these are.
CREATE OR REPLACE FUNCTION record.latest_posture_proposal(fact uuid) RETURNS TABLE (proposal jsonb)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 1 AS $$
  SELECT (SELECT jsonb_build_object('proposed_posture', m.proposed_posture, 'model', m.model,
                                    'basis', CASE WHEN record.fact_shown(fact) THEN m.basis END, 'proposed_at', m.proposed_at,
                                    'effect', 'Changes nothing until an attorney acts.')
            FROM record.fact_posture_proposals m WHERE m.fact_id = fact ORDER BY m.proposed_at DESC, m.id LIMIT 1)
$$;

-- Whether an entry of an older sidecar of designations says what one has to say: pages, lines, side and kind as the register has them.
CREATE FUNCTION record.readable_designation(entry jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
  WHEN coalesce(
    (entry ->> 'page_from') ~ '^[0-9]{1,6}$' AND coalesce(entry ->> 'page_to', '0') ~ '^[0-9]{1,6}$'
    AND coalesce(entry ->> 'line_from', '0') ~ '^[0-9]{1,6}$' AND coalesce(entry ->> 'line_to', '0') ~ '^[0-9]{1,6}$'
    AND (entry ->> 'side') IN ('plaintiffs', 'defendants', 'joint', 'court')
    AND (entry ->> 'kind') IN ('affirmative', 'counter', 'completeness'), false)
  THEN coalesce(entry ->> 'page_to', entry ->> 'page_from')::int >= (entry ->> 'page_from')::int
  ELSE false
END;

-- How many rows that an importer wrote for a matter are not among those it has now: they stay, and the operator is told.
CREATE FUNCTION record.left_over(table_name text, matter uuid, keys text[]) RETURNS int LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
DECLARE
  relation regclass := format('record.%I', table_name)::regclass;
  key text;
  found int;
BEGIN
  SELECT a.attname INTO STRICT key
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
   WHERE i.indrelid = relation AND i.indisprimary;
  EXECUTE format(
    'SELECT count(*) FROM %s t LEFT JOIN unnest($2) k (key) ON k.key = t.%I::text
      WHERE t.case_id = $1 AND t.recorded_by LIKE ''import:%%'' AND k.key IS NULL', relation, key) INTO found USING matter, keys;
  RETURN found;
END $$;
