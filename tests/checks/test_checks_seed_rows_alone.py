"""Promises with a probability: parameters below float64, claims on the run of a seed, every field of the row."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks_seeds_cases import Runs, always, case_of, claim_of

from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.judging import seeds
from bilevel_verify.checks.judging.probability import Frequency, binomial_bounds
from bilevel_verify.errors import ParameterError
from bilevel_verify.theorems.card_parts import Mark, Refuted

pytestmark = pytest.mark.fast


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


def below_precision(monkeypatch: pytest.MonkeyPatch, *outcomes: str, still: Any = "yes", local: Any = ()) -> Any:
    Runs(monkeypatch, always(*outcomes))
    monkeypatch.setattr(seeds, "_run_that_stays", lambda case, run: run_at([1.0], [1.0]) if still else None)
    case = case_of(below_precision="r is small", digits=57)
    case.instance.local = local
    (row,) = seeds.probability_rows(case, [claim_of()], lambda case, **options: None)  # type: ignore[arg-type]
    return row


SEEN = "the run at printed parameters never leaves its start (12 iterations in 57 digits)"


def test_a_run_that_stays_decides_for_every_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = below_precision(monkeypatch, "refuted")
    assert (row.verdict, row.measured, row.places, row.details["interval"]) == ("refuted", 0.0, 1, [0.0, 0.0])
    assert row.bound == pytest.approx(0.9, abs=1e-15)
    assert row.reason == f"{SEEN}, so that it draws no number: the same end for every seed, probability 0"
    row = below_precision(monkeypatch, "not applicable")
    assert (row.verdict, row.reason, row.measured) == ("not applicable", "vacuous: no trial", None)
    for outcome in ("holds", "undecided"):
        row = below_precision(monkeypatch, outcome)
        assert (row.verdict, row.reason) == ("undecided", f"precision: r is small; {SEEN}")
        row = below_precision(monkeypatch, outcome, local=("L",))
        assert (row.verdict, row.reason) == ("undecided", f"precision: r is small; {SEEN}")
    row = below_precision(monkeypatch, "refuted", local=("L",))
    assert (row.verdict, row.reason) == ("undecided", f"local: r is small; {SEEN}")


def test_a_run_that_moves_decides_for_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = below_precision(monkeypatch, "refuted", still=None)
    assert (row.verdict, row.reason, row.measured) == ("undecided", "precision: r is small", None)


def test_what_is_sure_is_a_frequency_of_nothing_in_one() -> None:
    outcome, found = seeds._sure(case_of(below_precision="r", digits=57), "refuted", 12)
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
    assert (row.left, row.related) == ("probability(norm(output) <= 10 and norm(output) <= 10)", ">= 9/10")
    assert (row.certainty, row.measured, row.bound, row.places) == ("computed", 0.25, pytest.approx(0.9), 12)
    assert (row.where, row.reading, row.printed, row.stated) == ("eps = 0.25", "a reading", "second", "third")
    assert row.details == {"op": ">=", "eps": 0.25, "seeds": 12, "interval": [0.1, 0.75]}
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
    assert row.details == {"op": ">=", "eps": None, "seeds": None, "interval": None}
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
    promises = [(arb(bound, 0.1), "undecided"), (arb(bound + 0.1, 0.05), "refuted"), (Fraction(1, 2), "undecided")]
    for promise, verdict in promises:
        case.resolved = SimpleNamespace(  # type: ignore[assignment]
            letters={"p": SimpleNamespace(for_check=promise, certainty="certified", run=0, chosen=False)},
            readings=(), reading=None,
        )  # fmt: skip
        assert seeds._judged(case, claim_of(probability="p"), events, 1, runs, 0).verdict == verdict
