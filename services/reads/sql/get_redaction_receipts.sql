-- method: Receipts are as they were recorded; the digest of each source was compared with that of the version it names.
-- store: redaction_receipts
-- note: Ids, digests and numbers only: no file and no text is in this answer.
SELECT r.id, r.document_id, r.source_version_id, r.source_sha256, r.derivative_id, r.output_sha256, r.region_count, r.page_count, r.pages, r.reason_codes,
       r.text_check, r.redacted_by, r.redacted_at, r.audit_seq::text AS audit_row_id, r.audit_hash AS audit_row_hash,
       ARRAY[r.provenance_id] AS provenance_ids, 'unknown'::text AS verification_status, r.as_of,
       array_remove(ARRAY[
         CASE r.text_check
           WHEN 'text_still_there' THEN 'Output ' || left(r.output_sha256, 12) || ': the text under its regions is still in the file. It must not leave.'
           WHEN 'not_checked' THEN 'Output ' || left(r.output_sha256, 12) || ': nobody looked whether the text under its regions is gone.' END,
         CASE WHEN v.id IS NULL THEN 'The source of one redaction may not be looked at, so its digest was not compared.'
              WHEN v.sha256 <> r.source_sha256 THEN 'Source ' || left(r.source_sha256, 12) || ': the version it names has another digest.' END,
         CASE WHEN r.audit_seq IS NULL THEN 'Output ' || left(r.output_sha256, 12) || ': no row of the audit chain was written with it.' END
       ], NULL) AS notes
  FROM record.redaction_receipts r
  LEFT JOIN record.document_versions v ON v.id = r.source_version_id
 WHERE r.case_id = :case_id::uuid AND (:document_id::uuid IS NULL OR r.document_id = :document_id::uuid)
 ORDER BY r.redacted_at, r.id
