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

# Authority
AUTHORIZE_BATCH_MAX = 64
READ_PER_MINUTE_DEFAULT = 120
RETRIEVAL_PER_MINUTE_DEFAULT = 20
API_KEY_MAX_CHARS = 128

# Calls between programs
RPC_TIMEOUT_SECONDS = 10.0
RPC_DEADLINE_FLOOR_SECONDS = 0.05
GRPC_MESSAGE_MAX_BYTES = 8 * 1024 * 1024
GRPC_CONCURRENT_RPCS_MAX = 1_000
SHUTDOWN_GRACE_SECONDS = 5.0
BATCH_PENDING_MAX = 4_096

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
PROGRAM_LOG_MAX_BYTES = 10 * 1024 * 1024  # a log this long is put aside at the next start, one generation kept
HEALTH_PROBE_SECONDS = 2.0
LOAD_SECONDS = 300.0  # loading the demonstration matters
OPERATOR_CALL_SECONDS = 30.0  # one call of an operator command
