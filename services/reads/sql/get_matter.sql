-- method: The docket number was looked for on the page cited for it; caption, judge and the rest are as the firm recorded them.
-- store: matters
SELECT m.case_id, m.caption, m.short_name, m.court, m.court_id, m.docket_number, m.judge, m.nature_of_suit, m.cause, m.jury_demand, m.jurisdiction,
       m.status, m.date_filed::text AS date_filed, m.date_terminated::text AS date_terminated, m.outcome, m.reported_as,
       s.provenance_ids, s.status AS verification_status, m.as_of, s.notes
  FROM record.matters m
 CROSS JOIN LATERAL record.row_status(m.case_id, m.docket_number) s
 WHERE m.case_id = :case_id::uuid
