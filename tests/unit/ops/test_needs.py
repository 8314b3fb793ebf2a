"""Suites whose outside tool is missing: named at the end, and a failure in CI."""

import pytest

pytest_plugins = ["pytester"]
SUITE = """
import pytest

@pytest.mark.needs("chromium")
def test_in_a_browser(): pass

def test_plain(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setattr("tests.needs._there", lambda tool: False)
    monkeypatch.delenv("CI", raising=False)
    pytester.makeini("[pytest]\nmarkers = needs(tool)\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(test_browser=SUITE)
    return pytester


def test_a_suite_without_its_tool_is_named_at_the_end(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess("-p", "tests.needs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["NOT RUN: test_browser.py (1 tests): needs chromium, which is not on this machine"])


def test_in_ci_a_missing_tool_is_a_failure(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = suite.runpytest_inprocess("-p", "tests.needs")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*chromium is not on this machine, and CI runs every suite*"])


def test_with_the_tool_nothing_is_said(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.needs._there", lambda tool: True)
    result = suite.runpytest_inprocess("-p", "tests.needs")
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*NOT RUN*")


def test_an_unknown_tool_is_an_error(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_other='import pytest\n\n@pytest.mark.needs("time machine")\ndef test_x(): pass\n')
    assert suite.runpytest_inprocess("-p", "tests.needs").ret == pytest.ExitCode.USAGE_ERROR
