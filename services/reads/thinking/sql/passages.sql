-- name: words
SELECT g.id FROM record.retrievable(:case_id::uuid, :document_id::uuid, :document_type::text, :dated_from::text, :dated_to::text) g
 WHERE g.words @@ record.any_word(:query::text)
 ORDER BY ts_rank_cd(g.words, record.any_word(:query::text), 32) DESC, g.id LIMIT :most::int4;

-- Words of the question that no passage holds, misspelled or misread: passages with words that look like them.
-- name: likeness
WITH missing AS MATERIALIZED (
  SELECT w.word FROM record.long_words(:query::text) AS w (word)
   WHERE NOT EXISTS (SELECT FROM record.passages g WHERE g.case_id = :case_id::uuid AND g.words @@ plainto_tsquery('english'::regconfig, w.word))
),
searched AS MATERIALIZED (
  SELECT g.id, g.words FROM record.retrievable(:case_id::uuid, :document_id::uuid, :document_type::text, :dated_from::text, :dated_to::text) g
   WHERE EXISTS (SELECT FROM missing)
),
near AS MATERIALIZED (
  SELECT v.lexeme, max(trigram.similarity(m.word, v.lexeme)) AS likeness
    FROM missing m CROSS JOIN (SELECT DISTINCT unnest(tsvector_to_array(words)) AS lexeme FROM searched) v
   WHERE length(v.lexeme) > 3 AND trigram.similarity(m.word, v.lexeme) >= 0.4
   GROUP BY v.lexeme ORDER BY likeness DESC, v.lexeme LIMIT 8
)
SELECT s.id FROM near n JOIN searched s ON s.words @@ quote_literal(n.lexeme)::tsquery
 GROUP BY s.id ORDER BY max(n.likeness) DESC, s.id LIMIT :most::int4;

-- name: vectors
SELECT g.id, v.vector FROM record.retrievable(:case_id::uuid, :document_id::uuid, :document_type::text, :dated_from::text, :dated_to::text) g
  JOIN record.passage_vectors v ON v.passage_id = g.id AND v.case_id = :case_id::uuid AND v.model = :model::text
 ORDER BY g.id LIMIT :most::int4;

-- name: found
SELECT g.id, g.document_id, g.document_version_id, d.title AS document_title, d.document_type, d.document_date::text AS document_date,
       g.page_from, g.page_to, g.page_label, g.line_from, g.line_to, g.text, g.text_source, f.open_defects, p.locator AS citation,
       g.provenance_id, record.status_of(r.reason) AS status, g.as_of, record.reason_note(r.reason, p.subject, p.locator, r.missing) AS note
  FROM unnest(:ids::uuid[]) WITH ORDINALITY AS asked (id, i)
  JOIN record.retrievable(:case_id::uuid, NULL, NULL, NULL, NULL) g ON g.id = asked.id
  JOIN record.documents d ON d.id = g.document_id
  JOIN record.provenance p ON p.urn = g.provenance_id
 CROSS JOIN LATERAL record.source_reason(p.document_version_id, p.page_from, p.page_to, coalesce(p.quote, g.text)) r
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS open_defects FROM record.cite_audit_findings a WHERE a.document_version_id = g.document_version_id AND a.closed_at IS NULL AND a.kind <> 'not_checked'
 ) f
 ORDER BY asked.i;
