"""What a solver of the user is handed and may hand back, each function alone, in floats and in many digits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks.claims.recorded import EPOCHS_UNKNOWN
from bilevel_verify.checks.solvers import own_solver
from bilevel_verify.checks.solvers.own_solver import run_own
from bilevel_verify.errors import ParameterError, SolverError
from bilevel_verify.methods.run import Run, Trace

pytestmark = pytest.mark.fast

NAN = float("nan")
BOWL = bv.single_level(f="x1**2/2 + 2*x2**2", x="x1 x2", name="bowl")
X0 = np.array([1.0, 0.5])
FLAT = [[1.0, 0.5], [0.5, 0.25], [0.0, 0.125]]


def run_on(answer: Any, problem: bv.Problem = BOWL, restarts: bool | None = None, **options: Any) -> Run:
    x0 = X0[: problem.dx]
    return run_own(problem, answer if callable(answer) else lambda o, x, p: answer, {}, x0, options, restarts)


def plain(table: Any) -> Any:
    return np.asarray(table, dtype=float).tolist()


# --- what it is handed


@pytest.mark.parametrize(
    ("budget", "calls"),
    [(None, None), (7, 7), (7.0, 7), ({"calls": 9}, 9), ({"iterations": 3}, None), ({}, None), (0, 0)],
)
def test_the_budget_of_calls(budget: Any, calls: int | None) -> None:
    assert own_solver._calls(budget) == calls


@pytest.mark.parametrize(
    ("value", "expected", "kind"),
    [
        (7, 7, int),
        (0.1, mpmath.mpf(0.1), mpmath.mpf),
        (np.float64(0.1), mpmath.mpf(0.1), mpmath.mpf),
        (np.float32(0.5), mpmath.mpf(0.5), mpmath.mpf),
        ("word", "word", str),
        (Fraction(3, 4), mpmath.mpf(0.75), mpmath.mpf),
    ],
)
def test_numbers_of_a_run_in_many_digits(value: Any, expected: Any, kind: type) -> None:
    found = own_solver._precise(value)
    assert (found, type(found)) == (expected, kind)


def test_a_solver_gets_copies_of_its_start_and_of_its_parameters() -> None:
    seen: list[Any] = []

    def solver(o: Any, x0: Any, p: Any) -> Any:
        seen.append((x0.dtype, dict(p), mpmath.mp.dps))
        points = [x0.copy()]
        x0 *= 0
        p["eta"] = "spoilt"
        return points

    letters = {"eta": 0.1, "third": Fraction(1, 3)}
    run = run_own(BOWL, solver, letters, X0, {}, None)
    assert plain(run.trace.x) == [[1.0, 0.5]]
    assert (dict(run.parameters), X0.tolist()) == ({"eta": 0.1, "third": Fraction(1, 3)}, [1.0, 0.5])
    digits = run_own(BOWL, solver, letters, X0, {"digits": 40}, None)
    assert plain(digits.trace.x) == [[1.0, 0.5]]
    assert [dtype for dtype, *_ in seen] == [float, object]
    assert seen[1][2] == 40
    with mpmath.workdps(40):
        assert seen[1][1]["third"] == mpmath.mpf(1) / 3


def test_errors_of_the_solver() -> None:
    def broken(o: Any, x0: Any, p: Any) -> Any:
        raise KeyError("mine")

    def asks(o: Any, x0: Any, p: Any) -> Any:
        for _ in range(4):
            o.grad_f(x0)
        return [x0]

    with pytest.raises(SolverError, match="raised KeyError: 'mine'") as caught:
        run_on(broken)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(NotImplementedError, match="KeyError: 'mine'"):
        run_on(broken, digits=30)
    for options in ({"budget": 3}, {"budget": 3, "digits": 30}):
        with pytest.raises(bv.BilevelVerifyError, match="budget of 3"):
            run_on(asks, **options)
    assert run_on(asks, budget=4).counts["grad_f"] == run_on(asks, budget=4, digits=30).counts["grad_f"] == 4


# --- the run


def test_every_field_of_a_run_of_iterates() -> None:
    def solver(o: Any, x0: Any, p: Any) -> Any:
        o.grad_f(x0)
        return FLAT

    run = run_own(BOWL, solver, {"eta": 0.1}, X0, {"seed": 3, "eps": 0.25}, None)
    assert (run.method, run.problem, run.status, run.note) == ("solver", "bowl", "finished", "")
    assert (run.x.tolist(), run.trace.x.tolist()) == (FLAT[-1], FLAT)
    assert (run.iterations, run.epochs, run.restarted) == (2, EPOCHS_UNKNOWN, (False,))
    assert (run.counts["grad_f"], dict(run.parameters), run.seed, run.eps) == (1, {"eta": 0.1}, 3, 0.25)
    assert own_solver._name(SimpleNamespace()) == "callable"  # type: ignore[arg-type]


@pytest.mark.parametrize(("restarts", "epochs"), [(False, 1), (True, EPOCHS_UNKNOWN), (None, EPOCHS_UNKNOWN)])
def test_epochs_of_a_flat_list(restarts: bool | None, epochs: int) -> None:
    assert run_on(FLAT, restarts=restarts).epochs == epochs
    assert run_on([FLAT, FLAT], restarts=restarts).epochs == 2


@pytest.mark.parametrize("digits", [None, 30])
@pytest.mark.parametrize(
    ("answer", "output"), [(FLAT, FLAT[-1]), ((FLAT, [9.0, 8.0]), [9.0, 8.0]), (bv.Trajectory([FLAT], [9, 8]), [9, 8])]
)
def test_the_output_is_the_last_iterate_unless_said(digits: int | None, answer: Any, output: Any) -> None:
    def solver(o: Any, x0: Any, p: Any) -> Any:
        precise = (lambda part: mpmath.mpf(part)) if digits else float
        exact = [[precise(a) for a in point] for point in FLAT]
        if isinstance(answer, tuple):
            return exact, [precise(a) for a in answer[1]]
        return exact if answer is FLAT else bv.Trajectory([exact], answer.output)

    assert plain(run_on(solver, digits=digits).x) == output


@pytest.mark.parametrize(
    ("rows", "output", "status"),
    [
        ([[1.0, 0.5], [0.5, 0.5]], [1.0, 2.0], "finished"),
        ([[1.0, 0.5], [0.5, np.inf]], [1.0, 2.0], "not finite"),
        ([[1.0, 0.5], [NAN, 0.5]], [1.0, 2.0], "not finite"),
        ([[1.0, 0.5], [0.5, 0.5]], [1.0, NAN], "not finite"),
        ([[1.0, 0.5], [NAN, 0.5]], [NAN, NAN], "not finite"),
    ],
)
def test_a_run_with_lost_points_is_not_finite(rows: Any, output: Any, status: str) -> None:
    assert run_on(bv.Trajectory([rows], output)).status == status


@pytest.mark.parametrize("answer", [bv.Trajectory([FLAT[1:]]), [FLAT[1:], FLAT]])
def test_epochs_begin_at_the_start(answer: Any) -> None:
    with pytest.raises(ParameterError, match="must be the start x0"):
        run_on(answer)
    assert plain(run_on(FLAT[1:]).trace.x) == FLAT  # a flat list may leave it out
    assert plain(run_on([[1.0, 0.25]]).trace.x) == [[1.0, 0.5], [1.0, 0.25]]


def handed_run(table: Any, **changes: Any) -> Run:
    places = np.arange(len(table))
    trace = Trace(changes.pop("epoch", 0 * places), places, MappingProxyType({"x": table}), **changes.pop("trace", {}))
    nothing: Any = MappingProxyType({})
    return replace(
        Run("own", "p", table[-1], "budget", MappingProxyType({"grad_f": 99}), 77, 55, trace, nothing), **changes
    )


def test_of_a_run_that_is_handed_back_its_points_are_taken_and_not_its_word() -> None:
    table = np.array(FLAT)
    given = handed_run(table, epoch=np.array([0, 0, 1]), x=X0 * 3, note="by hand", restarted=(True, False))
    run = run_on(given)
    assert (run.method, run.status, run.note, run.restarted) == ("<lambda>", "budget", "by hand", (True, False))
    assert (run.iterations, run.epochs, run.counts.get("grad_f", 0)) == (1, 2, 0)
    assert run.x.tolist() == [3.0, 1.5]
    assert run.trace is given.trace
    thinned = run_on(handed_run(table, trace={"thinned_from": 2}))
    assert thinned.iterations == 77  # rows are missing
    assert run_on(handed_run(table), restarts=None).epochs == 1
    for bad in (np.array(FLAT[1:]), np.array([[1.0, 0.5, 0.0]]), np.array([[1.0]])):
        with pytest.raises(ParameterError, match=r"must be the start x0|has shape"):
            run_on(handed_run(bad, x=X0))


def precise(table: Any) -> np.ndarray:
    return np.array([[mpmath.mpf(a) for a in row] for row in table], dtype=object)


def test_a_run_in_many_digits_takes_no_float() -> None:
    third = [[mpmath.mpf(1), mpmath.mpf(1) / 2], [mpmath.mpf(1) / 3, mpmath.mpf(0)]]
    spoilt = [third[0], [1 / 3, mpmath.mpf(0)]]
    assert run_on(third, digits=30).trace.x.dtype == object
    assert run_on([third[0], [1, 0]], digits=30).trace.x.dtype == object  # whole numbers are exact
    tables: list[Any] = [spoilt, handed_run(precise(third), x=X0 / 3), bv.Trajectory([third], [1 / 3, 0.0])]
    tables += [bv.Trajectory([third], y=[[[0.1]]]), bv.Trajectory([third], before={"w": [[0.1, 0.2]]})]
    mixed = precise(third)
    mixed[1, 0] = 1 / 3
    tables.append(handed_run(mixed, x=precise(third)[0]))
    for answer in tables:
        with pytest.raises(NotImplementedError, match="rounded to a float"):
            run_on(answer, digits=30)
    assert run_on(handed_run(precise(third)), digits=30).iterations == 1
