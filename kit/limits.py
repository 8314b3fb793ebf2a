"""Every maximum of the system, by name; each has a test that crosses it."""

from __future__ import annotations

# Attestation
PROVENANCE_IDS_LISTED_MAX = 200
NOTES_MAX = 50

# Reads
PAGE_SIZE_DEFAULT = 50
PAGE_SIZE_MAX = 200
PAGE_TOKEN_MAX_CHARS = 512
ROWS_UNPAGED_MAX = 1_000
STATEMENT_TIMEOUT_SECONDS = 5.0

# Signing in
SIGN_IN_FAILURES_MAX = 5
SIGN_IN_WINDOW_SECONDS = 300
TOTP_STEP_SECONDS = 30
TOTP_STEPS_AROUND = 1

# Proposals
UNDECIDED_PROPOSALS_PER_MATTER = 25
PROPOSAL_LAPSES_DAYS = 30
HANDOFF_LIVES_SECONDS = 600
ROUND_LIVES_SECONDS = 600  # state that a client carries between the rounds of a call
ASK_SECONDS = 300.0  # how long a session's client may take to answer a question of a tool
ASK_ROUNDS_MAX = 10  # how often one call may ask
ASKED_PER_SESSION_MAX = 25

# Engines
CITE_TEXT_MAX_CHARS = 200_000
CITES_READ_MAX = 2_000
CITES_SHOWN_MAX = 1_000
QUOTE_PAGES_MAX = 20
SCORABLE_MATTERS_MIN = 10
CALIBRATION_BINS = 5
LEDGER_ROWS_MAX = 5_000
IMPORT_MEMBERS_MAX = 500
PERIOD_DAYS_MAX = 3_660

# Authority
AUTHORIZE_BATCH_MAX = 64
READ_PER_MINUTE_DEFAULT = 120
RETRIEVAL_PER_MINUTE_DEFAULT = 20
API_KEY_MAX_CHARS = 128
URL_DECODINGS_MAX = 5  # a query that is encoded more often than this hides something

# Calls between programs
RPC_TIMEOUT_SECONDS = 10.0
RPC_STREAM_SECONDS = 120.0  # a call that speaks while it works
RPC_DEADLINE_FLOOR_SECONDS = 0.05
GRPC_MESSAGE_MAX_BYTES = 8 * 1024 * 1024
GRPC_CONCURRENT_RPCS_MAX = 1_000
SHUTDOWN_GRACE_SECONDS = 5.0
BATCH_PENDING_MAX = 4_096

# Workers that act for a key
WORKER_PASS_SECONDS = 10  # how long auth takes a pass for the call that it was given for

# The edge: one HTTP request
HTTP_BODY_MAX_BYTES = 1024 * 1024
HTTP_LINGER_MAX_BYTES = 16 * 1024 * 1024  # what is still read of a body that was refused, so that its sender gets to the answer
HTTP_LINGER_SECONDS = 1.0
HTTP_HEAD_MAX_BYTES = 16 * 1024  # request line and headers
HTTP_HEADERS_MAX = 100
HTTP_RECEIVE_SECONDS = 10.0  # from the first byte of a request to the last
HTTP_IDLE_SECONDS = 60.0  # between two requests of a connection
HTTP_SLOW_SECONDS = 1.0  # an answer that took so long is logged even where nothing was wrong
HTTP_SEND_STALL_SECONDS = 10.0  # a stream's reader that takes nothing for so long is let go
HTTP_CONNECTIONS_MAX = 4_096
HTTP_PEER_SILENT_SECONDS = 45.0  # data that the peer's kernel does not acknowledge for so long ends the connection
HTTP_DRAIN_SECONDS = 10.0  # what is in flight may finish before the program stops
READINESS_SECONDS = 2.0  # how long the other programs may take to say that they serve

