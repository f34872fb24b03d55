"""Promises with a probability, each step alone: which seeds, what is a trial, a failure, a refutation."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from checks_seeds_cases import FALSE, OPEN, TRUE, Runs, always, case_of, claim_of, links_of

from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.judging import seeds
from bilevel_verify.checks.judging.probability import binomial_bounds
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.oracles import BudgetExhausted
from bilevel_verify.theorems.card import Claim

pytestmark = pytest.mark.fast


# --- before a seed is drawn


def test_without_claims_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, always("holds"))
    assert seeds.probability_rows(case_of(FALSE), [], runs) == []
    assert runs.asked == []


@pytest.mark.parametrize(
    ("premises", "contained", "verdict", "reason"),
    [
        ((FALSE,), None, "not applicable", "because not applicable"),
        ((OPEN,), None, "undecided", "because undecided"),
        ((OPEN, FALSE), None, "not applicable", "because not applicable"),
        ((TRUE,), OPEN, "undecided", "because undecided"),
        ((FALSE,), OPEN, "not applicable", "because not applicable"),
        ((TRUE,), Premise("box", "refuted", "odd"), "refuted", "odd"),
    ],
)
def test_hypotheses_come_first(
    monkeypatch: pytest.MonkeyPatch, premises: Any, contained: Any, verdict: str, reason: str
) -> None:
    runs = Runs(monkeypatch, always("holds"))
    rows = seeds.probability_rows(case_of(*premises, contained=contained), [claim_of("a"), claim_of("b")], runs)
    assert [(row.claim, row.verdict, row.reason) for row in rows] == [("a", verdict, reason), ("b", verdict, reason)]
    assert [row.measured for row in rows] == [None, None]
    assert runs.asked == []


@pytest.mark.parametrize(
    ("options", "values", "first", "last", "count"),
    [({}, {}, 0, 99, 100), ({"seed": 7}, {}, 7, 106, 100), ({"seed": 7}, {"trials": 3}, 7, 9, 3)],
)
def test_seeds_are_fixed_in_advance(
    monkeypatch: pytest.MonkeyPatch, options: Any, values: Any, first: int, last: int, count: int
) -> None:
    runs = Runs(monkeypatch, always("holds"))
    case = case_of(TRUE, contained=TRUE)
    case.request = replace(case.request, options=options, values=values)
    (row,) = seeds.probability_rows(case, [claim_of()], runs)
    asked = [seed for seed, _ in runs.asked]
    assert (asked[0], asked[-1], len(asked)) == (first, last, count)
    assert asked == sorted(set(asked))
    assert (row.verdict, row.places, row.measured) == ("undecided", count, 1.0)


# --- trials and failures


@pytest.mark.parametrize(
    ("outcomes", "weakest"),
    [
        (("holds",), "holds"),
        (("holds", "undecided"), "undecided"),
        (("undecided", "refuted", "holds"), "refuted"),
        (("refuted", "not applicable"), "not applicable"),
        (("holds", "holds", "refuted"), "refuted"),
        (("undecided", "undecided"), "undecided"),
        (("undecided", "not applicable"), "not applicable"),
    ],
)
def test_an_event_is_as_weak_as_its_links(outcomes: tuple[str, ...], weakest: str) -> None:
    assert seeds._weakest(links_of(claim_of(), *outcomes)) == weakest
    assert seeds._weakest(links_of(claim_of(), *outcomes[::-1])) == weakest


def test_every_claim_has_its_own_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = claim_of("a"), claim_of("b")
    runs = Runs(monkeypatch, lambda claim, seed, digits: links_of(claim, "refuted" if claim is a else "holds"))
    assert seeds._trial(case_of(), [a, b], runs, 3) == ["refuted", "holds"]
    assert runs.asked == [(3, {})]


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        ("finished", "holds"),
        ("stationary", "holds"),
        ("budget", "refuted"),
        ("not finite", "refuted"),
        (BudgetExhausted("x"), "refuted"),
        (ZeroDivisionError("x"), "refuted"),
    ],
)
def test_a_run_cut_short_is_a_failure(monkeypatch: pytest.MonkeyPatch, end: Any, outcome: str) -> None:
    runs = Runs(monkeypatch, always("holds"), {0: end})
    assert seeds._trial(case_of(), [claim_of("a"), claim_of("b")], runs, 0) == [outcome, outcome]


@pytest.mark.parametrize(
    ("compiled", "method", "options"),
    [(True, "ragd-gs", {"compiled": True}), (False, "ragd-gs", {}), (True, "literal", {}), (None, "ragd-gs", {})],
)
def test_long_runs_are_compiled(monkeypatch: pytest.MonkeyPatch, compiled: Any, method: str, options: Any) -> None:
    runs = Runs(monkeypatch, always("holds"))
    run = None if compiled is None else SimpleNamespace(compiled=compiled, method=method)
    seeds._trial(case_of(run=run), [claim_of()], runs, 0)
    assert runs.asked == [(0, options)]


# --- verdicts


def by_share(failing: int, word: str = "refuted") -> Any:
    """The first seeds fail, the others succeed."""
    return lambda claim, seed, digits: links_of(claim, word if seed < failing else "holds")


@pytest.mark.parametrize(
    ("failing", "verdict"), [(0, "undecided"), (10, "undecided"), (25, "undecided"), (40, "refuted"), (100, "refuted")]
)
def test_too_many_failures_refute(monkeypatch: pytest.MonkeyPatch, failing: int, verdict: str) -> None:
    (row,) = seeds.probability_rows(case_of(), [claim_of()], Runs(monkeypatch, by_share(failing)))
    lower, upper = binomial_bounds(100 - failing, 100, 1e-6)
    assert (row.verdict, row.measured, row.places) == (verdict, (100 - failing) / 100, 100)
    assert row.bound == pytest.approx(0.9, abs=1e-15), "what was promised, beside what was measured"
    assert row.details["interval"] == [lower, upper]
    assert (upper < 0.9) == (verdict == "refuted")
    assert row.certainty == ("computed" if verdict == "refuted" else None)
    if verdict == "refuted":
        assert (row.reason or "").endswith("; the failure of seed 0 confirmed in 50 digits")


def test_the_level_is_shared_by_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [claim_of(str(k)) for k in range(3)]
    rows = seeds.probability_rows(case_of(), claims, Runs(monkeypatch, by_share(30)))
    assert {row.details["interval"][1] for row in rows} == {binomial_bounds(70, 100, 1e-6 / 3)[1]}


@pytest.mark.parametrize(("undecided_", "refuted"), [(100, 0), (99, 1), (90, 10), (60, 40), (0, 100)])
def test_what_is_not_decided_refutes_nothing(monkeypatch: pytest.MonkeyPatch, undecided_: int, refuted: int) -> None:
    """A sequence that is not recorded, a tie: no seed that is open counts against a promise."""
    runs = Runs(monkeypatch, lambda claim, seed, digits: links_of(claim, "refuted" if seed < refuted else "undecided"))
    (row,) = seeds.probability_rows(case_of(), [claim_of()], runs)
    assert row.verdict == ("refuted" if refuted >= 40 else "undecided")
    assert (f"{undecided_} of them not decided" in (row.reason or "")) == (undecided_ > 0)


def test_seeds_without_a_trial_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(claim: Claim, seed: int, digits: bool) -> list[Judged]:
        return links_of(claim, "not applicable" if seed < 90 else "refuted")

    runs = Runs(monkeypatch, say)
    (row,) = seeds.probability_rows(case_of(), [claim_of()], runs)
    assert (row.verdict, row.places, row.measured) == ("refuted", 10, 0.0)
    assert runs.asked[-1] == (90, {"digits": 50, "budget": {"calls": 150_000}})
    assert "not decided" not in (row.reason or "")
    (row,) = seeds.probability_rows(case_of(), [claim_of()], Runs(monkeypatch, always("not applicable")))
    assert (row.verdict, row.reason) == ("not applicable", "vacuous: no trial among 100 seeds")
    assert (row.measured, row.bound, row.places, row.details["seeds"], row.details["interval"]) == (None,) * 5


@pytest.mark.parametrize("promised", ["0", "1/100"])
def test_a_small_promise_is_kept(monkeypatch: pytest.MonkeyPatch, promised: str) -> None:
    (row,) = seeds.probability_rows(case_of(), [claim_of(probability=promised)], Runs(monkeypatch, by_share(90)))
    assert row.verdict == "undecided"


# --- before a refutation is said


def confirmed(monkeypatch: pytest.MonkeyPatch, say: Any, digits: Any = None, **changes: Any) -> tuple[str, str]:
    runs = Runs(monkeypatch, say, digits=digits)
    return seeds._confirmed(case_of(**changes), claim_of(), "few", runs, 7)


@pytest.mark.parametrize(
    ("outcomes", "more", "verdict"),
    [
        (("refuted",), {}, "refuted"),
        (("holds", "refuted"), {}, "refuted"),
        (("undecided", "refuted"), {}, "refuted"),
        (("holds",), {}, "undecided"),
        (("undecided",), {}, "undecided"),
        (("not applicable",), {}, "undecided"),
        (("refuted", "not applicable"), {}, "undecided"),
        (("refuted",), {"margin": -1e-16}, "undecided"),  # two sides that are equal up to the rounding of 50 digits
        (("refuted",), {"margin": -1e-16, "certainty": "proved"}, "undecided"),  # of rounded iterates
    ],
)
def test_a_failure_must_be_one_in_fifty_digits(
    monkeypatch: pytest.MonkeyPatch, outcomes: Any, more: Any, verdict: str
) -> None:
    found, reason = confirmed(monkeypatch, always(*outcomes, **more))
    assert found == verdict
    assert reason == (
        "few; the failure of seed 7 confirmed in 50 digits"
        if verdict == "refuted"
        else "precision: few, but seed 7 does not fail in 50 digits"
    )


def test_one_visible_failure_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(claim: Claim, seed: int, digits: bool) -> list[Judged]:
        return links_of(claim, "refuted", margin=-1e-16) + links_of(claim, "refuted")

    assert confirmed(monkeypatch, say)[0] == "refuted"


@pytest.mark.parametrize(
    ("digits", "words"),
    [
        ("budget", "budget: few; the run of seed 7 in 50 digits is too long"),
        ("diverged", "budget: few; the run of seed 7 in 50 digits is too long"),
        (NotImplementedError("x"), "precision: few; no run in 50 digits is available (NotImplementedError)"),
        (ParameterError("x"), "precision: few; no run in 50 digits is available (ParameterError)"),
        (BudgetExhausted("x"), "precision: few; no run in 50 digits is available (BudgetExhausted)"),
        (TypeError("x"), "precision: few; no run in 50 digits is available (TypeError)"),
        (MemoryError("x"), "precision: few; no run in 50 digits is available (MemoryError)"),
        (MathematicalError("x"), "precision: few; no run in 50 digits is available (MathematicalError)"),
    ],
)
def test_a_run_in_fifty_digits_that_has_no_end_confirms_nothing(
    monkeypatch: pytest.MonkeyPatch, digits: Any, words: str
) -> None:
    assert confirmed(monkeypatch, always("refuted"), digits) == ("undecided", words)


def test_conditions_along_the_run_of_the_first_seed_are_not_those_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, always("refuted"))
    along = Premise("far", "holds", along=True)
    found, reason = seeds._confirmed(case_of(TRUE, along), claim_of(), "few", runs, 7)
    assert (found, reason[:17]) == ("undecided", "hypothesis: few; ")
    assert runs.asked == []
    assert seeds._confirmed(case_of(TRUE), claim_of(), "few", runs, 7)[0] == "refuted"


def test_a_refutation_needs_the_domain_and_a_named_method(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of()
    case.instance.local = ("L",)  # type: ignore[misc]
    runs = Runs(monkeypatch, always("refuted"))
    assert seeds._confirmed(case, claim_of(), "few", runs, 7) == ("undecided", "local: few")
    case = case_of()
    case.request = replace(case.request, method=print)
    found, reason = seeds._confirmed(case, claim_of(), "few", runs, 7)
    assert (found, reason[:16]) == ("undecided", "precision: few; ")
    assert runs.asked == []
