"""A held GET, read as it comes."""

import threading

import httpx

from tests.system.edge.wire import Wire, auth


class Held:
    """A GET that is read in a thread."""

    def __init__(self, wire: Wire, **headers: str) -> None:
        self.text, self.status, self.headers, self.ended = "", 0, httpx.Headers(), threading.Event()
        self._client = httpx.Client(timeout=httpx.Timeout(10, read=10))
        sent = {"accept": "text/event-stream", "mcp-session-id": str(wire.session)} | auth(wire.known) | headers
        self._thread = threading.Thread(target=self._read, args=(wire.edge.url, sent), daemon=True)
        self._thread.start()

    def _read(self, url: str, headers: dict[str, str]) -> None:
        try:
            with self._client.stream("GET", url, headers=headers) as answer:
                self.status, self.headers = answer.status_code, answer.headers
                for part in answer.iter_text():
                    self.text += part
        except httpx.HTTPError:
            self.text += "<broken>"
        finally:
            self.ended.set()

    def close(self) -> None:
        """Goes away."""
        self._client.close()
        self.ended.wait(10)
