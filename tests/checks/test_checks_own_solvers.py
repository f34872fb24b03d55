"""Solvers of a user in ``verify``: what they are handed, what they may hand back, and when they refute."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import mpmath
import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks.claims.facts import needs_epochs
from bilevel_verify.checks.claims.recorded import EPOCHS_UNKNOWN, RecordedRun
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.checks.solvers.own_solver import run_own, trace_of, trajectory_of
from bilevel_verify.errors import ParameterError, SolverError
from bilevel_verify.oracles import BudgetExhausted, HandedOracles, oracles
from bilevel_verify.oracles.precise import PreciseOracles

CARD = """
[paper]
key = "own"
title = "Claims about a solver"
[units]
F = "values of f"
X = "length of x"
[letters]
L = { unit = "F/X**2", domain = "(0, oo)", from = "constants", meaning = "Lipschitz constant of the gradient" }
eta = { unit = "X**2/F", domain = "(0, oo)", meaning = "step" }
r = { unit = "X", domain = "(0, oo)", meaning = "a distance" }
[settings.s.parameters]
eta = "1/L"
r = "1"
[[theorem]]
id = "steps"
settings = ["s"]
  [[theorem.claim]]
  id = "decrease"
  over = "step"
  left = "f(x[k+1])"
  right = "f(x[k]) - eta/2*norm(grad_f(x[k]))**2"
  [[theorem.claim]]
  id = "gradients"
  over = "run"
  left = "calls(grad_f)"
  right = "4"
  [[theorem.claim]]
  id = "lengths"
  over = "epoch"
  left = "k_end"
  right = "3"
  [[theorem.claim]]
  id = "auxiliary"
  over = "step"
  left = "norm(z[k] - x[k])"
  right = "r"
"""


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("own") / "own.toml"
    path.write_text(CARD, encoding="utf-8")
    return f"{path}/steps"


@pytest.fixture(scope="module")
def bowl() -> bv.Problem:
    return bv.single_level(f="x1**2/2 + 2*x2**2", x="x1 x2", name="bowl")


def rows(problem: bv.Problem, card: str, solver: Any, **options: Any) -> dict[str, bv.Row]:
    found = bv.verify(problem, card, x0=[1.0, 0.5], method=solver, **options)
    return {str(row.claim): row for row in found.claims}


def steps(o: Any, x0: Any, p: Any, sign: int = 1, count: int = 4) -> list[Any]:
    points = [x0]
    for _ in range(count):
        points.append(points[-1] - sign * p["eta"] * o.grad_x_f(points[-1]))
    return points


# --- what it hands back


def test_a_flat_list_has_steps_and_no_epochs(card: str, bowl: bv.Problem) -> None:
    found = rows(bowl, card, steps)
    assert found["decrease"].verdict == "holds"
    assert (found["gradients"].verdict, found["gradients"].measured) == ("holds", 4)
    assert found["lengths"].verdict == found["auxiliary"].verdict == "undecided"
    assert (found["lengths"].reason or "").startswith("not recorded: epochs (hand back a list of epochs, or bv.Traj")
    assert "not recorded: z (hand it back: bv.Trajectory(epochs=..., z=...))" in (found["auxiliary"].reason or "")


@pytest.mark.parametrize("form", ["trajectory", "list", "pair", "turned"])
def test_epochs_are_judged_when_they_are_handed_back(card: str, bowl: bv.Problem, form: str) -> None:
    def solver(o: Any, x0: Any, p: Any) -> Any:
        first = steps(o, x0, p, count=2)
        epochs = [first, steps(o, first[-1], p, count=1)]
        if form == "trajectory":
            return bv.Trajectory(epochs, output=epochs[-1][-1], z=epochs)
        return {"list": epochs, "pair": (epochs, epochs[-1][-1]), "turned": (epochs[-1][-1], epochs)}[form]

    found = rows(bowl, card, solver)
    assert found["lengths"].verdict == "holds"
    assert found["lengths"].places == 2
    assert found["lengths"].measured == 2
    assert found["decrease"].places == 3
    assert found["auxiliary"].verdict == ("holds" if form == "trajectory" else "undecided")


def judged(found: bv.Verification) -> list[bv.Row]:
    """Rows without those that only say that nobody has read where a hypothesis comes from."""
    return [row for row in found.claims if not (row.reason or "").startswith("origin of the hypothesis")]


def test_a_correct_restarting_solver_is_not_accused() -> None:
    """The package's own method handed back as a flat list, and with its epochs."""
    problem = bv.single_level(f="2*(1 - cos(x1)) + x2**2/2", x="x1 x2")

    def own(o: Any, x0: Any, p: Any) -> Any:
        letters = {name: p[name] for name in ("eta", "theta", "B", "K")}
        return bv.solve(problem, "restarted-agd", x0=x0, eps=0.05, parameters=letters)

    claims = "restarted-agd-hb/theorem-1:equation-6a,equation-7,equation-5a,gradients"
    flat = bv.verify(problem, claims, eps=0.05, x0=[2.0, 1.5], method=lambda o, x0, p: own(o, x0, p).trace.x)
    assert {row.verdict for row in flat.claims} == {"undecided"}
    for row in judged(flat):
        wanted = "not recorded: calls" if row.claim == "gradients" else "not recorded: epochs"
        assert (row.reason or "").startswith(wanted)
    whole = bv.verify(problem, claims, eps=0.05, x0=[2.0, 1.5], method=own)
    assert {row.verdict for row in judged(whole) if row.claim != "gradients"} == {"holds"}


