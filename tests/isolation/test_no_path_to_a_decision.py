"""No path leads from an API key to a decision: every RPC, route, login, import and secret there is, made from what declares it, and tried.

Each part is shown to see what it looks for: a hole is planted, and it is found.
"""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import orjson
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from substrate.proposals.v1 import handoff_service_pb2 as handoff_pb
from substrate.proposals.v1 import proposal_service_pb2 as pb

from edge import app as edge_app
from edge.config import EdgeConfig, Timing
from kit import catalogue, config, credentials, db
from ops import pki, probe, programs
from services.approvals.__main__ import application
from services.approvals.config import ApprovalsConfig
from services.approvals.shell import Shell
from tests.cluster import Database, Loaded, apart
from tests.db.approvals_world import Somebody, World, opened
from tests.db.executor_world import World as ExecutorWorld
from tests.db.executor_world import opened as executor_opened
from tests.db.executor_world import sweep
from tests.isolation.no_path import calls, code, routes, statements
from tests.system.stack import Stack

DUTIES = programs.load()
CANARY = "Canary of the cage"
PROPOSALS = "/substrate.proposals.v1."
REFUSED = frozenset({grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNIMPLEMENTED})
ADMINISTRATION = "substrate.auth.v1.AuthAdminService"  # the operator's, and it would change the shared stack
HARMLESS = frozenset({"/healthz", "/readyz", "/static/style.css", "/static/keys.js", "/static/passkey.js", "/sign-in"})
AGENTS = frozenset({"/healthz", "/readyz", "/mcp", "/mcp/"})


@dataclasses.dataclass(frozen=True)
class Bait:
    """Something to decide, filed with the key that is tried everywhere, and a live link to it."""

    key: str
    approval_id: str
    case_id: str
    link: str

    @property
    def known(self) -> dict[str, str]:
        """What whoever holds the key can know, by the names of fields and path parameters."""
        return {
            "approval_id": self.approval_id,
            "case_id": self.case_id,
            "elicitation_id": self.link,
            "id": self.approval_id,
            "link": self.link,
        }


@pytest.fixture(scope="module")
def bait(stack: Stack) -> Bait:
    key, case_id = stack.keys["firm"], stack.matters["mata"]
    metadata = (("authorization", f"Bearer {key}"),)
    args = orjson.dumps({"text": CANARY})
    with stack.channel("proposals", "edge") as channel:
        link: Any = channel
        filed = link.unary_unary(PROPOSALS + "ProposalService/ProposeAction", None, pb.ProposeActionResponse.FromString)(
            pb.ProposeActionRequest(case_id=case_id, action="add_note", args=args, reason=CANARY).SerializeToString(), metadata=metadata
        )
        made = link.unary_unary(PROPOSALS + "HandoffService/OpenHandoff", None, handoff_pb.OpenHandoffResponse.FromString)(
            handoff_pb.OpenHandoffRequest(case_id=case_id, approval_id=filed.approval_id, session_sha256=bytes(32)).SerializeToString(),
            metadata=metadata,
        )
    return Bait(key, filed.approval_id, case_id, made.elicitation_id)


