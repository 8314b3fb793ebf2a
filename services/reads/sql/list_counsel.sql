-- method: Each name, as the source prints it, was looked for on the page or docket unit cited for it; firm, roles and dates are as recorded.
-- store: counsel_appearances
WITH chosen AS (
  SELECT c.*, p.party_type, lpad(c.position::text, 8, '0') || c.id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.counsel_appearances c
    LEFT JOIN record.parties p ON p.id = c.party_id
   WHERE c.case_id = :case_id::uuid
     AND (:party_id::uuid IS NULL OR c.party_id = :party_id::uuid)
     AND (:name::text IS NULL OR strpos(lower(c.attorney), lower(:name::text)) > 0 OR strpos(lower(coalesce(c.firm, '')), lower(:name::text)) > 0)
     AND (NOT :current_only::bool OR c.date_terminated IS NULL)
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key > :page_after::text ORDER BY cursor_key LIMIT :page_limit::int4
)
SELECT c.id, c.attorney, c.firm, c.party_id, c.appears_for, c.party_type, c.roles, c.pro_se, c.date_appeared::text AS date_appeared,
       c.date_terminated::text AS date_terminated, s.locator AS citation, s.provenance_ids, s.status AS verification_status, c.as_of, s.notes,
       c.cursor_key, c.total_count
  FROM page c
 CROSS JOIN LATERAL record.row_status(c.id, coalesce(c.printed_as, c.attorney)) s
 ORDER BY c.cursor_key