FLAT = [[1.0, 0.5], [0.5, 0.25]]


@pytest.mark.parametrize(
    ("result", "epochs", "known", "output"),
    [
        (FLAT, [2], False, None),
        (np.array(FLAT), [2], False, None),
        ([[0.5, 0.25]], [2], False, None),  # the start is left out
        ((FLAT, [9.0, 9.0]), [2], False, [9.0, 9.0]),
        (([9.0, 9.0], FLAT), [2], False, [9.0, 9.0]),
        ([FLAT, FLAT], [2, 2], True, None),
        ([FLAT, [[0.5, 0.25]]], [2, 1], True, None),
        ([FLAT], [2], True, None),
        (([FLAT], [9.0, 9.0]), [2], True, [9.0, 9.0]),
        (bv.Trajectory([FLAT, FLAT]), [2, 2], True, None),
        ([mpmath.matrix([1.0, 0.5]).T.tolist()[0], FLAT[1]], [2], False, None),
    ],
)
def test_shapes(result: Any, epochs: list[int], known: bool, output: Any) -> None:
    answer, says = trajectory_of(result, np.array(FLAT[0]), 2)
    assert ([len(epoch) for epoch in answer.epochs], says) == (epochs, known)
    assert (None if answer.output is None else [float(a) for a in answer.output]) == output


@pytest.mark.parametrize(
    ("result", "epochs", "output"),
    [
        ([1.0, 0.5, 0.25], [3], None),
        (np.array([[1.0], [0.5]]), [2], None),
        (([1.0, 0.5], 0.5), [2], 0.5),
        ((0.5, [1.0, 0.5]), [2], 0.5),
        (([0.5], [[1.0], [0.5]]), [2], [0.5]),
        ([[[1.0], [0.5]], [[0.5], [0.2], [0.1]]], [2, 3], None),
    ],
)
def test_shapes_in_one_variable(result: Any, epochs: list[int], output: Any) -> None:
    answer, _ = trajectory_of(result, np.array([1.0]), 1)
    assert [len(epoch) for epoch in answer.epochs] == epochs
    assert answer.output == output