# The edge: one JSON body
JSON_DEPTH_MAX = 64
JSON_MEMBERS_MAX = 10_000  # members of objects and items of arrays
JSON_STRING_MAX_BYTES = 256 * 1024
JSON_INTEGER_MAX = 2**53 - 1
JSON_NUMBER_MAX_CHARS = 400
JSON_BATCH_MAX = 20  # messages of a 2025-03-26 batch
FIELD_ERRORS_MAX = 20  # wrong arguments named in one answer

# The edge: sessions and streams
SESSIONS_MAX = 10_000  # beyond it the longest idle session of all makes room
SESSIONS_PER_KEY_MAX = 1_000  # beyond it a key's longest idle session makes room
SESSION_IDLE_SECONDS = 1_800.0
SESSION_SWEEP_SECONDS = 30.0
STREAMS_MAX = 2_000
STREAMS_PER_KEY_MAX = 4  # beyond it a key's oldest stream makes room
STREAM_BACKLOG_MAX = 100  # messages that wait for one slow reader
STREAM_RETRY_SECONDS = 30.0  # when to come back after a stream made room
HEARTBEAT_SECONDS = 10.0
REAUTHORIZE_SECONDS = 30.0
REPLAYS_MAX = 500  # calls that can be come back to; beyond it the oldest can no more
REPLAYS_PER_SESSION_MAX = 8
REPLAY_MAX_BYTES = 256 * 1024  # of what one call said; what is older cannot be come back to
REPLAY_RETRY_MAX_MS = 60_000  # how long a client is asked to stay away
RESOURCES_WATCHED_MAX = 50  # addresses that one session, or one subscription, watches
CHANGES_PAUSE_SECONDS = 1.0  # the first pause before changes are listened for again; grows
CHANGES_PAUSE_MAX_SECONDS = 15.0
LIST_TTL_SECONDS = 300.0  # how long a client may keep a tool list

# The edge: links to the approval page
HANDOFF_OPEN_SECONDS = 2.0  # how long a receipt may wait for its link to be made; never for a client
HANDOFFS_ASKED_PER_SESSION_MAX = 25  # requests of ours that a client has not answered; beyond it receipts come without a link
HANDOFF_ERRANDS_MAX = 1_000  # accepted links that are watched for their end, and answers that are still to be noted
HANDOFF_PAUSE_SECONDS = 2.0  # the first pause between two looks; grows
HANDOFF_PAUSE_MAX_SECONDS = 120.0
HANDOFF_RECEIPT_MAX_BYTES = 64 * 1024  # of a receipt that a client carries for us

# The edge: tasks
TASK_WAIT_SECONDS = 30.0  # one wait for the end of a task; a client's own wait is made of these
TASK_WAIT_PAUSE_SECONDS = 0.25  # between two waits where the one before ended early
TASK_WAIT_AWAY_SECONDS = 30.0  # how long a client that waits is kept while nobody can say how its task stands
TASK_WAITS_PER_KEY_MAX = 100  # waits for the ends of tasks at once; beyond it a client polls
TASK_FOLLOWED_MAX = 500  # sessions that are told of their tasks; beyond it clients poll
TASK_FOLLOWED_PER_KEY_MAX = 20
TASK_EARLY_MAX = 100  # tasks of a session that end before their client knows of them
TASK_FOLLOW_PAUSE_SECONDS = 0.5  # before a stream of news that broke off is opened again; grows
TASK_ASK_PAUSE_SECONDS = 1.0  # between two looks at a task that waits for its client
TASK_QUESTIONS_PER_SESSION_MAX = 25  # questions of tasks that a client is being asked; beyond it the next wait asks them
TASK_ORPHANS_MAX = 100  # tasks that are taken back because their calls were, before their clients knew of them
TASK_LISTENED_MAX = 100  # tasks that one subscription names
TASK_ID_MAX_CHARS = 128
PROGRESS_TOKEN_MAX_BYTES = 1_024  # of a token that is kept with a task

