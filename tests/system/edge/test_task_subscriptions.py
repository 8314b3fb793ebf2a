"""subscriptions/listen with tasks: acknowledged, each task as it stands and changes, ended when there is nothing left to tell."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from edge.config import Timing
from kit import limits
from tests.poll import until
from tests.system.edge.running import Running, Site, as_tasks
from tests.system.edge.tasking import DECLARED, OPTIONAL, RESULT, deferred, on_task
from tests.system.edge.wire import JSON_HEADERS, META, MODERN, Wire, auth, error, meta, request
from tests.system.edge.world import World

SUBSCRIPTION = f"{META}subscriptionId"


class Listening:
    """A subscription, read in a thread as it comes."""

    def __init__(self, wire: Wire, params: dict[str, Any], id_: Any = "sub-1") -> None:
        self.text, self.status, self.ended = "", 0, threading.Event()
        self._client = httpx.Client(timeout=httpx.Timeout(10, read=10))
        body = request("subscriptions/listen", {"_meta": meta(MODERN, wire.capabilities)} | params, id_)
        routing = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
        headers = JSON_HEADERS | auth(wire.known) | routing
        self._thread = threading.Thread(target=self._read, args=(wire.edge.url, json.dumps(body), headers), daemon=True)
        self._thread.start()
        until(lambda: self.status, "an answer begins")

    def _read(self, url: str, body: str, headers: dict[str, str]) -> None:
        try:
            with self._client.stream("POST", url, content=body, headers=headers) as answer:
                self.status = answer.status_code
                for part in answer.iter_text():
                    self.text += part
        except httpx.HTTPError:
            self.text += "<broken>"
        finally:
            self.ended.set()

    @property
    def heard(self) -> list[dict[str, Any]]:
        """The messages so far."""
        return [json.loads(part[6:]) for part in self.text.split("\n") if part.startswith("data: ")]

    @property
    def told(self) -> list[dict[str, Any]]:
        """What was said of tasks."""
        return [m["params"] for m in self.heard if m.get("method") == "notifications/tasks"]

    def close(self) -> None:
        """Goes away."""
        self._client.close()
        self.ended.wait(10)


Listen = Callable[..., Listening]


@pytest.fixture
def knows(tasking: Running, world: World, http: httpx.Client) -> Wire:
    """A client that knows tasks."""
    return Wire(tasking, world.new_key(), http, capabilities=DECLARED)


@pytest.fixture
def listen(knows: Wire, world: World) -> Iterator[Listen]:
    """Opens subscriptions that are closed when the test ends."""
    opened: list[Listening] = []

    def make(*task_ids: str, wire: Wire = knows, id_: Any = "sub-1", **more: Any) -> Listening:
        opened.append(Listening(wire, {"notifications": {"taskIds": list(task_ids)} | more}, id_))
        return opened[-1]

    yield make
    for one in opened:
        one.close()
    until(lambda: knows.edge.listening == 0 and world.runs.watching == 0, "nothing is left")


@pytest.mark.parametrize("id_", ["sub-1", 7, 0, ""])
def test_it_is_acknowledged_first_with_the_tasks_it_will_tell_of(knows: Wire, listen: Listen, id_: Any) -> None:
    task = deferred(knows)["taskId"]
    one = listen(task, "nope", task, id_=id_, toolsListChanged=True, resourceSubscriptions=["bron://x"])
    until(lambda: len(one.heard) == 2, "the acknowledgement and the task")
    first = one.heard[0]
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"] == {"notifications": {"taskIds": [task]}, "_meta": {SUBSCRIPTION: id_}}
    assert one.text.startswith("event: message\n")


def test_a_task_is_told_as_get_would_tell_it_and_the_stream_ends_with_the_last_of_them(knows: Wire, world: World, listen: Listen) -> None:
    tasks = [deferred(knows)["taskId"] for _ in range(2)]
    one = listen(*tasks)
    world.runs.ask(tasks[0], a={"method": "elicitation/create", "params": {}})
    until(lambda: [t for t in one.told if t["status"] == "input_required"], "the question")
    asking = next(t for t in one.told if t["status"] == "input_required")
    assert asking["inputRequests"] == {"a": {"method": "elicitation/create", "params": {}}}
    world.runs.done(tasks[0], RESULT)
    until(lambda: one.told[-1]["status"] == "completed", "the first end")
    shown = on_task(knows, "tasks/get", tasks[0]).json()["result"]
    del shown["resultType"], shown["_meta"]
    assert {k: v for k, v in one.told[-1].items() if k != "_meta"} == shown
    assert not one.ended.is_set()
    world.runs.fail(tasks[1], -32603, "It broke.", "FAILED")
    assert one.ended.wait(10)
    assert one.told[-1]["error"] == {"code": -32603, "message": "It broke."}
    assert one.heard[-1] == {"jsonrpc": "2.0", "id": "sub-1", "result": {"resultType": "complete", "_meta": {SUBSCRIPTION: "sub-1"}}}
    assert all(t["_meta"] == {SUBSCRIPTION: "sub-1"} for t in one.told)


def test_progress_has_no_place_on_it(knows: Wire, world: World, listen: Listen) -> None:
    task = deferred(knows, _meta=meta(MODERN, DECLARED) | {"progressToken": "t"})["taskId"]
    one = listen(task)
    until(lambda: one.told, "the task")
    world.runs.progress(task, 1)
    world.runs.done(task, RESULT)
    assert one.ended.wait(10)
    assert {m.get("method") for m in one.heard} == {"notifications/subscriptions/acknowledged", "notifications/tasks", None}


def test_a_task_that_is_over_already_is_told_and_that_is_all(knows: Wire, world: World, listen: Listen) -> None:
    task = deferred(knows)["taskId"]
    world.runs.done(task, RESULT)
    one = listen(task)
    assert one.ended.wait(10)
    assert [t["status"] for t in one.told] == ["completed"]


def test_tasks_of_other_keys_are_not_there(knows: Wire, world: World, listen: Listen) -> None:
    task = deferred(knows)["taskId"]
    other = Wire(knows.edge, world.new_key(knows.known.owner), knows.http, capabilities=DECLARED)
    one = listen(task, "x" * 300, "", wire=other)
    assert one.ended.wait(10)
    assert one.heard[0]["params"]["notifications"] == {}
    assert one.told == []


def test_a_stream_that_breaks_off_behind_the_edge_is_opened_again_and_nothing_is_told_twice(
    knows: Wire, world: World, listen: Listen
) -> None:
    task, later = deferred(knows)["taskId"], deferred(knows)["taskId"]
    one = listen(task, later)
    until(lambda: len(one.told) == 2, "both tasks")
    world.runs.break_off()
    until(lambda: world.runs.watching == 0, "it broke off")
    world.runs.done(task, RESULT)
    world.runs.fault = ""
    until(lambda: one.told[-1]["status"] == "completed", "what was missed")
    world.runs.done(later, RESULT)
    assert one.ended.wait(10)
    assert [t["status"] for t in one.told] == ["working", "working", "completed", "completed"]


def test_a_client_that_goes_away_leaves_nothing_behind(knows: Wire, world: World, listen: Listen) -> None:
    for _ in range(5):
        one = listen(deferred(knows)["taskId"])
        until(lambda one=one: one.told, "the task")  # type: ignore[misc]
        one.close()
    until(lambda: (knows.edge.listening, world.runs.watching) == (0, 0), "nothing is left")


def test_a_revoked_key_loses_its_subscription(knows: Wire, world: World, listen: Listen) -> None:
    one = listen(deferred(knows)["taskId"])
    until(lambda: one.told, "the task")
    knows.known.revoked = True
    assert one.ended.wait(10)
    assert "<broken>" not in one.text
    assert knows.modern("subscriptions/listen", {"notifications": {"taskIds": []}}).status_code == 401


def test_the_oldest_subscription_of_a_key_makes_room(knows: Wire, world: World, listen: Listen) -> None:
    task = deferred(knows)["taskId"]
    streams = [listen(task) for _ in range(limits.STREAMS_PER_KEY_MAX + 1)]
    assert streams[0].ended.wait(10)
    assert streams[0].text.endswith("retry: 30000\n\n")
    assert not any(s.ended.is_set() for s in streams[1:])


@pytest.mark.parametrize(
    "wanted", [None, [], "x", {"taskIds": "x"}, {"taskIds": [1]}, {"taskIds": {}}, {"taskIds": ["x"] * (limits.TASK_LISTENED_MAX + 1)}]
)
def test_what_to_tell_of_is_said_in_the_form_of_the_protocol(knows: Wire, wanted: Any) -> None:
    said = error(knows.modern("subscriptions/listen", {"notifications": wanted}), 400, -32602)
    assert "notifications" in said["error"]["message"]


def test_a_client_that_does_not_know_tasks_is_told_what_it_lacks(knows: Wire) -> None:
    knows.capabilities = {}
    said = error(knows.modern("subscriptions/listen", {"notifications": {"taskIds": []}}), 400, -32021)
    assert said["error"]["data"] == {"requiredCapabilities": DECLARED}


def test_it_is_a_stream_or_nothing(knows: Wire) -> None:
    answer = knows.modern("subscriptions/listen", {"notifications": {"taskIds": []}}, {"accept": "application/json"})
    assert answer.status_code == 406


def test_a_service_that_is_away_is_said_before_a_stream_begins(knows: Wire, world: World) -> None:
    task = deferred(knows)["taskId"]
    world.runs.break_off()
    said = error(knows.modern("subscriptions/listen", {"notifications": {"taskIds": [task]}}), 200, -32603)
    assert said["error"]["data"]["retryable"] is True
    assert knows.edge.listening == 0


def test_the_program_stopping_ends_it_cleanly(site: Site, world: World, http: httpx.Client) -> None:
    with site.edge(Timing(heartbeat_seconds=0.2), site.with_tasks, declared=as_tasks(**{OPTIONAL: "optional"})) as edge:
        wire = Wire(edge, world.new_key(), http, capabilities=DECLARED)
        one = Listening(wire, {"notifications": {"taskIds": [deferred(wire)["taskId"]]}})
        until(lambda: one.told, "the task")
    assert one.ended.wait(5)
    assert "<broken>" not in one.text
    one.close()