@pytest.fixture(autouse=True)
def nothing_is_decided(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever of the running system was tried, no row of a decision is another than before."""
    if "bait" not in request.fixturenames:
        yield
        return
    running: Stack = request.getfixturevalue("stack")
    request.getfixturevalue("bait")
    before = apart(_ledger(running.admin_dsn))
    yield
    assert apart(_ledger(running.admin_dsn)) == before


async def _ledger(dsn: str) -> tuple[str, ...]:
    admin = await db.connect_one(dsn)
    try:
        return await statements.ledger(admin)
    finally:
        await admin.close()


# --- RPCs and certificates --------------------------------------------------------------------------------------------------------------


def test_every_method_of_every_program_with_every_certificate_and_a_good_key(stack: Stack, bait: Bait) -> None:
    grpc_programs = [p.name for p in DUTIES.programs if p.serves == "grpc"]
    tried, wrong = 0, []
    for program in grpc_programs:
        for certificate in calls.certificates(DUTIES):
            with stack.channel(program, certificate) as channel:
                for method in calls.methods(bait.known):
                    listed = calls.admitted(DUTIES, program, method, certificate)
                    if listed and method.service == ADMINISTRATION:
                        continue
                    tried += 1
                    code_ = calls.outcome(channel, method, bait.key)
                    if not listed and code_ not in REFUSED:
                        wrong.append((program, certificate, method.path, code_))
    assert wrong == []
    assert tried >= len(grpc_programs) * 8 * 40


@pytest.mark.parametrize("program", [p.name for p in DUTIES.programs if p.serves == "grpc"])
def test_no_certificate_and_one_of_another_authority_get_no_connection(stack: Stack, bait: Bait, program: str, tmp_path: Path) -> None:
    pki.ensure(tmp_path, ("approvals",), ("operator",), datetime.now(UTC))
    ours = (stack.data.pki / "ca.pem").read_bytes()
    theirs = pki.Pair.of(tmp_path, "approvals")
    bare = grpc.ssl_channel_credentials(ours)
    foreign = grpc.ssl_channel_credentials(ours, theirs.key.read_bytes(), theirs.cert.read_bytes())
    options = [("grpc.ssl_target_name_override", f"{program}.substrate"), ("grpc.enable_retries", 0)]
    health = next(m for m in calls.methods(bait.known) if m.path == f"/{calls.HEALTH}/Check")
    for presented in (bare, foreign):
        with grpc.secure_channel(stack.grpc_address(program), presented, options=options) as channel:
            assert calls.outcome(channel, health, bait.key) in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    with probe.channel(stack.grpc_address(program), program, stack.data.pki) as channel:
        assert calls.outcome(channel, health, bait.key) is grpc.StatusCode.OK


def test_the_table_lets_no_certificate_that_acts_for_keys_to_a_method_that_asks_for_none() -> None:
    assert calls.holes(DUTIES) == []


@pytest.mark.parametrize("caller", ["edge", "firm", "proposals"])
def test_a_caller_too_many_in_the_table_is_found(caller: str) -> None:
    planted = _with(
        DUTIES, "auth", callers={**DUTIES["auth"].callers, "substrate.auth.v1.PersonService": ["approvals", "executor", caller]}
    )
    assert f"{caller} may call /substrate.auth.v1.PersonService/VerifyTotp of auth" in calls.holes(planted)


def _with(duties: programs.Table, name: str, **changes: object) -> programs.Table:
    changed = tuple(dataclasses.replace(p, **changes) if p.name == name else p for p in duties.programs)  # type: ignore[arg-type]
    return dataclasses.replace(duties, programs=changed)


# --- routes -----------------------------------------------------------------------------------------------------------------------------


async def _approvals_table(stack: Stack, bait: Bait) -> list[str]:
    """The paths of approvals, from the application as its own configuration makes it."""
    settings = config.load(str(stack.data.config / "approvals.toml"), ApprovalsConfig)
    made, _ = await application(settings, "127.0.0.1:1")
    assert isinstance(made, Shell)
    assert isinstance(made._app, Starlette)
    found = routes.paths(made._app.routes, bait.known)
    async with made._app.router.lifespan_context(made._app):
        return found


async def _edge_table(stack: Stack, bait: Bait) -> list[str]:
    settings = config.load(str(stack.data.config / "edge.toml"), EdgeConfig)
    made = edge_app.build(settings, catalogue.load(), "http://127.0.0.1:1", Timing())
    async with made.app.router.lifespan_context(made.app):
        return routes.paths(made.app.routes, bait.known)


def test_every_route_of_approvals_with_the_key_in_every_place(stack: Stack, bait: Bait) -> None:
    found = apart(_approvals_table(stack, bait))
    matrix = routes.tries(found, bait.key, "substrate_session", bait.known | {"selected": bait.approval_id})
    tried, opened_ = routes.opened(str(stack.connect["approvals_url"]), matrix, HARMLESS, CANARY)
    assert opened_ == []
    assert tried >= 15 * 2 * 50


def test_every_route_of_the_edge_with_the_key_in_every_place(stack: Stack, bait: Bait) -> None:
    found = apart(_edge_table(stack, bait))
    assert "/mcp/approve" in found
    metadata = {p for p in found if p.startswith("/.well-known/")}
    matrix = routes.tries(found, bait.key, "substrate_session", bait.known)
    url = stack.mcp_url.removesuffix("/mcp")
    tried, opened_ = routes.opened(url, matrix, AGENTS | metadata, CANARY)
    # The page of a link leads on to approvals, with nothing but the link, and only a person who signs in there sees more.
    assert [o for o in opened_ if "/mcp/approve" not in o] == []
    assert tried >= 5 * 2 * 50


@pytest.mark.parametrize("leak", ["shows what waits", "lets in"])
def test_a_route_that_asks_for_no_session_is_found(database: Database, tmp_path: Path, leak: str) -> None:
    async def unguarded(request: Request) -> Response:
        return PlainTextResponse(CANARY, 403) if leak == "shows what waits" else PlainTextResponse("", headers={"x": request.method})

    key = credentials.mint("live").text

    async def run() -> list[str]:
        async with opened(database, tmp_path) as world:
            shell = world.app
            assert isinstance(shell, Shell)
            assert isinstance(shell._app, Starlette)
            shell._app.router.routes.append(Route("/planted", unguarded, methods=["POST"]))
            found = routes.paths(shell._app.routes, {"id": str(uuid.uuid4()), "link": "A" * 43})
            assert "/planted" in found
            matrix = routes.tries(["/planted", "/"], key, "substrate_session", {"id": "x"})
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(1) as beside:
                _, wrong = await loop.run_in_executor(beside, lambda: routes.opened(world.url, matrix, HARMLESS, CANARY))
            return wrong

    wrong = apart(run())
    assert wrong
    assert all(w.startswith("POST /planted") for w in wrong)


# --- the database -----------------------------------------------------------------------------------------------------------------------


async def _undecided(database: Database) -> uuid.UUID:
    """A proposal that waits."""
    world = World("", None, database, None, None)  # type: ignore[arg-type]
    return await world.propose(Somebody(uuid.uuid4(), "", set()), uuid.uuid4())


async def test_every_login_against_everything_that_a_decision_is_made_of(database: Database) -> None:
    tried, found = await statements.holes(database, await _undecided(database))
    assert found == []
    assert tried >= 1_000


SLIPPED = """
CREATE FUNCTION {schema}.slipped(p uuid) RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
  INSERT INTO ledger.decisions (proposal_id, args_digest, decision, decided_by, decided_at, shown_sha256, signature)
  SELECT id, args_digest, 'approved', owner_id, now(), sha256(''), '' FROM ledger.proposals WHERE id = p
$$
"""


def _only(function: str, login: str) -> list[str]:
    """A function for one login: the first that may call it would leave nothing for the next."""
    return [f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC", f"GRANT EXECUTE ON FUNCTION {function} TO {login}"]


@pytest.mark.parametrize(
    ("plant", "seen"),
    [
        (["GRANT INSERT ON ledger.decisions TO svc_proposals"], "svc_proposals: INSERT INTO ledger.decisions"),
        (["GRANT INSERT (decision) ON ledger.decisions TO svc_executor"], "svc_executor: INSERT INTO ledger.decisions (decision)"),
        (["GRANT UPDATE (used_at) ON ledger.nonces TO svc_executor"], "svc_executor: UPDATE ledger.nonces SET used_at"),
        (
            ["GRANT USAGE ON SCHEMA ledger TO svc_reads", "GRANT DELETE ON ledger.executions TO svc_reads"],
            "svc_reads: DELETE FROM ledger.executions",
        ),
        (
            ["CREATE VIEW record.v AS SELECT * FROM ledger.decisions", "GRANT INSERT ON record.v TO substrate_loader"],
            "substrate_loader: INSERT INTO record.v",
        ),
        (
            [SLIPPED.format(schema="record"), *_only("record.slipped", "svc_reads")],
            "svc_reads: record.slipped(uuid) changes",
        ),
        (
            [SLIPPED.format(schema="ledger"), *_only("ledger.slipped", "svc_proposals")],
            "svc_proposals: ledger.slipped(uuid)",
        ),
    ],
)
async def test_a_grant_a_view_or_a_function_too_many_is_found(database: Database, plant: list[str], seen: str) -> None:
    owner = await db.connect_one(database.dsn())
    for statement in plant:
        await owner.execute(statement)
    await owner.close()
    _, found = await statements.holes(database, await _undecided(database))
    assert [f for f in found if f.startswith(seen)]


async def test_a_login_that_may_become_another_is_found(database: Database) -> None:
    admin = await db.connect_one(database.admin_dsn)
    await admin.execute("GRANT svc_approvals TO svc_proposals")
    try:
        _, found = await statements.holes(database, await _undecided(database))
    finally:
        await admin.execute("REVOKE svc_approvals FROM svc_proposals")
        await admin.close()
    assert "svc_proposals: SET ROLE svc_approvals" in found


async def test_an_announcement_that_anybody_may_make_carries_nothing_out(own_loaded: Loaded, tmp_path: Path) -> None:
    """Every login can notify any channel. To be woken is not to be told what to do."""
    async with executor_opened(own_loaded.database, tmp_path, own_loaded.matters["soilworks"]) as world:
        proposal = await world.propose("create_task", {"title": "Nobody decided this"})
        admin = await db.connect_one(own_loaded.database.admin_dsn)
        for login in [r["rolname"] for r in await admin.fetch(statements.LOGINS)]:
            forger = await db.connect_one(own_loaded.database.dsn(login))
            for channel in ("substrate_decided", "substrate_carried_out"):
                await forger.execute(f"NOTIFY {channel}, '{proposal}'")
            await forger.close()
        await admin.close()
        await _woken(world)
        assert await world.sql("SELECT 1 FROM ledger.executions") == []
        assert await world.sql("SELECT 1 FROM record.tasks") == []


async def _woken(world: ExecutorWorld) -> None:
    executor = await world.executor()
    await sweep(executor)
    await executor.sweep(asyncio.Event(), of_all=True)


# --- code and secrets -------------------------------------------------------------------------------------------------------------------


def test_no_import_however_long_leads_from_a_room_that_works_for_keys_to_the_code_of_deciding() -> None:
    assert code.import_holes(code.graph(), DUTIES) == []


def test_an_import_too_many_is_found() -> None:
    imports = code.graph()
    imports.add_import(importer="edge.pages", imported="kit.decisions")
    imports.add_import(importer="services.proposals.store", imported="services.approvals.desk")
    imports.add_import(importer="kit.errors", imported="services.executor.run")
    found = code.import_holes(imports, DUTIES)
    for hole in (
        "edge can reach kit.decisions",
        "services.proposals can reach services.approvals",
        "services.reads can reach services.executor",
    ):
        assert hole in found


def test_no_program_that_works_for_keys_is_handed_a_secret_or_the_code_of_deciding() -> None:
    assert code.secret_holes(DUTIES) == []


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"secrets": (*DUTIES["edge"].secrets, "decision.key")}, "edge is handed decision.key"),
        ({"secrets": (*DUTIES["edge"].secrets, "approvals.dsn")}, "edge is handed approvals.dsn"),
        ({"image": (*DUTIES["edge"].image, "services")}, "the image of edge holds services/approvals"),
        ({"role": "svc_approvals"}, "edge has the login svc_approvals"),
    ],
)
def test_a_secret_too_many_is_found(change: dict[str, object], seen: str) -> None:
    assert seen in code.secret_holes(_with(DUTIES, "edge", **change))


def test_the_bait_waits_for_a_person_and_nothing_has_become_of_it(stack: Stack, bait: Bait) -> None:
    """Last of all, after everything that was tried."""

    async def state() -> tuple[str, timedelta]:
        admin = await db.connect_one(stack.admin_dsn)
        row = await admin.fetchrow(
            "SELECT s.state, p.expires_at - now() AS left FROM ledger.states s JOIN ledger.proposals p USING (id) WHERE id = $1",
            uuid.UUID(bait.approval_id),
        )
        await admin.close()
        assert row is not None
        return row["state"], row["left"]

    found, left = apart(state())
    # The key may withdraw what it filed; that is the one end that it can make.
    assert found in ("undecided", "withdrawn", "superseded")
    assert left > timedelta()