# Approvals: people who sign in to decide
PERSON_BODY_MAX_BYTES = 64 * 1024  # one form, or one JSON body
PERSON_FIELDS_MAX = 200  # fields of a form
PERSON_SESSION_IDLE_SECONDS = 1_800.0
PERSON_SESSION_SECONDS = 43_200.0  # a working day, whatever is done in it
PERSON_SESSION_KEPT_SECONDS = 2_592_000.0  # how long the row of a session that is over stays
PERSON_SESSIONS_MAX = 10  # beyond it a person's oldest session ends
SIGN_IN_OPEN_SECONDS = 600.0  # from leaving for the identity provider to coming back
PROVIDER_SECONDS = 10.0  # one request to the identity provider
PROVIDER_ANSWER_MAX_BYTES = 256 * 1024
PROVIDER_METADATA_SECONDS = 3_600.0  # how long what it says of itself and its keys are kept
PROVIDER_PAUSE_SECONDS = 10.0  # between two requests for the same: after a failure, or for a key that is not known
PROVIDER_CLOCK_SKEW_SECONDS = 60  # by which its clock and ours may differ
PASSKEYS_MAX = 10  # of one person
PASSKEY_NAME_MAX_CHARS = 100
PASSKEY_CREDENTIAL_MAX_CHARS = 16_384  # what a browser sends of one
PASSKEY_MAKING_SECONDS = 300.0  # from the page that asks for a new passkey to the passkey
REVIEW_SET_MAX = 25  # proposals on one page, and selected at once
DECISION_REASON_MAX_CHARS = 4_000
NONCE_SECONDS = 300.0  # from the confirmation page to the confirmation
NONCES_LIVE_MAX = 100  # confirmations that one person has open
HISTORY_PAGE_ROWS = 50
OUTCOME_WAIT_SECONDS = 3.0  # how long a result page waits for the execution to end before it shows that it has not
OUTCOME_WAITERS_MAX = 200

# Tasks: tool calls that run on their own
TASKS_OPEN_PER_KEY_MAX = 100  # that a key has begun and that have not ended; beyond it a new one is refused
TASKS_KEPT_PER_KEY_MAX = 1_000  # ended ones that are still kept included
TASKS_RUNNING_PER_KEY_MAX = 4  # at once, on all workers together; the others wait
TASKS_RUNNING_PER_WORKER = 16
TASK_TTL_DEFAULT_SECONDS = 3_600
TASK_TTL_MIN_SECONDS = 1
TASK_TTL_MAX_SECONDS = 86_400
TASK_RUN_SECONDS = 120.0  # one run of the tool
TASK_QUEUE_SECONDS = 900.0  # waiting for a worker
TASK_ATTEMPTS_MAX = 5  # a read is begun this often where workers die or a service does not answer
TASK_RETRY_SECONDS = 2.0  # before a read that a service did not answer is begun again; grows with the attempts
TASK_LEASE_SECONDS = 9.0  # how long a worker holds a task without a word
TASK_SWEEP_SECONDS = 3.0  # how often a worker looks for what nobody announced
TASK_STOP_SECONDS = 2.0  # how long a worker that stops lets calls come to their end before it gives them back
TASK_PURGE_MAX = 500  # rows taken away in one look
TASK_RESULT_MAX_BYTES = 6 * 1024 * 1024
TASK_QUESTIONS_MAX = 20  # that a tool asks at once
TASK_AWAIT_SECONDS = 25.0  # how long one call waits for a task
TASK_ANSWER_SECONDS = 0.5  # of a caller's deadline, left for the answer
TASK_WAITERS_MAX = 800  # calls that wait or watch, of one instance
TASK_LOOK_SECONDS = 5.0  # how often somebody who waits looks without being told
TASK_PROGRESS_SECONDS = 0.25  # between two notes of progress
TASK_PROGRESS_MAX_CHARS = 500  # of the words with it
TASK_WATCHED_PER_SESSION_MAX = 200
TASK_POLL_MILLISECONDS = 1_000  # what clients are told to wait between two looks

