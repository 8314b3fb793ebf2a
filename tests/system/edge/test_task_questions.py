"""What a task asks its client for: in a session on the stream of whoever waits for the result, each question on one stream at a time."""

import concurrent.futures
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from mcp_types import _v2025_11_25 as handshake

from edge.sessions import Capabilities
from edge.task_questions import can_be_asked
from kit import limits
from tests.poll import until
from tests.system.edge.tasking import RELATED, RESULT, made, told
from tests.system.edge.wire import JSON_HEADERS, Wire, auth, error, request
from tests.system.edge.world import World

FORM = {"mode": "form", "message": "Which one?", "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}}}
ASK = {"method": "elicitation/create", "params": FORM}
SAMPLE = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}


class Waiter:
    """A client that waits for a result, read as it comes."""

    def __init__(self, wire: Wire, task: dict[str, Any]) -> None:
        self.text, self.ended = "", threading.Event()
        self._client = httpx.Client(timeout=httpx.Timeout(10, read=10))
        headers = JSON_HEADERS | auth(wire.known) | {"mcp-session-id": str(wire.session)}
        body = json.dumps(request("tasks/result", {"taskId": task["taskId"]}, "w"))
        threading.Thread(target=self._read, args=(wire.edge.url, body, headers), daemon=True).start()

    def _read(self, url: str, body: str, headers: dict[str, str]) -> None:
        try:
            with self._client.stream("POST", url, content=body, headers=headers) as answer:
                for part in answer.iter_text():
                    self.text += part
        except httpx.HTTPError:
            self.text += "<broken>"
        finally:
            self.ended.set()

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The questions so far."""
        return [m for m in self.heard if "method" in m]

    @property
    def heard(self) -> list[dict[str, Any]]:
        """The messages so far."""
        return [json.loads(part[6:]) for part in self.text.split("\n") if part.startswith("data: ")]

    def close(self) -> None:
        """Goes away."""
        self._client.close()
        self.ended.wait(10)


Wait = Callable[..., Waiter]


@pytest.fixture
def asking(tasks: Wire) -> Wire:
    """A session whose client can be asked."""
    tasks.session, tasks.capabilities = None, {"elicitation": {"form": {}}}
    return tasks.initialize()


@pytest.fixture
def wait(asking: Wire) -> Iterator[Wait]:
    """Waits that end with the test."""
    opened: list[Waiter] = []

    def make(task: dict[str, Any], wire: Wire = asking) -> Waiter:
        opened.append(Waiter(wire, task))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def answer(wire: Wire, asked: dict[str, Any], **body: Any) -> httpx.Response:
    """The client's answer to a question."""
    return wire.send({"jsonrpc": "2.0", "id": asked["id"]} | (body or {"result": {"action": "accept", "content": {"which": "a"}}}))


def test_a_question_names_its_task_and_its_answer_takes_the_task_on(asking: Wire, world: World, wait: Wait) -> None:
    task = made(asking)
    waiter = wait(task)
    until(lambda: world.runs.waiting == 1, "it waits")
    world.runs.ask(task["taskId"], q=ASK)
    until(lambda: waiter.asked, "the question")
    (asked,) = waiter.asked
    handshake.ElicitRequest.model_validate(asked)
    assert asked["params"] == FORM | {"_meta": {RELATED: {"taskId": task["taskId"]}}}
    assert told(asking, task)["status"] == "input_required"
    assert answer(asking, asked).status_code == 202
    until(lambda: told(asking, task)["status"] == "working", "it goes on")
    assert world.runs.kept[task["taskId"]].answers == {"q": {"action": "accept", "content": {"which": "a"}}}
    world.runs.done(task["taskId"], RESULT)
    assert waiter.ended.wait(10)
    assert waiter.heard[-1]["result"]["_meta"] == {RELATED: {"taskId": task["taskId"]}}
    assert len(waiter.asked) == 1


def test_a_question_goes_to_one_of_many_that_wait_and_to_the_next_when_that_one_is_gone(asking: Wire, world: World, wait: Wait) -> None:
    task = made(asking)
    waiters = [wait(task) for _ in range(3)]
    until(lambda: world.runs.waiting == 3, "they wait")
    world.runs.ask(task["taskId"], q=ASK)
    until(lambda: any(w.asked for w in waiters), "the question")
    until(lambda: all(w.text.count("keepalive") > 3 or w.asked for w in waiters), "time passes")
    (first,) = (w for w in waiters if w.asked)
    first.close()
    others = [w for w in waiters if w is not first]
    until(lambda: any(w.asked for w in others), "it is asked again")
    (asked,) = (m for w in others for m in w.asked)
    assert asked["id"] != first.asked[0]["id"]
    answer(asking, asked)
    until(lambda: told(asking, task)["status"] == "working", "it goes on")
    assert error(answer(asking, first.asked[0]), 400, -32600)


