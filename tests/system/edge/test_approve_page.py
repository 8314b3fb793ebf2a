"""The page that a link opens: it leads on to the approvals program, says nothing, and takes no key."""

import pytest

from edge import handoff
from kit.config import ConfigError
from tests.system.edge.running import Running
from tests.system.edge.wire import Wire, auth

ID = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_brk_A"


def test_a_link_leads_to_the_approvals_program_with_nothing_but_its_id(linked: Wire) -> None:
    answer = linked.http.get(f"{linked.edge.url}/approve?elicitationId={ID}")
    assert (answer.status_code, answer.content) == (303, b"")
    assert answer.headers["location"] == f"http://127.0.0.1:9/firm/handoff/{ID}"
    assert (answer.headers["referrer-policy"], answer.headers["cache-control"]) == ("no-referrer", "no-store")
    assert "set-cookie" not in answer.headers


def test_links_that_exist_and_links_that_do_not_are_led_on_alike(linked: Wire) -> None:
    answers = [linked.http.get(f"{linked.edge.url}/approve?elicitationId={id_}") for id_ in ("a" * 43, "b" * 43)]
    assert {a.status_code for a in answers} == {303}
    assert len({tuple(sorted((k, v) for k, v in a.headers.items() if k not in ("location", "date"))) for a in answers}) == 1


@pytest.mark.parametrize(
    "query",
    [
        "",
        "elicitationId=",
        f"elicitationId={ID[:-1]}",
        f"elicitationId={ID}A",
        f"elicitationId={ID}&x=1",
        f"x=1&elicitationId={ID}",
        f"elicitationId={ID}&elicitationId={ID}",
        f"elicitationid={ID}",
        f"elicitation%49d={ID}",
        f"elicitationId={ID[:-3]}%41",
        f"elicitationId={ID[:-1]}%0A",
        f"elicitationId={ID};x",
        f"elicitationId={'../' * 14}a",
        f"elicitationId={'ä' * 43}",
        f"id={ID}",
        f"elicitationId={ID}&next=https://evil.example",
    ],
)
def test_anything_else_in_the_address_is_refused(linked: Wire, query: str) -> None:
    answer = linked.http.get(f"{linked.edge.url}/approve?{query}")
    assert answer.status_code == 400
    assert "location" not in answer.headers
    assert ID[:-1] not in answer.text


def test_a_key_opens_nothing_here(linked: Wire) -> None:
    link = f"{linked.edge.url}/approve?elicitationId={ID}"
    text = linked.known.key.text
    for headers in (auth(linked.known), {"x-api-key": text}, {"authorization": f"Basic {text}"}, {"authorization": "Bearer person"}):
        answer = linked.http.get(link, headers=headers)
        assert (answer.status_code, "location" in answer.headers) == (403, False)
    for query in (f"elicitationId={ID}&api_key={text}", f"elicitationId={text}", f"key={text}"):
        assert linked.http.get(f"{linked.edge.url}/approve?{query}").status_code == 400


def test_only_a_visit_opens_a_link(linked: Wire) -> None:
    link = f"{linked.edge.url}/approve?elicitationId={ID}"
    assert {linked.http.request(m, link).status_code for m in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")} == {405}


@pytest.mark.parametrize(
    ("pages", "ours"),
    [
        ("http://firm.example", "https://api.example"),
        ("https://firm.example", "http://api.example"),
        ("https://api.example/approvals", "https://api.example"),
        ("https://API.example", "https://api.example"),
        ("https://firm.example?x=1", "https://api.example"),
        ("https://firm.example#x", "https://api.example"),
        ("https://user@firm.example", "https://api.example"),
        ("firm.example", "https://api.example"),
        ("ftp://127.0.0.1", "https://api.example"),
    ],
)
def test_an_address_where_nobody_should_decide_stops_the_start(pages: str, ours: str) -> None:
    with pytest.raises(ConfigError):
        handoff.check_pages(pages, ours)


def test_an_address_of_its_own_over_tls_or_on_this_machine_is_taken(linking: Running) -> None:
    handoff.check_pages("https://approvals.firm.example/x", "https://api.example")
    handoff.check_pages("http://127.0.0.1:9", linking.url)
