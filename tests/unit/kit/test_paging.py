"""Page tokens: opaque, bound to their question, and refused in any other form."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from substrate.reads.v1 import docket_pb2, matters_pb2

from kit import limits, paging
from kit.errors import Refusal

CASE = "6b6f1cb0-7d27-4f0e-9d3d-0d1c6a3c1111"


@given(st.text(max_size=60).filter(lambda t: "\x00" not in t))
def test_a_token_opens_where_it_was_made(after: str) -> None:
    request = docket_pb2.ListDocketEntriesRequest(case_id=CASE)
    request.page_token = paging.token(request, after)
    assert paging.opened(request).after == after


def test_a_token_of_another_question_is_refused() -> None:
    token = paging.token(docket_pb2.ListDocketEntriesRequest(case_id=CASE), "5")
    with pytest.raises(Refusal, match="page_token"):
        paging.opened(docket_pb2.ListDocketEntriesRequest(case_id=CASE.replace("6b", "7c"), page_token=token))


def test_another_page_size_keeps_the_token() -> None:
    token = paging.token(matters_pb2.ListMattersRequest(page_size=2), "5")
    assert paging.opened(matters_pb2.ListMattersRequest(page_size=7, page_token=token)) == paging.Page("5", 7)


@given(st.text(min_size=1, max_size=100))
def test_anything_else_is_refused_and_never_fails(text: str) -> None:
    with pytest.raises(Refusal, match="page_token"):
        paging.opened(matters_pb2.ListMattersRequest(page_token=text))


def test_the_size_has_a_default_and_a_maximum() -> None:
    assert paging.opened(matters_pb2.ListMattersRequest()).size == limits.PAGE_SIZE_DEFAULT
    assert paging.opened(matters_pb2.ListMattersRequest(page_size=9999)).size == limits.PAGE_SIZE_MAX


def test_a_token_whose_place_no_store_could_hold_is_refused() -> None:
    request = matters_pb2.ListMattersRequest()
    for place in ("\ud800", "a\0"):
        body = json.dumps([paging.binding(request), place]).encode()
        request.page_token = base64.urlsafe_b64encode(body).decode().rstrip("=")
        with pytest.raises(Refusal, match="page_token"):
            paging.opened(request)
