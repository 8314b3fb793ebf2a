"""Which tools may run as a task: those that were decided on, and no other; written out for each."""

from __future__ import annotations

from kit import catalogue

OPTIONAL = {
    "retrieve",
    "search_firm_work_product",
    "verify_record_cites",
    "get_validation_runs",
    "get_inbound_import_receipts",
    "find_entity_paths",
    "verify_ledger_chain",
}
TOOLS = catalogue.load().by_name


def test_the_tools_that_were_decided_on_may_run_as_a_task_and_no_other_may() -> None:
    assert {name for name, tool in TOOLS.items() if tool.task_support == "optional"} == OPTIONAL
    assert {tool.task_support for tool in TOOLS.values()} == {"optional", "forbidden"}


def test_a_link_that_soon_expires_and_a_proposal_are_no_tasks() -> None:
    assert TOOLS["propose_action"].task_support == "forbidden"
    assert TOOLS["get_document"].task_support == "forbidden"


def test_every_tool_that_may_run_as_a_task_is_a_read_so_that_another_worker_can_begin_it_again() -> None:
    assert all(TOOLS[name].read_only for name in OPTIONAL)
