"""Refutations along a run, and promises over seeds: what must agree in 50 digits before it is said."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import ctx

from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement, Tally, undecided
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.evidence import confirm, drift
from bilevel_verify.checks.instances.case import Case
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.requests.request import Request
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Expression, Link

pytestmark = pytest.mark.fast


def claim_of(over: Any = "step", left: str = "f(x[k])", op: str = "<=", right: str = "10") -> Claim:
    sides = Expression(parse(left), left), Expression(parse(right), right)
    return Claim(id="c", over=over, chain=(Link(sides[0], op, sides[1]),))


def violated(margin: float = -0.5, gap: float = 0.5, certainty: Any = "certified", measured: float = 12) -> Tally:
    tally = Tally()
    tally.take(Judgement(False, measured, 10.0, margin, "", certainty, "k = 1", gap), 0)
    return tally


def held() -> Tally:
    tally = Tally()
    tally.take(Judgement(True, 1.0, 2.0, 0.5))
    return tally


def lost() -> Tally:
    tally = Tally()
    tally.take(undecided("tie"))
    return tally


SEQUENCES: Any = SimpleNamespace(fact=lambda name, bound: Fraction(12), calls=lambda kind: 12, entry=None)


def judged_of(claim: Claim, tally: Tally) -> Judged:
    return Judged(claim, claim.chain[0], 0, tally, Evaluator({}, {}, None, SEQUENCES))


def recorded(status: str = "finished", calls: int = 5) -> Any:
    run = SimpleNamespace(status=status, counts={"grad_f": calls - 1, "hvp": 1}, trace=trace_of(0.5))
    return SimpleNamespace(run=run, epochs=[0], k_end=lambda t: 6)


def trace_of(*points: float) -> Any:
    count = len(points)
    return SimpleNamespace(epoch=[0] * count, k=range(count), sequences={"x": np.array(points).reshape(count, 1)})


class Again:
    """The same relation on another run: how that run ended and what it says, and what it was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fine: Tally, status: str = "finished", calls: int = 5) -> None:
        self.asked: list[Any] = []
        self.fine, self.trajectory, self.error = fine, recorded(status, calls), None
        self.first: str | None = None
        self.status: str | None = None
        functions = SimpleNamespace(forget="forget")
        monkeypatch.setattr(confirm, "rerun", self.rerun)
        monkeypatch.setattr(confirm, "functions_of", lambda *given: self.asked.append(given[2]) or functions)
        monkeypatch.setattr(confirm, "judge_claims", self.judge)
        monkeypatch.setattr(confirm, "share_of", lambda run: 0.125)

    def rerun(self, case: Any, digits: int, calls: int, iterations: int | None) -> Any:
        self.asked.append(("run", digits, calls, iterations, ctx.prec))
        if self.first is not None:
            self.trajectory, self.first = recorded(self.first), None
        elif self.status is not None:
            self.trajectory = recorded(self.status)
        if self.error is not None:
            raise self.error
        return self.trajectory

    def judge(self, claims: list[Claim], evaluator: Any, trajectory: Any, forget: Any, cut: bool) -> list[Judged]:
        self.asked.append(("judged", forget, cut, ctx.prec))
        self.seen = trajectory
        return [judged_of(claim, self.fine) for claim in claims]


def case_of(method: Any = None, digits: int | None = None, trajectory: Any = None) -> Case:
    request = Request(None, None, method=method)  # type: ignore[arg-type]
    instance: Any = SimpleNamespace(problem="problem", truth="truth", local=())
    case = Case(request, instance, None, [], {}, digits=digits)  # type: ignore[arg-type]
    case.trajectory = trajectory or recorded()
    case.run = recorded().run
    case.functions = SimpleNamespace(lam="lam")  # type: ignore[assignment]
    return case


# --- the run in 50 digits


@pytest.mark.parametrize(
    ("fine", "verdict", "words"),
    [
        (violated(), "refuted", "broken; confirmed in 50 digits"),
        (violated(-1e-13, 0.5), "refuted", "broken; confirmed in 50 digits"),
        (violated(-1e-16, 0.5), "undecided", "tie: the sides agree up to the rounding of the run, in float64 and"),
        (violated(-0.5, 1e-9), "undecided", "tie: "),
        (violated(-1e-16, 0.0, "proved"), "undecided", "tie: "),  # exact, of rounded iterates
        (lost(), "undecided", "precision: broken in float64, but not in 50 digits"),
        (Tally(), "undecided", "precision: broken in float64, but not in 50 digits"),
    ],
)
def test_the_run_in_fifty_digits_must_refute_too(
    monkeypatch: pytest.MonkeyPatch, fine: Tally, verdict: str, words: str
) -> None:
    again = Again(monkeypatch, fine)
    found, reason = confirm.confirmed(case_of(), judged_of(claim_of(), violated()), "broken")
    assert found == verdict
    assert reason.startswith(words)
    assert again.asked == [("run", 50, 150_000, 8, 512), "lam", ("judged", "forget", False, 512)]


