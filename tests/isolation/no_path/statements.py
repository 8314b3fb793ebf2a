"""Every login against everything in the database that a decision is made of, or that could make one."""

from __future__ import annotations

import contextlib
import uuid

from kit import db
from kit.db import Connection, Record
from tests.cluster import Database

# The three tables in which a decision shows, and who may write which of them. Everybody else, and every other verb, is a hole.
DUTIES = {
    ("svc_approvals", "ledger.decisions"): frozenset({"INSERT"}),
    ("svc_approvals", "ledger.nonces"): frozenset({"INSERT", "UPDATE"}),
    ("svc_executor", "ledger.executions"): frozenset({"INSERT", "UPDATE"}),
}
GUARDED = ("ledger.decisions", "ledger.nonces", "ledger.executions", "ledger.retries")
RETRIES = ("svc_approvals", "ledger.retries")  # a person's, like the decision; it can only repeat what was decided
DECIDES = frozenset({"svc_approvals"})  # the login of the program in which people decide
LOGINS = "SELECT rolname FROM pg_roles WHERE rolname LIKE 'svc\\_%' OR rolname = 'substrate_loader' ORDER BY 1"
# The guarded tables, and every view and rule through which one of them could be written.
RELATIONS = """
WITH RECURSIVE guarded AS (
  SELECT unnest($1::text[])::regclass::oid AS oid, unnest($1::text[]) AS base
  UNION
  SELECT w.ev_class, g.base
    FROM guarded g JOIN pg_depend d ON d.refobjid = g.oid AND d.classid = 'pg_rewrite'::regclass JOIN pg_rewrite w ON w.oid = d.objid
   WHERE w.ev_class <> g.oid
)
SELECT g.oid::regclass::text AS name, min(g.base) AS base FROM guarded g GROUP BY g.oid ORDER BY 1
"""
COLUMNS = "SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
FUNCTIONS = """
SELECT p.oid::regprocedure::text AS name, p.oid::regproc::text AS called, p.proargtypes::regtype[]::text[] AS kinds
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND p.prorettype <> 'trigger'::regtype AND p.prokind IN ('f', 'p')
   AND has_function_privilege($1, p.oid, 'EXECUTE') AND has_schema_privilege($1, n.oid, 'USAGE')
 ORDER BY 1
"""
COUNTS = "SELECT " + ", ".join(f"(SELECT md5(coalesce(string_agg(t::text, '' ORDER BY t::text), '')) FROM {t} t)" for t in GUARDED)
SWITCH = "SELECT r.rolname FROM pg_roles r WHERE r.rolname <> $1 ORDER BY 1"


async def ledger(admin: Connection[Record]) -> tuple[str, ...]:
    """What stands in the guarded tables, as digests."""
    row = await admin.fetchrow(COUNTS)
    assert row is not None
    return tuple(row)


async def holes(database: Database, proposal: uuid.UUID) -> tuple[int, list[str]]:
    """How many statements were tried, and which of them a login could run that it must not. The proposal is one that nobody has decided."""
    admin = await db.connect_one(database.admin_dsn)
    try:
        before = await ledger(admin)
        logins = [r["rolname"] for r in await admin.fetch(LOGINS)]
        relations = [(r["name"], r["base"]) for r in await admin.fetch(RELATIONS, list(GUARDED))]
        columns = {name: [c["attname"] for c in await admin.fetch(COLUMNS, name)] for name, _ in relations}
        count = 0
        found: list[str] = []
        for login in logins:
            connection = await db.connect_one(database.dsn(login))
            try:
                tried, wrong = await _of_login(admin, connection, login, proposal, relations, columns)
            finally:
                await connection.close()
            count, found = count + tried, found + wrong
        if await ledger(admin) != before:
            found.append("a row of the ledger is not what it was")
        return count, found
    finally:
        await admin.close()


async def _of_login(
    admin: Connection[Record],
    connection: Connection[Record],
    login: str,
    proposal: uuid.UUID,
    relations: list[tuple[str, str]],
    columns: dict[str, list[str]],
) -> tuple[int, list[str]]:
    statements = [s for name, base in relations for s in _writes(login, name, base, columns[name])]
    statements += [f"SET ROLE {r['rolname']}" for r in await admin.fetch(SWITCH, login)]
    statements += [f"SET SESSION AUTHORIZATION {r['rolname']}" for r in await admin.fetch(SWITCH, login)]
    statements += ["SET session_replication_role = replica", "ALTER TABLE ledger.decisions DISABLE TRIGGER ALL"]
    found = [f"{login}: {s}" for s in statements if await _runs(connection, s)]
    count = len(statements)
    if login not in DECIDES:  # every function that it may call, with nothing and with something: none leaves a decision behind
        for function in await admin.fetch(FUNCTIONS, login):
            for values in ({}, {kind: text.format(proposal=proposal) for kind, text in SAMPLES.items()}):
                count += 1
                if await _changes(connection, admin, function, values):
                    found.append(f"{login}: {function['name']} changes the ledger")
    return count, found


def _writes(login: str, name: str, base: str, columns: list[str]) -> list[str]:
    may = DUTIES.get((login, name), frozenset()) | (frozenset({"INSERT"}) if (login, name) == RETRIES else frozenset())
    found = [f"DELETE FROM {name}", f"TRUNCATE {name}"] if "INSERT" not in may else [f"DELETE FROM {name}"]
    if "INSERT" not in may:
        found += [f"INSERT INTO {name} DEFAULT VALUES", *(f"INSERT INTO {name} ({c}) VALUES (NULL)" for c in columns)]
    if "UPDATE" not in may:
        found += [f"UPDATE {name} SET {c} = NULL" for c in columns]
    found += [f"CREATE TRIGGER x BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"]
    found += [f"CREATE RULE x AS ON INSERT TO {name} DO INSTEAD NOTHING", f"ALTER TABLE {base} OWNER TO CURRENT_USER"]
    return found


async def _runs(connection: Connection[Record], statement: str) -> bool:
    """Whether a statement is anything but refused: what stumbles over a rule of the table was allowed to try. Nothing of it stays."""
    await connection.execute("BEGIN")
    try:
        await connection.execute(statement)
    except db.Error as error:
        # 42501: not granted. 55000, 42809: a view that nobody can write through.
        return getattr(error, "sqlstate", None) not in ("42501", "55000", "42809", "0A000")
    finally:
        await connection.execute("ROLLBACK")
    return True


SAMPLES = {
    "uuid": "'{proposal}'",
    "uuid[]": "ARRAY['{proposal}']",
    "text": "'approved'",
    "text[]": "ARRAY['approved']",
    "bytea": "sha256('')",
    "integer": "1",
    "bigint": "1",
    "boolean": "true",
    "jsonb": "'{{}}'",
    "timestamp with time zone": "now()",
}


async def _changes(connection: Connection[Record], admin: Connection[Record], function: Record, values: dict[str, str]) -> bool:
    """Whether the ledger is another after a call with these values, by type; a type without one gets a null."""
    given = ", ".join(f"({values.get(kind, 'NULL')})::{kind}" for kind in function["kinds"])
    before = await ledger(admin)
    with contextlib.suppress(db.Error):
        await connection.execute(f"SELECT {function['called']}({given})")
    return await ledger(admin) != before
