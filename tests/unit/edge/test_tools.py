"""Tools as the revisions show them, the table of refusals, and code that names no tool."""

import ast
import tomllib
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp_types import methods
from substrate.common.v1 import error_reason_pb2 as reasons

from edge import eras, errors, identity, tools
from edge.errors import Treatment
from edge.revisions import REVISIONS
from kit import catalogue
from kit.errors import FieldError, Reason, Refusal, internal

ROOT = Path(__file__).resolve().parents[3]
LOADED = catalogue.load()
TOOLBOX = tools.build(LOADED)


def listed(version: str) -> dict[str, Any]:
    """The list of a revision."""
    found: dict[str, Any] = orjson.loads(orjson.dumps(TOOLBOX.listings[version]))
    return found


@pytest.mark.parametrize("version", eras.SUPPORTED_VERSIONS)
def test_every_revision_is_shown_every_tool_in_the_order_of_declaration(version: str) -> None:
    result = listed(version)
    assert [t["name"] for t in result["tools"]] == [t.name for t in LOADED.tools]
    assert "nextCursor" not in result
    assert all(t["description"] for t in result["tools"])
    methods.validate_server_result("tools/list", version, result)


def test_hints_follow_the_declared_idempotency() -> None:
    for shown, tool in zip(listed("2025-11-25")["tools"], LOADED.tools, strict=True):
        assert shown["annotations"]["readOnlyHint"] is tool.read_only
        assert shown["annotations"]["openWorldHint"] is False
        assert ("destructiveHint" in shown["annotations"]) is tool.read_only
        assert shown["execution"] == {"taskSupport": tool.task_support}


def test_an_argument_that_is_mirrored_in_a_header_is_found_at_any_depth() -> None:
    schema = {"properties": {"a": {"x-mcp-header": "A"}, "b": {"properties": {"c": {"x-mcp-header": "C"}}}, "d": {}}}
    assert dict(tools._mirrored(schema, ())) == {("a",): "A", ("b", "c"): "C"}


def test_the_table_of_refusals_has_a_row_for_every_reason() -> None:
    assert set(errors.TREATMENTS) == set(Reason.values())
    assert errors.treatment(Refusal(999, "x")) is Treatment.INTERNAL  # type: ignore[arg-type]


def test_only_the_id_of_an_incident_passes() -> None:
    assert errors.internal_of(internal("0a1b2c3d")).message.endswith("Report incident 0a1b2c3d.")
    for words in ("SELECT 1", "incident <script>", "incident 0a1b2c3d4e"):
        assert "incident" not in errors.internal_of(Refusal(reasons.ERROR_REASON_INTERNAL, words)).message


def test_a_refusal_as_a_result_has_its_sentence_for_models_and_its_parts_for_programs() -> None:
    refusal = Refusal(reasons.ERROR_REASON_RATE_LIMITED, "Wait.", fields=[FieldError("a", "b")], limit_per_minute=20, retry_after_seconds=3)
    result = errors.tool_result(refusal)
    assert (result["content"], result["isError"]) == ([{"type": "text", "text": "Wait."}], True)
    assert result["_meta"]["substrate/refusal"] == {
        "reason": "rate_limited",
        "retryable": True,
        "limitPerMinute": 20,
        "retryAfterSeconds": 3,
        "fields": [{"path": "a", "expected": "b"}],
    }


def test_only_the_stateless_revision_has_its_envelope() -> None:
    for version, revision in REVISIONS.items():
        result = orjson.loads(orjson.dumps(revision.called(b'{"a":1}')))
        assert ("resultType" in result) is (version == "2026-07-28")
        assert ("structuredContent" in result) is (version != "2025-03-26")
        assert result["content"] == [{"type": "text", "text": '{"a":1}'}]
        kept = revision.result({"content": [], "_meta": {"x": 1}})
        assert kept["_meta"]["x"] == 1


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], project["version"]) == (identity.NAME, identity.VERSION)


def test_the_edge_has_no_code_that_names_a_tool() -> None:
    names = set(LOADED.by_name)
    found = [
        f"{path.name}:{node.lineno}: {node.value!r}"
        for path in sorted((ROOT / "edge").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and any(name in node.value for name in names)
    ]
    assert names
    assert found == []


def test_the_edge_imports_nothing_of_ours_but_kit_and_the_stubs() -> None:
    allowed = {"edge", "kit", "substrate", "buf"}
    ours = {p.name for p in ROOT.iterdir() if p.is_dir()} | {"substrate", "buf"}
    modules = []
    for path in (ROOT / "edge").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                modules.append(node.module)
            elif isinstance(node, ast.Import):
                modules.extend(name.name for name in node.names)
    assert {m.partition(".")[0] for m in modules} & ours <= allowed
