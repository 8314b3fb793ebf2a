"""Talk of the handshake era: questions go out on the stream of the call, and each is answered in a POST of its own."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from google.protobuf.message import Message
from substrate.common.v1 import error_reason_pb2 as reasons
from substrate.tools.v1 import exchange_pb2 as pb

from edge import jsonrpc, talk
from edge.sessions import Session
from edge.talk import Ear, Tell
from kit import limits
from kit.errors import Refusal

_WORDS = {
    "elicitation.form": "can ask its person with a form",
    "elicitation.url": "can open a link for its person",
    "sampling": "can ask its model",
    "roots": "can list its roots",
}


@dataclass(slots=True)
class SessionTalk:
    """The talk of one call."""

    session: Session
    tell: Tell | None
    ear: Ear
    pause: Callable[[int], None] | None = None  # for whoever can hang up and come back
    _rounds: int = 0

    async def given(self, _path: str, _request: Message) -> pb.Given:
        """In this era a call begins with nothing but what its client can be asked."""
        return pb.Given(capabilities=talk.said(self.session.capabilities))

    async def ask(self, _path: str, _request: Message, asking: pb.Asking) -> pb.Given:
        """Asks, and waits for every answer."""
        self._rounds += 1
        if self._rounds > limits.ASK_ROUNDS_MAX:
            raise Refusal(reasons.ERROR_REASON_CONFLICT, f"The tool asked more than {limits.ASK_ROUNDS_MAX} times and was ended.")
        if (lacking := talk.missing(asking.questions, self.session.capabilities)) or self.tell is None:
            raise _cannot(lacking)
        told = await asyncio.gather(*(self._answer(self.tell, question) for question in asking.questions))
        given = pb.Given(capabilities=talk.said(self.session.capabilities), state=asking.state)
        given.replies.extend(pb.Reply(key=key, result_json=orjson.dumps(result)) for key, result in told)
        return given

    async def _answer(self, tell: Tell, question: pb.Question) -> tuple[str, Any]:
        """One question and its answer; a client that fails to ask has refused."""
        id_, shown = f"ask-{secrets.token_urlsafe(12)}", talk.shown(question)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        if len(self.session.waiting) >= limits.ASKED_PER_SESSION_MAX:
            raise Refusal(reasons.ERROR_REASON_CONFLICT, "Too many questions of this session are open. Answer them first.")
        self.session.waiting[id_] = answer
        try:
            await tell(jsonrpc.request(id_, shown["method"], shown["params"]))
            async with asyncio.timeout(limits.ASK_SECONDS):
                body = await answer
        except TimeoutError:
            raise Refusal(reasons.ERROR_REASON_CONFLICT, f"The client did not answer within {limits.ASK_SECONDS:g} s.") from None
        finally:
            self.session.waiting.pop(id_, None)
        if not isinstance(body.get("result"), dict):
            raise Refusal(reasons.ERROR_REASON_CONFLICT, f"The client refused {shown['method']}.")
        return question.key, body["result"]

    async def hear(self, event: pb.Event) -> None:
        """News on the stream of the call."""
        if event.WhichOneof("kind") == "interlude" and self.pause is not None:
            self.pause(event.interlude.retry_ms)
        await self.ear.hear(event)


def answered(session: Session, response: jsonrpc.Response) -> bool:
    """Takes the answer to a question of this session. Whether such a question was waiting."""
    waiting = session.waiting.pop(response.id, None) if isinstance(response.id, str) else None
    if waiting is None or waiting.done():
        return False
    waiting.set_result(response.body)
    return True


def _cannot(lacking: dict[str, Any]) -> Refusal:
    if not lacking:
        return Refusal(reasons.ERROR_REASON_CONFLICT, "This tool asks while it works: accept text/event-stream, so that it can.")
    names = [f"{family}.{mode}" if modes else family for family, modes in lacking.items() for mode in (modes or ("",))]
    needs = " and ".join(_WORDS[name] for name in names)
    return Refusal(reasons.ERROR_REASON_CONFLICT, f"This tool needs a client that {needs}: declare {', '.join(names)} in initialize.")
