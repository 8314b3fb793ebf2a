"""Authority against an independent oracle: generated worlds, every key, every tool, every matter."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field

import pytest
from substrate.auth.v1 import auth_admin_service_pb2 as admin_pb
from substrate.auth.v1 import auth_service_pb2 as pb

from kit import catalogue, limits
from kit.catalogue import Tool
from tests.cluster import Database
from tests.db.auth_world import ALL_SCOPES, CALL, World, question, world

TOOLS = catalogue.load().tools
SEEDS = range(6)


@dataclass
class Facts:
    """What was said to the administration service, kept apart from what it made of it."""

    access: dict[str, set[str]] = field(default_factory=dict)
    screens: set[tuple[str, str]] = field(default_factory=set)
    keys: list[tuple[str, str, frozenset[str], bool, frozenset[str] | None, bool]] = field(default_factory=list)


def oracle(facts: Facts, key: int, tool: Tool, case_id: str) -> bool:
    """Owner's access minus screens, intersected with the allow-list, for a live key of the right scope and class."""
    _, owner, scopes, firm, allow, revoked = facts.keys[key]
    reachable = {c for c in facts.access[owner] if (owner, c) not in facts.screens and (allow is None or c in allow)}
    refused_by_class = tool.client_safe == "refused" and not firm
    in_reach = case_id in reachable or not tool.names_case
    return not revoked and tool.scope in scopes and not refused_by_class and in_reach


async def build(auth: World, rng: random.Random, cases: list[str]) -> Facts:
    """A world of people, access, screens and keys."""
    facts = Facts()
    for _ in range(4):
        granted = set(rng.sample(cases, rng.randint(0, len(cases))))
        owner = await auth.user(*granted)
        facts.access[owner] = granted
        for case_id in rng.sample(cases, rng.randint(0, 2)):
            await auth.admin.raise_ethical_screen(admin_pb.RaiseEthicalScreenRequest(user_id=owner, case_id=case_id, reason="test"), CALL)
            facts.screens.add((owner, case_id))
    for _ in range(8):
        owner, firm = rng.choice(list(facts.access)), rng.random() < 0.6
        scopes = rng.sample(ALL_SCOPES, rng.randint(1, len(ALL_SCOPES)))
        allow = frozenset(rng.sample(cases, rng.randint(0, 3))) if rng.random() < 0.5 else None
        listed = None if allow is None else admin_pb.MatterAllowList(case_ids=sorted(allow))
        class_ = pb.CREDENTIAL_CLASS_FIRM if firm else pb.CREDENTIAL_CLASS_CLIENT_SAFE
        made = await auth.key(owner, scopes=scopes, allow_list=listed, credential_class=class_, read_per_minute=100_000)
        revoked = rng.random() < 0.15
        if revoked:
            await auth.admin.revoke_key(admin_pb.RevokeKeyRequest(key=made.key.id), CALL)
        facts.keys.append((made.api_key, owner, frozenset(scopes), firm, allow, revoked))
    return facts


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_decision_is_the_oracles(database: Database, seed: int) -> None:
    rng = random.Random(seed)
    cases = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(5)]
    async with world(database) as auth:
        facts = await build(auth, rng, cases)
        triples = [(k, t, c) for k in range(len(facts.keys)) for t in TOOLS for c in [*cases, str(uuid.uuid4())]]
        rng.shuffle(triples)
        for start in range(0, len(triples), limits.AUTHORIZE_BATCH_MAX):
            part = triples[start : start + limits.AUTHORIZE_BATCH_MAX]
            asked = [question(facts.keys[k][0], t.path, c if t.names_case else None) for k, t, c in part]
            answers = (await auth.auth.authorize_batch(pb.AuthorizeBatchRequest(requests=asked), CALL)).responses
            for (k, tool, case_id), answer in zip(part, answers, strict=True):
                assert answer.HasField("principal") is oracle(facts, k, tool, case_id), (seed, k, tool.name, case_id)
                if tool.names_case and answer.HasField("principal"):
                    assert list(answer.principal.case_ids) == [case_id]
