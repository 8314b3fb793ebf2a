"""How changes are heard: the pauses between attempts, and what is a change at all."""

from itertools import accumulate

import pytest
from substrate.changes.v1 import change_service_pb2 as pb

from edge import changes
from edge.changes import Change
from kit import limits


def test_pauses_grow_up_to_a_limit() -> None:
    pauses = list(accumulate(range(20), lambda pause, _: changes.later(pause), initial=limits.CHANGES_PAUSE_SECONDS))
    assert pauses == sorted(pauses)
    assert pauses[1] > pauses[0]
    assert pauses[-1] == limits.CHANGES_PAUSE_MAX_SECONDS


@pytest.mark.parametrize(
    ("said", "change"),
    [
        (pb.WatchChangesResponse(kind=pb.CHANGE_KIND_TOOLS, uri="x"), Change("notifications/tools/list_changed")),
        (pb.WatchChangesResponse(kind=pb.CHANGE_KIND_RESOURCE, uri="x"), Change("notifications/resources/updated", "x")),
        (pb.WatchChangesResponse(kind=pb.CHANGE_KIND_RESOURCE), None),
        (pb.WatchChangesResponse(), None),
    ],
)
def test_a_change_is_of_a_known_kind_and_of_an_address_where_it_is_about_one(said: pb.WatchChangesResponse, change: Change | None) -> None:
    assert changes.read(said) == change
