"""Frequencies against exact binomial sums, second-order points at their ties, and what a count leaves apart."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb, inf, nan
from typing import Any

import checks_reached as reached
import pytest

from bilevel_verify.checks.judging.probability import LEVEL, binomial_bounds, judge_frequency
from bilevel_verify.checks.judging.stationarity import _judged, second_order_point
from bilevel_verify.checks.verdicts.counting import Count, count_of, first_mark, in_order, judges, text_of, word_of
from bilevel_verify.errors import InputError

pytestmark = pytest.mark.fast


def at_most(successes: int, trials: int, share: float) -> float:
    """The exact probability of so many successes or fewer."""
    p = Fraction(share)
    return float(sum(comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes + 1)))


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (1, 5), (4, 5), (5, 5), (37, 100), (0, 1), (1, 1)])
@pytest.mark.parametrize("level", [1e-6, 0.01, 0.4])
def test_bounds_are_those_of_exact_binomial_sums(successes: int, trials: int, level: float) -> None:
    lower, upper = binomial_bounds(successes, trials, level)
    if successes == 0:
        assert lower == 0.0
    else:
        assert 1 - at_most(successes - 1, trials, lower) == pytest.approx(level, rel=1e-6, abs=0)
    if successes == trials:
        assert upper == 1.0
    else:
        assert at_most(successes, trials, upper) == pytest.approx(level, rel=1e-6, abs=0)


@pytest.mark.parametrize(
    ("successes", "trials", "level"),
    [(-1, 5, 0.1), (6, 5, 0.1), (0, 0, 0.1), (1, 5, 0.0), (1, 5, 1.0), (1, 5, -0.1), (1, 5, nan)],
)
def test_counts_and_levels_that_make_no_sense(successes: int, trials: int, level: float) -> None:
    with pytest.raises(ValueError, match="make no sense"):
        binomial_bounds(successes, trials, level)


def test_a_frequency_refutes_below_its_upper_bound_and_never_proves() -> None:
    assert LEVEL == 1e-6
    _, upper = binomial_bounds(60, 100, LEVEL)
    found = judge_frequency(60, 100, upper + 1e-9)
    assert (found.verdict, found.successes, found.trials, found.upper) == ("refuted", 60, 100, upper)
    assert found.reason == f"60 of 100 seeds, upper bound {upper:.4f}"
    tie = judge_frequency(60, 100, upper)
    assert tie.verdict == "undecided"
    assert tie.reason.startswith("a frequency proves no probability; 60 of 100 seeds: probability in [")
    assert judge_frequency(100, 100, 0.5).verdict == "undecided"
    assert judge_frequency(0, 100, 0.5, rows=0).upper == judge_frequency(0, 100, 0.5).upper


def test_many_rows_share_the_level() -> None:
    _, upper = binomial_bounds(60, 100, LEVEL / 50)
    assert judge_frequency(60, 100, 0.5, rows=50).upper == upper > binomial_bounds(60, 100, LEVEL)[1]
    assert judge_frequency(60, 100, 0.5, rows=2, level=0.02).upper == binomial_bounds(60, 100, 0.01)[1]


# --- second-order points


@pytest.mark.parametrize(
    ("size", "error", "eps", "low", "bar", "tau", "verdict", "said"),
    [
        (1.0, 0.25, 1.25, 1.0, 0.0, 0.0, "holds", ""),
        (1.0, 0.25, 1.2, 1.0, 0.0, 0.0, "undecided", "tie"),
        (1.0, 0.25, 0.75, 1.0, 0.0, 0.0, "undecided", "tie"),
        (1.0, 0.25, 0.7, 1.0, 0.0, 0.0, "refuted", "|grad phi| >= 0.75 > 0.7"),
        (0.0, 0.0, 0.0, -1.0, 0.25, 1.25, "holds", ""),
        (0.0, 0.0, 0.0, -1.0, 0.25, 1.2, "undecided", "tie"),
        (0.0, 0.0, 0.0, -1.0, 0.25, 0.75, "undecided", "tie"),
        (0.0, 0.0, 0.0, -1.0, 0.25, 0.7, "refuted", "lambda_min <= -0.75 < -0.7"),
        (1.0, 0.0, 0.5, -1.0, 0.0, 0.5, "refuted", "|grad phi| >= 1 > 0.5; lambda_min <= -1 < -0.5"),
        (1.0, 0.6, 0.5, -1.0, 0.0, 0.5, "refuted", "lambda_min <= -1 < -0.5"),
        (0.1, 0.0, 0.5, -1.0, 0.6, 0.5, "undecided", "tie"),
        (1.0, 0.6, 0.5, 1.0, 0.0, 0.5, "undecided", "tie"),
        (nan, 0.0, 1.0, 1.0, 0.0, 0.0, "undecided", "precision"),
        (9.0, inf, 1.0, 1.0, 0.0, 0.0, "undecided", "precision"),
        (0.0, 0.0, 1.0, nan, 0.0, 0.0, "undecided", "precision"),
        (9.0, 0.0, 1.0, 1.0, inf, 0.0, "undecided", "precision"),
    ],
)
def test_error_bars_at_their_tolerances(
    size: float, error: float, eps: float, low: float, bar: float, tau: float, verdict: str, said: str
) -> None:
    found = _judged(size, error, eps, low, bar, tau)
    assert found[0] == verdict
    assert found[1].startswith(said)
    assert bool(found[1]) == bool(said)


# --- counts


def row(verdict: str, kind: str = "inequality", **fields: Any) -> dict[str, Any]:
    blank = {"as_printed": True, "known_refuted": False, "reading": None, "certainty": None}
    return {**blank, "kind": kind, "verdict": verdict, **fields}


def test_every_row_is_counted_once_and_in_its_place() -> None:
    rows = [
        row("holds", certainty="proved"),
        row("holds"),
        row("holds", known_refuted=True),  # refuted on record, kept here: never holds
        row("refuted", known_refuted=True),
        row("holds", known_refuted=True, as_printed=False, marks=("special: k = 2", "part: x"), certainty="certified"),
        row("undecided", as_printed=False, reading="ours"),
        row("undecided", as_printed=False),
        row("holds", "units"),
        row("refuted", "units"),
        row("undecided", "units"),
        row("not applicable", "units"),
        row("holds", "definedness"),
        row("holds", "units", judges="relation"),
    ]
    found = count_of(rows)
    assert found.printed == {"holds": 3, "refuted": 1}
    assert found.marked == {"special": {"holds": 1}, "reading": {"undecided": 1}, "repaired": {"undecided": 1}}
    assert found.apart == {
        "refuted on record": {"kept here": 1},
        "units": {"agree": 1, "disagree": 1, "weak": 1, "not applicable": 1},
        "definedness": {"defined": 1},
    }
    assert found.certainty == {"proved": 1, "computed": 2, "certified": 1}
    assert found.relations == {"holds": 4, "refuted": 1, "undecided": 2}
    twice = count_of(rows)
    twice.update(found)
    again = count_of([*rows, *rows])
    assert (twice.printed, twice.marked, twice.apart, twice.certainty) == (
        again.printed,
        again.marked,
        again.apart,
        again.certainty,
    )
    assert found.relations == {"holds": 4, "refuted": 1, "undecided": 2}  # neither has changed
    assert found.printed == {"holds": 3, "refuted": 1}


def test_a_summary_shows_what_is_printed_or_else_what_is_marked() -> None:
    marked = row("holds", as_printed=False, marks=("special: x",))
    repaired = row("refuted", as_printed=False)
    assert count_of([row("undecided"), marked, repaired]).summed_up == {"undecided": 1}
    assert count_of([marked, repaired]).summed_up == {"holds": 1}
    assert count_of([repaired]).summed_up == {"refuted": 1}
    assert count_of([]).summed_up == {}


def test_words_and_marks() -> None:
    assert [word_of(row("holds", kind)) for kind in ("inequality", "units", "bookkeeping", "executability")] == [
        "holds",
        "units: agree",
        "bookkeeping: agree",
        "executability: no defect found",
    ]
    refuted = ("units", "bookkeeping", "executability", "definedness", "hypothesis")
    words = ("disagree", "disagree", "defects", "undefined", "false")
    assert [word_of(row("refuted", kind)) for kind in refuted] == [f"{k}: {w}" for k, w in zip(refuted, words)]
    assert word_of(row("undecided", "hypothesis")) == "hypothesis: undecided"
    assert word_of(row("holds", known_refuted=True)) == "kept here"
    assert word_of(row("holds", known_refuted=True, as_printed=False, marks=("special: k",))) == "holds"
    assert word_of(row("holds", "units", known_refuted=True)) == "units: agree"
    assert judges(row("holds", "units", judges=None)) == "units"
    assert first_mark(("part: a: b", "special: k"), "r") == "part"
    assert first_mark((), "r") == "reading"
    assert first_mark((), None) == "repaired"


def test_counts_as_text() -> None:
    found = Count(
        Counter(holds=2, refuted=1),
        {"special": Counter(undecided=3)},
        {"units": Counter(agree=4)},
        Counter(proved=1, computed=1),
    )
    assert found.to_dict() == {
        "verdicts": {"refuted": 1, "undecided": 3, "holds": 2},
        "as_printed": {"refuted": 1, "holds": 2},
        "marked": {"special": {"undecided": 3}},
        "apart": {"units": {"agree": 4}},
        "holds_by_certainty": {"computed": 1, "proved": 1},
    }
    shown = "1 refuted, 3 undecided, 2 holds (1 computed, 1 proved); of these special: 3 undecided; units: 4 agree"
    assert str(found) == shown == text_of(found.to_dict())
    assert text_of(Count().to_dict()) == "no verdicts"
    assert in_order({"consistent": 1, "holds": 0, "inconsistent": 2, "odd": 3}) == {"inconsistent": 2, "consistent": 1}


# --- what a job reached


def test_a_claim_is_reached_by_a_decision_a_search_or_a_frequency() -> None:
    from bilevel_verify.theorems import load_card

    claims = [(s.id, c.id) for s, c in load_card("ragd-gs").claims() if not (c.is_order and c.over == "point")]
    left_out = [(s.id, c.id) for s, c in load_card("ragd-gs").claims() if c.is_order and c.over == "point"]

    def of(k: int, verdict: str, **fields: Any) -> dict[str, Any]:
        statement, claim = claims[k]
        return {"paper": "ragd-gs", "statement": statement, "claim": claim, "verdict": verdict, "kind": "run", **fields}

    rows = [
        of(0, "holds"),
        of(1, "undecided", reason="survived 5 attacks"),
        of(2, "undecided", kind="probability", places=3),
        of(3, "undecided", kind="probability", places=0),
        of(4, "undecided", places=3, reason="budget"),
        {**of(5, "refuted"), "claim": f"{claims[5][1]}/x"},
        of(6, "not applicable"),
        {**of(0, "undecided"), "claim": None},
    ]
    found = reached.unreached(["ragd-gs"], rows)
    names = {(one.statement, one.claim): one.why for one in found}
    assert names.keys() == set(claims) - {claims[k] for k in (0, 1, 2, 5)}
    assert names[claims[3]] == "undecided"
    assert names[claims[4]] == "undecided: budget"
    assert names[claims[6]] == "not applicable"
    assert names[claims[7]] == ""
    assert not set(left_out) & names.keys()


@pytest.mark.parametrize(("eps", "tau"), [(-1e-9, 1.0), (1.0, -1e-9), (nan, 1.0), (1.0, nan)])
def test_tolerances_of_a_second_order_point_are_not_negative(eps: float, tau: float) -> None:
    with pytest.raises(InputError, match="tolerances >= 0"):
        second_order_point(None, [0.0], eps, tau)  # type: ignore[arg-type]
