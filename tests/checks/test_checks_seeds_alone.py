"""Promises with a probability, each step alone: which seeds, what is a trial, a failure, a refutation."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import ctx

from bilevel_verify.checks import seeds
from bilevel_verify.checks.case import Case
from bilevel_verify.checks.claims import Judged
from bilevel_verify.checks.decide import Judgement, Tally, undecided
from bilevel_verify.checks.evaluate import Evaluator
from bilevel_verify.checks.premise import Premise
from bilevel_verify.checks.probability import Frequency, binomial_bounds
from bilevel_verify.checks.request import Request
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.language import parse
from bilevel_verify.oracles import BudgetExhausted
from bilevel_verify.theorems.card import Card, Claim, Expression, Link, Mark, Refuted, Statement

pytestmark = pytest.mark.fast


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def link(left: str = "norm(output)") -> Link:
    return Link(expression(left), "<=", expression("10"))


def claim_of(id_: str = "c", probability: str = "9/10", links: int = 1, **more: Any) -> Claim:
    return Claim(id=id_, over="run", chain=(link(),) * links, probability=expression(probability), **more)


FALSE, OPEN, TRUE = (Premise(v, v, f"because {v}") for v in ("not applicable", "undecided", "holds"))  # type: ignore[arg-type]


def case_of(*premises: Premise, statement: dict[str, Any] | None = None, **changes: Any) -> Case:
    entry = Statement(kind="theorem", id="t", **(statement or {}))
    request = Request(Card("paper", "A paper", Path("paper.toml")), entry, method="perturbed")
    problem = SimpleNamespace(name="bowl", knobs={})
    instance: Any = SimpleNamespace(local=(), start=[1.0], problem=problem, truth="truth")
    resolved: Any = SimpleNamespace(letters={}, readings=(), reading=None)
    case = Case(request, instance, resolved, list(premises), {})
    for name, value in changes.items():
        setattr(case, name, value)
    return case


def tally_of(outcome: str, margin: float = -0.5, certainty: Any = "certified") -> Tally:
    tally = Tally()
    if outcome != "not applicable":
        answer = {"holds": True, "refuted": False}.get(outcome)
        tally.take(undecided("tie") if answer is None else Judgement(answer, 1, 2, margin, "", certainty))
    assert tally.outcome()[0] == outcome
    return tally


def links_of(claim: Claim, *outcomes: str, **more: Any) -> list[Judged]:
    return [Judged(claim, link(), k, tally_of(o, **more), Evaluator({})) for k, o in enumerate(outcomes)]


class Runs:
    """Runs by seed: how each ended and what the links of each claim say on it; what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, say: Any, ends: Any = None, digits: Any = None) -> None:
        self.say, self.ends, self.digits = say, ends or {}, digits
        self.asked: list[Any] = []
        monkeypatch.setattr(seeds, "_judged_on", self.judged_on)

    def __call__(self, case: Case, seed: int | None = None, **options: Any) -> Any:
        self.asked.append((seed, options))
        end = self.digits if "digits" in options and self.digits else self.ends.get(seed, "finished")
        if isinstance(end, Exception):
            raise end
        return SimpleNamespace(status=end, seed=seed, options=options)

    def judged_on(self, case: Case, claims: list[Claim], found: Any) -> list[Judged]:
        assert ctx.prec == (512 if "digits" in found.options else ctx.prec)
        return [one for claim in claims for one in self.say(claim, found.seed, "digits" in found.options)]


def always(*outcomes: str, **more: Any) -> Any:
    return lambda claim, seed, digits: links_of(claim, *outcomes, **more)


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
    _, upper = binomial_bounds(100 - failing, 100, 1e-6)
    assert (row.verdict, row.measured, row.bound, row.places) == (verdict, (100 - failing) / 100, upper, 100)
    assert (upper < 0.9) == (verdict == "refuted")
    assert row.certainty == ("computed" if verdict == "refuted" else None)
    if verdict == "refuted":
        assert (row.reason or "").endswith("; the failure of seed 0 confirmed in 50 digits")


def test_the_level_is_shared_by_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [claim_of(str(k)) for k in range(3)]
    rows = seeds.probability_rows(case_of(), claims, Runs(monkeypatch, by_share(30)))
    assert {row.bound for row in rows} == {binomial_bounds(70, 100, 1e-6 / 3)[1]}


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
    assert (row.measured, row.bound, row.places, row.details["seeds"]) == (None, None, None, None)


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
        (("refuted",), {"margin": -1e-16, "certainty": "proved"}, "refuted"),
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


