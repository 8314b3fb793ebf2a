-- shape: own
-- method: The quote was looked for, letter by letter after typographic normalization, on the page cited for it and then on the other pages of the document; likeness decided nothing.
-- store: documents
SELECT d.id::text AS document_id, d.title, v.sha256, p.page_number, p.text, coalesce(p.text_source = 'ocr', false) AS ocr,
       coalesce(d.short_cite, d.title) || ' ' || CASE WHEN p.label ~ '^(page|pages|entry) ' THEN p.page_number::text ELSE p.label END AS citation,
       array_prepend(d.provenance_id, (
         SELECT array_agg(g.provenance_id ORDER BY g.position) FROM record.passages g
          WHERE g.document_version_id = v.id AND g.page_from = p.page_number)) AS provenance_ids, coalesce(v.as_of, d.as_of) AS as_of
  FROM record.documents d
  LEFT JOIN record.document_versions v ON v.id = record.current_version(d.id)
  LEFT JOIN record.document_pages p ON p.document_version_id = v.id
 WHERE d.case_id = :case_id::uuid AND d.id = :document_id::uuid
 ORDER BY p.page_number