@pytest.mark.parametrize(
    "result",
    [
        np.zeros((3, 5)),
        "words",
        None,
        {"x": FLAT},
        [],
        [1.0, 2.0],
        (FLAT, FLAT),
        ([1.0, 0.5], [0.5, 0.25]),
        [[[1.0, 0.5]], [[0.5, 0.25]], [[0.2, 0.1]]],  # iterates as matrices of one row
        [[[1.0], [0.5]], [[0.5], [0.25]]],  # and of one column
        [FLAT, []],
        [["a", "b"]],
    ],
)
def test_anything_else_is_said_to_be_no_run(result: Any, bowl: bv.Problem) -> None:
    with pytest.raises(ParameterError, match=r"the solver handed back|of the trajectory"):
        run_own(bowl, lambda o, x0, p: result, {}, np.array(FLAT[0]), {}, None)


def test_a_trajectory_with_other_arguments_says_what_it_takes(bowl: bv.Problem) -> None:
    with pytest.raises(SolverError, match=r"bv.Trajectory\(epochs=\[points\], output=point, w=\[points\], ...\)"):
        run_own(bowl, lambda o, x0, p: bv.Trajectory(x=[x0]), {}, np.array(FLAT[0]), {}, None)


def test_a_scalar_x_of_a_run_is_an_error_of_its_own(bowl: bv.Problem) -> None:
    run = bv.solve(bowl, "gradient-descent", x0=[1.0, 0.5], parameters={"eta": 0.1, "N": 2})
    from dataclasses import replace

    for x in (3.0, np.zeros(3), "here"):
        with pytest.raises(ParameterError, match="the x of the run that the solver handed back"):
            run_own(bowl, lambda o, x0, p, x=x: replace(run, x=x), {}, np.array([1.0, 0.5]), {}, None)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (bv.Trajectory([[[0.0, 0.0]]]), "must be the start x0"),
        (bv.Trajectory([FLAT, []]), "has no point"),
        (bv.Trajectory([FLAT], restarts=[True, False]), "restarts of the trajectory: 2 for 1"),
        (bv.Trajectory([FLAT], y=[FLAT, FLAT]), "y of the trajectory must be nested"),
        (bv.Trajectory([FLAT], y=[[1, 2, 3]]), "y of the trajectory must be nested"),
        (bv.Trajectory([FLAT], y=[[1, [1, 2]]]), "an entry of y that the solver"),
        (bv.Trajectory([FLAT], before={"w": [FLAT[0], FLAT[0]]}), "has 2 points for 1 epochs"),
    ],
)
def test_a_trajectory_that_does_not_fit(answer: bv.Trajectory, words: str, bowl: bv.Problem) -> None:
    with pytest.raises(ParameterError, match=words):
        run_own(bowl, lambda o, x0, p: answer, {}, np.array(FLAT[0]), {}, None)


def test_rows_of_a_trajectory() -> None:
    answer = bv.Trajectory([FLAT, [FLAT[1]]], y=[[[7.0]], [None]], before={"w": [[3.0, 3.0], [4.0, 4.0]]})
    trace = trace_of(answer, 2)
    assert (trace.epoch.tolist(), trace.k.tolist()) == ([0, 0, 1], [0, 1, 0])
    assert trace.x.tolist() == [*FLAT, FLAT[1]]
    assert np.isnan(trace.y).ravel().tolist() == [False, True, True]
    assert trace.epoch_start["w"].tolist() == [[3.0, 3.0], [4.0, 4.0]]


def test_restarts_may_be_said(bowl: bv.Problem) -> None:
    def run(**more: Any) -> Any:
        return run_own(bowl, lambda o, x0, p: bv.Trajectory([FLAT, FLAT], **more), {}, np.array(FLAT[0]), {}, None)

    assert run().restarted == (True, False)
    assert run(restarts=[False, True]).restarted == (False, True)
    assert (run().epochs, run().iterations) == (2, 2)


# --- counts


def evade_by_batch(o: Any, x0: Any, p: Any) -> Any:
    slopes, _ = o.grad_f_batch(np.array([x0] * 5))
    return [x0, x0 - p["eta"] * slopes[0]]


def evade_by_reset(o: Any, x0: Any, p: Any) -> Any:
    points = steps(o, x0, p, count=5)
    getattr(o, "reset", lambda: None)()
    return points


