"""Infinite constants are proved, named and come with a remedy; families give one set of constants a member."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bilevel_verify import problems
from bilevel_verify.constants import FamilyConstants, constants
from bilevel_verify.problems.family import ProblemFamily

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    # formula of f in (x, y), domain, letter of fsba, what the explanation has to say
    ("exp(x)", {}, "ell", "add x = [-10, 10] under [domain]"),
    ("y**4 + sin(x)", {}, "ell", "y**2 grows along y"),
    ("x**2*cos(y)", {}, "ell", "grows along x"),
    ("cosh(x - y)", {}, "rho", "grows without bound"),
    ("abs(x)**(3/2)", {}, "ell", "unbounded at x = 0"),
    ("abs(x)**(5/2)", {"x": (-1, 1)}, "rho", "unbounded at x = 0"),
    ("(x**2 + y**2)**(7/4)", {}, "ell", "grows without bound with x, y"),
    ("log(x) + y", {"x": (0, "oo")}, "ell", "under [domain]"),
    ("1/x + y", {"x": (0, 1)}, "ell", "under [domain]"),
]


@pytest.mark.parametrize(("f", "domain", "letter", "text"), CASES)
def test_divergence_is_proved_and_explained(f: str, domain: dict[str, Any], letter: str, text: str) -> None:
    found = constants(problems.bilevel(f=f, g="y**2", x="x", y="y", domain=domain), paper="fsba")[letter]
    assert (found.value, found.lower, found.certified) == (math.inf, math.inf, True)
    assert text in str(found.why)


FINITE = [
    ("exp(x)", {"x": (-1, 1)}, "ell", math.e),
    ("abs(x)**(5/2)", {"x": (1, 4)}, "rho", 15 / 8),
    ("abs(x)**3", {"x": (0, 1)}, "rho", 6.0),
    ("x**4 - (x + y)**4 + (x + y)**4", {"x": (-1, 1)}, "ell", 12.0),
    ("exp(x) - exp(x) + cos(y)", {}, "ell", 2.0),
]


@pytest.mark.parametrize(("f", "domain", "letter", "value"), FINITE)
def test_nothing_finite_is_called_infinite(f: str, domain: dict[str, Any], letter: str, value: float) -> None:
    found = constants(problems.bilevel(f=f, g="y**2", x="x", y="y", domain=domain), paper="fsba")[letter]
    assert found.value == pytest.approx(max(value, 2.0 if letter == "ell" else 0.0), rel=1e-2)


def test_a_smoother_joint_alone_in_the_domain_still_counts() -> None:
    g = "y**2 + Piecewise((0, y < 0), (y**2, y < 1), (y**2 + (y - 1)**3, True))"
    p = problems.bilevel(f="x", g=g, x="x", y="y", domain={"y": ("1/2", 2)})
    c = constants(p, paper="fsba")
    assert c["rho"].value == pytest.approx(6.0)
    assert math.isinf(c["nu"].value)
    assert "derivative 3" in str(c["nu"].why)
    assert "y = 1" in str(c["nu"].why)
    pair = constants(p)
    assert (pair["nu_g"].value, pair["M_g"].value) == (0.0, pytest.approx(6.0))


def test_a_derivative_that_does_not_exist_has_no_pair() -> None:
    c = constants(problems.bilevel(f="x", g="y**2 + Piecewise((0, y < 0), (y**2, True))", x="x", y="y"))
    assert (c["nu_g"].value, c["M_g"].value, c["M_g"].lower) == (0.0, math.inf, math.inf)
    assert "does not exist everywhere" in str(c["M_g"].why)


def test_closed_gradients_and_boxes_without_ridges() -> None:
    c = constants(problems.bilevel(f="3*y + 4*sin(y + x) - x", g="(y - x)**2/2", x="x", y="y", domain={"x": (-2, 2)}))
    assert c["C_f"].value == pytest.approx(7.0)
    assert (c["mu"].exact, c["L_g"].exact) == (1, 2)
    whole = constants(problems.bilevel(f="3*y + 4*sin(y + x) - x", g="y**2", x="x", y="y"))
    assert (whole["C_f"].exact, whole["C_f"].attained) == (7, True)


def test_a_family_has_one_set_of_constants_a_member() -> None:
    family = problems.zoo("hoelder-f", nu="nu")
    assert isinstance(family, ProblemFamily)
    found = constants(family, only=["nu_f", "H_f"])
    assert isinstance(found, FamilyConstants)
    assert "at(nu)" in str(found)
    for nu in (0.25, 0.5, 1.0):
        member = found.at(nu=nu)
        assert list(member) == ["nu_f", "H_f"]
        assert member["nu_f"].value == nu
        assert member["H_f"].value == pytest.approx(1.0)


def test_a_weight_of_the_upper_level_that_is_an_atom() -> None:
    """sigmoid(x1) |y|^2 / 2: the entry along y1 has the coefficient sigmoid_d(2, x1), which is enclosed at a number."""
    problem = problems.bilevel(f="x1 + y1", g="sigmoid(x1)*(y1**2 + y2**2)/2 + x1*y1/4", x="x1", y="y1 y2")
    assert constants(problem, only=["L_g"])["L_g"].value == math.inf
