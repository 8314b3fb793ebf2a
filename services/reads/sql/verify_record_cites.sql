-- shape: own
-- method: Each record cite was looked up in the ledgers of Bates numbers, transcripts, docket entries and exhibits; whether the place bears out what it is cited for was not checked.
-- store: documents
-- note: Looked for: Bates numbers, transcript pages, docket entries and exhibits. Cites of other forms, such as paragraphs, were not looked for.
SELECT 'bates' AS kind, substring(d.bates_begin FROM '^[A-Za-z]+') AS name,
       substring(d.bates_begin FROM '[0-9]+$')::int AS number_from, substring(d.bates_end FROM '[0-9]+$')::int AS number_to,
       d.bates_begin || '-' || d.bates_end || ', ' || d.title AS label, NULL::text AS pages, false AS complete, d.provenance_id, d.as_of
  FROM record.documents d
 WHERE d.case_id = :case_id::uuid AND d.bates_begin ~ '^[A-Za-z]+[-_ ]?[0-9]{1,9}$' AND d.bates_end ~ '[0-9]{1,9}$'
 UNION ALL
SELECT CASE t.kind WHEN 'deposition' THEN 'deposition' ELSE 'trial' END, t.witness, 0, 0, t.short_cite, g.pages, coalesce(g.loaded = v.page_count, false),
       t.provenance_id, t.as_of
  FROM record.transcripts t
  JOIN record.document_versions v ON v.id = t.document_version_id
 CROSS JOIN LATERAL (
   SELECT count(*) AS loaded, json_object_agg(p.page_number, (SELECT max(n) FROM unnest(p.line_numbers) n))::text AS pages
     FROM record.document_pages p WHERE p.document_version_id = t.document_version_id
 ) g
 WHERE t.case_id = :case_id::uuid
 UNION ALL
SELECT 'ecf', NULL, e.entry_number, a.last, 'ECF No. ' || e.entry_number, NULL, false, e.provenance_id, e.as_of
  FROM record.docket_entries e
 CROSS JOIN LATERAL (
   SELECT coalesce(max(t.attachment_number), 0) AS last FROM record.docket_attachments t WHERE t.docket_entry_id = e.id
 ) a
 WHERE e.case_id = :case_id::uuid AND e.entry_number IS NOT NULL
 UNION ALL
SELECT 'exhibit', x.side, x.number_from, x.number_to, p.subject, NULL, false, x.provenance_id, x.as_of
  FROM record.exhibits x
  JOIN record.provenance p ON p.urn = x.provenance_id
 WHERE x.case_id = :case_id::uuid AND x.number_from IS NOT NULL
 UNION ALL
SELECT 'matter', NULL, 0, 0, m.docket_number, NULL, false, m.provenance_id, NULL
  FROM record.matters m
 WHERE m.case_id = :case_id::uuid