def evade_by_fresh(o: Any, x0: Any, p: Any) -> Any:
    return steps(o.fresh() if hasattr(o, "fresh") else o, x0, p, count=5)


def evade_by_its_word(o: Any, x0: Any, p: Any) -> Any:
    points = np.array(steps(o, x0, p, count=5))
    places = np.arange(len(points))
    trace = bv.Trace(0 * places, places, MappingProxyType({"x": points}))
    nothing: Any = MappingProxyType({})
    return bv.Run("honest", "bowl", points[-1], "finished", MappingProxyType({"grad_f": 1}), 1, 1, trace, nothing)


@pytest.mark.parametrize("solver", [evade_by_batch, evade_by_reset, evade_by_fresh, evade_by_its_word])
def test_every_call_is_counted(card: str, bowl: bv.Problem, solver: Any) -> None:
    row = rows(bowl, card, solver)["gradients"]
    assert row.measured == 5
    assert row.verdict == "refuted"
    assert "confirmed in 50 digits" in (row.reason or "") or row.certainty == "computed"


def test_a_solver_that_asks_elsewhere_shows_no_counts(card: str, bowl: bv.Problem) -> None:
    elsewhere = oracles(bowl)
    row = rows(bowl, card, lambda o, x0, p: steps(elsewhere, x0, p, count=9))["gradients"]
    assert (row.verdict, (row.reason or "")[:19]) == ("undecided", "not recorded: calls")
    row = rows(bowl, card, lambda o, x0, p: [x0, x0])["gradients"]
    assert (row.verdict, row.measured) == ("holds", 0)


PUBLIC = {name for name in dir(bv.Oracles) if not name.startswith("_")}


def test_the_view_has_the_questions_and_nothing_else(bowl: bv.Problem) -> None:
    asked = oracles(bowl, budget=100)
    view = HandedOracles(asked)
    offered = {name for name in dir(view) if not name.startswith("_")}
    assert PUBLIC - offered == {
        "batch", "can_compile", "counts_array", "fresh", "function_set", "ready", "reset", "worth_compiling",
    }  # fmt: skip
    assert offered - PUBLIC == {"L", "calls", "dx", "dy", "kind", "mu"} - PUBLIC
    assert (view.dx, view.dy, view.kind, view.budget, view.L) == (2, 0, "single_level", 100, 4.0)
    assert view.mu == 1.0, "of one level, the curvature of f"
    with pytest.raises(ParameterError, match="no finite bound of L"):
        _ = HandedOracles(oracles(bv.single_level(f="x1**4", x="x1"))).L
    for attribute in ("budget", "counts", "dx"):
        with pytest.raises(AttributeError):
            setattr(view, attribute, 0)
    with pytest.raises(TypeError):
        view.counts["grad_f"] = 0  # type: ignore[index]


def test_every_question_of_the_view_answers_as_the_oracles_do() -> None:
    problem = bv.bilevel(f="x1**2*y2 + sin(y1) + x1*y1*y2", g="y1**2 + y2**2 + x1**2*y1*y2/4", x="x1", y="y1 y2")
    plain, view = oracles(problem), HandedOracles(oracles(problem))
    assert (view.dx, view.dy) == (1, 2)
    point, again = (np.array([0.3]), np.array([0.2, -0.4])), (np.array([0.7]), np.array([1.0, 2.0]))
    directions = {"hvp_f": 3, "hvp_g": 3, "jvp_yx_f": 1, "jvp_yx_g": 1}
    asked = sorted(name for name in PUBLIC if name.rpartition("_")[2] in ("f", "g"))
    assert len(asked) == 20
    for name in asked:
        more = (np.arange(1.0, directions.get(name, 2) + 1),) if name[:3] in ("hvp", "jvp") else ()
        theirs, ours = getattr(plain, name)(*point, *more), getattr(view, name)(*point, *more)
        for a, b in zip(
            theirs if isinstance(theirs, tuple) else (theirs,), ours if isinstance(ours, tuple) else (ours,)
        ):
            np.testing.assert_array_equal(a, b)
        assert view.counts == plain.counts
    for name in (name for name in PUBLIC if name.endswith("_batch")):
        before = view.calls
        table = [np.array([a, b]) for a, b in zip(point, again)]
        theirs, ours = getattr(plain, name)(*table), getattr(view, name)(*table)
        for a, b in zip(
            theirs if isinstance(theirs, tuple) else (theirs,), ours if isinstance(ours, tuple) else (ours,)
        ):
            np.testing.assert_allclose(a, b, atol=1e-15)
        assert view.calls == before + 2
    with pytest.raises(ParameterError, match="as many rows"):
        view.grad_f_batch(np.zeros((2, 1)), np.zeros((3, 2)))