# --- parameters below float64


def trace_of(*points: list[float], thinned: int | None = None) -> Any:
    return SimpleNamespace(x=np.array(points), y=np.zeros((len(points), 1)), thinned_from=thinned)


def run_at(*points: list[float], status: str = "finished", thinned: int | None = None) -> Any:
    return SimpleNamespace(
        trace=trace_of(*points, thinned=thinned), status=status, iterations=12, options={}, seed=None
    )


@pytest.mark.parametrize(
    ("run", "stays"),
    [
        (run_at([1.0, 2.0], [1.0, 2.0]), True),
        (run_at([1.0, 2.0], [1.0, 2.5]), False),
        (run_at([1.0, 2.0], [1.5, 2.5]), False),
        (run_at([1.0, 2.0], [1.0, 2.0], [1.0, 2.5]), False),
        (run_at([1.0, 2.0]), False),
        (run_at([1.0, 2.0], [1.0, 2.0], thinned=2), False),
    ],
)
def test_a_run_that_never_leaves_its_start(run: Any, stays: bool) -> None:
    assert seeds._stays(run) is stays


def test_only_a_whole_run_that_stays_is_the_same_for_every_seed() -> None:
    still, moving = run_at([1.0], [1.0]), run_at([1.0], [2.0])
    asked: list[Any] = []

    def whole(first: Any, second: Any) -> Any:
        def run(case: Case, **options: Any) -> Any:
            asked.append(options)
            if isinstance(second, Exception):
                raise second
            return second

        trajectory = None if first is None else SimpleNamespace(run=first)
        return seeds._run_that_stays(case_of(trajectory=trajectory, digits=57), run)

    assert whole(None, still) is None
    assert whole(moving, still) is None
    assert asked == []
    assert whole(still, still) is still
    assert asked == [{"digits": 57, "record": "all", "budget": {"calls": 150_000}}]
    assert whole(still, moving) is None
    assert whole(still, run_at([1.0], [1.0], status="budget")) is None
    for error in (ParameterError("x"), ZeroDivisionError("x"), NotImplementedError("x"), TypeError("x")):
        assert whole(still, error) is None


def beneath(monkeypatch: pytest.MonkeyPatch, *outcomes: str, still: Any = "yes", local: Any = ()) -> Any:
    Runs(monkeypatch, always(*outcomes))
    monkeypatch.setattr(seeds, "_run_that_stays", lambda case, run: run_at([1.0], [1.0]) if still else None)
    case = case_of(beneath="r is small", digits=57)
    case.instance.local = local
    (row,) = seeds.probability_rows(case, [claim_of()], lambda case, **options: None)  # type: ignore[arg-type]
    return row


SEEN = "the run at printed parameters never leaves its start (12 iterations in 57 digits)"


def test_a_run_that_stays_decides_for_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = beneath(monkeypatch, "refuted")
    assert (row.verdict, row.measured, row.bound, row.places) == ("refuted", 0.0, 0.0, 1)
    assert row.reason == f"{SEEN}, so that it draws no number: the same end for every seed, probability 0"
    row = beneath(monkeypatch, "not applicable")
    assert (row.verdict, row.reason, row.measured) == ("not applicable", "vacuous: no trial", None)
    for outcome in ("holds", "undecided"):
        row = beneath(monkeypatch, outcome)
        assert (row.verdict, row.reason) == ("undecided", f"precision: r is small; {SEEN}")
        row = beneath(monkeypatch, outcome, local=("L",))
        assert (row.verdict, row.reason) == ("undecided", f"precision: r is small; {SEEN}")
    row = beneath(monkeypatch, "refuted", local=("L",))
    assert (row.verdict, row.reason) == ("undecided", f"local: r is small; {SEEN}")


def test_a_run_that_moves_decides_for_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = beneath(monkeypatch, "refuted", still=None)
    assert (row.verdict, row.reason, row.measured) == ("undecided", "precision: r is small", None)


def test_what_is_sure_is_a_frequency_of_nothing_in_one() -> None:
    outcome, found = seeds._sure(case_of(beneath="r", digits=57), "refuted", 12)
    assert outcome[0] == "refuted"
    assert found == Frequency("refuted", outcome[1], 0, 1, 0.0, 0.0)


