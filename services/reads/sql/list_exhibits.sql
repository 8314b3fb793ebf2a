-- method: Each exhibit was looked for on the transcript page where it was offered and, where that is loaded, in the transcript's own exhibit index; the weaker result counts.
-- store: exhibits
WITH chosen AS (
  SELECT x.*, lpad(x.position::text, 8, '0') || x.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.exhibits x
   WHERE x.case_id = :case_id::uuid
     AND (:side::text IS NULL OR x.side = :side::text)
     AND (:received::bool IS NULL OR (x.received_page IS NOT NULL) = :received::bool)
     AND (:exhibit_number::text IS NULL OR lower(x.exhibit_number) = lower(:exhibit_number::text)
          OR (:exhibit_number::text ~ '^[0-9]{1,6}$' AND x.number_from::text IS NOT NULL
              AND lpad(:exhibit_number::text, 6, '0') BETWEEN lpad(x.number_from::text, 6, '0') AND lpad(x.number_to::text, 6, '0')))
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT x.id, x.exhibit_number, x.side,
       CASE WHEN NOT s.withheld AND (x.document_id IS NULL OR d.id IS NOT NULL) THEN x.description END AS description, x.offered_page, x.received_page, x.volume, x.objection, x.ruling, x.stipulated, d.id AS document_id,
       p.subject || ' (' || p.locator || ')' AS citation, s.provenance_ids, s.status AS verification_status, x.as_of,
       s.notes || CASE WHEN x.document_id IS NOT NULL AND d.id IS NULL THEN ARRAY[p.subject || ': its document is withheld, so it is not described.'] END AS notes, x.cursor_key, x.total_count
  FROM page x
  JOIN record.provenance p ON p.urn = x.provenance_id
  LEFT JOIN record.documents d ON d.id = x.document_id
 CROSS JOIN LATERAL record.row_status(
   x.id, x.exhibit_number,
   -- The line that the transcript's index must hold if this row says what it says.
   initcap(x.side) || ''' No. ' || replace(x.exhibit_number, '-', ' - ') || ' ' || x.offered_page || coalesce(' ' || x.received_page, '')) s
 ORDER BY x.cursor_key