def test_a_batch_ends_at_the_budget(bowl: bv.Problem) -> None:
    view = HandedOracles(oracles(bowl, budget=3))
    with pytest.raises(BudgetExhausted):
        view.grad_f_batch(np.zeros((5, 2)))
    assert view.counts == {"grad_f": 3}


def test_constants_of_the_lower_level() -> None:
    view = HandedOracles(oracles(bv.zoo("toy-a")))
    known = bv.constants(bv.zoo("toy-a"))
    assert (view.mu, view.L) == (known["mu"].value, known["L_g"].value)
    steep = HandedOracles(oracles(bv.single_level(f="x1**4", x="x1")))
    with pytest.raises(ParameterError, match="no finite bound of L"):
        _ = steep.L


def test_a_solver_that_uses_up_its_budget_is_undecided_for_that(card: str, bowl: bv.Problem) -> None:
    found = rows(bowl, card, lambda o, x0, p: steps(o, x0, p, count=50), budget=20)
    assert {row.verdict for row in found.values()} == {"undecided"}
    assert all((row.reason or "").startswith("budget: the budget of 20 oracle calls") for row in found.values())


# --- refuted


def uphill(o: Any, x0: Any, p: Any) -> Any:
    return steps(o, x0, p, sign=-1)


def uphill_in_floats(o: Any, x0: Any, p: Any) -> Any:
    return [np.array(x, dtype=float) for x in steps(o, x0, p, sign=-1)]


def uphill_rounded_on_the_way(o: Any, x0: Any, p: Any) -> Any:
    x = [x0]
    for _ in range(4):
        x.append(np.asarray(x[-1], dtype=float) / 3 + np.asarray(o.grad_x_f(np.asarray(x[-1], dtype=float))))
    return x


def uphill_with_float_functions(o: Any, x0: Any, p: Any) -> Any:
    x = [x0]
    for _ in range(4):
        x.append(x[-1] + (1 + np.exp(-x[-1] * x[-1])) * o.grad_x_f(x[-1]))
    return x


def test_a_broken_claim_is_refuted_by_the_run_in_fifty_digits(card: str, bowl: bv.Problem) -> None:
    row = rows(bowl, card, uphill)["decrease"]
    assert (row.verdict, row.certainty) == ("refuted", "certified")
    assert "confirmed in 50 digits" in (row.reason or "")


@pytest.mark.parametrize("solver", [uphill_in_floats, uphill_rounded_on_the_way, uphill_with_float_functions])
def test_what_cannot_be_repeated_is_refuted_computed(card: str, bowl: bv.Problem, solver: Any) -> None:
    row = rows(bowl, card, solver)["decrease"]
    assert (row.verdict, row.certainty) == ("refuted", "computed")
    assert "beyond every rounding error of the recorded points; the solver was not run again in 50 digits (" in str(
        row.reason
    )