def test_an_answer_that_comes_after_its_stream_is_gone_still_counts(asking: Wire, world: World, wait: Wait) -> None:
    task = made(asking)
    world.runs.ask(task["taskId"], q=ASK)
    waiter = wait(task)
    until(lambda: waiter.asked, "the question")
    waiter.close()
    assert answer(asking, waiter.asked[0]).status_code == 202
    until(lambda: told(asking, task)["status"] == "working", "it goes on")


@pytest.mark.parametrize(
    ("body", "noted"),
    [
        ({"result": {"action": "decline"}}, {"action": "decline"}),
        ({"error": {"code": -1, "message": "no"}}, {"action": "cancel"}),
    ],
)
def test_a_refusal_to_answer_is_an_answer(asking: Wire, world: World, wait: Wait, body: dict[str, Any], noted: dict[str, Any]) -> None:
    task = made(asking)
    world.runs.ask(task["taskId"], q=ASK)
    waiter = wait(task)
    until(lambda: waiter.asked, "the question")
    answer(asking, waiter.asked[0], **body)
    until(lambda: world.runs.kept[task["taskId"]].answers == {"q": noted}, "the answer")


def test_another_session_or_key_answers_nothing(asking: Wire, world: World, wait: Wait) -> None:
    task = made(asking)
    world.runs.ask(task["taskId"], q=ASK)
    waiter = wait(task)
    until(lambda: waiter.asked, "the question")
    for other in (asking.known, world.new_key(asking.known.owner)):
        stranger = Wire(asking.edge, other, asking.http, capabilities=asking.capabilities).initialize()
        error(answer(stranger, waiter.asked[0]), 400, -32600)
    assert told(asking, task)["status"] == "input_required"


def test_a_client_is_asked_only_what_it_said_it_can_be_asked(asking: Wire, world: World, wait: Wait) -> None:
    task = made(asking)
    world.runs.ask(task["taskId"], sample=SAMPLE, link=ASK | {"params": {"mode": "url", "url": "https://x", "message": "m"}})
    waiter = wait(task)
    until(lambda: waiter.text.count("keepalive") > 3, "time passes")
    assert waiter.asked == []
    assert told(asking, task)["status"] == "input_required"
    assert asking.call("tasks/cancel", {"taskId": task["taskId"]}).json()["result"]["status"] == "cancelled"
    assert waiter.ended.wait(10)


def test_what_can_be_asked_follows_from_what_was_declared() -> None:
    able = Capabilities(elicitation_form=True, sampling=True)
    link = {"method": "elicitation/create", "params": {"mode": "url"}}
    questions = (ASK, link, SAMPLE, {"method": "roots/list", "params": {}}, {"method": "x", "params": {}})
    assert [can_be_asked(able, question) for question in questions] == [True, False, True, False, False]
    assert can_be_asked(Capabilities(elicitation_url=True), link)
    assert can_be_asked(Capabilities(roots=True), {"method": "roots/list", "params": {}})


def test_a_client_that_takes_no_events_waits_without_being_asked(asking: Wire, world: World) -> None:
    task = made(asking)
    world.runs.ask(task["taskId"], q=ASK)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        body = request("tasks/result", {"taskId": task["taskId"]})
        waiting = pool.submit(asking.send, body, {"accept": "application/json"})
        until(lambda: world.runs.waiting == 1, "it waits")
        world.runs.done(task["taskId"], RESULT)
        assert waiting.result(10).json()["result"]["structuredContent"] == {"a": 1}


def test_an_answer_that_could_not_be_passed_on_is_asked_for_again(asking: Wire, world: World, wait: Wait) -> None:
    task = made(asking)
    world.runs.ask(task["taskId"], q=ASK)
    waiter = wait(task)
    until(lambda: waiter.asked, "the question")
    world.runs.fault = "update"
    answer(asking, waiter.asked[0])
    world.runs.fault = ""
    until(lambda: len(waiter.asked) == 2, "it is asked again")
    answer(asking, waiter.asked[1])
    until(lambda: told(asking, task)["status"] == "working", "it goes on")


def test_a_session_is_asked_few_things_at_once(asking: Wire, world: World, wait: Wait, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TASK_QUESTIONS_PER_SESSION_MAX", 2)
    task = made(asking)
    world.runs.ask(task["taskId"], a=ASK, b=ASK, c=ASK)
    waiter = wait(task)
    until(lambda: len(waiter.asked) == 2, "two questions")
    until(lambda: waiter.text.count("keepalive") > 3, "time passes")
    assert len(waiter.asked) == 2
    answer(asking, waiter.asked[0])
    until(lambda: len(waiter.asked) == 3, "the third")
