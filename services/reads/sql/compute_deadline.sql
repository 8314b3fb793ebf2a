-- shape: own
-- method: The day of the trigger was taken from the row that was named, which was checked as in its own answer; the rest is arithmetic over tables of rules and holidays that were not compared with an official copy.
-- store: docket_entries
SELECT e.date_filed AS day, p.locator AS citation, ARRAY[e.provenance_id] AS provenance_ids, record.status_of(r.reason) AS status, e.as_of,
       record.reason_note(r.reason, p.subject, p.locator, r.missing) AS note, e.corrected_by
  FROM record.docket_entries e
  JOIN record.provenance p ON p.urn = e.provenance_id
 CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, e.text)) r
 WHERE e.case_id = :case_id::uuid AND e.entry_number = :trigger_entry::int4
 UNION ALL
SELECT f.event_date, f.code, array_prepend(f.provenance_id, q.provenance_ids), q.status, f.as_of,
       CASE WHEN f.event_date_precision <> 'day' THEN f.code || ': its day is known to the ' || f.event_date_precision || ' only.' ELSE q.notes[1] END, NULL
  FROM record.case_fact_records f
 CROSS JOIN LATERAL record.fact_quotes(f.id, f.code) q
 WHERE f.case_id = :case_id::uuid AND (f.code = :trigger_fact::text OR f.id::text = lower(:trigger_fact::text))
 UNION ALL
SELECT NULL, NULL, ARRAY[]::text[], 'ungrounded', NULL, 'The day of the trigger was given by the caller: nothing in the record bears it out.', NULL
  FROM record.matters m
 WHERE m.case_id = :case_id::uuid AND :trigger_date::text IS NOT NULL
