"""Prompts as files: what is one, and how it is filled."""

import re
from pathlib import Path

import pytest

from kit import catalogue, limits, prompts
from kit.prompts import Malformed, Prompt, fill, parse, problem, wrong_arguments
from ops.layout import ROOT

FOLDER = ROOT / "services" / "reads" / "prompts"
HEAD = '+++\ntitle = "T"\ndescription = "D"\nversion = "1.0"\nlocked = false\n{arguments}+++\n'
ARGUMENTS = """
[[arguments]]
name = "who"
description = "Who."
required = true
[[arguments]]
name = "why"
description = "Why."
required = false
"""


def made(text: str = "Ask {{who}}.\nBecause of {{why}}.\nDone.") -> Prompt:
    return parse("ask", HEAD.format(arguments=ARGUMENTS) + text)


@pytest.mark.parametrize(
    ("name", "source", "why"),
    [
        ("Ask", HEAD.format(arguments="") + "x", "small letters"),
        ("ask", "no head", r"between two lines of \+\+\+"),
        ("ask", "+++\ntitle = 1\n+++\nx", "not whole"),
        ("ask", "+++\n= =\n+++\nx", "not whole"),
        ("ask", HEAD.format(arguments="") + " \n", "empty"),
        ("ask", HEAD.format(arguments="") + "{{who}}", "not an argument of ask"),
        ("ask", HEAD.format(arguments=ARGUMENTS) + "x", "no place for the required argument who"),
    ],
)
def test_a_text_that_is_no_prompt_is_refused_with_the_reason(name: str, source: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        parse(name, source)


def test_a_text_longer_than_the_limit_is_refused() -> None:
    longest = "{{who}}" + "x" * (limits.PROMPT_TEXT_MAX_BYTES - 7)
    assert problem(made(), longest) is None
    assert "longer than" in (problem(made(), longest + "x") or "")


def test_a_line_whose_place_nothing_was_given_for_is_left_out() -> None:
    assert fill(made().text, {"who": "Ada"}) == "Ask Ada.\nDone."
    assert fill(made().text, {"who": "Ada", "why": "rain"}) == "Ask Ada.\nBecause of rain.\nDone."


def test_what_is_given_is_text_and_never_a_place() -> None:
    assert fill(made().text, {"who": "{{why}}", "why": "{{who}} \\1"}) == "Ask {{why}}.\nBecause of {{who}} \\1.\nDone."


def test_wrong_arguments_are_named_one_by_one() -> None:
    found = wrong_arguments(made(), {"why": "x" * (limits.PROMPT_ARGUMENT_MAX_BYTES + 1), "force": "1"})
    assert [(f.path, f.expected) for f in found] == [
        ("arguments.force", "expected one of the declared arguments: who, why"),
        ("arguments.who", "expected a value: Who."),
        ("arguments.why", f"expected at most {limits.PROMPT_ARGUMENT_MAX_BYTES} bytes"),
    ]
    assert wrong_arguments(made(), {"who": "x", "why": "x" * limits.PROMPT_ARGUMENT_MAX_BYTES}) == []


def test_every_tool_that_a_prompt_names_is_one_that_a_model_can_call() -> None:
    tools = {tool.name for tool in catalogue.load().tools}
    known = prompts.load(FOLDER)
    others = {"grounded", "ungrounded", "unknown", "pending_confirmation", "reason", "count", "total_count", "as_of", "read_state", *known}
    for prompt in known.values():
        named = {
            word
            for word in re.findall(r"`([a-z_]+)`", prompt.text)
            if word not in others and not word.startswith(("provenance", "verification"))
        }
        assert named <= tools, prompt.name


def test_each_published_prompt_has_a_file_and_each_file_is_published(tmp_path: Path) -> None:
    from services.reads.prompts import published

    assert sorted(published()) == sorted(prompts.load(FOLDER))
    with pytest.raises(Malformed, match="there is no such file"):
        published(tmp_path, ("gone",))
