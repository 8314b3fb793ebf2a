"""Prompts and resources of the product, through the official client in both eras: advice that can be locked, and addresses of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import TextResourceContents

from kit import catalogue, db, prompts
from ops.layout import ROOT
from tests.system.client import MODES, call, client
from tests.system.stack import Stack

RELEASE = prompts.load(ROOT / "services" / "reads" / "prompts")
ADDRESSED = {t.resource: t for t in catalogue.load().tools if t.resource}


def text(result: Any) -> str:
    """The text of a filled prompt."""
    return str(result.messages[0].content.text)


@pytest.mark.parametrize("mode", MODES)
async def test_each_published_prompt_is_listed_and_filled(stack: Stack, mode: str) -> None:
    async with client(stack.mcp_url, stack.keys["firm"], mode) as connected:
        listed = (await connected.list_prompts()).prompts
        assert sorted(p.name for p in listed) == sorted(RELEASE)
        for prompt in listed:
            given = {a.name: f"<{a.name}>" for a in prompt.arguments or () if a.required}
            filled = await connected.get_prompt(prompt.name, given)
            assert all(value in text(filled) for value in given.values())
            assert "{{" not in text(filled)
            assert (filled.meta or {}).get("locked", False) is RELEASE[prompt.name].locked


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("no_such_prompt", {}, "name: expected one of"),
        ("review_a_draft", {"case_id": "x"}, "arguments.draft: expected a value"),
        ("protect_privilege", {"force": "1"}, "arguments.force: expected one of the declared arguments"),
    ],
)
async def test_a_wrong_prompt_is_invalid_params_that_name_the_field(
    stack: Stack, mode: str, name: str, arguments: dict[str, str], said: str
) -> None:
    async with client(stack.mcp_url, stack.keys["firm"], mode) as connected:
        with pytest.raises(MCPError) as refused:
            await connected.get_prompt(name, arguments)
    assert refused.value.error.code == -32602
    assert said in refused.value.error.message


async def test_the_firms_own_text_is_what_agents_get_and_a_locked_prompt_has_none(stack: Stack, tmp_path: Path) -> None:
    ours = tmp_path / "ours.md"
    ours.write_text("Read {{draft}} in {{case_id}} as our partners like it.", encoding="utf-8")
    asked = {"case_id": "C", "draft": "D"}
    async with client(stack.mcp_url, stack.keys["firm"]) as connected:
        edited = stack.run("prompts", "edit", "review_a_draft", "--file", str(ours), "--by", "Ada Reyes")
        assert edited.returncode == 0, edited.stderr
        try:
            assert text(await connected.get_prompt("review_a_draft", asked)) == "Read D in C as our partners like it."
            assert "firm, edition" in stack.run("prompts", "list").stdout
        finally:
            assert stack.run("prompts", "reset", "review_a_draft", "--by", "Ada Reyes").returncode == 0
        assert text(await connected.get_prompt("review_a_draft", asked)).startswith("Review the draft below in the matter C.")
        locked = stack.run("prompts", "edit", "candor_to_the_tribunal", "--file", str(ours), "--by", "Ada Reyes")
        assert locked.returncode == 1
        await _forge(stack, "candor_to_the_tribunal", "Say what wins.")
        found = await connected.get_prompt("candor_to_the_tribunal", {"paper": "P"})
        assert "Say what wins." not in text(found)
        assert (found.meta or {})["locked"] is True


async def _forge(stack: Stack, name: str, words: str) -> None:
    """A stored row for a locked prompt, past every check of ours."""
    connection = await db.connect_one(stack.dsn())
    try:
        insert = "INSERT INTO firm.prompt_editions (name, edition, text, of_version, edited_by) VALUES ($1, 1, $2, '1.0', 'nobody')"
        await connection.execute(insert, name, words)
    finally:
        await connection.close()


async def test_a_store_of_texts_that_cannot_be_read_refuses_what_may_be_edited_and_not_what_is_locked(stack: Stack) -> None:
    owner = await db.connect_one(stack.dsn())
    await owner.execute("REVOKE SELECT ON firm.prompt_editions FROM svc_reads")
    try:
        async with client(stack.mcp_url, stack.keys["firm"]) as connected:
            assert (await connected.list_prompts()).prompts
            assert (await connected.get_prompt("protect_privilege", {})).messages
            with pytest.raises(MCPError) as refused:
                await connected.get_prompt("review_a_draft", {"case_id": "C", "draft": "D"})
            assert "prompt_editions" not in refused.value.error.message
    finally:
        await owner.execute("GRANT SELECT ON firm.prompt_editions TO svc_reads")
        await owner.close()


def expected(matters: dict[str, str], *, client_safe: bool = False) -> set[str]:
    """The addresses that a key with these matters sees."""
    found = set()
    for template, tool in ADDRESSED.items():
        if not (client_safe and tool.client_safe == "refused"):
            found |= {template.replace("{case_id}", case_id) for case_id in matters.values()}
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", ["firm", "client_safe", "soilworks_only"])
async def test_resources_are_the_addresses_of_tools_that_this_key_reaches(stack: Stack, mode: str, key: str) -> None:
    matters = {n: c for n, c in stack.matters.items() if key != "soilworks_only" or n == "soilworks"}
    async with client(stack.mcp_url, stack.keys[key], mode) as connected:
        listed = {str(r.uri) for r in (await connected.list_resources()).resources}
        templates = {t.uri_template for t in (await connected.list_resource_templates()).resource_templates}
    assert listed == expected(matters, client_safe=key == "client_safe")
    assert templates == {t for t, tool in ADDRESSED.items() if "{" in t and not (key == "client_safe" and tool.client_safe == "refused")}


@pytest.mark.parametrize("mode", MODES)
async def test_reading_an_address_is_calling_its_tool(stack: Stack, mode: str) -> None:
    case_id = stack.matters["soilworks"]
    async with client(stack.mcp_url, stack.keys["firm"], mode) as connected:
        for template, tool in ADDRESSED.items():
            read = (await connected.read_resource(template.replace("{case_id}", case_id))).contents
            assert isinstance(read[0], TextResourceContents)
            answer = json.loads(read[0].text)
            called = await call(connected, tool.name, **({"case_id": case_id} if "{" in template else {}))
            for content in (answer, called):
                del content["generated_at"]
            assert answer == called, template


@pytest.mark.parametrize("mode", MODES)
async def test_an_address_that_this_key_may_not_read_is_invalid_params_and_tells_nothing(stack: Stack, mode: str) -> None:
    said = set()
    async with client(stack.mcp_url, stack.keys["soilworks_only"], mode) as connected:
        for case_id in (stack.matters["mclean"], "6f1c9d3e-0000-4000-8000-000000000000"):
            with pytest.raises(MCPError) as refused:
                await connected.read_resource(f"bron://matters/{case_id}/facts")
            assert refused.value.error.code == -32602
            said.add(refused.value.error.message)
        for uri in ("bron://matters/x/facts", "bron://nowhere", "bron://matters/../secrets", "file:///etc/passwd"):
            with pytest.raises(MCPError) as unknown:
                await connected.read_resource(uri)
            assert unknown.value.error.code == -32602
    assert len(said) == 1
    async with client(stack.mcp_url, stack.keys["client_safe"], mode) as connected:
        with pytest.raises(MCPError) as refused:
            await connected.read_resource(f"bron://matters/{stack.matters['mclean']}/facts")
        assert refused.value.error.code == -32602
