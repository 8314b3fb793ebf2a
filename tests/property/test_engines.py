"""Laws of the engines behind the reads, over generated texts, counts and days."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from services.reads.engines import calibration, citations, court_days, deadlines, quotes, record_cites, statistics
from services.reads.engines.calibration import GENESIS, Graded, Link
from services.reads.engines.deadlines import Question
from services.reads.engines.quotes import PageText
from services.reads.engines.statistics import Interval

DAYS = st.dates(date(1963, 7, 1), date(2060, 12, 31))
SINCE_2009 = st.dates(date(2009, 12, 1), date(2060, 12, 31))
SAMPLES = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
WORDS = st.lists(st.text("abcdefghij", min_size=2, max_size=8), min_size=6, max_size=40)


@given(SAMPLES, st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=150, deadline=None)
def test_every_interval_holds_its_share_and_mirrors_that_of_the_rest(sample: tuple[int, int], confidence: float) -> None:
    found, of = sample
    for make in (statistics.exact, statistics.wilson, statistics.jeffreys):
        one, rest = make(found, of, confidence), make(of - found, of, confidence)
        assert 0 <= one.lower <= one.upper <= 1
        assert abs(one.lower - (1 - rest.upper)) < 1e-9
        assert abs(one.upper - (1 - rest.lower)) < 1e-9
        wider = make(found, of, confidence + 0.005)
        assert wider.lower <= one.lower + 1e-12
        assert wider.upper >= one.upper - 1e-12
    exact = statistics.exact(found, of, confidence)
    assert exact.lower <= found / of <= exact.upper


@given(st.floats(0.001, 0.999), st.floats(0.5, 500), st.floats(0.5, 500))
@settings(max_examples=150, deadline=None)
def test_the_quantile_is_where_the_distribution_has_its_probability(probability: float, a: float, b: float) -> None:
    assert abs(statistics.beta_distribution(statistics.beta_quantile(probability, a, b), a, b) - probability) < 1e-6


@given(st.integers(0, 10**6), st.integers(1, 10**7), st.floats(0, 1), st.floats(0, 1))
def test_more_elusion_is_less_recall(found: int, null_set: int, one: float, two: float) -> None:
    derived = statistics.recall_from_elusion(found, null_set, Interval(min(one, two), max(one, two)))
    assert 0 <= derived.lower <= derived.upper <= 1


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_a_summary_stays_within_its_bounds_and_its_bins_hold_every_prediction(given_rows: list[tuple[float, bool]]) -> None:
    found = calibration.summary([Graded(n, p, y) for n, (p, y) in enumerate(given_rows)])
    assert 0 <= found.brier <= 1
    assert sum(b.count for b in found.bins) == found.scored == len(given_rows)
    assert all(b.lower <= b.mean_probability <= b.upper + 1e-12 for b in found.bins)
    assert found.skill is None or found.skill <= 1


@given(st.integers(1, 30), st.data())
def test_one_changed_row_breaks_the_chain_there(length: int, data: st.DataObject) -> None:
    links: list[Link] = []
    before = GENESIS
    for seq in range(1, length + 1):
        made = calibration.row_hash(before, [str(seq)])
        links.append(Link(seq, before, made, made))
        before = made
    assert calibration.verdict(links).state == "good"
    at = data.draw(st.integers(0, length - 1))
    links[at] = Link(at + 1, links[at].prev_hash, links[at].row_hash, calibration.row_hash(links[at].prev_hash, ["other"]))
    assert calibration.verdict(links).broken_at == at + 1


@given(DAYS, st.integers(1, 400), st.sampled_from(["none", "mail", "electronic"]), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_period_ends_on_a_court_day_on_its_side_of_the_trigger(day: date, amount: int, service: str, backward: bool) -> None:
    found = deadlines.compute(Question(day, amount, backward=backward, service=service))
    assert found.due.weekday() < 5
    assert found.due not in court_days.holidays(found.due.year)
    assert (found.due < day) if backward else (found.due > day)
    assert abs((found.due - day).days) >= amount
    assert found.steps
    assert str(found.due) in found.steps[-1]


@given(SINCE_2009, st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_a_longer_period_never_ends_sooner(day: date, amount: int) -> None:
    assert deadlines.compute(Question(day, amount + 1)).due >= deadlines.compute(Question(day, amount)).due


@given(st.dates(date(1963, 7, 1), date(2009, 11, 30)), st.integers(1, 6))
@settings(max_examples=200, deadline=None)
def test_a_short_period_of_the_old_rule_counts_court_days_only(day: date, amount: int) -> None:
    due = deadlines.compute(Question(day, amount)).due
    between = [day + timedelta(n) for n in range(1, (due - day).days + 1)]
    assert len([d for d in between if d.weekday() < 5 and d not in court_days.holidays(d.year)]) == amount


@given(WORDS, st.data())
def test_what_stands_on_a_page_is_found_there_and_one_other_letter_is_not(words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(words) - 3))
    last = data.draw(st.integers(first + 2, len(words)))
    text, quote = " ".join(words), " ".join(words[first:last])
    pages = {1: PageText(1, "nothing like it"), 2: PageText(2, text)}
    assert quotes.check(quote, pages, [2]).result == "exact"
    assert quotes.check(quote, pages, [1]).result == "wrong_page"
    at = data.draw(st.integers(0, len(quote) - 1).filter(lambda n: quote[n] != " "))
    assert quotes.check(f"{quote[:at]}Q{quote[at + 1 :]}", pages, [2]).result == "misquote"


@given(WORDS, st.data())
def test_a_marked_omission_stands_where_its_ends_do_in_that_order(words: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(2, len(words) - 3))
    text = " ".join(words)
    quote = f"{' '.join(words[:2])} [...] {' '.join(words[cut + 1 :])}"
    assert quotes.check(quote, {1: PageText(1, text)}, [1]).result in ("altered_as_marked", "exact")


CITES = st.lists(
    st.sampled_from(["Tr. 375:7-9", "Holsted Dep. 12", "ECF No. 43-1", "Pls.' Ex. 94", "MCL000016-20"]), min_size=1, max_size=8
)


@given(CITES, st.sampled_from(["; ", ", and see ", " (", "\n"]))
def test_cites_are_found_one_by_one_wherever_they_stand(cites: list[str], between: str) -> None:
    text = between.join(cites)
    found = record_cites.find(text)
    assert [c.text for c in found] == cites
    assert all(text[c.start : c.end] == c.text for c in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@given(st.text(max_size=300))
def test_any_text_is_searched_for_record_cites_without_an_error(text: str) -> None:
    for cite in record_cites.find(text):
        assert record_cites.check(cite, []).result in ("not_loaded", "malformed")


@given(st.text(st.sampled_from("12 9U.S.F3d vId§()\nAbc;,"), max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_is_parsed_and_each_cite_stands_where_it_says(text: str) -> None:
    found = citations.extract(text)
    for cite in found.citations:
        assert " ".join(text[cite.start : cite.end].split()) == cite.text
        assert cite.authority is None or cite.authority < len(found.authorities)
