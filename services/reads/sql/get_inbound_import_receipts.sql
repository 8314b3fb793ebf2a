-- method: Receipts, attempts and members are as the importer recorded them; a member that was matched was followed to its document, whose custody was checked.
-- store: inbound_imports
-- note: Digests and numbers only: no load file and no document is in this answer.
SELECT i.id, i.producing_party, i.volume, i.received_on::text AS received_on, i.load_file_sha256, i.image_file_sha256, i.member_set_sha256,
       i.encoding, i.delimiters, i.row_count, n.matched_count, n.unmatched_count, n.duplicate_count, i.findings,
       a.attempts, m.members, ARRAY[i.provenance_id] AS provenance_ids, p.status AS verification_status, i.as_of,
       p.notes || array_remove(ARRAY[
         CASE WHEN i.row_count > n.kept THEN i.volume || ': ' || n.kept || ' of ' || i.row_count || ' members are kept one by one; the counts are of those.' END,
         CASE WHEN :import_id::uuid IS NULL THEN 'Members are listed for one import: name it in import_id.' END
       ], NULL) AS notes
  FROM record.inbound_imports i
 CROSS JOIN LATERAL record.row_status(i.id, NULL) p
 CROSS JOIN LATERAL (
   SELECT count(*) AS kept, count(*) FILTER (WHERE k.match = 'matched')::int4 AS matched_count,
          count(*) FILTER (WHERE k.match = 'unmatched')::int4 AS unmatched_count, count(*) FILTER (WHERE k.match = 'duplicate')::int4 AS duplicate_count
     FROM record.import_members k WHERE k.import_id = i.id
 ) n
 CROSS JOIN LATERAL (
   SELECT coalesce(jsonb_agg(jsonb_build_object(
            'attempt', t.attempt, 'kind', t.kind, 'at', t.at, 'outcome', t.outcome, 'rows_written', t.rows_written, 'detail', t.detail,
            'provenance_ids', jsonb_build_array(i.provenance_id), 'verification_status', 'unknown') ORDER BY t.attempt), '[]') AS attempts
     FROM record.import_attempts t WHERE t.import_id = i.id
 ) a
 CROSS JOIN LATERAL (
   SELECT coalesce(jsonb_agg(jsonb_build_object(
            'position', k.position, 'bates_begin', k.bates_begin, 'bates_end', k.bates_end, 'sha256', k.sha256, 'match', k.match, 'document_id', d.id,
            'provenance_ids', CASE WHEN d.id IS NULL THEN jsonb_build_array(i.provenance_id) ELSE jsonb_build_array(d.provenance_id) END,
            'verification_status', CASE WHEN d.id IS NULL THEN 'unknown' ELSE s.status END) ORDER BY k.position), '[]') AS members
     FROM record.import_members k
     LEFT JOIN record.documents d ON d.id = k.document_id
     LEFT JOIN LATERAL record.row_status(d.id, NULL) s ON d.id IS NOT NULL
    WHERE k.import_id = :import_id::uuid AND k.import_id = i.id
 ) m
 WHERE i.case_id = :case_id::uuid AND (:import_id::uuid IS NULL OR i.id = :import_id::uuid)
 ORDER BY i.received_on, i.volume
