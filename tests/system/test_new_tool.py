"""Adding a read is one RPC and one statement: a copy of the repository gets a tool, and it is there, with schemas, and answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from ops.layout import ROOT, DataDir
from tests.system.client import call, client
from tests.system.stack import Stack

RPC = """
  // Counts the papers of a matter by the year in which they were filed. Made by a test, to show what adding a tool takes.
  rpc ListFilingYears(ListFilingYearsRequest) returns (ListFilingYearsResponse) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (substrate.tools.v1.tool) = {
      name: "list_filing_years"
      title: "Filing years"
      scope: "read"
      cost: COST_FREE
      client_safe: CLIENT_SAFE_ALLOWED
      task_support: TASK_SUPPORT_FORBIDDEN
    };
  }
"""
MESSAGES = """
// FilingYear is one year of a docket.
message FilingYear {
  // The year, YYYY.
  string year = 1;
  // How many entries were filed in it.
  int32 entries = 2;
  // The rows behind this item.
  repeated string provenance_ids = 3;
  // How far this item was checked.
  substrate.common.v1.VerificationStatus verification_status = 4;
}

// ListFilingYearsRequest names the matter.
message ListFilingYearsRequest {
  // Id of the matter, from list_matters.
  string case_id = 1 [(buf.validate.field).string.uuid = true];
}

// ListFilingYearsResponse holds the years.
message ListFilingYearsResponse {
  // The years, oldest first.
  repeated FilingYear years = 1;
  // Whether they could be read.
  substrate.common.v1.ReadState read_state = 2;
  // How many there are.
  optional int32 count = 3;
  // Where the answer came from and how far it was checked.
  substrate.common.v1.Attestation attestation = 15;
}
"""
SQL = """-- method: Entries were counted by year; nothing was checked against the docket sheet.
-- store: docket_entries
SELECT to_char(d.date_filed, 'YYYY') AS year, count(*)::int4 AS entries,
       array_agg(d.provenance_id ORDER BY d.provenance_id) AS provenance_ids, 'unknown'::text AS verification_status, min(d.as_of) AS as_of
  FROM record.docket_entries d
 WHERE d.case_id = :case_id::uuid AND d.date_filed IS NOT NULL
 GROUP BY 1 ORDER BY 1
"""


def environ(copy: Path) -> dict[str, str]:
    """The environment of a program that runs from the copy."""
    return os.environ | {"PYTHONPATH": f"{copy}:{copy / 'gen'}"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's own files, with one RPC and one statement more, regenerated."""
    target = tmp_path_factory.mktemp("copy") / "substrate"
    target.mkdir()
    for top in ("kit", "edge", "services", "ops", "protos", "third_party", "db", "data", "deploy", "scripts", "buf.yaml", "buf.gen.yaml"):
        source = ROOT / top
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target / top)
    # The generator makes the fixture's stubs too.
    for tree in ("protos", "gen"):
        shutil.copytree(ROOT / "tests" / "conformance" / tree, target / "tests" / "conformance" / tree)
    docket = target / "protos" / "substrate" / "reads" / "v1" / "docket.proto"
    text = docket.read_text(encoding="utf-8")
    head, brace, rest = text.partition("\n}\n")
    assert "service DocketService" in head
    docket.write_text(head + RPC + brace + rest + MESSAGES, encoding="utf-8")
    (target / "services" / "reads" / "sql" / "list_filing_years.sql").write_text(SQL, encoding="utf-8")
    made = subprocess.run([sys.executable, "scripts/gen.py"], cwd=target, env=environ(target), capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return target


@pytest.fixture(scope="module")
def grown(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, run from the copy."""
    data = DataDir(tmp_path_factory.mktemp("grown") / "data")

    def ops(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ops", *arguments, "--data-dir", str(data.root)]
        return subprocess.run(command, cwd=copy, env=environ(copy), capture_output=True, text=True, timeout=120, check=False)

    started = ops("up", "--detach", "--port", "0", "--until-exit-of", str(os.getpid()))
    try:
        assert started.returncode == 0, started.stdout + started.stderr
        yield Stack(data, json.loads(data.connect.read_text(encoding="utf-8")))
    finally:
        ops("down")


async def test_one_rpc_and_one_statement_are_a_tool(grown: Stack) -> None:
    async with client(grown.mcp_url, grown.keys["firm"]) as connected:
        listed = {t.name: t for t in (await connected.list_tools()).tools}
        tool = listed["list_filing_years"]
        answer = await call(connected, "list_filing_years", case_id=grown.matters["soilworks"])
    assert tool.description
    assert tool.description.startswith("Counts the papers of a matter")
    assert tool.input_schema["required"] == ["case_id"]
    assert tool.output_schema
    jsonschema_rs.validate(tool.output_schema, answer)
    assert answer["years"][0]["year"] == "2006"
    assert sum(y["entries"] for y in answer["years"]) > 150
    assert answer["verification_status"] == "unknown"
    assert answer["provenance_id_count"] > 150


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [
        ("AS entries", "AS entry_count", "column entry_count is not a field of substrate.reads.v1.FilingYear"),
        ("d.date_filed IS", "d.filed_on IS", "filed_on"),
        ("count(*)::int4 AS entries,", "", "no column fills substrate.reads.v1.FilingYear.entries"),
        ("-- method: ", "-- methods: ", "method"),
    ],
)
def test_a_statement_that_does_not_fit_stops_the_start_with_the_name(
    copy: Path, grown: Stack, tmp_path: Path, right: str, wrong: str, named: str
) -> None:
    statement = copy / "services" / "reads" / "sql" / "list_filing_years.sql"
    statement.write_text(SQL.replace(right, wrong), encoding="utf-8")
    overrides = {"SUBSTRATE_SERVER_LISTEN": "127.0.0.1:0", "SUBSTRATE_SERVER_READY_FILE": str(tmp_path / "ready")}
    command = [sys.executable, "-m", "services.reads", "--config", str(grown.data.config / "reads.toml")]
    try:
        done = subprocess.run(command, cwd=copy, env=environ(copy) | overrides, capture_output=True, text=True, timeout=60, check=False)
    finally:
        statement.write_text(SQL, encoding="utf-8")
    assert done.returncode == 1
    assert named in done.stderr
    assert not (tmp_path / "ready").exists()
