-- method: For each matter, its docket number was looked for on the page cited for it; caption, judge and the rest are as the firm recorded them.
-- store: matters
WITH chosen AS (
  SELECT m.*, m.caption || ' ' || m.case_id AS cursor_key, count(*) OVER ()::int4 AS total_count
    FROM record.matters m
),
page AS (
  SELECT * FROM chosen WHERE :page_after::text IS NULL OR cursor_key COLLATE "C" > :page_after::text ORDER BY cursor_key COLLATE "C" LIMIT :page_limit::int4
)
SELECT p.case_id, p.caption, p.short_name, p.court, p.court_id, p.docket_number, p.judge, p.nature_of_suit, p.cause, p.jury_demand, p.jurisdiction,
       p.status, p.date_filed::text AS date_filed, p.date_terminated::text AS date_terminated, p.outcome, p.reported_as,
       s.provenance_ids, s.status AS verification_status, p.as_of, s.notes, p.cursor_key, p.total_count
  FROM page p
 CROSS JOIN LATERAL record.row_status(p.case_id, p.docket_number) s
 ORDER BY p.cursor_key COLLATE "C"
