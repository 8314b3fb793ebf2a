-- method: The text of the entry and of its attachments was looked for in its unit of the docket sheet that was imported; sealed text is not kept and not checked.
-- store: docket_entries
SELECT e.id, e.entry_number, e.date_filed::text AS date_filed, e.date_entered::text AS date_entered, e.kind, CASE WHEN r.reason <> 'withheld' THEN e.text END AS text,
       CASE WHEN e.sealed THEN 'sealed' WHEN r.reason = 'withheld' THEN 'source_withheld' WHEN e.text IS NULL THEN 'none_on_docket' ELSE 'present' END AS text_state,
       e.text_only, e.corrected_by, CASE WHEN r.reason <> 'withheld' THEN e.modification_note END AS modification_note, CASE WHEN NOT e.sealed THEN e.pacer_doc_id END AS pacer_doc_id, e.refers_to,
       ARRAY(SELECT o.entry_number FROM record.docket_entries o WHERE o.case_id = e.case_id AND o.refers_to @> ARRAY[e.entry_number]
              ORDER BY o.entry_number) AS referred_to_by,
       a.attachments, p.locator AS citation,
       ARRAY[e.provenance_id] AS provenance_ids, record.status_of(r.reason) AS verification_status, e.as_of,
       a.notes || array_remove(ARRAY[
         CASE
           WHEN e.sealed THEN p.subject || ': it is sealed; its text is withheld and was not checked.'
           WHEN e.text IS NULL AND r.reason <> 'withheld' THEN p.subject || ': the docket shows no text, so there was nothing to check.'
           ELSE record.reason_note(r.reason, p.subject, p.locator, r.missing)
         END,
         CASE WHEN e.corrected_by IS NOT NULL THEN p.subject || ': ECF No. ' || e.corrected_by || ' says to disregard it.' END
       ], NULL) AS notes
  FROM record.docket_entries e
  JOIN record.provenance p ON p.urn = e.provenance_id
 CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, e.text)) r
 CROSS JOIN LATERAL (
   SELECT coalesce(jsonb_agg(jsonb_build_object(
            'id', t.id, 'attachment_number', t.attachment_number, 'description', CASE WHEN tr.reason <> 'withheld' THEN t.description END, 'citation', tp.subject,
            'provenance_ids', jsonb_build_array(t.provenance_id), 'verification_status', record.status_of(tr.reason))
            ORDER BY t.attachment_number), '[]') AS attachments,
          array_remove(array_agg(CASE WHEN NOT e.sealed THEN record.reason_note(tr.reason, tp.subject, tp.locator) END), NULL) AS notes
     FROM record.docket_attachments t
     JOIN record.provenance tp ON tp.urn = t.provenance_id
    CROSS JOIN LATERAL record.source_reason(tp.document_version_id, tp.page_from, tp.page_to, coalesce(tp.quote, t.description)) tr
    WHERE t.docket_entry_id = e.id
 ) a
 WHERE e.case_id = :case_id::uuid AND (e.entry_number::text = ltrim(:entry::text, '0') OR e.id::text = lower(:entry::text))
