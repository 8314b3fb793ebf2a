-- method: The words of each stipulation were looked for at the place cited for it; who joined, and the order that rules on it, are as recorded.
-- store: stipulations
SELECT t.id, t.kind, CASE WHEN NOT s.withheld THEN t.title ELSE 'withheld' END AS title, t.stipulated_by, t.filed_on::text AS filed_on, t.entry_number, t.order_entry_number,
       d.id AS document_id, s.quote, s.locator AS citation, s.provenance_ids, s.status AS verification_status, t.as_of,
       CASE WHEN s.withheld THEN ARRAY['Stipulation ' || t.position || ': its source is withheld, so its words are not shown and were not checked.'] ELSE s.notes END AS notes
  FROM record.stipulations t
  LEFT JOIN record.documents d ON d.id = t.document_id
 CROSS JOIN LATERAL record.row_status(t.id, NULL) s
 WHERE t.case_id = :case_id::uuid AND (:kind::text IS NULL OR t.kind = :kind::text)
 ORDER BY t.position
