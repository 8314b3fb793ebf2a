-- target: productions
-- refused: A document is not in this matter, is not loaded, or was not reviewed and found not privileged; or the volume or its Bates numbers are taken.
-- Documents that may not be produced are hidden from this program by row security; the rule is asked here all the same.
WITH asked AS (
  SELECT g.id, g.position::int AS position FROM unnest(:document_ids::uuid[]) WITH ORDINALITY AS g (id, position)
), chosen AS (
  SELECT a.position, d.id, v.id AS version_id, v.sha256, CASE WHEN :format::text = 'native' THEN 1 ELSE greatest(coalesce(v.page_count, 1), 1) END AS numbers
    FROM asked a
    JOIN record.documents d ON d.case_id = :case_id::uuid AND d.id = a.id AND record.producible(d.privilege_class, d.reviewed_at)
    JOIN record.document_versions v ON v.id = record.current_version(d.id) AND v.sha256 IS NOT NULL
), numbered AS (
  SELECT c.*, :bates_start::int + sum(c.numbers) OVER (ORDER BY c.position) - c.numbers AS first, :bates_start + sum(c.numbers) OVER (ORDER BY c.position) - 1 AS last
    FROM chosen c
), made AS (
  INSERT INTO record.productions (id, case_id, volume, format, request_ids, bates_prefix, bates_first, bates_last, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id, :volume::text, :format, :request_ids::text[], :bates_prefix::text, :bates_start, t.last, :provenance_id::text,
         :decided_at::timestamptz, :recorded_by::text
    FROM (SELECT count(*) AS many, max(n.last) AS last FROM numbered n) t
   WHERE t.many = cardinality(:document_ids) AND t.last < 2147483647
     AND NOT EXISTS (SELECT FROM record.productions o WHERE o.case_id = :case_id
                        AND (o.volume = :volume OR (o.bates_prefix = :bates_prefix AND o.bates_first <= t.last AND o.bates_last >= :bates_start)))
  RETURNING id, volume, bates_prefix, bates_first, bates_last
), listed AS (
  INSERT INTO record.production_documents (case_id, production_id, position, document_id, document_version_id, sha256, bates_begin, bates_end)
  SELECT :case_id, m.id, n.position, n.id, n.version_id, n.sha256, m.bates_prefix || lpad(n.first::text, greatest(6, length(n.first::text)), '0'),
         m.bates_prefix || lpad(n.last::text, greatest(6, length(n.last::text)), '0')
    FROM made m CROSS JOIN numbered n
)
SELECT m.id AS target_id, 'Production ' || m.volume AS subject,
       'The production set ' || m.volume || ' is built, ' || m.bates_prefix || ' ' || m.bates_first || ' to ' || m.bates_last || '. Nothing has been served.' AS done
  FROM made m
