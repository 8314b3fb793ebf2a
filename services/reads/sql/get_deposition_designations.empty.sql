SELECT t.short_cite || ': ' || count(*) FILTER (WHERE NOT g.readable) || ' of ' || count(*)
         || ' entries of the older sidecar could not be read and are not shown.' AS note
  FROM record.transcripts t
 CROSS JOIN LATERAL (SELECT record.readable_designation(e.entry) AS readable FROM jsonb_array_elements(t.legacy_designations) AS e (entry)) g
 WHERE t.case_id = :case_id::uuid AND NOT EXISTS (SELECT FROM record.designations d WHERE d.transcript_id = t.id)
   AND (:deponent::text IS NULL OR strpos(lower(t.witness), lower(:deponent::text)) > 0)
 GROUP BY t.id, t.short_cite
HAVING count(*) FILTER (WHERE NOT g.readable) > 0
 ORDER BY 1
