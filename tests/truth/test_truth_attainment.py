"""Whether an infimum is attained: against closed forms, and never where no x has its value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.lower_level.points import DEFAULT_BITS
from bilevel_verify.truth.lower_level.pointwise import Pointwise
from bilevel_verify.truth.minimum.attainment import attains
from bilevel_verify.truth.minimum.objective import PhiObjective
from bilevel_verify.truth.truth import Truth

pytestmark = pytest.mark.fast


def least(f: str, ends: tuple[Any, Any] | None, two: bool = False) -> Any:
    problem = bv.bilevel(
        f=f.replace("x1", "y1") if two else f, g="(y1 - x1)**2/2", x="x1", y="y1", domain=ends and {"x": ends}
    )
    return Truth(problem).phi_min()


@pytest.mark.slow
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize(
    ("f", "ends"),
    [
        ("floor(x1) - x1", (0, 3)),
        ("ceil(x1) + x1**2", (-1, 1)),
        ("sign(x1) + x1**2", (-1, 1)),
        ("x1 + Piecewise((1, x1 <= 0), (0, True))", (0, 1)),
        ("atan(1/x1)", (-1, 1)),
        ("exp(1/x1)", None),
        ("exp(-1/x1**2)", None),
        ("exp(-1/x1**2)", (-1, 1)),
        ("exp(-x1)", None),
        ("1/(1 + x1**2)", None),
    ],
)
def test_what_no_point_has_is_not_called_attained(f: str, ends: Any, two: bool) -> None:
    try:
        found = least(f, ends, two)
    except bv.errors.BilevelVerifyError:
        return  # no minimum at all is said
    assert found.attained is not True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "ends"),
    [
        ("x1**2", None),
        ("exp(-x1) + x1", None),
        ("abs(x1)", None),
        ("cos(x1)", None),
        ("-x1*log(x1)", (0, 2)),
        ("x1 + 1/x1", (0, 5)),
        ("1/x1", (1, 3)),
        ("sqrt(x1)", (0, 1)),
        ("abs(x1 - 1) + x1**2", (-1, 1)),
        ("psi(0.5, x1)", (-1, 3)),
        ("(x1 - 1/3)**2 + cos(x1)", ("1/3", "7/3")),
        ("x1**4 - x1**2 + x1", (-2, 2)),
    ],
)
def test_continuous_functions_attain_theirs(f: str, ends: Any) -> None:
    assert least(f, ends).attained is True


@pytest.mark.parametrize("f", ["x1**4 - x1**2 + x1", "exp(x1)", "sin(3*x1)", "abs(x1)"])
def test_so_they_do_through_a_lower_level(f: str) -> None:
    assert least(f, (-2, 2), two=True).attained is True


def objective(f: str) -> PhiObjective:
    return PhiObjective(Pointwise(bv.single_level(f=f, x="x1"), DEFAULT_BITS).points)


@pytest.mark.parametrize(
    ("upper", "ends", "wanted"),
    [
        (0.25, (-1.0, 1.0), False),  # on the left of the pole phi is smaller
        (3.0, (0.5, 1.0), True),
        (3.0, (0.0, 1.0), True),  # near 0 it is above 3
        (np.inf, (0.5, 1.0), False),
        (3.0, (0.5, np.inf), False),
    ],
)
def test_boxes_that_exceed_a_value_need_no_continuity(upper: float, ends: tuple[float, float], wanted: bool) -> None:
    assert attains(objective("1/x1"), np.array([ends[0]]), np.array([ends[1]]), upper) is wanted


def test_a_budget_ends_it() -> None:
    low, high = np.array([0.0]), np.array([1.0])
    assert attains(objective("1/x1"), low, high, 3.0, budget=3) is False


@pytest.mark.parametrize(
    ("f", "ends", "wanted"),
    [
        ("x1**2", (-1.0, 1.0), True),
        ("x1**2", (-np.inf, 1.0), False),
        ("sqrt(x1)", (0.0, 1.0), True),
        ("sqrt(x1)", (-1.0, 1.0), False),
        ("log(x1)", (0.5, 1.0), True),
        ("log(x1)", (0.0, 1.0), False),
        ("atan(log(x1))", (0.0, 1.0), False),
        ("atan(1/x1)", (-1.0, 1.0), False),
        ("floor(x1)", (0.25, 0.5), False),
        ("sgnpow(x1, 1/2)", (-1.0, 1.0), True),
        ("abs(x1)", (-1.0, 1.0), True),
        ("sign(x1)", (1.0, 2.0), False),
    ],
)
def test_what_jumps_or_passes_a_pole_is_not_proved_continuous(f: str, ends: Any, wanted: bool) -> None:
    problem = bv.single_level(f=f, x="x1")
    box = Interval(np.array([ends[0]]), np.array([ends[1]]))
    assert Function(problem.f, problem.x, 1).continuous([box]).tolist() == [wanted]


def test_sums_over_data_show_it_in_their_gradients() -> None:
    rows = np.linspace(-1.0, 1.0, 4000).reshape(2000, 2)
    for kernel, wanted in (("log(1 + exp(t))", True), ("floor(t)", False), ("atan(1/t)", False)):
        problem = bv.single_level(
            f="mean(h(dot(A[i], x)), (i, 0, 1999))", x="x1 x2", data={"A": rows}, define={"h(t)": kernel}
        )
        function = Function(problem.f, problem.x, 2)
        assert function.sums
        box = Interval(np.array([-1.0]), np.array([1.0]))
        assert function.continuous([box, box]).tolist() == [wanted]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "ends", "least_value"),
    [
        ("Piecewise((-x1, x1 <= 1), (0, True))", (0, 2.1), -1),
        ("Piecewise((-x1, x1 <= 1/3), (0, True))", (0, 2), -1 / 3),
        ("Piecewise((-x1, x1 <= 1/3), (0, True))", (0, "oo"), -1 / 3),
        ("Piecewise((0, x1 < 1/3), (-3, x1 <= 1/3), (2, True))", (0, 1), -3),
        ("Piecewise((0, x1**2 < 2), (-3, x1**2 <= 2), (2, True))", (0, 2), -3),
        ("Piecewise((x1, x1 <= 1/3), (2/3 - x1, True))", (0, 1), -1 / 3),
        ("2*x1 - floor(3*x1)", (0, 2), -2),
        ("x1**2 - 2*plus(x1 - 1/3)", (0, 2), -1 / 3),
    ],
)
def test_no_box_with_a_jump_or_a_kink_is_dropped(f: str, ends: Any, least_value: float) -> None:
    found = least(f, ends)
    assert abs(float(found.value) - least_value) <= found.error + 1e-15
    through = least(f, ends, two=True)
    assert abs(float(through.value) - least_value) <= through.error + 1e-15


def test_stationary_points_of_a_kinked_function_are_not_listed() -> None:
    problem = bv.single_level(f="Piecewise((x1**2 + x1, x1 <= 0), (x1**2 - x1, True))", x="x1", domain={"x": (-2, 2)})
    with pytest.raises(bv.MathematicalError, match="jumps or kinks"):
        Truth(problem).stationary_points()
    smooth = bv.single_level(f="Piecewise((x1**2, x1 <= 1/2), (x1 - 1/4, True))", x="x1", domain={"x": (-1, 1)})
    assert len(Truth(smooth).stationary_points().points) == 1