def test_a_break_that_rounding_may_explain_is_undecided(card: str, bowl: bv.Problem) -> None:
    def nearly(o: Any, x0: Any, p: Any) -> Any:
        return [np.array([1.0, 0.5]), np.array([1.0, 0.5]) * (1 + 1e-11)]

    assert bv.verify(bowl, card, x0=[1.0, 0.5], method=nearly).claims[0].verdict == "refuted"  # a whole step is missing
    far = bv.single_level(f="(x1 - 1)**2/2 + 2*x2**2", x="x1 x2")  # at its minimum a step of 1e-12 goes up by 5e-25
    row = bv.verify(far, card, x0=[1.0, 0.0], method=lambda o, x0, p: [[1.0, 0.0], [1.0 + 1e-12, 0.0]]).claims[0]
    assert row.verdict == "undecided"
    assert "the solver was not run again in 50 digits" in (row.reason or "")
    assert "rounding errors may explain the break" in (row.reason or "")


def test_a_run_in_many_digits_refuses_rounded_points(bowl: bv.Problem) -> None:
    with mpmath.workdps(50):
        view = HandedOracles(PreciseOracles(bowl))
        third = mpmath.mpf(1) / 3
        answer = view.grad_x_f(np.array([third, 0.0], dtype=object))
        assert answer[0] == third
        assert isinstance(view.L, mpmath.mpf)
        for number in (1 / 3, 2.0**60, np.float64(0.1), float("nan"), float("inf")):
            with pytest.raises(TypeError, match="rounded to a float"):
                view.grad_x_f(np.array([third, number], dtype=object))
        table = np.array([[third, third], [third, 2 * third]], dtype=object)
        assert view.grad_f_batch(table)[0].shape == (2, 2)


def test_the_run_in_many_digits_starts_where_the_other_did(bowl: bv.Problem) -> None:
    seen: list[Any] = []

    def solver(o: Any, x0: Any, p: Any) -> Any:
        seen.append((x0, dict(p)))
        return [x0, x0 / 3]

    from fractions import Fraction

    letters = {"eta": Fraction(1, 3), "theta": 0.1, "K": 7}
    run = run_own(bowl, solver, letters, np.array([0.1, 0.5]), {"digits": 50, "budget": {"calls": 9}}, None)
    x0, parameters = seen[0]
    assert x0[0] == mpmath.mpf(0.1)
    with mpmath.workdps(50):
        assert abs(parameters["eta"] * 3 - 1) < mpmath.mpf(10) ** -49
    assert (parameters["theta"], parameters["K"], type(parameters["K"])) == (mpmath.mpf(0.1), 7, int)
    assert isinstance(run.trace.x[1, 0], mpmath.mpf)


# --- which claims need epochs


def claim(over: str, left: str, **more: Any) -> Any:
    from bilevel_verify.language import parse
    from bilevel_verify.theorems.card import Claim
    from bilevel_verify.theorems.card_parts import Expression, Link

    link = Link(Expression(parse(left), left), "<=", Expression(parse("1"), "1"))
    return Claim(id="one", over=over, chain=(link,), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("over", "left", "unknown", "restarting"),
    [
        ("step", "norm(x[k+1])", False, True),
        ("step", "norm(x[t, k])", True, True),
        ("step", "k_end", True, True),
        ("step", "t", True, True),
        ("epoch", "norm(x[0])", True, True),
        ("run", "calls(grad_f)", False, False),
        ("run", "norm(output)", False, False),
        ("run", "iterations", False, True),
        ("run", "epochs", True, True),
        ("run", "norm(x[3])", False, True),
    ],
)
def test_what_needs_epochs(over: str, left: str, unknown: bool, restarting: bool) -> None:
    one = claim(over, left)
    assert needs_epochs(one, None) is unknown
    assert needs_epochs(one, True) is restarting
    assert needs_epochs(one, False) is False


def test_a_method_without_restarts_has_one_epoch(bowl: bv.Problem) -> None:
    run = run_own(bowl, lambda o, x0, p: FLAT, {}, np.array(FLAT[0]), {}, False)
    assert run.epochs == 1
    for restarts in (None, True):
        run = run_own(bowl, lambda o, x0, p: FLAT, {}, np.array(FLAT[0]), {}, restarts)
        assert run.epochs == EPOCHS_UNKNOWN
        assert RecordedRun(run, True, restarts).flat


