-- name: words
SELECT w.id FROM record.work_product_passages w JOIN record.work_products o ON o.id = w.work_product_id
 WHERE w.case_id = :case_id::uuid AND (:kind::text IS NULL OR o.kind = :kind::text) AND (o.status <> 'superseded' OR :include_superseded::bool)
   AND w.words @@ record.any_word(:query::text)
 ORDER BY ts_rank_cd(w.words, record.any_word(:query::text), 32) DESC, w.id LIMIT :most::int4;

-- name: likeness
WITH missing AS MATERIALIZED (
  SELECT n.word FROM record.long_words(:query::text) AS n (word)
   WHERE NOT EXISTS (SELECT FROM record.work_product_passages w WHERE w.case_id = :case_id::uuid AND w.words @@ plainto_tsquery('english'::regconfig, n.word))
),
searched AS MATERIALIZED (
  SELECT w.id, w.words FROM record.work_product_passages w JOIN record.work_products o ON o.id = w.work_product_id
   WHERE w.case_id = :case_id::uuid AND (:kind::text IS NULL OR o.kind = :kind::text) AND (o.status <> 'superseded' OR :include_superseded::bool)
     AND EXISTS (SELECT FROM missing)
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
SELECT w.id, v.vector FROM record.work_product_passages w JOIN record.work_products o ON o.id = w.work_product_id
  JOIN record.passage_vectors v ON v.passage_id = w.id AND v.case_id = :case_id::uuid AND v.model = :model::text
 WHERE w.case_id = :case_id::uuid AND (:kind::text IS NULL OR o.kind = :kind::text) AND (o.status <> 'superseded' OR :include_superseded::bool)
 ORDER BY w.id LIMIT :most::int4;

-- name: found
SELECT w.id, w.work_product_id, o.title, o.kind, o.author, o.written_on::text AS written_on, o.version, o.status AS draft_status, o.sha256, w.section, w.text,
       w.provenance_id, record.own_words_status(w.text, o.text, o.sha256) AS status, w.as_of,
       CASE WHEN record.own_words_status(w.text, o.text, o.sha256) <> 'grounded'
         THEN o.title || ': this passage is not what the version with the recorded digest says.' END AS note
  FROM unnest(:ids::uuid[]) WITH ORDINALITY AS asked (id, i)
  JOIN record.work_product_passages w ON w.id = asked.id AND w.case_id = :case_id::uuid
  JOIN record.work_products o ON o.id = w.work_product_id
 ORDER BY asked.i;
