-- method: Each entity's name was looked for, letter by letter after typographic normalization, at every place that it was taken from; an entity has the status of its weakest place. Likeness to the words asked for is no finding.
-- store: kg_entities
WITH named AS (
  SELECT e.*, m.likeness, m.matched
    FROM record.kg_entities e
   CROSS JOIN LATERAL (
     SELECT n.name AS matched, CASE WHEN :words::text IS NULL THEN 1000 ELSE record.likeness(:words::text, n.name) END AS likeness
       FROM (SELECT e.name UNION ALL SELECT a.alias FROM record.kg_aliases a WHERE a.entity_id = e.id AND record.kg_shown(a.id)) n
      ORDER BY 2 DESC, 1 LIMIT 1
   ) m
   WHERE e.case_id = :case_id::uuid AND e.merged_into IS NULL AND record.kg_shown(e.id)
     AND e.lane = ANY(record.lanes_asked(:lane::text))
     AND (:kind::text IS NULL OR e.kind = :kind::text)
),
chosen AS (
  SELECT n.*, lpad((1000 - n.likeness)::text, 4, '0') || ' ' || left(n.name, 60) || ' ' || n.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM named n WHERE n.likeness > 0
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT e.id, e.kind, e.name, e.description,
       ARRAY(SELECT a.alias FROM record.kg_aliases a WHERE a.entity_id = e.id AND record.kg_shown(a.id) ORDER BY a.alias) AS aliases,
       CASE WHEN :words::text IS NOT NULL THEN e.matched END AS matched,
       (SELECT count(*)::int4 FROM record.kg_relationships r
         WHERE e.id IN (r.subject_id, r.object_id) AND r.lane = ANY(record.lanes_asked(:lane::text)) AND record.kg_shown(r.id)) AS relationship_count,
       e.lane, s.locator AS citation, s.provenance_ids, s.status AS verification_status, e.as_of,
       s.notes || array_remove(ARRAY[record.lane_note(:lane::text)], NULL) AS notes, e.cursor_key, e.total_count
  FROM page e
 CROSS JOIN LATERAL record.kg_status(e.id, e.name) s
 ORDER BY e.cursor_key COLLATE "C"