# Executor: what was decided, carried out once
EXECUTION_LEASE_SECONDS = 60.0  # how long a claim holds without a word of its holder
EXECUTION_SWEEP_SECONDS = 3.0  # how often it looks for what nobody announced
EXECUTION_LOOK_THROUGH_SECONDS = 3_600.0  # how often it looks through all that was ever decided, for what no trigger told of
EXECUTION_SWEEP_MAX = 50  # decisions taken up in one look
EXECUTION_DETAIL_MAX_CHARS = 2_000
SMTP_SECONDS = 20.0  # one step of a conversation with a mail server

# Database
POOL_SIZE_DEFAULT = 8
POOL_ACQUIRE_SECONDS = 2.0
CONNECT_TIMEOUT_SECONDS = 5.0
START_RETRY_SECONDS = 30.0

# The one-machine stack
POSTGRES_INIT_SECONDS = 60.0  # making a data folder
POSTGRES_START_SECONDS = 60.0  # from start to the first connection, recovery after a crash included
POSTGRES_STOP_SECONDS = 15.0  # a clean shutdown, before harder signals
POSTGRES_PREDECESSOR_SECONDS = 1.0  # how long a server whose owner is gone may take to notice it
PROGRAM_START_SECONDS = 30.0  # from start to a healthy answer
PROGRAM_STOP_SECONDS = 10.0  # a clean stop, before it is killed
PROGRAM_BACKOFF_FIRST_SECONDS = 0.2  # before a program that died is started again; doubles
PROGRAM_BACKOFF_MAX_SECONDS = 10.0
PROGRAM_SETTLED_SECONDS = 60.0  # a program that ran this long starts its back-off anew
PROGRAM_LOG_MAX_BYTES = 10 * 1024 * 1024  # a log this long is put aside, one generation kept
HEALTH_PROBE_SECONDS = 2.0
LOAD_SECONDS = 300.0  # loading the demonstration matters
OPERATOR_CALL_SECONDS = 30.0  # one call of an operator command

# Retrieval
RETRIEVAL_CANDIDATES_MAX = 100  # that one search by words, or by likeness, gives to the fusion
RETRIEVAL_VECTOR_CANDIDATES_MAX = 30  # near is always somebody: fewer of these
RETRIEVAL_VECTORS_MAX = 20_000  # passages of a matter that are compared by vector
RETRIEVED_DEFAULT = 10
RETRIEVED_MAX = 30  # passages of one answer, and what is reranked at once
RERANK_PASSAGE_MAX_CHARS = 1_500  # of a passage that a model is shown
RERANK_SECONDS = 6.0
INFERENCE_CREDENTIAL_MAX_CHARS = 500

# Files
DOCUMENT_MAX_BYTES = 64 * 1024 * 1024
FILE_LINK_SECONDS = 300  # how long a link to a document's file is good
FILE_LINK_MAX_CHARS = 1_024
FILE_NAME_MAX_CHARS = 80
FILES_AT_ONCE_MAX = 4  # files that one program holds in memory to send
STORE_SECONDS = 5.0  # one step of a conversation with an object store

# Loaders
IMPORT_FILE_MAX_BYTES = 64 * 1024 * 1024
PASSAGE_MAX_CHARS = 2_000

# Resources and completions
URI_MAX_CHARS = 512
COMPLETIONS_MAX = 100

# Prompts
PROMPT_TEXT_MAX_BYTES = 32 * 1024
PROMPT_ARGUMENT_MAX_BYTES = 128 * 1024  # a whole draft may be given

# Text by a client's own model
SAMPLING_ROWS_MAX = 60
SAMPLING_TEXT_MAX_CHARS = 60_000  # of the rows that it is shown
SAMPLING_TOKENS_MAX = 1_500
SAMPLING_ANSWER_MAX_CHARS = 20_000
SAMPLING_AUTHOR_MAX_CHARS = 200
