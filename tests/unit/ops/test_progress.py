"""What a start shows, on a terminal, in a log and through a pipe."""

import io
import json
import os

import pytest

from ops.progress import Events, Plain, Terminal, for_stream, replay


class Tty(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


async def test_a_log_gets_one_plain_line_a_step() -> None:
    out = io.StringIO()
    async with Plain(out).step("PostgreSQL"):
        pass
    assert out.getvalue() == "  ok      PostgreSQL (0.0 s)\n"


async def test_a_failed_step_says_so() -> None:
    out = io.StringIO()
    with pytest.raises(ValueError, match="why"):
        async with Plain(out).step("schema"):
            raise ValueError("why")
    assert out.getvalue() == "  failed  schema (0.0 s)\n"


async def test_a_terminal_line_is_shown_at_once_and_updated_in_place() -> None:
    out = Tty()
    async with Terminal(out).step("edge"):
        assert "edge" in out.getvalue()
        assert "\n" not in out.getvalue()
    assert out.getvalue().count("\n") == 1
    assert "✓" in out.getvalue()


def test_the_form_follows_where_the_output_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(for_stream(Tty()), Terminal)
    assert not isinstance(for_stream(io.StringIO()), Terminal)
    monkeypatch.setenv("TERM", "dumb")
    assert not isinstance(for_stream(Tty()), Terminal)


async def test_events_through_a_pipe_render_as_if_they_were_here() -> None:
    reading, writing = os.pipe()
    events = Events(writing)
    async with events.step("reads"):
        pass
    events.note("a note")
    events.send("ready", text="all")
    events.close()
    out = io.StringIO()
    with os.fdopen(reading) as lines:
        seen = [replay(Plain(out), line)["event"] for line in lines]
    assert (seen[0], seen[-1]) == ("begin", "ready")
    assert out.getvalue() == "  ok      reads (0.0 s)\n  a note\n"


def test_a_reader_that_has_gone_does_not_stop_the_stack() -> None:
    reading, writing = os.pipe()
    events = Events(writing)
    os.close(reading)
    events.note(json.dumps("x" * 100_000))
    events.close()
    events.note("after the end")
