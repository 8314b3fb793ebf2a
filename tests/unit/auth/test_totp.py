"""One-time passwords against the vectors of RFC 6238, appendix B."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.auth import totp

SECRET = b"12345678901234567890"


@pytest.mark.parametrize(
    ("seconds", "last_six"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_the_published_vectors_hold(seconds: int, last_six: str) -> None:
    at = datetime.fromtimestamp(seconds, UTC)
    assert totp.code(SECRET, totp.step(at)) == last_six
    assert totp.matching(SECRET, last_six, at) == totp.step(at)


def test_a_code_is_taken_one_step_early_or_late_and_no_further() -> None:
    at = datetime(2026, 8, 14, 12, 0, 15, tzinfo=UTC)
    now = totp.step(at)
    around = {n: totp.matching(SECRET, totp.code(SECRET, now + n), at) for n in range(-3, 4)}
    assert {n for n, found in around.items() if found is not None} == {-1, 0, 1}
