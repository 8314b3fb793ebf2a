-- method: Each quote was looked for, letter by letter after typographic normalization, on the page cited for it; check_result says what was found.
-- store: case_fact_assertions
-- fallback: get_fact_provenance.before_670.sql
-- fallback_when: retired_at, merged_into
-- fallback_note: The live distinction is unavailable: this installation does not record which facts are retired or merged, so this may be a fact that no longer counts, and nothing here is above unknown.
WITH chosen AS (
  SELECT a.*, f.code AS fact_code, f.proposition, f.retired_at, f.merged_into, lpad(a.position::text, 8, '0') || a.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.case_fact_assertions a
    JOIN record.case_fact_records f ON f.id = a.fact_id
   WHERE a.case_id = :case_id::uuid AND f.case_id = :case_id::uuid AND (f.code = :fact::text OR f.id::text = lower(:fact::text))
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT a.id, a.fact_id, a.fact_code,
       CASE WHEN record.fact_shown(a.fact_id) THEN a.proposition END AS proposition,
       CASE WHEN r.reason <> 'withheld' THEN a.quote END AS quote, a.source_class, a.party, a.stance, a.under_oath,
       d.title AS document_title, d.id AS document_id, v.id AS document_version_id, v.sha256 AS document_sha256, a.page_from, a.page_to,
       (SELECT g.id FROM record.passages g WHERE g.document_version_id = a.document_version_id AND g.page_from = a.page_from
         ORDER BY g.position LIMIT 1) AS passage_id,
       CASE r.reason WHEN 'found' THEN 'The quote stands on ' || coalesce(p.locator, 'the cited page') || '.'
                     WHEN 'page' THEN coalesce(p.locator, 'The cited page') || ' is loaded; the assertion quotes no words of it.'
                     WHEN 'custody' THEN 'The document is loaded with every page that it says it has; the assertion cites no page of it.'
                     ELSE record.reason_note(r.reason, a.fact_code, p.locator, r.missing) END AS check_result,
       a.recorded_by, a.as_of, p.locator AS citation,
       ARRAY[a.provenance_id] AS provenance_ids, record.status_of(r.reason) AS verification_status,
       array_remove(ARRAY[
         a.fact_code || ': this fact was retired on ' || to_char(a.retired_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') || ' and no longer counts.',
         CASE WHEN a.merged_into IS NOT NULL THEN a.fact_code || ': this fact was merged into ' || into_fact.code || ' and no longer counts by itself.' END,
         record.reason_note(r.reason, a.fact_code, p.locator, r.missing)
       ], NULL) AS notes, a.cursor_key, a.total_count
  FROM page a
  JOIN record.provenance p ON p.urn = a.provenance_id
  LEFT JOIN record.case_fact_records into_fact ON into_fact.id = a.merged_into
  LEFT JOIN record.document_versions v ON v.id = a.document_version_id
  LEFT JOIN record.documents d ON d.id = v.document_id
 CROSS JOIN LATERAL record.source_reason(a.document_version_id, a.page_from, a.page_to, a.quote) r
 ORDER BY a.cursor_key
