"""Authority on a real database: what is allowed, what is refused, and that a change holds from the next call on."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import auth_service_pb2 as pb
from substrate.common.v1 import error_reason_pb2 as reasons

from kit import catalogue, credentials, db
from kit.errors import Refusal
from kit.rules import field_errors
from tests.cluster import Database
from tests.db.auth_world import CALL, DOCUMENTS, FACTS, GET_MATTER, LIST_MATTERS, World, question, world

MINE, OTHERS = str(uuid.uuid4()), str(uuid.uuid4())


@pytest.fixture
async def auth(database: Database) -> AsyncIterator[World]:
    async with world(database) as made:
        yield made


async def test_a_key_reaches_the_matters_of_its_owner(auth: World) -> None:
    key = await auth.key(await auth.user(MINE))
    assert list((await auth.ask(key.api_key, case_id=MINE)).principal.case_ids) == [MINE]


async def test_a_call_that_names_no_matter_reaches_all_that_the_key_reaches(auth: World) -> None:
    key = await auth.key(await auth.user(MINE, OTHERS))
    assert set((await auth.ask(key.api_key, LIST_MATTERS)).principal.case_ids) == {MINE, OTHERS}


async def test_a_foreign_matter_and_one_that_does_not_exist_get_the_same_bytes(auth: World) -> None:
    await auth.user(OTHERS)
    key = await auth.key(await auth.user(MINE))
    foreign, invented = await auth.ask(key.api_key, case_id=OTHERS), await auth.ask(key.api_key, case_id=str(uuid.uuid4()))
    assert foreign.denial.reason == reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE
    assert foreign.SerializeToString() == invented.SerializeToString()


async def test_an_allow_list_narrows_the_key_and_never_widens_it(auth: World) -> None:
    allow = admin_pb.MatterAllowList(case_ids=[MINE, str(uuid.uuid4())])
    key = await auth.key(await auth.user(MINE, OTHERS), allow_list=allow)
    assert list((await auth.ask(key.api_key, LIST_MATTERS)).principal.case_ids) == [MINE]
    assert (await auth.ask(key.api_key, case_id=OTHERS)).HasField("denial")


async def test_an_empty_allow_list_reaches_nothing(auth: World) -> None:
    key = await auth.key(await auth.user(MINE), allow_list=admin_pb.MatterAllowList())
    assert (await auth.ask(key.api_key, case_id=MINE)).HasField("denial")


async def test_an_ethical_screen_is_in_force_on_the_next_call_and_wins_over_access(auth: World) -> None:
    owner = await auth.user(MINE)
    key = await auth.key(owner)
    assert (await auth.ask(key.api_key, case_id=MINE)).HasField("principal")
    await auth.admin.raise_ethical_screen(
        admin_pb.RaiseEthicalScreenRequest(user_id=owner, case_id=MINE, reason="acted for the other side"), CALL
    )
    assert (await auth.ask(key.api_key, case_id=MINE)).denial.reason == reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE
    assert list((await auth.ask(key.api_key, LIST_MATTERS)).principal.case_ids) == []
    await auth.admin.methods()["LiftEthicalScreen"](admin_pb.LiftEthicalScreenRequest(user_id=owner, case_id=MINE), CALL)
    assert (await auth.ask(key.api_key, case_id=MINE)).HasField("principal")


async def test_withdrawn_access_is_gone_on_the_next_call(auth: World) -> None:
    owner = await auth.user(MINE)
    key = await auth.key(owner)
    await auth.admin.methods()["WithdrawMatterAccess"](admin_pb.WithdrawMatterAccessRequest(user_id=owner, case_id=MINE), CALL)
    assert (await auth.ask(key.api_key, case_id=MINE)).HasField("denial")


async def test_revoked_expired_unknown_and_mistyped_keys_get_the_same_bytes(auth: World) -> None:
    owner = await auth.user(MINE)
    revoked, expired, past = await auth.key(owner), await auth.key(owner), Timestamp()
    past.FromDatetime(datetime.now(UTC) - timedelta(seconds=1))
    await auth.admin.update_key(admin_pb.UpdateKeyRequest(key=expired.key.id, expire_time=past), CALL)
    assert (await auth.ask(revoked.api_key, case_id=MINE)).HasField("principal")
    await auth.admin.revoke_key(admin_pb.RevokeKeyRequest(key=revoked.key.public_id), CALL)
    unknown = credentials.mint("live").text
    typo = revoked.api_key[:-1] + ("0" if revoked.api_key[-1] != "0" else "1")
    answers = {
        (await auth.ask(k, case_id=MINE)).SerializeToString() for k in (revoked.api_key, expired.api_key, unknown, typo, "brk_live_")
    }
    assert len(answers) == 1
    assert pb.AuthorizeResponse.FromString(answers.pop()).denial.reason == reasons.ERROR_REASON_UNAUTHENTICATED


async def test_a_key_of_the_right_id_with_another_secret_is_refused(auth: World) -> None:
    made = await auth.key(await auth.user(MINE))
    other = credentials.mint("live")
    body = f"brk_live_{made.key.public_id}{other.secret}"
    assert (await auth.ask(body + credentials.checksum(body), case_id=MINE)).denial.reason == reasons.ERROR_REASON_UNAUTHENTICATED


async def test_a_test_key_does_not_open_what_the_same_secret_opens_live(auth: World) -> None:
    made = await auth.key(await auth.user(MINE))
    body = made.api_key.replace("brk_live_", "brk_test_")[: -credentials.CHECKSUM_CHARS]
    assert (await auth.ask(body + credentials.checksum(body), case_id=MINE)).HasField("denial")


async def test_a_missing_scope_is_named(auth: World) -> None:
    key = await auth.key(await auth.user(MINE), scopes=["read"])
    refused = (await auth.ask(key.api_key, DOCUMENTS, MINE)).denial
    assert refused.reason == reasons.ERROR_REASON_SCOPE_MISSING
    assert "docs:read" in refused.message


async def test_a_client_safe_key_is_refused_what_the_declaration_refuses_it(auth: World) -> None:
    key = await auth.key(await auth.user(MINE), credential_class=pb.CREDENTIAL_CLASS_CLIENT_SAFE)
    assert (await auth.ask(key.api_key, FACTS, MINE)).denial.reason == reasons.ERROR_REASON_CLASS_REFUSED
    assert (await auth.ask(key.api_key, GET_MATTER, MINE)).principal.credential_class == pb.CREDENTIAL_CLASS_CLIENT_SAFE


async def test_a_class_that_is_not_known_acts_as_client_safe(auth: World, database: Database) -> None:
    key = await auth.key(await auth.user(MINE))
    owner = await db.connect_one(database.dsn())
    await owner.execute("UPDATE auth.api_keys SET credential_class = 'superuser' WHERE id = $1", key.key.id)
    await owner.close()
    assert (await auth.ask(key.api_key, FACTS, MINE)).denial.reason == reasons.ERROR_REASON_CLASS_REFUSED


async def test_a_narrowed_key_is_narrow_on_its_next_call(auth: World) -> None:
    key = await auth.key(await auth.user(MINE))
    await auth.admin.update_key(admin_pb.UpdateKeyRequest(key=key.key.id, scopes=["docs:read"]), CALL)
    assert (await auth.ask(key.api_key, GET_MATTER, MINE)).denial.reason == reasons.ERROR_REASON_SCOPE_MISSING


async def test_a_call_without_the_matter_that_it_should_name_reaches_none(auth: World) -> None:
    key = await auth.key(await auth.user(MINE))
    assert list((await auth.ask(key.api_key, GET_MATTER, None)).principal.case_ids) == []


async def test_decisions_of_a_batch_are_each_callers_own(auth: World) -> None:
    mine, theirs = await auth.key(await auth.user(MINE)), await auth.key(await auth.user(OTHERS))
    asked = [question(k.api_key, GET_MATTER, c) for k in (mine, theirs) for c in (MINE, OTHERS)] + [question("brk_bad", GET_MATTER, MINE)]
    answers = (await auth.auth.authorize_batch(pb.AuthorizeBatchRequest(requests=asked), CALL)).responses
    assert [a.HasField("principal") for a in answers] == [True, False, False, True, False]
    assert [a.principal.key_id for a in answers if a.HasField("principal")] == [mine.key.id, theirs.key.id]


async def test_the_rate_limit_admits_exactly_its_number_under_a_race_of_two_instances(auth: World, database: Database) -> None:
    key = await auth.key(await auth.user(MINE), read_per_minute=25)
    async with world(database) as second:
        asked = [side.ask(key.api_key, GET_MATTER, MINE) for _ in range(50) for side in (auth, second)]
        answers = await asyncio.gather(*asked)
    assert sum(a.HasField("principal") for a in answers) == 25
    refused = next(a.denial for a in answers if a.HasField("denial"))
    assert (refused.reason, refused.limit_per_minute) == (reasons.ERROR_REASON_RATE_LIMITED, 25)
    assert 55 <= refused.retry_after_seconds <= 61
    assert "25 calls a minute" in refused.message


async def test_a_used_up_rate_comes_back_when_the_minute_has_passed(auth: World, database: Database) -> None:
    key = await auth.key(await auth.user(MINE), read_per_minute=1)
    assert (await auth.ask(key.api_key, case_id=MINE)).HasField("principal")
    assert (await auth.ask(key.api_key, case_id=MINE)).HasField("denial")
    owner = await db.connect_one(database.dsn())
    await owner.execute("UPDATE auth.rate_lanes SET second = second - 61 WHERE key_id = $1", key.key.id)
    await owner.close()
    assert (await auth.ask(key.api_key, case_id=MINE)).HasField("principal")


async def test_guessing_matter_ids_uses_up_the_rate(auth: World) -> None:
    key = await auth.key(await auth.user(MINE), read_per_minute=3)
    seen = [(await auth.ask(key.api_key, case_id=str(uuid.uuid4()))).denial.reason for _ in range(4)]
    assert seen == [reasons.ERROR_REASON_MATTER_NOT_ACCESSIBLE] * 3 + [reasons.ERROR_REASON_RATE_LIMITED]


async def test_links_take_nothing_from_what_a_key_may_read_and_have_a_limit_of_their_own(auth: World) -> None:
    links = [t.path for t in catalogue.load().by_path.values() if t.service.endswith(".HandoffService")]
    assert len(links) == 3
    owner = await auth.user(MINE)
    key = await auth.key(owner, read_per_minute=3)
    for path in links:
        assert (await auth.ask(key.api_key, path, MINE)).HasField("principal")
    refused = await auth.ask(key.api_key, links[0], MINE)
    assert refused.denial.limit_per_minute == 3
    assert "handoff lane" in refused.denial.message
    for _ in range(3):
        assert (await auth.ask(key.api_key, GET_MATTER, MINE)).HasField("principal")
    assert not (await auth.ask(key.api_key, GET_MATTER, MINE)).HasField("principal")


async def test_default_limits_are_120_reads_and_20_retrievals(auth: World) -> None:
    made = (await auth.key(await auth.user(MINE))).key
    assert (made.read_per_minute, made.retrieval_per_minute) == (120, 20)


async def test_each_decision_is_in_the_usage_ledger_and_in_the_chain(auth: World, database: Database) -> None:
    key = await auth.key(await auth.user(MINE))
    await auth.ask(key.api_key, case_id=MINE)
    await auth.ask(key.api_key, case_id=OTHERS)
    owner = await db.connect_one(database.dsn())
    used = await owner.fetchrow("SELECT allowed, refused FROM auth.usage WHERE key_id = $1 AND method = $2", key.key.id, GET_MATTER)
    logged = await owner.fetch("SELECT outcome FROM audit.log WHERE actor = $1 ORDER BY seq", f"key:{key.key.id}")
    await owner.close()
    assert used is not None
    assert tuple(used) == (1, 1)
    assert [r["outcome"] for r in logged] == ["allowed", "matter_not_accessible"]


async def test_the_chain_holds_under_concurrent_appends_and_names_the_row_that_was_changed(auth: World, database: Database) -> None:
    key = await auth.key(await auth.user(MINE), read_per_minute=1000)
    async with world(database) as second:
        await asyncio.gather(*[side.ask(key.api_key, case_id=MINE) for _ in range(32) for side in (auth, second)])
    verdict = await auth.admin.verify_audit_chain(admin_pb.VerifyAuditChainRequest(), CALL)
    assert verdict.rows >= 64
    assert not verdict.HasField("broken_at")
    forger = await db.connect_one(database.admin_dsn)
    await forger.execute("ALTER TABLE audit.log DISABLE TRIGGER ALL")
    await forger.execute("UPDATE audit.log SET outcome = 'refused' WHERE seq = 7")
    await forger.close()
    assert (await auth.admin.verify_audit_chain(admin_pb.VerifyAuditChainRequest(), CALL)).broken_at == 7


async def test_the_secret_of_a_key_is_nowhere_in_the_database(auth: World, database: Database) -> None:
    key = await auth.key(await auth.user(MINE))
    await auth.ask(key.api_key, case_id=MINE)
    owner = await db.connect_one(database.dsn())
    tables = await owner.fetch("SELECT format('%I.%I', schemaname, tablename) AS t FROM pg_tables WHERE schemaname IN ('auth', 'audit')")
    secret = credentials.parse(key.api_key).secret
    dumped = "".join([await owner.fetchval(f"SELECT coalesce(string_agg(x::text, ''), '') FROM {r['t']} x") for r in tables])
    await owner.close()
    assert key.key.public_id in dumped
    assert secret not in dumped


async def test_a_key_that_would_be_expired_when_made_is_refused_by_name(auth: World) -> None:
    past = Timestamp(seconds=1)
    with pytest.raises(Refusal, match="expire_time"):
        await auth.key(await auth.user(MINE), expire_time=past)


async def test_using_a_key_after_its_end_is_in_the_chain_and_using_an_unknown_one_is_not(auth: World, database: Database) -> None:
    key = await auth.key(await auth.user(MINE))
    await auth.admin.revoke_key(admin_pb.RevokeKeyRequest(key=key.key.id), CALL)
    await auth.ask(key.api_key, case_id=MINE)
    await auth.ask(credentials.mint("live").text, case_id=MINE)
    owner = await db.connect_one(database.dsn())
    logged = await owner.fetch("SELECT actor, outcome FROM audit.log WHERE action = $1", GET_MATTER)
    await owner.close()
    assert [(r["actor"], r["outcome"]) for r in logged] == [(f"key:{key.key.id}", "unauthenticated")]


async def test_a_question_that_is_wrong_is_refused_by_itself_and_spoils_no_other(auth: World) -> None:
    key = await auth.key(await auth.user(MINE))
    asked = [
        question(key.api_key, GET_MATTER, MINE),
        question(key.api_key, "/no.Such/Method", MINE),
        question(key.api_key, GET_MATTER, "x"),
    ]
    answers = (await auth.auth.authorize_batch(pb.AuthorizeBatchRequest(requests=asked), CALL)).responses
    assert [a.HasField("principal") for a in answers] == [True, False, False]
    assert {a.denial.reason for a in answers[1:]} == {reasons.ERROR_REASON_INTERNAL}
    assert field_errors(pb.AuthorizeBatchRequest(requests=asked)) == []


async def test_ending_what_does_not_stand_is_refused_and_leaves_no_row(auth: World, database: Database) -> None:
    owner_id = await auth.user()
    methods = auth.admin.methods()
    for call in (
        methods["LiftEthicalScreen"](admin_pb.LiftEthicalScreenRequest(user_id=owner_id, case_id=MINE), CALL),
        methods["WithdrawMatterAccess"](admin_pb.WithdrawMatterAccessRequest(user_id=owner_id, case_id=MINE), CALL),
        methods["GrantMatterAccess"](admin_pb.GrantMatterAccessRequest(user_id=str(uuid.uuid4()), case_id=MINE), CALL),
    ):
        with pytest.raises(Refusal, match="No such"):
            await call
    owner = await db.connect_one(database.dsn())
    logged = await owner.fetch("SELECT 1 FROM audit.log WHERE case_id = $1", MINE)
    await owner.close()
    assert logged == []
