-- What to say of an answer without findings: whether an audit is recorded at all.
SELECT CASE WHEN count(a.id) = 0 THEN 'No audit of the citations is recorded for what was asked.'
            ELSE 'Audits that are recorded for what was asked: ' || count(a.id) || '. None of their findings matches; that does not make a citation good.'
       END AS note
  FROM record.cite_audits a
  JOIN record.document_versions v ON v.id = a.document_version_id
 WHERE a.case_id = :case_id::uuid AND (:document_id::uuid IS NULL OR v.document_id = :document_id::uuid)
