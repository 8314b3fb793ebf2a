-- target: deadlines
-- refused: The deadline is not in this matter, no longer stands, or the change names neither a new day nor a new title.
-- A new day no longer rests on what set the old one, so the new row cites it only where the day stays.
WITH old AS (
  UPDATE record.deadlines d
     SET status = 'superseded', superseded_by_id = :new_id::uuid, ended_by_decision = :proposal_id::uuid, status_note = 'Changed because: ' || :reason::text
   WHERE d.case_id = :case_id::uuid AND d.id = :deadline_id::uuid AND d.superseded_by_id IS NULL AND d.superseded_by_entry_id IS NULL
     AND d.status NOT IN ('superseded', 'vacated') AND num_nonnulls(:due_date::date, :title::text) > 0
  RETURNING d.*
), kept AS (
  SELECT o.*, coalesce(:due_date::date, o.due_date) = o.due_date AS same_day FROM old o
), made AS (
  INSERT INTO record.deadlines (id, case_id, title, due_date, due_time, source_kind, source_entry_id, rule, trigger_fact_id, status, responsible, provenance_id, as_of,
                                recorded_by)
  SELECT :new_id, :case_id, coalesce(:title, k.title), coalesce(:due_date, k.due_date), k.due_time, CASE WHEN k.same_day THEN k.source_kind ELSE 'decision' END,
         CASE WHEN k.same_day THEN k.source_entry_id END, CASE WHEN k.same_day THEN k.rule END, CASE WHEN k.same_day THEN k.trigger_fact_id END, 'pending',
         k.responsible, :provenance_id::text, :decided_at::timestamptz, :recorded_by::text
    FROM kept k
  RETURNING id, title, due_date
)
SELECT m.id AS target_id, m.title || ', ' || m.due_date AS subject, p.document_version_id, p.page_from, p.page_to, p.locator, p.quote,
       'The deadline now stands for ' || m.due_date || '; the old one stands as superseded.' AS done
  FROM made m CROSS JOIN kept k
  LEFT JOIN record.provenance p ON p.urn = k.provenance_id AND k.same_day