# --- claims on another run, and their rows


def test_claims_are_judged_on_the_run_of_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    class Functions:
        def __init__(self, *given: Any) -> None:
            self.lam = None
            seen["functions"] = given

        def forget(self) -> None: ...

    monkeypatch.setattr(seeds, "recorded", lambda case, found: f"trajectory of {found}")
    monkeypatch.setattr(seeds, "ProblemFunctions", Functions)
    monkeypatch.setattr(seeds, "judge_claims", lambda *given: seen.update(given=given) or ["judged"])
    functions = SimpleNamespace(lam="lam", forget=lambda: None)
    for known, lam in ((functions, "lam"), (None, None)):
        case = case_of(functions=known)
        claims = [claim_of()]
        assert seeds._judged_on(case, claims, "another") == ["judged"]  # type: ignore[arg-type]
        assert seen["functions"] == (case.problem, "truth", lam)
        assert seen["given"][0] is claims
        one = seen["given"][1].__self__
        assert (one.run, one.trajectory) == ("another", "trajectory of another")
        assert isinstance(one.functions, Functions)
        assert one.precise is one.functions
        assert seen["given"][2] == "trajectory of another"
        assert seen["given"][3].__self__ is one


def test_every_field_of_the_row_of_a_probability() -> None:
    case = case_of(member={"eps": 0.25})
    claim = claim_of(links=2, source="page 2", printed=("", "second"), stated=("", "third"), reading="a reading")
    found = Frequency("refuted", "few", 3, 12, 0.1, 0.75)
    row = seeds._row(case, claim, ("refuted", "few"), found)
    assert (row.paper, row.statement, row.claim, row.source, row.problem) == ("paper", "t", "c", "page 2", "bowl")
    assert (row.method, row.kind, row.verdict, row.reason) == ("perturbed", "probability", "refuted", "few")
    assert (row.left, row.right) == ("probability(norm(output) <= 10 and norm(output) <= 10)", ">= 9/10")
    assert (row.certainty, row.measured, row.bound, row.places) == ("computed", 0.25, 0.75, 12)
    assert (row.where, row.reading, row.printed, row.stated) == ("eps = 0.25", "a reading", "second", "third")
    assert row.details == {"eps": 0.25, "seeds": 12}
    assert (row.as_printed, row.marks, row.known_refuted) == (True, (), False)


def test_the_row_of_a_probability_that_knows_little() -> None:
    row = seeds._row(case_of(), claim_of(), ("undecided", ""), None)
    for name in (
        "source",
        "certainty",
        "reason",
        "measured",
        "bound",
        "places",
        "where",
        "reading",
        "printed",
        "stated",
    ):
        assert getattr(row, name) is None, name
    assert row.details == {"eps": None, "seeds": None}
    by_statement = seeds._row(
        case_of(statement={"source": "page 9"}), claim_of(source="page 2"), ("undecided", ""), None
    )
    assert by_statement.source == "page 2"
    by_statement = seeds._row(case_of(statement={"source": "page 9"}), claim_of(), ("undecided", ""), None)
    assert by_statement.source == "page 9"
    marked = seeds._row(case_of(), claim_of(marks=(Mark("part", "x"),), refuted=Refuted()), ("undecided", "r"), None)
    assert (marked.as_printed, marked.marks, marked.known_refuted) == (False, ("part: x",), True)
    assumed = seeds._row(case_of(), claim_of(assumed=True), ("refuted", "few"), None)
    assert (assumed.verdict, assumed.certainty) == ("not applicable", None)


def test_the_promise_counts_at_its_lower_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A promise that is known between two ends is refuted only below the lower one."""
    from flint import arb

    case = case_of()
    bound = binomial_bounds(60, 100, 1e-6)[1]
    events = ["refuted"] * 40 + ["holds"] * 60
    runs = Runs(monkeypatch, always("refuted"))
    for promise, verdict in ((arb(bound, 0.1), "undecided"), (arb(bound + 0.1, 0.05), "refuted"), (Fraction(1, 2), "undecided")):  # fmt: skip
        case.resolved = SimpleNamespace(  # type: ignore[assignment]
            letters={"p": SimpleNamespace(for_check=promise, certainty="certified", run=0, chosen=False)},
            readings=(), reading=None,
        )  # fmt: skip
        assert seeds._judged(case, claim_of(probability="p"), events, 1, runs, 0).verdict == verdict
