-- method: The words quoted for each relationship on a path were looked for, letter by letter after typographic normalization, on the page cited for them; a path has the status of its weakest step.
-- store: kg_relationships
-- note: Paths are as long as max_hops allows and are twenty at most; that two entities have no path here is no proof that nothing connects them.
SELECT ARRAY(SELECT e.name FROM unnest(w.entity_ids) WITH ORDINALITY AS n (id, i) JOIN record.kg_entities e ON e.id = n.id ORDER BY n.i) AS entity_names,
       s.steps, s.provenance_ids, s.status AS verification_status, s.as_of,
       s.notes || array_remove(ARRAY[
         record.lane_note(:lane::text),
         CASE WHEN w.found > 20 THEN 'More than twenty paths of this length exist; the twenty shortest are shown.' END
       ], NULL) AS notes
  FROM (
    SELECT p.*, count(*) OVER () AS found, row_number() OVER (ORDER BY cardinality(p.relationship_ids), p.relationship_ids) AS place
      FROM record.kg_paths(:case_id::uuid, :from_entity_id::uuid, :to_entity_id::uuid, coalesce(nullif(:max_hops::int4, 0), 3),
                           record.lanes_asked(:lane::text), 21) p
  ) w
 CROSS JOIN LATERAL record.kg_steps(w.relationship_ids, w.entity_ids) s
 WHERE w.place <= 20
 ORDER BY w.place
