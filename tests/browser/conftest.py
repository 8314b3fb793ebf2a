"""A real Chromium in front of the real approvals, which runs on a loop of its own."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, sync_playwright

from tests.cluster import Cluster, Database
from tests.db.approvals_world import PASSWORD, Somebody, World, opened

Value = TypeVar("Value")
NAMED = "http://localhost:{port}"


class Site:
    """The running program, and shortcuts for a test that is not on its loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, world: World) -> None:
        self._loop, self.world = loop, world
        self.case = uuid.uuid4()
        self.ada: Somebody = world.people.add(self.case)

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Runs work on the program's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def propose(self, action: str = "create_task", **more: Any) -> uuid.UUID:
        """Stores a proposal for ada."""
        return self.run(self.world.propose(self.ada, self.case, action, **more))

    def decisions(self, id_: uuid.UUID) -> list[str]:
        """What was decided."""
        return [str(r["decision"]) for r in self.run(self.world.decisions(id_))]

    def sign_in(self, page: Page) -> Page:
        """Signs ada in."""
        page.goto(self.world.url)
        page.get_by_label("Mail address").fill(self.ada.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(self.world.url + "/")
        return page


@contextmanager
def beside(
    pg: Cluster, program: Callable[[Database], AbstractAsyncContextManager[Value]]
) -> Iterator[tuple[asyncio.AbstractEventLoop, Value]]:
    """A program over a fresh database. Chromium's driver runs a loop on this thread, so everything else has threads of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    with ThreadPoolExecutor(1) as aside:
        copy = pg.copy()
        made = program(aside.submit(copy.__enter__).result(60))
        world = asyncio.run_coroutine_threadsafe(made.__aenter__(), loop).result(60)
        yield loop, world
        asyncio.run_coroutine_threadsafe(made.__aexit__(None, None, None), loop).result(60)
        aside.submit(copy.__exit__, None, None, None).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def site(pg: Cluster, tmp_path: Path) -> Iterator[Site]:
    """The program at a bare address."""
    with beside(pg, lambda database: opened(database, tmp_path)) as (loop, world):
        yield Site(loop, world)


@pytest.fixture
def named(pg: Cluster, tmp_path: Path) -> Iterator[Site]:
    """The program at a name, for which browsers make passkeys."""
    with beside(pg, lambda database: opened(database, tmp_path, public_url=NAMED)) as (loop, world):
        world.url = world.url.replace("127.0.0.1", "localhost")
        yield Site(loop, world)


@pytest.fixture(scope="module")
def chromium(pg: Cluster) -> Iterator[Chromium]:
    """The browser of the system. It is closed before the next module, whose tests may want this thread's loop, and before the server."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=[True, False], ids=["with-javascript", "without-javascript"])
def page(request: pytest.FixtureRequest, chromium: Chromium) -> Iterator[Page]:
    """A page in a context of its own, with and without JavaScript."""
    context = chromium.new_context(java_script_enabled=request.param)
    yield context.new_page()
    context.close()


@pytest.fixture
def scripted(chromium: Chromium) -> Iterator[Page]:
    """A page with JavaScript."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()