@pytest.mark.parametrize(
    ("float64", "change", "verdict"),
    [
        (5, {}, "holds"),
        (5, {"first": "budget"}, "holds"),
        (100_000, {}, "holds"),
        (100_001, {}, "undecided"),
        (5, {"fine": lost()}, "undecided"),
        (5, {"status": "budget"}, "undecided"),
        (5, {"along": True}, "undecided"),
        (5, {"local": ("mu",)}, "undecided"),
        (5, {"method": lambda: None}, "undecided"),
    ],
)
def test_what_only_rounding_breaks_holds_in_fifty_digits(
    monkeypatch: pytest.MonkeyPatch, float64: int, change: dict[str, Any], verdict: str
) -> None:
    """On the whole run, with conditions and constants that do not rest on the run in float64."""
    again = Again(monkeypatch, change.get("fine") or held(), change.get("status", "finished"))
    again.first, again.status = change.get("first"), change.get("status", "finished")
    case = case_of(change.get("method"))
    case.run = recorded(calls=float64).run
    case.instance.local = change.get("local", ())
    case.premises.append(Premise("c", "holds", "", along=change.get("along", False)))
    judged = judged_of(claim_of(), violated(certainty="computed"))
    found, reason = confirm.confirmed(case, judged, "broken")
    assert found == verdict
    runs = [one[3] for one in again.asked if one[0] == "run"]
    if verdict == "holds":
        assert reason == "in 50 digits; broken in float64, by rounding"
        assert runs == ([8, None] if "first" in change else [8])  # the first iterations may be the whole run
        assert (judged.tally.places, judged.tally.violated, judged.tally.worst) == (1, 0, None)
        assert judged.tally.certainty == "computed"
        assert judged.tally.shown is not None
        assert judged.tally.shown.margin == 0.5
    else:
        assert judged.tally.violated == 1


def test_a_run_that_has_many_digits_already_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    again = Again(monkeypatch, held())
    found = confirm.confirmed(case_of(digits=60), judged_of(claim_of(), violated()), "broken")
    assert found == ("refuted", "broken, in 60 digits")
    assert again.asked == []
    close = judged_of(claim_of(), violated(-1e-16))
    assert confirm.confirmed(case_of(digits=60), close, "broken")[0] == "undecided"


