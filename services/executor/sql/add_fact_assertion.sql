-- target: case_fact_assertions
-- refused: The fact no longer stands or is not in this matter, or the document version is not, or may not be shown; or the last page is before the first.
-- The words are recorded as given. Whether they stand there is looked at whenever they are read.
WITH place AS (
  SELECT v.id, coalesce(d.short_cite, d.title) || ' ' || :page_from::int || CASE WHEN :page_to::int > :page_from THEN '-' || :page_to ELSE '' END AS locator
    FROM record.document_versions v
    JOIN record.documents d ON d.case_id = v.case_id AND d.id = v.document_id AND record.producible(d.privilege_class, d.reviewed_at)
   WHERE v.case_id = :case_id::uuid AND v.id = :document_version_id::uuid AND :page_to >= :page_from
), started AS (
  INSERT INTO record.case_fact_records (id, case_id, code, proposition, provenance_id, as_of, recorded_by)
  SELECT uuid_in(md5('fact ' || :new_id::uuid)::cstring), :case_id, 'N-' || left(md5('fact ' || :new_id), 8), :proposition::text,
         'urn:substrate:record:fact:' || uuid_in(md5('fact ' || :new_id)::cstring), :decided_at::timestamptz, :recorded_by::text
    FROM place WHERE :fact_id::uuid IS NULL
  RETURNING id, code
), named AS (
  INSERT INTO record.provenance (urn, case_id, target_table, target_id, decision_id, subject, extractor, as_of, recorded_by)
  SELECT 'urn:substrate:record:fact:' || s.id, :case_id, 'case_fact_records', s.id, :proposal_id::uuid, s.code, :recorded_by, :decided_at, :recorded_by FROM started s
), fact AS (
  SELECT s.id, s.code FROM started s
   UNION ALL
  SELECT f.id, f.code FROM record.case_fact_records f WHERE f.case_id = :case_id AND f.id = :fact_id AND f.retired_at IS NULL AND f.merged_into IS NULL
), made AS (
  INSERT INTO record.case_fact_assertions (id, case_id, fact_id, position, source_class, document_version_id, page_from, page_to, quote, stance, provenance_id, as_of,
                                           recorded_by)
  SELECT :new_id, :case_id, f.id, 1 + coalesce((SELECT max(a.position) FROM record.case_fact_assertions a WHERE a.fact_id = f.id), 0), :source_class::text, p.id,
         :page_from, :page_to, :quote::text, :stance::text, :provenance_id::text, :decided_at, :recorded_by
    FROM place p CROSS JOIN fact f
  RETURNING id, fact_id, document_version_id, page_from, page_to, quote
)
SELECT m.id AS target_id, f.code AS subject, m.document_version_id, m.page_from, m.page_to, p.locator, m.quote,
       'The assertion is recorded under ' || f.code || '.' AS done
  FROM made m JOIN fact f ON f.id = m.fact_id CROSS JOIN place p
