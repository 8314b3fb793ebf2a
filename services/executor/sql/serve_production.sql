-- target: work_items
-- refused: The production or one of the parties is not in this matter, or a document of it is no longer one that was reviewed and found not privileged.
-- No program of ours serves papers: a person does, and this is what tells them to.
WITH served AS (
  SELECT y.name FROM record.parties y WHERE y.case_id = :case_id::uuid AND y.id = ANY(:on_party_ids::uuid[])
), made AS (
  INSERT INTO record.work_items (id, case_id, action, title, details, due_date, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id, 'serve_production', 'Serve the production ' || p.volume || ' (' || :means::text || ')',
         jsonb_build_object('production_id', p.id, 'volume', p.volume, 'means', :means, 'served_on', :served_on::date, 'party_ids', to_jsonb(:on_party_ids),
                            'parties', (SELECT jsonb_agg(s.name ORDER BY s.name) FROM served s)),
         :served_on, :provenance_id::text, :decided_at::timestamptz, :recorded_by::text
    FROM record.productions p
   WHERE p.case_id = :case_id AND p.id = :production_id::uuid AND (SELECT count(*) FROM served) = cardinality(:on_party_ids)
     -- Documents that may not be produced are hidden from this program by row security, so every row of the manifest has to be found.
     AND NOT EXISTS (SELECT FROM record.production_documents l
                      WHERE l.production_id = p.id
                        AND NOT EXISTS (SELECT FROM record.documents d WHERE d.case_id = l.case_id AND d.id = l.document_id
                                           AND record.producible(d.privilege_class, d.reviewed_at)))
  RETURNING id, title
)
SELECT m.id AS target_id, m.title AS subject, 'A work item tells a person to carry out the service. Nothing has been served yet.' AS done FROM made m
