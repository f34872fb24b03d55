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
from bilevel_verify.checks import own_solver
from bilevel_verify.checks.own_solver import run_own, trace_of, trajectory_of
from bilevel_verify.checks.recorded import EPOCHS_UNKNOWN
from bilevel_verify.errors import ParameterError
from bilevel_verify.methods.run import Run, Trace

pytestmark = pytest.mark.fast

NAN = float("nan")
BOWL = bv.single_level(f="x1**2/2 + 2*x2**2", x="x1 x2", name="bowl")
LINE = bv.single_level(f="x1**2/2", x="x1", name="line")
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

    with pytest.raises(KeyError, match="mine"):
        run_on(broken)
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
        with pytest.raises(ParameterError, match="must be the start x0|has shape"):
            run_on(handed_run(bad, x=X0))


def precise(table: Any) -> np.ndarray:
    return np.array([[mpmath.mpf(a) for a in row] for row in table], dtype=object)


def test_a_run_in_many_digits_takes_no_float() -> None:
    third = [[mpmath.mpf(1), mpmath.mpf(1) / 2], [mpmath.mpf(1) / 3, mpmath.mpf(0)]]
    spoilt = [third[0], [1 / 3, mpmath.mpf(0)]]
    assert run_on(third, digits=30).trace.x.dtype == object
    assert run_on([third[0], [1, 0]], digits=30).trace.x.dtype == object  # whole numbers are exact
    tables: list[Any] = [spoilt, bv.Trajectory([third], [1 / 3, 0.0]), bv.Trajectory([third], y=[[[0.1]]]),
                         bv.Trajectory([third], before={"w": [[0.1, 0.2]]}), handed_run(precise(third), x=X0 / 3)]  # fmt: skip
    mixed = precise(third)
    mixed[1, 0] = 1 / 3
    tables.append(handed_run(mixed, x=precise(third)[0]))
    for answer in tables:
        with pytest.raises(NotImplementedError, match="rounded to a float"):
            run_on(answer, digits=30)
    assert run_on(handed_run(precise(third)), digits=30).iterations == 1


# --- shapes


@pytest.mark.parametrize(
    ("part", "levels"),
    [
        (1.0, 0),
        (7, 0),
        (np.float64(1), 0),
        (mpmath.mpf(1), 0),
        (np.array(1.0), 0),
        ([], 1),
        ((), 1),
        ([1.0], 1),
        ((1.0, 2.0), 1),
        (np.zeros(3), 1),
        ([[1.0]], 2),
        ([[]], 2),
        ([np.zeros(2)], 2),
        (np.zeros((3, 2)), 2),
        ([[[1.0]]], 3),
        ([np.zeros((3, 2))], 3),
        (np.zeros((1, 1, 1)), 3),
        (np.array([mpmath.mpf(1), mpmath.mpf(2)], dtype=object), 1),
        (np.array([], dtype=object), 1),
    ],
)
def test_how_deep_lists_are_nested(part: Any, levels: int) -> None:
    assert own_solver._levels(part) == levels


