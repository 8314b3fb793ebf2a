"""A small HTTP program for tests of the supervisor: it behaves, or misbehaves, as SUBSTRATE_FAKE says."""

import http.server
import os
import signal
import sys
import time
import tomllib
from pathlib import Path

HOW = os.environ.get("SUBSTRATE_FAKE", "")


class Ready(http.server.BaseHTTPRequestHandler):
    """Answers as a program that is ready."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing."""


def main() -> None:
    """Serve until told to stop."""
    if HOW == "ends":
        sys.exit("fake: the configuration is wrong")
    signal.signal(signal.SIGTERM, signal.SIG_IGN if HOW == "stubborn" else lambda *_: os._exit(0))
    while HOW == "silent":
        time.sleep(0.1)  # noqa: TID251 - being silent is its job
    with Path(sys.argv[2]).open("rb") as source:
        config = tomllib.load(source)["http"]
    host, _, port = config["listen"].rpartition(":")
    server = http.server.ThreadingHTTPServer((host, int(port)), Ready)
    Path(config["ready_file"]).write_text(f"{host}:{server.server_port}", encoding="utf-8")
    server.serve_forever()


if __name__ == "__main__":
    main()
