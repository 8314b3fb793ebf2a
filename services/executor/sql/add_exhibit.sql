-- target: exhibits
-- refused: The document is not in this matter or may not be shown, or that side has an exhibit of this number already.
WITH made AS (
  INSERT INTO record.exhibits (id, case_id, position, exhibit_number, side, description, document_id, provenance_id, as_of, recorded_by)
  SELECT :new_id::uuid, :case_id::uuid, 1 + coalesce((SELECT max(x.position) FROM record.exhibits x WHERE x.case_id = :case_id), 0), :number::text, :side::text,
         :description::text, d.id, :provenance_id::text, :decided_at::timestamptz, :recorded_by::text
    FROM record.documents d
   WHERE d.case_id = :case_id AND d.id = :document_id::uuid AND record.producible(d.privilege_class, d.reviewed_at)
     AND NOT EXISTS (SELECT FROM record.exhibits x WHERE x.case_id = :case_id AND x.side = :side AND x.exhibit_number = :number)
  RETURNING id, side, exhibit_number
)
SELECT m.id AS target_id, initcap(m.side) || ' Exhibit ' || m.exhibit_number AS subject, 'The exhibit is on the list.' AS done FROM made m
