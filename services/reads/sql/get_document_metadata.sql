-- method: For each version, that it has a digest and every page that it says it has is loaded; title, people, dates and numbers are as recorded. A document has the status of its weakest version.
-- store: documents
-- note: Only a document that was reviewed and found not privileged is shown.
SELECT d.id, d.title, d.document_type, d.document_date::text AS document_date, d.date_kind, d.author, d.recipients, d.custodian, d.control_number,
       d.bates_begin, d.bates_end, d.confidentiality, d.docket_entry_number,
       (SELECT p.id FROM record.documents p WHERE p.id = d.parent_id AND record.producible(p.privilege_class, p.reviewed_at)) AS parent_id,
       (SELECT count(*)::int4 FROM record.documents a WHERE a.parent_id = d.id AND record.producible(a.privilege_class, a.reviewed_at)) AS attachment_count,
       (SELECT g.id FROM record.passages g WHERE g.document_version_id = record.current_version(d.id) ORDER BY g.position LIMIT 1) AS first_passage_id,
       coalesce(v.versions, '[]') AS versions, d.short_cite AS citation, ARRAY[d.provenance_id] AS provenance_ids, coalesce(v.status, 'ungrounded') AS verification_status,
       d.as_of, coalesce(v.notes, '{}') AS notes
  FROM record.documents d
 CROSS JOIN LATERAL (
   SELECT jsonb_agg(jsonb_build_object(
            'id', o.id, 'current', o.id = record.current_version(d.id), 'sha256', o.sha256, 'byte_count', o.byte_count, 'media_type', o.media_type,
            'page_count', o.page_count, 'pages_loaded', l.pages_loaded, 'text_source', l.text_source,
            'file_sha256', coalesce((SELECT jsonb_agg(f.file ->> 'sha256' ORDER BY f.i) FROM jsonb_array_elements(o.files) WITH ORDINALITY AS f (file, i)), '[]'),
            'provenance_ids', jsonb_build_array(d.provenance_id), 'verification_status', record.status_of(l.reason))
            ORDER BY o.id = record.current_version(d.id) DESC, o.created_at DESC, o.id) AS versions,
          record.weakest(array_agg(record.status_of(l.reason))) AS status,
          array_remove(array_agg(DISTINCT record.reason_note(l.reason, d.title, d.short_cite, (o.page_count - l.pages_loaded) || ' of ' || o.page_count)), NULL) AS notes
     FROM record.document_versions o
    CROSS JOIN LATERAL (
      SELECT count(*)::int4 AS pages_loaded, record.whole_reason(o.sha256, o.page_count, count(*)) AS reason,
             CASE WHEN bool_or(p.text_source = 'none') THEN 'none' WHEN bool_or(p.text_source = 'ocr') THEN 'ocr' WHEN count(*) > 0 THEN 'native' END AS text_source
        FROM record.document_pages p WHERE p.document_version_id = o.id
    ) l
    WHERE o.document_id = d.id
 ) v
 WHERE d.case_id = :case_id::uuid AND d.id = :document_id::uuid AND record.producible(d.privilege_class, d.reviewed_at)
