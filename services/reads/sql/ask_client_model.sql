-- shape: own
-- method: The rows named in provenance_ids were shown to the client's own model, which wrote the text; nothing it wrote was checked.
-- store: docket_entries
-- note: The text was written by the client's model, not by this system. Statements in it are not facts of the record.
SELECT shown.* FROM (
  SELECT e.provenance_id, coalesce('ECF No. ' || e.entry_number, 'Entry') || ', ' || coalesce(e.date_filed::text, 'undated') || ': ' || e.text AS line, e.as_of,
         e.position AS place
    FROM record.docket_entries e
    JOIN record.provenance p ON p.urn = e.provenance_id
   WHERE :kind::int4 = 1 AND e.case_id = :case_id::uuid AND NOT e.sealed AND e.text IS NOT NULL
     AND (p.document_version_id IS NULL OR record.shown(p.document_version_id))
  UNION ALL
  SELECT f.provenance_id, f.proposition || ' [posture: ' || coalesce(f.posture, 'not decided') || ']', f.as_of, row_number() OVER (ORDER BY f.id)
    FROM record.case_fact_records f
   WHERE :kind::int4 = 2 AND f.case_id = :case_id::uuid AND f.retired_at IS NULL AND f.merged_into IS NULL AND record.fact_shown(f.id)
) shown
 ORDER BY shown.place DESC
 LIMIT :rows::int4
