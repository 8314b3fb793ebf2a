-- shape: own
-- method: Citations were parsed out of the text; nothing was checked, and no authority is said to exist.
-- store: documents
SELECT p.page_number, p.text, coalesce(p.text_source = 'ocr', false) AS ocr, coalesce(v.as_of, d.as_of) AS as_of,
       array_prepend(d.provenance_id, (
         SELECT array_agg(g.provenance_id ORDER BY g.position) FROM record.passages g
          WHERE g.document_version_id = v.id AND g.page_from = p.page_number)) AS provenance_ids
  FROM record.documents d
  LEFT JOIN record.document_versions v ON v.id = record.current_version(d.id)
  LEFT JOIN record.document_pages p ON p.document_version_id = v.id
 WHERE d.case_id = :case_id::uuid AND d.id = :document_id::uuid
 ORDER BY p.page_number
