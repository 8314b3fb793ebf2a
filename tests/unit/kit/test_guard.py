"""What stands before a handler: rules of the arguments, named."""

from __future__ import annotations

from substrate.reads.v1 import docket_pb2, documents_pb2, matters_pb2

from kit.rules import field_errors

CASE = "6b6f1cb0-7d27-4f0e-9d3d-0d1c6a3c1111"


def test_a_right_request_has_no_errors() -> None:
    assert field_errors(matters_pb2.GetMatterRequest(case_id=CASE)) == []


def test_each_wrong_argument_is_named_with_what_was_expected() -> None:
    wrong = field_errors(docket_pb2.ListDocketEntriesRequest(case_id="x", page_size=9999))
    assert {e.path for e in wrong} == {"case_id", "page_size"}
    assert all(e.expected for e in wrong)


def test_a_text_with_a_nul_is_refused_by_name_before_it_reaches_a_store() -> None:
    wrong = field_errors(docket_pb2.ListDocketEntriesRequest(case_id=CASE, words="a\0b"))
    assert [(e.path, e.expected) for e in wrong] == [("words", "expected text without a NUL character")]


def test_a_rule_of_the_whole_request_names_the_request() -> None:
    wrong = field_errors(documents_pb2.GetPassageRequest(case_id=CASE))
    assert [(e.path, e.expected) for e in wrong] == [("request", "name passage_id, or document_id and page")]
