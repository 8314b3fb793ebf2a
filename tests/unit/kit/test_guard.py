"""What stands before a handler: rules of the arguments, named."""

from __future__ import annotations

from typing import Any

import asyncpg
import grpc
from substrate.reads.v1 import docket_pb2, documents_pb2, matters_pb2

from kit import db
from kit.rules import field_errors
from kit.server import Call, Explain, Guard

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


async def outcome(guard: Guard, data: bytes) -> tuple[grpc.StatusCode, str]:
    """Status of one call of a guarded method over a real connection."""
    handler: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(guard.__call__, None, lambda m: m.SerializeToString())
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t.T", {"M": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call: Any = channel.unary_unary("/t.T/M")
            await call(data, timeout=10)
    except grpc.aio.AioRpcError as error:
        return error.code(), error.details() or ""
    finally:
        await server.stop(0)
    return grpc.StatusCode.OK, ""


def guard(error: Exception | None, explain: Explain = lambda _: None) -> Guard:
    """A guarded method that fails in a way."""

    async def handle(_request: Any, _call: Call) -> matters_pb2.GetMatterResponse:
        if error is not None:
            raise error
        return matters_pb2.GetMatterResponse()

    return Guard("/t.T/M", matters_pb2.GetMatterRequest, handle, None, explain)


RIGHT = matters_pb2.GetMatterRequest(case_id=CASE).SerializeToString()


async def test_a_right_call_is_answered() -> None:
    assert (await outcome(guard(None), RIGHT))[0] is grpc.StatusCode.OK


async def test_bytes_that_are_no_message_are_refused_without_a_word_of_python() -> None:
    code, said = await outcome(guard(None), b"\xff\xff\xff")
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert said == "Invalid arguments. request: expected the bytes of a GetMatterRequest."


async def test_a_store_out_of_reach_is_unavailable_and_a_defect_is_an_incident() -> None:
    assert (await outcome(guard(ConnectionRefusedError("10.0.0.1"), db.explain), RIGHT))[0] is grpc.StatusCode.UNAVAILABLE
    assert (await outcome(guard(asyncpg.InternalClientError("state 15"), db.explain), RIGHT))[0] is grpc.StatusCode.UNAVAILABLE
    code, said = await outcome(guard(KeyError("secret"), db.explain), RIGHT)
    assert code is grpc.StatusCode.INTERNAL
    assert "secret" not in said
