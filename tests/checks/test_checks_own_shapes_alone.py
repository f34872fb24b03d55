"""The shapes in which a solver of the user may hand back its points, and the rows that they become."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.checks.solvers import own_solver
from bilevel_verify.checks.solvers.own_solver import trace_of, trajectory_of
from bilevel_verify.errors import ParameterError

pytestmark = pytest.mark.fast

NAN = float("nan")
LINE = bv.single_level(f="x1**2/2", x="x1", name="line")
X0 = np.array([1.0, 0.5])
FLAT = [[1.0, 0.5], [0.5, 0.25], [0.0, 0.125]]


def plain(table: Any) -> Any:
    return np.asarray(table, dtype=float).tolist()


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
        (np.array([[mpmath.mpf(1), mpmath.mpf(2)]], dtype=object), 2),
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
    run = own_solver.run_own(LINE, lambda o, x, p: [1.0, 0.5, 0.25], {}, X0[:1], {}, None)
    assert (plain(run.trace.x), plain(run.x), run.iterations) == ([[1.0], [0.5], [0.25]], [0.25], 2)