def test_arrays_of_lists_are_nested_too() -> None:
    ragged = np.empty(2, dtype=object)
    ragged[:] = [[[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]]
    assert own_solver._levels(ragged) == 3
    flat = np.empty(2, dtype=object)
    flat[:] = [[1.0], [2.0]]
    assert own_solver._levels(flat) == 2


@pytest.mark.parametrize("part", [True, "words", None, object(), {"x": 1}, [True], [None]])
def test_what_is_no_list_of_numbers(part: Any) -> None:
    with pytest.raises(ParameterError, match="no iterates"):
        own_solver._levels(part)


A, B = [[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0]


@pytest.mark.parametrize(
    ("first", "second", "dx", "turned"),
    [
        (A, B, 2, False),
        (B, A, 2, True),
        ([A, A], B, 2, False),
        (B, [A, A], 2, True),
        ([1.0, 2.0, 3.0], 5.0, 1, False),
        (5.0, [1.0, 2.0, 3.0], 1, True),
        ([1.0, 2.0, 3.0], [5.0], 1, False),
        ([5.0], [1.0, 2.0, 3.0], 1, True),
        ([[1.0]], [5.0], 1, False),
        ([5.0], [[1.0]], 1, True),
    ],
)
def test_pairs(first: Any, second: Any, dx: int, turned: bool) -> None:
    found = own_solver._pair(first, second, dx)
    assert found == ((second, first) if turned else (first, second))


@pytest.mark.parametrize(
    ("first", "second", "dx"),
    [
        (A, A, 2),
        (B, B, 2),
        (A, [5.0], 2),
        ([5.0], A, 2),
        (A, [1.0, 2.0, 3.0], 2),
        ([1.0, 2.0, 3.0], A, 2),
        (A, [A], 2),
        ([1.0, 2.0], [3.0, 4.0], 1),
        (1.0, 2.0, 1),
        ([1.0], 2.0, 1),
        ([1.0], [2.0], 1),
    ],
)
def test_pairs_that_can_be_read_in_two_ways(first: Any, second: Any, dx: int) -> None:
    with pytest.raises(ParameterError, match=r"not \(iterates, output\)"):
        own_solver._pair(first, second, dx)


@pytest.mark.parametrize(
    ("result", "dx", "epochs", "known", "output"),
    [
        (FLAT, 2, [3], False, None),
        ([FLAT, FLAT], 2, [3, 3], True, None),
        ([FLAT, FLAT[:1]], 2, [3, 1], True, None),
        ([FLAT[:2], FLAT[:2], FLAT[:1]], 2, [2, 2, 1], True, None),
        ([FLAT[:1]], 2, [1], True, None),
        (([FLAT, FLAT], [1.0, 2.0]), 2, [3, 3], True, [1.0, 2.0]),
        ((FLAT, [1.0, 2.0]), 2, [3], False, [1.0, 2.0]),
        ([1.0, 0.5], 1, [2], False, None),
        ((1.0, 0.5, 0.25), 1, [3], False, None),  # a tuple of three is a list
        ([0.5, 0.25], 1, [3], False, None),
        (np.array([1.0, 0.5]), 1, [2], False, None),
        (bv.Trajectory([[1.0], [2.0, 3.0]]), 1, [1, 2], True, None),
    ],
)
def test_answers(result: Any, dx: int, epochs: list[int], known: bool, output: Any) -> None:
    answer, says = trajectory_of(result, X0[:dx], dx)
    assert ([len(epoch) for epoch in answer.epochs], says, answer.output) == (epochs, known, output)


@pytest.mark.parametrize(
    ("result", "dx"),
    [
        ([], 2),
        (1.0, 1),
        (np.float64(1.0), 1),
        ([1.0, 2.0], 2),
        ([[FLAT]], 2),
        ([FLAT[:1], FLAT], 2),
        ([FLAT, FLAT[:1], FLAT], 2),
        ([FLAT, [[1.0]]], 2),
        ([FLAT, [[1.0, 2.0, 3.0], [1.0, 2.0]]], 2),
        ([[[1.0]], [[2.0]]], 1),
        ([[1.0, 2.0]], 1),
        ([[1.0, 2.0], [1.0]], 2),
        ([[1.0, 2.0], [1j, 1.0]], 2),
        ([["a", "b"]], 2),
    ],
)
def test_answers_that_are_none(result: Any, dx: int) -> None:
    with pytest.raises(ParameterError):
        trajectory_of(result, X0[:dx], dx)


@pytest.mark.parametrize(
    ("value", "dx", "shape"),
    [(3.0, 1, (1,)), (3, 1, (1,)), ([1, 2], 2, (2,)), ((1.0, 2.0), 2, (2,)), (mpmath.mpf(2), 1, (1,)), ([], 0, (0,))],
)
def test_points(value: Any, dx: int, shape: tuple[int, ...]) -> None:
    found = own_solver._point(value, dx, "it")
    assert found.shape == shape
    assert found.dtype in (float, object)
    assert found.dtype == (object if isinstance(value, mpmath.mpf) else float)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1.0], r"it that the solver handed back has shape \(1,\), not \(2,\)"),
        (3.0, "has shape"),
        ([[1.0, 2.0]], "has shape"),
        (["a", "b"], "not a point of numbers"),
        ([None, 1.0], "not a point of numbers"),
        ([1j, 2.0], "not a point of numbers"),
        (np.array([1, "b"], dtype=object), "not a point of numbers"),
        ([[1.0], [1.0, 2.0]], "not a point of numbers"),
    ],
)
def test_what_is_no_point(value: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        own_solver._point(value, 2, "it")


# --- rows


def test_rows_of_a_trajectory_with_everything() -> None:
    answer = bv.Trajectory(
        [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]],
        y=[[None, [1.5]], [[2.5]], [[3.5], [4.5]]],
        z=[[None, None], [], [None]],
        w=[[[1, 1], [2, 2]], [[3, 3]], [[4, 4], [5, 5], [6, 6]]],
        before={"y": [[0.5], [0.25], None], "w": [None, None, None]},
    )
    trace = trace_of(answer, 2)
    assert trace.epoch.tolist() == [0, 0, 1, 2, 2, 2]
    assert trace.k.tolist() == [0, 1, 0, 0, 1, 2]
    assert plain(trace.x) == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]
    assert plain(trace.w) == [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6]]
    np.testing.assert_array_equal(trace.y, [[NAN], [1.5], [2.5], [3.5], [4.5], [NAN]])
    np.testing.assert_array_equal(trace.z, np.full((6, 1), NAN))
    assert set(trace.sequences) == {"x", "y", "z", "w"}
    np.testing.assert_array_equal(trace.epoch_start["y"], [[0.5], [0.25], [NAN]])
    np.testing.assert_array_equal(trace.epoch_start["w"], [[NAN], [NAN], [NAN]])
    np.testing.assert_array_equal(trace.epoch_start["epoch"], [[0.0], [1.0], [2.0]])
    assert trace.x.dtype == float
    assert trace_of(bv.Trajectory([[[1.0, 2.0]]]), 2).epoch_start == {}


