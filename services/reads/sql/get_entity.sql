-- method: The entity's name, and each other name, was looked for, letter by letter after typographic normalization, at every place that it was taken from. Description and attributes are as recorded.
-- store: kg_entities
SELECT e.id, e.kind, e.name, e.description, e.attributes, a.aliases,
       (SELECT count(*)::int4 FROM record.kg_relationships r
         WHERE e.id IN (r.subject_id, r.object_id) AND r.lane = ANY(record.lanes_asked(:lane::text)) AND record.kg_shown(r.id)) AS relationship_count,
       e.lane, e.merged_into, s.locator AS citation, s.provenance_ids, s.status AS verification_status, e.as_of,
       s.notes || a.notes || array_remove(ARRAY[
         record.lane_note(:lane::text),
         CASE WHEN e.merged_into IS NOT NULL THEN 'This entity was merged into another: read merged_into.' END
       ], NULL) AS notes
  FROM record.kg_entities e
 CROSS JOIN LATERAL record.kg_status(e.id, e.name) s
 CROSS JOIN LATERAL record.kg_names(e.id) a
 WHERE e.case_id = :case_id::uuid AND e.id = :entity_id::uuid AND record.kg_shown(e.id) AND e.lane = ANY(record.lanes_asked(:lane::text))
