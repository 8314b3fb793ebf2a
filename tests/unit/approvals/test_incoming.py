"""What a request has to show before any page is made: no key, the right host, the right origin, its own form."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid

import pytest

from kit import credentials, limits
from services.approvals import incoming, tokens
from services.approvals.incoming import Problem, Site
from services.approvals.outcomes import Outcomes

PLAIN = Site.of("http://127.0.0.1:8081", ("localhost", "[::1]"))
SECURE = Site.of("https://approve.firm.example", ())


def test_the_cookie_has_the_prefix_where_https_can_hold_it() -> None:
    assert (SECURE.cookie, SECURE.secure) == ("__Host-session", True)
    assert (PLAIN.cookie, PLAIN.secure) == ("substrate_session", False)


@pytest.mark.parametrize("hosts", [[b"127.0.0.1:8081"], [b"LOCALHOST"], [b"[::1]:9"]])
def test_our_own_hosts_pass(hosts: list[bytes]) -> None:
    incoming.check_host(PLAIN, [(b"host", h) for h in hosts])


@pytest.mark.parametrize(
    "hosts", [[], [b""], [b"evil.example"], [b"127.0.0.1.evil.example"], [b"localhost", b"localhost"], [b"localhost@evil"]]
)
def test_other_hosts_do_not(hosts: list[bytes]) -> None:
    with pytest.raises(Problem):
        incoming.check_host(PLAIN, [(b"host", h) for h in hosts])


@pytest.mark.parametrize(
    ("headers", "bearer", "passes"),
    [
        ({"origin": SECURE.origin}, False, True),
        ({"origin": SECURE.origin, "sec-fetch-site": "same-origin"}, False, True),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, False, True),
        ({"sec-fetch-site": "same-origin"}, False, True),
        ({"origin": SECURE.origin, "sec-fetch-site": "cross-site"}, False, False),
        ({"origin": "null"}, False, False),
        ({"origin": "null"}, True, False),
        ({"origin": "https://evil.example", "sec-fetch-site": "same-origin"}, True, False),
        ({"origin": SECURE.origin + ".evil.example"}, False, False),
        ({"origin": SECURE.origin.upper()}, False, False),
        ({"origin": "http://approve.firm.example"}, False, False),
        ({"sec-fetch-site": "same-site"}, False, False),
        ({"sec-fetch-site": "none"}, False, False),
        ({}, False, False),
        ({}, True, True),
    ],
)
def test_a_change_comes_from_our_own_pages(headers: dict[str, str], bearer: bool, passes: bool) -> None:
    if passes:
        incoming.check_origin(SECURE, headers, bearer=bearer)
        return
    with pytest.raises(Problem):
        incoming.check_origin(SECURE, headers, bearer=bearer)


KEY = credentials.mint("test", random.Random(1).choice).text.encode()  # the same in every process that collects these tests


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"authorization", b"Bearer " + KEY),
        (b"authorization", KEY),
        (b"authorization", b"Basic brk_x"),
        (b"proxy-authorization", b"Bearer " + KEY),
        (b"x-api-key", b"anything"),
        (b"cookie", b"a=b; session=" + KEY),
        (b"cookie", b'session="' + KEY + b'"'),
        (b"cookie", b"session=x" + KEY),
    ],
)
def test_a_key_in_any_header_is_refused(name: bytes, value: bytes) -> None:
    with pytest.raises(Problem) as refused:
        incoming.check_no_key([(b"host", b"x"), (name, value)], b"/")
    assert refused.value.status == 401


@pytest.mark.parametrize("target", [b"/?key=" + KEY, b"/handoff/" + KEY, b"/?" + KEY, b"/?a=%62%72k_live_x", b"/BRK_LIVE_x"])
def test_a_key_in_the_address_is_refused(target: bytes) -> None:
    with pytest.raises(Problem):
        incoming.check_no_key([], target)


def test_a_session_is_never_taken_for_a_key() -> None:
    token = tokens.session_token(lambda n: (b"\x6e\xb9\x3f" * n)[:n])
    assert tokens.well_formed(token)
    incoming.check_no_key([(b"authorization", f"Bearer {token}".encode())], b"/handoff/" + b"A" * 43)
    assert not tokens.well_formed(KEY.decode())
    assert not tokens.well_formed("ses_" + "x" * tokens.TOKEN_MAX_CHARS)


def test_tokens_hold_256_bits_and_differ() -> None:
    sizes: list[int] = []

    def random(size: int) -> bytes:
        sizes.append(size)
        return bytes(size)

    tokens.session_token(random)
    tokens.nonce(random)
    assert sizes == [32, 32]


def test_a_form_token_holds_for_one_form_in_one_session() -> None:
    token = tokens.form_token("ses_a", "/proposals/1/check")
    assert tokens.form_token_holds("ses_a", "/proposals/1/check", token)
    for session, path, given in (
        ("ses_b", "/proposals/1/check", token),
        ("ses_a", "/proposals/2/check", token),
        ("ses_a", "/proposals/1/decide", token),
        ("ses_a", "/proposals/1/check", ""),
        ("ses_a", "/proposals/1/check", "é\udc80"),
    ):
        assert not tokens.form_token_holds(session, path, given)


async def test_only_so_many_wait_and_everybody_who_does_is_told() -> None:
    outcomes, id_ = Outcomes(""), uuid.uuid4()
    with contextlib.ExitStack() as stack:
        events = [stack.enter_context(outcomes.watching(id_)) for _ in range(limits.OUTCOME_WAITERS_MAX + 1)]
        assert events[-1] is None
        outcomes._told(None, 0, "", "not an id")
        outcomes._told(None, 0, "", str(uuid.uuid4()))
        assert not any(isinstance(e, asyncio.Event) and e.is_set() for e in events)
        outcomes._told(None, 0, "", str(id_))
        assert all(e.is_set() for e in events if e is not None)
    assert outcomes._waiting == {}
