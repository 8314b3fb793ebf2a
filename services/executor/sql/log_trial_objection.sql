-- target: trial_objections
-- The page is looked up where one trial transcript of the matter has it; the words are then looked for there whenever they are read.
WITH spot AS (
  SELECT split_part(:page_line::text, ':', 1)::int AS page, split_part(:page_line, ':', 2)::int AS line WHERE :page_line IS NOT NULL
), place AS (
  SELECT min(g.document_version_id::text)::uuid AS version_id
    FROM record.documents d JOIN record.document_pages g ON g.document_version_id = record.current_version(d.id) JOIN spot s ON g.page_number = s.page
   WHERE d.case_id = :case_id::uuid AND d.document_type = 'trial transcript'
  HAVING count(*) = 1
), made AS (
  INSERT INTO record.trial_objections (id, case_id, transcript_page, line_from, line_to, trial_date, witness, objecting_counsel, ground, text_as_typed, provenance_id,
                                       as_of, recorded_by)
  SELECT :new_id::uuid, :case_id, s.page, s.line, s.line, :trial_day::date, :witness::text, :objecting_counsel::text, :ground::text, :text::text,
         :provenance_id::text, :decided_at::timestamptz, :recorded_by::text
    FROM (VALUES (1)) one (n) LEFT JOIN spot s ON true
  RETURNING id, transcript_page, line_from, trial_date
)
SELECT m.id AS target_id, coalesce('Tr. ' || m.transcript_page || ':' || m.line_from, 'The objection of ' || m.trial_date) AS subject, p.version_id AS document_version_id,
       CASE WHEN p.version_id IS NOT NULL THEN m.transcript_page END AS page_from, CASE WHEN p.version_id IS NOT NULL THEN m.transcript_page END AS page_to,
       CASE WHEN p.version_id IS NOT NULL THEN 'Tr. ' || m.transcript_page || ':' || m.line_from END AS locator, NULL::text AS quote,
       'The objection is logged. No ruling is recorded.' AS done
  FROM made m LEFT JOIN place p ON true
