-- method: The manifest was digested as it is now, and its rows compared with the versions they name; that the service took place is as recorded.
-- store: service_receipts
SELECT r.id, r.production_id, p.volume, r.served_at, r.served_on, r.means, m.bates_begin, m.bates_end, m.manifest_rows, m.manifest_rows_matching,
       record.manifest_sha256(r.production_id) AS manifest_sha256,
       CASE WHEN :include_text::bool THEN r.transmittal_text END AS transmittal_text,
       CASE WHEN :include_text::bool THEN r.certificate_text END AS certificate_text,
       ARRAY[r.provenance_id, p.provenance_id] AS provenance_ids, 'unknown'::text AS verification_status, r.as_of,
       array_remove(ARRAY[
         CASE WHEN m.manifest_rows_matching < m.manifest_rows
           THEN p.volume || ': ' || (m.manifest_rows - m.manifest_rows_matching)
                || ' rows of the manifest name a version that has another digest or may not be looked at.' END,
         CASE WHEN NOT :include_text::bool AND coalesce(r.transmittal_text, r.certificate_text) IS NOT NULL
           THEN 'Transmittals and certificates are left out. include_text shows them.' END
       ], NULL) AS notes
  FROM record.service_receipts r
  JOIN record.productions p ON p.id = r.production_id
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS manifest_rows, count(v.id)::int4 AS manifest_rows_matching,
          (array_agg(d.bates_begin ORDER BY d.position))[1] AS bates_begin, (array_agg(d.bates_end ORDER BY d.position DESC))[1] AS bates_end
     FROM record.production_documents d
     LEFT JOIN record.document_versions v ON v.id = d.document_version_id AND v.sha256 = d.sha256
    WHERE d.production_id = r.production_id
 ) m
 WHERE r.case_id = :case_id::uuid AND (:production_id::uuid IS NULL OR r.production_id = :production_id::uuid)
 ORDER BY r.served_at, r.id
