"""Methods that are guarded like tools and offered to no agent."""

from substrate.proposals.v1 import handoff_service_pb2, proposal_service_pb2

from edge import tools
from kit import catalogue

LOADED = catalogue.load()
GUARDED = [tool for tool in LOADED.by_path.values() if not tool.name]


def test_a_method_with_rules_and_no_name_is_known_to_the_guards_and_to_nobody_else() -> None:
    assert GUARDED
    assert all(tool.path not in {t.path for t in LOADED.tools} for tool in GUARDED)
    assert "" not in LOADED.by_name
    assert set(tools.build(LOADED).cards) == set(LOADED.by_name)
    for tool in GUARDED:
        assert (tool.scope, tool.cost in ("free", "firm_credential"), tool.client_safe in ("allowed", "client_lane", "refused")) == (
            tool.scope,
            True,
            True,
        )
        assert tool.scope
        assert tool.title


def test_every_method_of_the_services_that_hold_links_is_guarded() -> None:

    for module in (handoff_service_pb2, proposal_service_pb2):
        for service in module.DESCRIPTOR.services_by_name.values():
            assert {f"/{service.full_name}/{m.name}" for m in service.methods} <= set(LOADED.by_path)


def test_a_tool_that_hands_over_says_what_the_edge_needs_to_know() -> None:
    handing_over = [t for t in LOADED.tools if t.handoff]
    assert handing_over
    assert not [t for t in handing_over if t.read_only]
