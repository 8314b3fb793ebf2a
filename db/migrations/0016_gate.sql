-- The rest of the gate: links have a rate of their own, a card names every row that an argument can name, what may not leave and what is cited
-- wrongly is known when a person decides, and messages to clients are kept like notices.

-- Links are part of filing, not of reading: leading a person to a page takes nothing from what a key may read in a minute.
ALTER TABLE auth.rate_lanes DROP CONSTRAINT rate_lanes_lane_check;
ALTER TABLE auth.rate_lanes ADD CONSTRAINT rate_lanes_lane_check CHECK (lane IN ('read', 'retrieval', 'handoff'));

-- The rows of one matter that a proposal names, in words, as they stand now. Text of a sealed entry is not shown. What has no words of its own here
-- stands in those of its provenance.
CREATE OR REPLACE FUNCTION approvals.rows_named(p_case uuid, p_ids uuid[]) RETURNS TABLE (id uuid, words text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = record, pg_temp AS $$
  WITH named AS (
    SELECT e.id, concat_ws(', ', 'docket entry ' || coalesce(e.entry_number::text, 'without a number'), 'filed ' || e.date_filed,
                           CASE WHEN e.sealed THEN 'sealed' ELSE left(e.text, 300) END) AS words
      FROM record.docket_entries e WHERE e.case_id = p_case AND e.id = ANY (p_ids)
    UNION ALL
    SELECT d.id, concat_ws(', ', 'deadline “' || d.title || '”', 'due ' || d.due_date, d.status) FROM record.deadlines d WHERE d.case_id = p_case AND d.id = ANY (p_ids)
    UNION ALL
    SELECT d.id, concat_ws(', ', 'document “' || d.title || '”', 'dated ' || d.document_date,
                           CASE WHEN NOT record.producible(d.privilege_class, d.reviewed_at) THEN 'not reviewed and found not privileged' END)
      FROM record.documents d WHERE d.case_id = p_case AND d.id = ANY (p_ids)
    UNION ALL
    SELECT v.id, concat_ws(', ', 'a version of the document “' || d.title || '”',
                           CASE WHEN NOT record.producible(d.privilege_class, d.reviewed_at) THEN 'not reviewed and found not privileged' END)
      FROM record.document_versions v JOIN record.documents d ON d.case_id = v.case_id AND d.id = v.document_id WHERE v.case_id = p_case AND v.id = ANY (p_ids)
    UNION ALL
    SELECT p.id, concat_ws(', ', 'party ' || p.name, p.party_type) FROM record.parties p WHERE p.case_id = p_case AND p.id = ANY (p_ids)
    UNION ALL
    SELECT f.id, concat_ws(', ', 'fact ' || f.code || ' “' || left(f.proposition, 300) || '”',
                           CASE WHEN f.retired_at IS NOT NULL THEN 'retired' WHEN f.merged_into IS NOT NULL THEN 'merged into another' END)
      FROM record.case_fact_records f WHERE f.case_id = p_case AND f.id = ANY (p_ids)
    UNION ALL
    SELECT t.id, concat_ws(', ', 'task “' || t.title || '”', 'due ' || t.due_date, t.status) FROM record.tasks t WHERE t.case_id = p_case AND t.id = ANY (p_ids)
    UNION ALL
    SELECT n.id, 'note “' || left(n.text, 300) || '”' FROM record.notes n WHERE n.case_id = p_case AND n.id = ANY (p_ids)
    UNION ALL
    SELECT c.id, concat_ws(', ', 'custodian ' || c.name, c.title, coalesce(c.email, 'without a mail address'))
      FROM record.custodians c WHERE c.case_id = p_case AND c.id = ANY (p_ids)
    UNION ALL
    SELECT h.id, concat_ws(', ', 'litigation hold from ' || h.effective_from, 'covering “' || left(h.scope, 300) || '”', CASE WHEN h.released_at IS NOT NULL THEN 'released' END)
      FROM record.litigation_holds h WHERE h.case_id = p_case AND h.id = ANY (p_ids)
    UNION ALL
    SELECT p.id, concat_ws(', ', 'production ' || p.volume, p.bates_prefix || ' ' || p.bates_first || ' to ' || p.bates_last)
      FROM record.productions p WHERE p.case_id = p_case AND p.id = ANY (p_ids)
    UNION ALL
    SELECT r.id, concat_ws(', ', 'response to ' || r.request, 'served ' || r.served_on) FROM record.discovery_responses r WHERE r.case_id = p_case AND r.id = ANY (p_ids)
    UNION ALL
    SELECT w.id, concat_ws(', ', 'work item “' || w.title || '”', 'due ' || w.due_date, w.status) FROM record.work_items w WHERE w.case_id = p_case AND w.id = ANY (p_ids)
    UNION ALL
    SELECT x.id, concat_ws(', ', x.side || ' exhibit ' || x.exhibit_number, left(x.description, 300)) FROM record.exhibits x WHERE x.case_id = p_case AND x.id = ANY (p_ids)
  )
  SELECT n.id, n.words FROM named n
  UNION ALL
  SELECT DISTINCT ON (v.target_id) v.target_id, v.subject
    FROM record.provenance v
   WHERE v.case_id = p_case AND v.target_id = ANY (p_ids) AND v.target_id NOT IN (SELECT n.id FROM named n)
   ORDER BY 1
$$;

-- Which of the named documents, versions and productions may leave the firm: all of it reviewed and found not privileged, as it stands now. What is
-- not in the list may not, whether it is privileged, not reviewed, or not there.
CREATE FUNCTION approvals.cleared(p_case uuid, p_ids uuid[]) RETURNS TABLE (id uuid) LANGUAGE sql STABLE SECURITY DEFINER SET search_path = record, pg_temp AS $$
  SELECT d.id FROM record.documents d WHERE d.case_id = p_case AND d.id = ANY (p_ids) AND record.producible(d.privilege_class, d.reviewed_at)
  UNION ALL
  SELECT v.id FROM record.document_versions v JOIN record.documents d ON d.case_id = v.case_id AND d.id = v.document_id
   WHERE v.case_id = p_case AND v.id = ANY (p_ids) AND record.producible(d.privilege_class, d.reviewed_at)
  UNION ALL
  SELECT p.id FROM record.productions p
   WHERE p.case_id = p_case AND p.id = ANY (p_ids)
     AND NOT EXISTS (SELECT FROM record.production_documents m JOIN record.documents d ON d.case_id = m.case_id AND d.id = m.document_id
                      WHERE m.production_id = p.id AND NOT record.producible(d.privilege_class, d.reviewed_at))
$$;

-- What becomes of a quote that is looked for on the pages it cites, in the words of the record; null where the version is not in the matter.
CREATE FUNCTION approvals.cited(p_case uuid, p_version uuid, p_page_from int, p_page_to int, p_quote text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = record, pg_temp AS $$
  SELECT r.reason FROM record.document_versions v CROSS JOIN LATERAL record.source_reason(v.id, p_page_from, p_page_to, p_quote) r
   WHERE v.case_id = p_case AND v.id = p_version
$$;

-- One message to a client, as it was decided; its status means what that of a hold notice means.
CREATE TABLE record.client_messages (
  id uuid PRIMARY KEY,
  case_id uuid NOT NULL REFERENCES record.matters,
  decision_id uuid NOT NULL UNIQUE REFERENCES ledger.decisions,
  address text NOT NULL CHECK (address <> ''),
  subject text NOT NULL CHECK (subject <> ''),
  body text NOT NULL CHECK (body <> ''),
  message_id text NOT NULL UNIQUE,
  status text NOT NULL DEFAULT 'prepared' CHECK (status IN ('prepared', 'sending', 'sent', 'failed')),
  attempt int,
  intent_at timestamptz,
  finished_at timestamptz,
  detail text,
  provenance_id text NOT NULL REFERENCES record.provenance DEFERRABLE INITIALLY DEFERRED,
  as_of timestamptz,
  recorded_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (status IN ('prepared', 'failed') OR intent_at IS NOT NULL)
);

-- An execution that has no outcome any more is unfinished, however it came to that.
CREATE TRIGGER to_be_done AFTER UPDATE OF outcome ON ledger.executions FOR EACH ROW WHEN (NEW.outcome IS NULL) EXECUTE FUNCTION ledger.to_be_done();
