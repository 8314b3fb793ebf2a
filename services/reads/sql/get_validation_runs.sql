-- method: Items were counted and the intervals computed from the counts; how the items were coded was not checked against the documents.
-- store: validation_runs
-- note: No threshold is applied: recall, precision and elusion are evidence of proportionality, for a person to weigh.
SELECT r.id, r.code, r.kind, r.population, r.population_size, r.stratum, r.draw_method, r.draw_seed, r.sample_size, r.confidence::text AS confidence,
       r.reviewer, r.blind, r.drawn_at, r.frozen_at, i.item_count, i.coded_count, i.responsive_count, i.retrieved_count, i.retrieved_responsive_count,
       NULL::jsonb AS prevalence, NULL::jsonb AS recall, NULL::jsonb AS precision, NULL::jsonb AS elusion,
       CASE WHEN r.responsive_found IS NOT NULL AND i.coded_count > 0
         THEN jsonb_build_object('responsive_found', r.responsive_found, 'null_set_size', r.population_size) END AS derived_recall,
       r.report_sha256, CASE WHEN :include_report::bool THEN r.report END AS report,
       ARRAY[r.provenance_id] AS provenance_ids, 'unknown'::text AS verification_status, r.as_of,
       array_remove(ARRAY[
         CASE WHEN i.item_count < r.sample_size
           THEN r.code || ': ' || i.item_count || ' of ' || r.sample_size || ' items are recorded; the shares are of those.' END,
         CASE WHEN i.coded_count < i.item_count
           THEN r.code || ': ' || (i.item_count - i.coded_count) || ' items are not coded yet and count in no share.' END,
         CASE WHEN r.frozen_at IS NULL THEN r.code || ': its numbers are not frozen.' END,
         CASE WHEN r.report IS NOT NULL AND r.report_sha256 <> encode(sha256(convert_to(r.report, 'UTF8')), 'hex')
           THEN r.code || ': the report is not the one that was frozen; its digest differs.' END,
         CASE WHEN NOT :include_report::bool AND r.report IS NOT NULL THEN 'Frozen reports are left out. include_report shows them.' END
       ], NULL) AS notes
  FROM record.validation_runs r
 CROSS JOIN LATERAL (
   SELECT count(*)::int4 AS item_count, count(v.responsive)::int4 AS coded_count,
          count(*) FILTER (WHERE v.responsive)::int4 AS responsive_count,
          count(*) FILTER (WHERE v.retrieved AND v.responsive IS NOT NULL)::int4 AS retrieved_count,
          count(*) FILTER (WHERE v.retrieved AND v.responsive)::int4 AS retrieved_responsive_count
     FROM record.validation_items v WHERE v.run_id = r.id
 ) i
 WHERE r.case_id = :case_id::uuid AND (:kind::text IS NULL OR r.kind = :kind::text)
 ORDER BY r.drawn_at, r.code
