-- method: Pages were taken as they were loaded; the words that each erratum corrects were looked for on its page.
-- store: transcripts
-- note: Testimony is shown as it was taken down: errata are listed beside it and change nothing in it.
WITH wanted AS (
  SELECT t.id, t.document_version_id, t.short_cite, t.provenance_id, t.as_of, n.page,
         CASE WHEN n.page = :page_from::int4 THEN nullif(:line_from::int4, 0) END AS first_line,
         CASE WHEN n.page = coalesce(nullif(:page_to::int4, 0), :page_from::int4) THEN nullif(:line_to::int4, 0) END AS last_line
    FROM record.transcripts t
   CROSS JOIN generate_series(:page_from::int4, coalesce(nullif(:page_to::int4, 0), :page_from::int4)) AS n (page)
   WHERE t.case_id = :case_id::uuid AND t.id = :transcript_id::uuid
)
SELECT w.page, x.text, x.line_from, x.line_to,
       w.short_cite || ' ' || w.page || CASE WHEN x.line_from IS NOT NULL THEN ':' || x.line_from || '-' || x.line_to ELSE '' END AS citation,
       e.errata, CASE WHEN g.urns IS NULL THEN ARRAY[w.provenance_id] ELSE array_prepend(w.provenance_id, g.urns) END AS provenance_ids,
       record.status_of(r.reason) AS verification_status, w.as_of,
       array_remove(ARRAY[
         record.reason_note(r.reason, 'Page ' || w.page, w.short_cite || ' ' || w.page, r.missing),
         CASE WHEN p.text IS NOT NULL AND p.line_numbers IS NULL AND (w.first_line IS NOT NULL OR w.last_line IS NOT NULL)
           THEN w.short_cite || ' ' || w.page || ': its lines bear no numbers in this transcription, so the whole page is shown.' END,
         CASE WHEN p.line_numbers IS NOT NULL AND x.text IS NULL THEN w.short_cite || ' ' || w.page || ': it has no such lines.' END
       ], NULL) || e.notes AS notes
  FROM wanted w
  LEFT JOIN record.document_pages p ON p.document_version_id = w.document_version_id AND p.page_number = w.page
 CROSS JOIN LATERAL record.source_reason(w.document_version_id, w.page, w.page, NULL) r
 CROSS JOIN LATERAL (
   SELECT string_agg(CASE WHEN l.number IS NULL THEN l.line ELSE l.number || ' ' || l.line END, E'\n' ORDER BY l.place) AS text,
          min(l.number) AS line_from, max(l.number) AS line_to
     FROM (
       SELECT k.line, k.number, k.place, max(k.number) OVER (ORDER BY k.place) AS reached
         FROM unnest(string_to_array(p.text, E'\n'), p.line_numbers) WITH ORDINALITY AS k (line, number, place)
     ) l
    WHERE p.line_numbers IS NULL
       OR ((w.first_line IS NULL OR coalesce(l.reached, 0) >= w.first_line) AND (w.last_line IS NULL OR coalesce(l.reached, 0) <= w.last_line))
 ) x
 CROSS JOIN LATERAL (
   SELECT coalesce(jsonb_agg(jsonb_build_object(
            'line', c.line, 'from_text', c.from_text, 'to_text', c.to_text, 'reason', c.reason, 'signed_on', c.signed_on,
            'provenance_ids', s.provenance_ids, 'verification_status', s.status) ORDER BY c.line, c.id), '[]') AS errata,
          coalesce(array_agg('Page ' || w.page || ' has an erratum' || coalesce(' at line ' || c.line, '') || ': it is listed and not applied.'), '{}') AS notes
     FROM record.errata c
    CROSS JOIN LATERAL record.row_status(c.id, c.from_text) s
    WHERE c.transcript_id = w.id AND c.page = w.page AND NOT s.withheld
 ) e
 CROSS JOIN LATERAL (
   SELECT array_agg(q.provenance_id ORDER BY q.position) AS urns FROM record.passages q
    WHERE q.document_version_id = w.document_version_id AND q.page_from = w.page
 ) g
 ORDER BY w.page
