-- method: Each name, as the source prints it, was looked for on the page or docket unit cited for it; roles and dates are as recorded.
-- store: parties
WITH chosen AS (
  SELECT p.*, lpad(p.position::text, 8, '0') || p.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.parties p
   WHERE p.case_id = :case_id::uuid
     AND (:party_type::text IS NULL OR lower(p.party_type) = lower(:party_type::text))
     AND (:name::text IS NULL OR strpos(lower(p.name), lower(:name::text)) > 0)
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT p.id, p.name, p.party_type, CASE WHEN NOT s.withheld THEN p.capacity END AS capacity,
       CASE WHEN NOT s.withheld THEN p.description END AS description, p.date_joined::text AS date_joined, p.date_terminated::text AS date_terminated,
       s.locator AS citation, s.provenance_ids, s.status AS verification_status, p.as_of, s.notes, p.cursor_key, p.total_count
  FROM page p
 CROSS JOIN LATERAL record.row_status(p.id, coalesce(p.printed_as, p.name)) s
 ORDER BY p.cursor_key