@pytest.mark.parametrize(("why", "verdict"), [("", "refuted"), ("its start moves nothing", "undecided")])
def test_a_solver_of_a_user_may_round_in_many_digits_from_the_start(
    monkeypatch: pytest.MonkeyPatch, why: str, verdict: str
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(confirm, "_rounds", lambda case, run, digits: asked.append((run, digits)) or why)
    case = case_of(own, digits=60)
    found, reason = confirm.confirmed(case, judged_of(claim_of(), violated()), "broken")
    assert found == verdict
    assert reason == (
        f"precision: broken; the solver may round in 60 digits, too: {why}" if why else "broken, in 60 digits"
    )
    assert asked == [(case.run, 60)]


END = claim_of("run", "norm(output)")
GROWS, SHRINKS = claim_of("run", "iterations"), claim_of("run", "iterations", ">=", "100")


@pytest.mark.parametrize(
    ("claim", "fine", "status", "calls", "verdict", "word"),
    [
        (END, violated(), "finished", 5, "refuted", "confirmed"),
        (END, violated(), "stationary", 5, "refuted", "confirmed"),
        (END, violated(), "budget", 5, "undecided", "budget"),  # the end of a run cut short is no output
        (END, held(), "budget", 5, "undecided", "budget"),
        (GROWS, violated(), "budget", 5, "refuted", "confirmed"),  # a count only grows
        (GROWS, held(), "budget", 5, "undecided", "budget"),
        (SHRINKS, violated(), "budget", 5, "undecided", "budget"),
        (claim_of(), violated(), "budget", 5, "refuted", "confirmed"),  # a step is a step
        (claim_of(), held(), "budget", 149_999, "undecided", "but not in 50 digits"),
        (claim_of(), held(), "budget", 150_000, "undecided", "too long"),
        (claim_of(), held(), "finished", 150_001, "undecided", "too long"),
        (claim_of(), violated(), "budget", 150_001, "refuted", "confirmed"),
    ],
)
def test_a_run_in_fifty_digits_that_is_cut_short(
    monkeypatch: pytest.MonkeyPatch, claim: Claim, fine: Tally, status: str, calls: int, verdict: str, word: str
) -> None:
    again = Again(monkeypatch, fine, status, calls)
    found, reason = confirm.confirmed(case_of(), judged_of(claim, violated()), "broken")
    assert found == verdict
    assert word in reason
    assert again.asked[-1] == ("judged", "forget", status == "budget", 512)


@pytest.mark.parametrize(
    "error", [ParameterError("x"), NotImplementedError("x"), TypeError("x"), ZeroDivisionError("x"), MemoryError("x")]
)
def test_without_a_run_in_many_digits_nothing_is_published(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    again = Again(monkeypatch, violated())
    again.error = error  # type: ignore[assignment]
    found, reason = confirm.confirmed(case_of("f2ba"), judged_of(claim_of(), violated()), "broken")
    kind = type(error).__name__
    assert found == "undecided"
    assert reason == f"precision: broken in float64; the run in 50 digits is not available ({kind})"


# --- runs whose rounding errors decide where they go


@pytest.mark.parametrize(
    ("moved", "verdict"), [(0.0, "holds"), (1e-7, "holds"), (1e-5, "undecided"), (1.0, "undecided")]
)
def test_nothing_holds_in_fifty_digits_on_other_points(
    monkeypatch: pytest.MonkeyPatch, moved: float, verdict: str
) -> None:
    """Else a relation and its opposite would both hold: one on the run in float64, one on that in 50 digits."""
    again, case = Again(monkeypatch, held()), case_of()
    case.run.trace = trace_of(0.5, 0.25 + moved)  # type: ignore[union-attr,misc]
    again.trajectory.run.trace = trace_of(0.5, 0.25)
    assert confirm.confirmed(case, judged_of(claim_of(), violated()), "broken")[0] == verdict


@pytest.mark.parametrize(
    ("fine", "finer", "verdict", "runs"),
    [(0.25, 9.0, "refuted", [50]), (0.75, 0.75, "refuted", [50, 100]), (0.75, 0.5, "undecided", [50, 100])],
)
def test_a_refutation_on_points_that_rounding_moves_needs_twice_as_many_digits(
    monkeypatch: pytest.MonkeyPatch, fine: float, finer: float, verdict: str, runs: list[int]
) -> None:
    again, case, asked = Again(monkeypatch, violated()), case_of(), []
    case.run.trace = trace_of(0.5, 0.25)  # type: ignore[union-attr,misc]

    def rerun(case: Any, digits: int, calls: int, iterations: int | None) -> Any:
        asked.append(digits)
        found = recorded()
        found.run.trace = trace_of(0.5, fine if digits == 50 else finer)
        return found

    for room in (confirm, drift):
        monkeypatch.setattr(room, "rerun", rerun)
    found, reason = confirm.confirmed(case, judged_of(claim_of(), violated()), "broken")
    assert (found, asked) == (verdict, runs)
    assert again.asked[-1][0] == "judged"
    assert ("rounding decides" in reason) is (verdict == "undecided")


# --- a solver of the user that does not compute in many digits


def own(o: Any, x0: Any, p: Any) -> Any:
    raise AssertionError("it is not run again")


@pytest.mark.parametrize(
    ("fine", "status", "verdict", "words", "certainty"),
    [
        (violated(), "finished", "refuted", "broken, beyond every rounding error of the recorded points", "computed"),
        (violated(), "budget", "refuted", "broken, beyond every rounding error of the recorded points", "computed"),
        (held(), "finished", "undecided", "precision: broken in float64; the solver was not run again", "certified"),
        (lost(), "finished", "undecided", "precision: broken in float64; the solver was not run again", "certified"),
        (Tally(), "finished", "undecided", "precision: broken in float64; the solver was not run again", "certified"),
    ],
)
def test_what_rounding_of_the_recorded_points_cannot_explain(
    monkeypatch: pytest.MonkeyPatch, fine: Tally, status: str, verdict: str, words: str, certainty: str
) -> None:
    again = Again(monkeypatch, fine)
    again.error = NotImplementedError("no digits")  # type: ignore[assignment]
    shares: list[float] = []
    blurred = recorded(status)
    trajectory = SimpleNamespace(**{**vars(recorded()), "blurred": lambda share: shares.append(share) or blurred})
    judged = judged_of(claim_of(), violated())
    found, reason = confirm.confirmed(case_of(own, trajectory=trajectory), judged, "broken")
    assert found == verdict
    assert reason.startswith(words)
    assert "in 50 digits (no digits)" in reason
    assert judged.tally.certainty == certainty
    assert shares == [0.125]
    assert again.seen is blurred
    assert again.asked[-1] == ("judged", "forget", status == "budget", 512)


def test_the_certainty_of_a_sampled_ingredient_is_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    again = Again(monkeypatch, violated())
    again.error = NotImplementedError("no digits")  # type: ignore[assignment]
    trajectory = SimpleNamespace(**{**vars(recorded()), "blurred": lambda share: recorded()})
    judged = judged_of(claim_of(), violated(certainty="sampled"))
    assert confirm.confirmed(case_of(own, trajectory=trajectory), judged, "broken")[0] == "refuted"
    assert judged.tally.certainty == "sampled"


def test_points_that_decide_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    again = Again(monkeypatch, violated())
    again.error = NotImplementedError("no digits")  # type: ignore[assignment]

    def trouble(share: float) -> Any:
        raise MathematicalError("no box")

    trajectory = SimpleNamespace(**{**vars(recorded()), "blurred": trouble})
    found, reason = confirm.confirmed(case_of(own, trajectory=trajectory), judged_of(claim_of(), violated()), "broken")
    assert found == "undecided"
    assert reason.endswith("and its points decide nothing (no box)")


# --- what is rounding, and how far a run is repeated


@pytest.mark.parametrize(
    ("fine", "visible"),
    [
        (Tally(), False),
        (held(), False),
        (violated(-1e-14), True),
        (violated(-confirm.VISIBLE), False),
        (violated(-1.5e-15), True),
        (violated(-0.9e-15), False),
        (violated(-1e-30, certainty="proved"), False),  # of rounded iterates
        (violated(-0.5, certainty="computed"), True),
    ],
)
def test_visible_violations(fine: Tally, visible: bool) -> None:
    assert confirm.is_visible(fine) is visible
    verdict, reason = confirm._in_digits(case_of(), 60, judged_of(claim_of(), fine), "broken")
    assert (verdict, reason) == (
        ("refuted", "broken, in 60 digits")
        if visible
        else ("undecided", "tie: the sides agree up to the rounding of the run, in 60 digits")
    )


@pytest.mark.parametrize(
    ("share", "rounding"), [(0.9e-6, True), (1.5e-6, False), (1.0, False), (0.0, True), (confirm.FADES, False)]
)
def test_a_violation_that_fades_is_rounding(share: float, rounding: bool) -> None:
    assert confirm._is_rounding(violated(-0.5, 1.0), violated(-0.5, share)) is rounding
    assert confirm._is_rounding(violated(-0.5, 1.0), violated(-0.5, share, "proved")) is rounding
    assert confirm._is_rounding(violated(-0.5, 1.0), violated(-0.5, share, "proved"), rounded=False) is False
    assert confirm._is_rounding(Tally(), violated(-0.5, share, "proved"), rounded=False) is True


def test_exact_counts_have_no_rounding() -> None:
    assert confirm.is_visible(violated(-1e-30, certainty="proved"), rounded=False)
    assert not confirm.is_visible(violated(-1e-30, certainty="certified"), rounded=False)


@pytest.mark.parametrize(
    ("over", "epoch", "ends", "needed"),
    [
        ("step", 0, [6], 8),
        ("step", 0, [7], 16),
        ("epoch", 1, [3, 3, 100], 8),
        ("epoch", 2, [3, 3, 100], 128),
        ("step", 0, [0], 2),
        ("run", 0, [6], None),
        ("point", 0, [6], None),
        ("step", None, [6], None),
    ],
)
def test_how_far_a_run_must_be_repeated(over: Any, epoch: int | None, ends: list[int], needed: int | None) -> None:
    trajectory = SimpleNamespace(epochs=list(range(len(ends))), k_end=ends.__getitem__)
    tally = Tally()
    tally.take(Judgement(False, 2, 1, -0.5), epoch)
    judged = judged_of(replace(claim_of(), over=over), tally)
    found = confirm._iterations(case_of(trajectory=trajectory), judged)
    assert found == needed
    assert found is None or type(found) is int
    without = case_of()
    without.trajectory = None
    assert confirm._iterations(without, judged) is None


def test_points_are_blurred_by_a_share_of_the_largest_coordinate() -> None:
    from bilevel_verify.checks.claims.recorded import RecordedRun
    from bilevel_verify.methods.run import Run, Trace

    table = MappingProxyType({"x": np.array([[1.0, -8.0], [0.5, 2.0]])})
    trace = Trace(np.array([0, 0]), np.array([0, 1]), table)
    nothing: Any = MappingProxyType({})
    run = Run("own", "p", np.array([0.5, 2.0]), "finished", nothing, 1, 1, trace, nothing)
    entry: Any = RecordedRun(run, True).blurred(2.0**-30).entry("x", 0, 1)
    assert [float(a.rad()) for a in entry.entries] == pytest.approx([8 * 2.0**-30] * 2)
