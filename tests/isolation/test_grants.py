"""What each login may do in the database, read from its catalogue, so that a new table or function cannot be missed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kit import db
from ops import programs
from tests.cluster import Database

GOLDEN = Path(__file__).parent.parent / "golden" / "grants.txt"
MATRIX = """
WITH login AS (SELECT oid, rolname FROM pg_roles WHERE rolname LIKE 'svc\\_%' OR rolname = 'substrate_loader'),
     ours AS (
       SELECT oid, nspname FROM pg_namespace
        WHERE nspname IN ('auth', 'audit', 'record', 'ledger', 'runs', 'approvals', 'ops', 'public')),
     relation AS (SELECT c.oid, c.relkind FROM pg_class c JOIN ours ON ours.oid = c.relnamespace),
     table_verb (verb) AS (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE'), ('REFERENCES'), ('TRIGGER')),
     found (login, object, verb) AS (
  SELECT l.rolname, 'table ' || r.oid::regclass, v.verb
    FROM login l, relation r, table_verb v
   WHERE r.relkind IN ('r', 'v', 'm', 'p', 'f') AND has_table_privilege(l.oid, r.oid, v.verb)
  UNION ALL
  SELECT l.rolname, 'table ' || r.oid::regclass, v.verb || '(' || a.attname || ')'
    FROM login l, relation r, pg_attribute a, (VALUES ('INSERT'), ('SELECT'), ('UPDATE')) v (verb)
   WHERE r.relkind IN ('r', 'v', 'm', 'p', 'f') AND a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
     AND has_column_privilege(l.oid, r.oid, a.attnum, v.verb) AND NOT has_table_privilege(l.oid, r.oid, v.verb)
  UNION ALL
  SELECT l.rolname, 'sequence ' || r.oid::regclass, v.verb
    FROM login l, relation r, (VALUES ('USAGE'), ('SELECT'), ('UPDATE')) v (verb)
   WHERE r.relkind = 'S' AND has_sequence_privilege(l.oid, r.oid, v.verb)
  UNION ALL
  SELECT l.rolname, 'schema ' || o.nspname, v.verb
    FROM login l, ours o, (VALUES ('USAGE'), ('CREATE')) v (verb)
   WHERE has_schema_privilege(l.oid, o.oid, v.verb)
  UNION ALL
  SELECT l.rolname, 'function ' || p.oid::regprocedure, 'EXECUTE'
    FROM login l, pg_proc p JOIN ours ON ours.oid = p.pronamespace
   WHERE has_function_privilege(l.oid, p.oid, 'EXECUTE')
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e'))
SELECT login || ': ' || object || ': ' || string_agg(verb, ',' ORDER BY verb) AS line
  FROM found GROUP BY login, object ORDER BY login, object
"""
ROLES = """
SELECT rolname, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls AS privileged,
       EXISTS (SELECT 1 FROM pg_auth_members m WHERE m.member = r.oid OR m.roleid = r.oid) AS member,
       EXISTS (SELECT 1 FROM pg_class c WHERE c.relowner = r.oid) AS owns
  FROM pg_roles r WHERE rolname LIKE 'svc\\_%' OR rolname = 'substrate_loader'
"""
BARE = """
SELECT relname FROM pg_class
 WHERE relkind = 'r' AND relnamespace = 'record'::regnamespace AND NOT (relrowsecurity AND relforcerowsecurity)
"""


async def matrix(database: Database) -> list[str]:
    """One line a login and object: what it may do."""
    admin = await db.connect_one(database.admin_dsn)
    rows = await admin.fetch(MATRIX)
    await admin.close()
    return [str(r["line"]) for r in rows]


async def test_the_grants_are_the_ones_that_were_reviewed(database: Database) -> None:
    found = "\n".join(await matrix(database)) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), "review the difference, then run again with UPDATE_GOLDEN=1"


async def test_reads_can_write_nothing_anywhere(database: Database) -> None:
    verbs = ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "CREATE", "TRIGGER", "REFERENCES")
    lines = [line for line in await matrix(database) if line.startswith("svc_reads:") and any(v in line.split(": ")[2] for v in verbs)]
    assert lines == []


async def test_reads_sees_the_record_only_and_auth_sees_none_of_it(database: Database) -> None:
    lines = await matrix(database)
    assert not [line for line in lines if line.startswith("svc_reads:") and (" auth." in line or " audit." in line)]
    assert not [line for line in lines if line.startswith("svc_auth:") and " record." in line]


async def test_filing_deciding_and_carrying_out_are_three_logins_that_cannot_do_each_others_part(database: Database) -> None:
    lines = [line.split(": ", 2) for line in await matrix(database)]
    may = {(login, thing): verbs for login, thing, verbs in lines}
    for login, table in (
        ("svc_proposals", "ledger.decisions"),
        ("svc_proposals", "ledger.nonces"),
        ("svc_proposals", "ledger.executions"),
        ("svc_reads", "ledger.proposals"),
        ("svc_executor", "ledger.proposals"),
        ("svc_executor", "ledger.nonces"),
    ):
        assert (login, f"table {table}") not in may
    assert not [k for k in may if k[0] in ("svc_proposals", "svc_approvals") and k[1].startswith("table record.")]
    assert "INSERT" not in may.get(("svc_executor", "table ledger.decisions"), "")
    assert "UPDATE" not in may["svc_proposals", "table ledger.proposals"] + may["svc_approvals", "table ledger.decisions"]
    assert "INSERT" not in may["svc_approvals", "table ledger.proposals"] + may["svc_approvals", "table ledger.executions"]


def test_the_edge_has_no_database_login() -> None:
    assert programs.load()["edge"].role is None
    assert not [s for s in programs.load()["edge"].secrets if s.endswith(".dsn")]


async def test_no_login_is_privileged_owns_anything_or_is_member_of_another(database: Database) -> None:
    admin = await db.connect_one(database.admin_dsn)
    roles = await admin.fetch(ROLES)
    await admin.close()
    assert {"svc_auth", "svc_reads", "substrate_loader"} <= {r["rolname"] for r in roles}
    assert [r["rolname"] for r in roles if r["privileged"] or r["member"] or r["owns"]] == []


async def test_every_table_of_the_record_is_under_forced_row_security(database: Database) -> None:
    admin = await db.connect_one(database.admin_dsn)
    bare = await admin.fetch(BARE)
    await admin.close()
    assert [r["relname"] for r in bare] == []


ESCAPES = (
    "SET ROLE substrate_owner",
    "SET SESSION AUTHORIZATION substrate_owner",
    "SET session_replication_role = replica",
    "CREATE TABLE public.t (a int)",
    "CREATE TABLE record.t (a int)",
    "CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE SCHEMA s",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/substrate-escape'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_import('/etc/passwd')",
    "ALTER TABLE audit.log DISABLE TRIGGER ALL",
    "DELETE FROM audit.log",
    "UPDATE audit.log SET outcome = 'x'",
    "TRUNCATE audit.log",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
    "CREATE EXTENSION dblink",
    "DO LANGUAGE plpgsql $$ BEGIN EXECUTE 'DROP TABLE auth.usage'; END $$",
)


@pytest.mark.parametrize("login", ["svc_auth", "svc_reads", "svc_proposals", "svc_tasks", "svc_approvals", "svc_executor"])
@pytest.mark.parametrize("escape", ESCAPES)
async def test_a_login_cannot_get_out_of_its_duties(shared_database: Database, login: str, escape: str) -> None:
    connection = await db.connect_one(shared_database.dsn(login))
    try:
        with pytest.raises(db.Error):
            await connection.execute(escape)
    finally:
        await connection.close()


async def test_switching_row_security_off_is_refused_rather_than_obeyed(shared_database: Database) -> None:
    connection = await db.connect_one(shared_database.dsn("svc_reads"))
    try:
        await connection.execute("SET row_security = off")
        with pytest.raises(db.Error):
            await connection.fetch("SELECT * FROM record.matters")
    finally:
        await connection.close()
