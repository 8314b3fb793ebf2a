"""Statuses of runs as the two eras are told them."""

import pytest

from edge import task_status
from edge.task_status import TERMINAL, UnknownStatus, status

# The table of the decisions, written out a second time on purpose.
TABLE = {
    ("PENDING", False): ("working", "working"),
    ("QUEUED", False): ("working", "working"),
    ("RUNNING", False): ("working", "working"),
    ("AWAITING_INPUT", False): ("input_required", "input_required"),
    ("DONE", False): ("completed", "completed"),
    ("DONE", True): ("failed", "completed"),
    ("FAILED", False): ("failed", "failed"),
    ("ABORTED", False): ("failed", "failed"),
    ("DENIED", False): ("cancelled", "cancelled"),
}


@pytest.mark.parametrize(("word", "is_error"), TABLE)
def test_a_run_is_told_exactly_as_decided(word: str, is_error: bool) -> None:
    assert (status(word, is_error=is_error, modern=False), status(word, is_error=is_error, modern=True)) == TABLE[word, is_error]


def test_the_table_has_a_row_for_every_word_that_is_known() -> None:
    assert {word for word, _ in TABLE} == set(task_status._OF_RUN)
    assert {status(w, is_error=e, modern=m) for w, e in TABLE for m in (True, False)} - TERMINAL == {"working", "input_required"}


@pytest.mark.parametrize("word", ["", "done", "DONE ", "COMPLETED", "CANCELLED", "UNSPECIFIED", "RUN_STATUS_DONE", "WAITING"])
def test_any_other_word_is_refused_rather_than_guessed(word: str) -> None:
    for modern in (True, False):
        with pytest.raises(UnknownStatus):
            status(word, is_error=False, modern=modern)


def test_taken_back_and_broken_off_are_different_facts() -> None:
    for modern in (True, False):
        assert status("DENIED", is_error=False, modern=modern) != status("ABORTED", is_error=False, modern=modern)