def test_calls_of_a_solver_that_asked_nothing() -> None:
    problem = bv.single_level(f="x1**2", x="x1")
    moved = run_own(problem, lambda o, x0, p: [1.0, 0.5], {}, np.array([1.0]), {}, None)
    with pytest.raises(EvaluationError, match="asked none of the oracles"):
        RecordedRun(moved, own=True).calls("grad_f")
    assert RecordedRun(moved, own=False).calls("grad_f") == 0
    assert (
        RecordedRun(run_own(problem, lambda o, x0, p: [1.0], {}, np.array([1.0]), {}, None), own=True).calls("any") == 0
    )


# --- a run with gaps --------------------------------------------------------------------------------------------------


def every(run: Any, step: int, **changes: Any) -> Any:
    """The run with every so many rows of its trace, as a user may thin it out."""
    trace = run.trace
    rows = {name: np.asarray(table)[::step] for name, table in trace.sequences.items()}
    thin = replace(trace, sequences=rows, epoch=np.asarray(trace.epoch)[::step], k=np.asarray(trace.k)[::step])
    return replace(run, trace=replace(thin, **changes), iterations=3)


COUNTED = CARD.replace('id = "gradients"', 'id = "count"').replace("calls(grad_f)", "iterations")


@pytest.mark.parametrize(
    ("step", "changes", "verdict"),
    [(1, {}, "refuted"), (10, {}, "undecided"), (10, {"thinned_from": 1}, "undecided")],
)
def test_a_run_with_gaps_is_no_count_of_iterations(tmp_path, step, changes, verdict):
    path = tmp_path / "own.toml"
    path.write_text(COUNTED)

    def solver(o, x0, parameters):
        o.grad_f(x0)
        run = bv.solve(problem, "gradient-descent", x0=[1.0], eps=1e-3, parameters={"eta": 0.02})
        return every(run, step, **changes) if step > 1 else run

    problem = bv.single_level(f="x1**2", x="x1", name="parabola")
    found = {row.claim: row for row in bv.verify(problem, f"{path}/steps", x0=[1.0], method=solver).claims}
    for claim in ("count", "lengths"):
        assert found[claim].verdict == verdict, found[claim].reason
        assert str(found[claim].reason).startswith("not recorded: ") == (step > 1)


def _caught(asked: Any, x0: Any, parameters: Any) -> Any:
    points = [x0]
    try:
        for _ in range(60):
            points.append(points[-1] - 0.01 * asked.grad_x_f(points[-1]))
    except BudgetExhausted:
        pass
    return points


def _reading(asked: Any, x0: Any, parameters: Any) -> Any:
    points = [x0]
    for _ in range(7):
        points.append(points[-1] - 0.01 * asked.grad_x_f(points[-1]))
    return points


class _Late:
    """A point that asks when it is looked at."""

    def __init__(self, asked: Any, x: Any) -> None:
        self.asked, self.x = asked, x

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        for _ in range(5):
            self.x = self.x - 0.01 * self.asked.grad_x_f(self.x)
        return np.asarray(self.x, float)


@pytest.mark.parametrize("solver", [_caught, _reading])
@pytest.mark.parametrize("digits", [None, 30])
def test_a_budget_that_the_solver_catches_or_reads_cuts_its_run(solver: Any, digits: Any, bowl: bv.Problem) -> None:
    options = {"budget": 7, "digits": digits}
    assert run_own(bowl, solver, {}, np.ones(bowl.dx), options, False).status == "budget"
    assert run_own(bowl, solver, {}, np.ones(bowl.dx), {**options, "budget": 100}, False).status == "finished"


def test_calls_made_when_the_answer_is_read_are_counted(bowl: bv.Problem) -> None:
    run = run_own(bowl, lambda asked, x0, parameters: [x0, _Late(asked, x0)], {}, np.ones(bowl.dx), {}, False)
    assert sum(run.counts.values()) >= 5
