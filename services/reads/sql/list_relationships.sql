-- method: The words quoted for each relationship were looked for, letter by letter after typographic normalization, on the page cited for them. Whether the relationship follows from the words is the reading of whoever recorded it.
-- store: kg_relationships
WITH chosen AS (
  SELECT r.*, s.name AS subject_name, s.kind AS subject_kind, o.name AS object_name, o.kind AS object_kind,
         left(s.name, 40) || ' ' || r.predicate || ' ' || left(o.name, 40) || ' ' || r.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.kg_relationships r
    JOIN record.kg_entities s ON s.id = r.subject_id
    JOIN record.kg_entities o ON o.id = r.object_id
   WHERE r.case_id = :case_id::uuid AND record.kg_shown(r.id) AND record.kg_shown(s.id) AND record.kg_shown(o.id)
     AND r.lane = ANY(record.lanes_asked(:lane::text))
     AND (:entity_id::uuid IS NULL OR :entity_id::uuid IN (r.subject_id, r.object_id))
     AND (:other_entity_id::uuid IS NULL OR :other_entity_id::uuid IN (r.subject_id, r.object_id))
     AND (:predicate::text IS NULL OR r.predicate = :predicate::text)
     AND (:held_on::text IS NULL OR (
       coalesce(r.valid_from, r.valid_to) IS NOT NULL AND coalesce(r.valid_from::text <= :held_on::text, true) AND coalesce(r.valid_to::text >= :held_on::text, true)))
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT r.id, r.subject_id, r.subject_name, r.subject_kind, r.predicate, r.object_id, r.object_name, r.object_kind, r.qualifier,
       r.valid_from::text AS valid_from, r.valid_to::text AS valid_to, r.basis, k.quote, k.locator AS citation, r.lane,
       k.provenance_ids, k.status AS verification_status, r.as_of,
       k.notes || array_remove(ARRAY[record.lane_note(:lane::text)], NULL) AS notes, r.cursor_key, r.total_count
  FROM page r
 CROSS JOIN LATERAL record.kg_status(r.id, NULL) k
 ORDER BY r.cursor_key COLLATE "C"