def test_rows_in_many_digits() -> None:
    with mpmath.workdps(80):
        long = mpmath.mpf(1) / 3
    answer = bv.Trajectory([[[long, 2]]], y=[[None]])
    with mpmath.workdps(30):
        trace = trace_of(answer, 2, True)
    assert trace.x.dtype == object
    assert trace.x[0, 0]._mpf_ == long._mpf_  # no bit is lost
    assert type(trace.x[0, 1]) is mpmath.mpf
    assert mpmath.isnan(trace.y[0, 0])
    with pytest.raises(NotImplementedError, match="rounded to a float"):
        trace_of(bv.Trajectory([[[0.1, 2.0]]]), 2, True)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (bv.Trajectory([]), "has no point"),
        (bv.Trajectory([[], FLAT]), "has no point"),
        (bv.Trajectory([FLAT, []]), "has no point"),
        (bv.Trajectory([FLAT], y=[FLAT, FLAT]), "y of the trajectory must be nested"),
        (bv.Trajectory([FLAT, FLAT], y=[FLAT]), "y of the trajectory must be nested"),
        (bv.Trajectory([FLAT], v=[[1, 2, 3, 4]]), "v of the trajectory must be nested"),
        (bv.Trajectory([FLAT], v=[[1, 2, 3], [4]]), "v of the trajectory must be nested"),
        (bv.Trajectory([FLAT], y=[[[1.0], [1.0, 2.0]]]), "an entry of y that the solver handed back has shape"),
        (bv.Trajectory([FLAT], before={"w": [X0, X0]}), r"before\['w'\] of the trajectory has 2 points for 1 epochs"),
        (bv.Trajectory([FLAT], before={"w": []}), "has 0 points for 1 epochs"),
        (bv.Trajectory([[[1.0]]]), r"x\[0, 0\] that the solver handed back has shape"),
    ],
)
def test_trajectories_that_do_not_fit(answer: bv.Trajectory, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        trace_of(answer, 2)


def test_what_restarts_ended() -> None:
    assert own_solver._restarted(bv.Trajectory([FLAT, FLAT, FLAT])) == (True, True, False)
    assert own_solver._restarted(bv.Trajectory([FLAT])) == (False,)
    assert own_solver._restarted(bv.Trajectory([FLAT, FLAT], restarts=[0, 1])) == (False, True)
    assert own_solver._restarted(bv.Trajectory([FLAT, FLAT], restarts=[True, True])) == (True, True)
    for restarts in ([True], [True, False, False], []):
        with pytest.raises(ParameterError, match=rf"restarts of the trajectory: {len(restarts)} for 2 epochs"):
            own_solver._restarted(bv.Trajectory([FLAT, FLAT], restarts=restarts))


def test_one_variable() -> None:
    run = run_on([1.0, 0.5, 0.25], LINE)
    assert (plain(run.trace.x), plain(run.x), run.iterations) == ([[1.0], [0.5], [0.25]], [0.25], 2)
