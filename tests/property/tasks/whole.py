"""The machine: every rule, and after each step what the database holds against what should be so.

Each rule asks its guard of the model, makes the real call, and asserts that it was taken if and only if the guard holds. What must be so in
whatever order steps come, and where that is looked at:

T1   every result that is served of a task is the same bytes          `_as_it_stands`, `_keeps_its_end`
T2   to any other key a task is not there                             guards of `look`, `list_all`, `cancel`, `answer_questions`
T3   a task that was taken back has no result, however late one comes `_as_it_stands`, `_keeps_its_end`; guard of `race`
T4   a task that is done has a result, one that failed an error       `_as_it_stands`, `_keeps_its_end`
T5   what has ended does not change                                   `what_is_stored_is_what_should_be`; guards of `cancel`, `race`
T6   progress rises, and stands still once the task has ended         `_keeps_its_end`; guard of `come_further`; `watched`
T7   the key that a task belongs to does not change                   `_never_changes`
T8   the key that made a task takes it back, and no other             guard of `cancel`
T9   only who holds a running task ends it                            guards of `take`, `go_on`, `race`
T10  a wait for the end returns when there is one, and a task comes to its end once its times are over
                                            guard of `waits_for_the_end`; `what_is_left_comes_to_an_end`
T11  what can be got is listed                                        `list_all`
T12  a run that is no task is never listed, and nothing is done to it `list_all`, `what_is_stored_is_what_should_be`
"""

from __future__ import annotations

from hypothesis.stateful import invariant

from kit.db import Record
from tests.property.tasks.model import Filed
from tests.property.tasks.watchers import WatcherRules


class TaskMachine(WatcherRules):
    """Every rule checks its guard; this checks what stands afterwards."""

    @invariant()
    def what_is_stored_is_what_should_be(self) -> None:
        rows = self.world.do(self.world.ask("everything"))
        assert {row["id"] for row in rows} == set(self.model.tasks), "every acknowledged task has a row for as long as it is kept"
        for row in rows:
            t = self.model.tasks[row["id"]]
            self._never_changes(row, t)
            assert (row["status"], row["fence"], row["attempts"]) == (t.status, t.fence, t.attempts), "T5, T9"
            self._keeps_its_end(row, t)
            assert row["runs_of_the_firm"] == 1, "T12"

    def _never_changes(self, row: Record, t: Filed) -> None:
        key, case = self.world.keys[t.key].id, None if t.case is None else self.world.cases[t.case]
        assert (str(row["key_id"]), row["launched_by"], row["case_id"], row["input"]) == (key, key, case, t.input), "T7"

    def _keeps_its_end(self, row: Record, t: Filed) -> None:
        assert (row["result"] is not None, row["result_is_error"]) == (t.status == "DONE", t.is_error), "T3, T4"
        assert row["progress"] == t.progress, "T6"
        if row["result"] is not None:
            t.served = t.served or row["result"]
            assert row["result"] == t.served, "T1"
