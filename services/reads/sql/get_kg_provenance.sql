-- method: The words of each statement were looked for, letter by letter after typographic normalization, on the page that it was taken from.
-- store: kg_provenance
SELECT p.urn, p.target_kind AS target, p.target_id,
       CASE WHEN r.reason <> 'withheld' THEN p.subject END AS statement,
       d.id AS document_id, d.title AS document_title, v.id AS document_version_id, v.sha256,
       p.page_from, p.page_to, p.char_from, p.char_to,
       CASE WHEN r.reason <> 'withheld' THEN p.quote END AS quote,
       CASE WHEN r.reason <> 'withheld' THEN p.locator END AS citation,
       p.source_class, p.extractor, p.extractor_kind, p.extracted_at,
       ARRAY[p.urn] AS provenance_ids, record.status_of(r.reason) AS verification_status, p.as_of,
       array_remove(ARRAY[
         record.reason_note(r.reason, p.subject, p.locator, r.missing),
         record.lane_note(:lane::text),
         CASE WHEN count(*) OVER () < cardinality(:urns::text[])
           THEN 'Ids asked for: ' || cardinality(:urns::text[]) || '; found in this matter and lane: ' || count(*) OVER () || '.' END
       ], NULL) AS notes
  FROM unnest(:urns::text[]) WITH ORDINALITY AS asked (urn, i)
  JOIN record.kg_provenance p ON p.urn = asked.urn
  JOIN LATERAL (
    SELECT e.name AS words, e.lane FROM record.kg_entities e WHERE e.id = p.target_id
    UNION ALL
    SELECT a.alias, e.lane FROM record.kg_aliases a JOIN record.kg_entities e ON e.id = a.entity_id WHERE a.id = p.target_id
    UNION ALL
    SELECT NULL, r.lane FROM record.kg_relationships r WHERE r.id = p.target_id
  ) t ON t.lane = ANY(record.lanes_asked(:lane::text))
 CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, t.words)) r
  LEFT JOIN record.document_versions v ON v.id = p.document_version_id
  LEFT JOIN record.documents d ON d.id = v.document_id
 WHERE p.case_id = :case_id::uuid AND record.kg_shown(p.target_id)
 ORDER BY asked.i
