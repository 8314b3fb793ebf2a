-- What becomes of the rows of a mailing. `letters` stands for the table in which an action keeps its own.

-- name: settle
UPDATE letters l
   SET status = 'failed', finished_at = clock_timestamp(), detail = :unknown::text
 WHERE l.case_id = :case_id::uuid AND l.decision_id = :proposal_id::uuid AND l.status = 'sending';

-- name: again
UPDATE letters l
   SET status = 'prepared', detail = NULL, finished_at = NULL
 WHERE l.case_id = :case_id::uuid AND l.decision_id = :proposal_id::uuid AND l.status = 'failed'
   AND EXISTS (SELECT FROM ledger.retries r WHERE r.proposal_id = l.decision_id AND r.attempt >= l.attempt);

-- name: begin
UPDATE letters SET status = 'sending', intent_at = clock_timestamp(), attempt = :attempt::int, detail = NULL
 WHERE id = :id::uuid AND case_id = :case_id::uuid AND status = 'prepared'
RETURNING id;

-- name: end
UPDATE letters SET status = :status::text, finished_at = clock_timestamp(), detail = :detail::text
 WHERE id = :id::uuid AND case_id = :case_id::uuid AND status = 'sending';
