"""The table of duties, and the configuration that follows from it."""

import tomllib
from pathlib import Path

import pytest
from substrate.tools.v1 import tools_pb2

from kit import catalogue
from ops import configs, programs
from ops.layout import ROOT, DataDir

TABLE = programs.load()
ADDRESSES = {p.name: f"127.0.0.1:{number}" for number, p in enumerate(TABLE.programs, 1)}


def written(tmp_path: Path, name: str) -> dict[str, dict[str, object]]:
    configs.write(TABLE[name], DataDir(tmp_path), "127.0.0.1:0", ADDRESSES)
    path = tmp_path / "config" / f"{name}.toml"
    assert path.stat().st_mode & 0o777 == 0o600
    return tomllib.loads(path.read_text())


def test_programs_start_after_what_they_need() -> None:
    order = [p.name for p in TABLE.programs]
    assert all(order.index(need) < order.index(p.name) for p in TABLE.programs for need in p.needs)


def test_programs_that_need_each_other_are_refused(tmp_path: Path) -> None:
    entry = 'module = "m"\nserves = "grpc"\nextra = "x"\nimage = []\nsecrets = []\n'
    path = tmp_path / "programs.toml"
    path.write_text(f'[programs.a]\nneeds = ["b"]\n{entry}[programs.b]\nneeds = ["a"]\n{entry}[clients]\n[logins]\n')
    with pytest.raises(ValueError, match=r"need each other or one that is missing: \['a', 'b'\]"):
        programs.load(path)


def test_the_edge_has_no_login_and_no_database_in_its_configuration(tmp_path: Path) -> None:
    assert TABLE["edge"].role is None
    assert "database" not in written(tmp_path, "edge")


def test_the_edge_learns_where_its_backends_are(tmp_path: Path) -> None:
    assert written(tmp_path, "edge")["backends"] == {name: ADDRESSES[name] for name in ("auth", "reads", "proposals", "tasks")}


def test_the_edge_on_any_port_names_itself_after_the_one_it_took(tmp_path: Path) -> None:
    assert written(tmp_path, "edge")["http"]["public_url"] == ""


def test_only_auth_is_given_the_pepper(tmp_path: Path) -> None:
    assert [p.name for p in TABLE.programs if "keys" in written(tmp_path, p.name)] == ["auth"]


def test_each_half_of_the_decision_key_goes_to_one_program(tmp_path: Path) -> None:
    given = {p.name: written(tmp_path, p.name).get("decision") for p in TABLE.programs}
    secrets = tmp_path / "secrets"
    assert {name: found for name, found in given.items() if found} == {
        "approvals": {"key_file": str(secrets / "decision.key")},
        "executor": {"public_key_file": str(secrets / "decision.pub")},
    }


def test_each_half_of_the_key_of_links_goes_to_one_program(tmp_path: Path) -> None:
    given = {p.name: written(tmp_path, p.name).get("links") for p in TABLE.programs}
    secrets = tmp_path / "secrets"
    assert {name: found for name, found in given.items() if found} == {
        "files": {"public_key_file": str(secrets / "links.pub")},
        "reads": {"base_url": f"http://{ADDRESSES['files']}", "key_file": str(secrets / "links.key")},
    }


def test_files_has_no_way_into_the_database_and_nobody_calls_it_over_grpc() -> None:
    assert TABLE["files"].role is None
    assert TABLE["files"].callers == {}
    assert not [s for s in TABLE["files"].secrets if s.endswith(".dsn")]


def test_nothing_may_call_the_executor_and_nothing_with_a_key_may_call_approvals() -> None:
    assert set(TABLE["executor"].callers) == {"grpc.health.v1.Health"}
    assert TABLE["approvals"].callers == {}
    assert not {p.name for p in TABLE.programs if "executor" in p.needs or ("approvals" in p.needs and p.name != "edge")}


def test_each_program_is_given_its_own_login(tmp_path: Path) -> None:
    found = {name: written(tmp_path, name)["database"]["dsn_file"] for name in ("auth", "reads")}
    assert found == {name: str(tmp_path / "secrets" / f"{name}.dsn") for name in ("auth", "reads")}


def test_every_service_with_tools_has_callers() -> None:
    listed = {service for p in TABLE.programs for service in p.callers}
    for tool in catalogue.load().tools:
        assert {tool.service, f"{tool.service.rpartition('.')[0]}.*"} & listed, tool.name


def test_every_caller_is_a_program_or_a_known_client() -> None:
    known = {p.name for p in TABLE.programs} | set(TABLE.clients)
    assert {caller for p in TABLE.programs for names in p.callers.values() for caller in names} <= known


def test_only_the_operator_administers() -> None:
    assert TABLE["auth"].callers["substrate.auth.v1.AuthAdminService"] == ["operator"]


def test_images_hold_files_that_exist() -> None:
    assert [path for p in TABLE.programs for path in p.image if not (ROOT / path).exists()] == []


def test_the_options_of_a_tool_are_those_that_explain_shows() -> None:
    shown = {
        "name",
        "title",
        "scope",
        "cost",
        "client_safe",
        "task_support",
        "rate_lane",
        "resource",
        "handoff",
        "arguments_schema",
        "asks_first",
    }
    assert set(tools_pb2.ToolOptions.DESCRIPTOR.fields_by_name) == shown
