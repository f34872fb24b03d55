"""Functions behind their spelling: removable singularities, kinks along one direction, maxima with 0 second."""

from __future__ import annotations

import math

import pytest

from bilevel_verify import problems
from bilevel_verify.constants import constants


@pytest.mark.parametrize(
    ("formula", "largest"),
    [
        ("sinh(x)/x", 0.4394423113),
        ("tan(x)/x", 6.9356),
        ("(1 - cos(x))/x**2", 1 / 12),
        ("(cos(x) - 1)/x**2", 1 / 12),
        ("(x**3 - 8)/(x - 2)", 2.0),
    ],
)
def test_removable_singularities_are_no_singularities(formula: str, largest: float) -> None:
    found = constants(problems.single_level(f=formula, x="x", domain={"x": (-1, 1)}))["L"]
    assert found.certified
    assert largest * (1 - 1e-3) <= found.upper <= largest * 1.02
    assert found.lower <= largest * (1 + 1e-3)


def test_removable_in_two_variables() -> None:
    p = problems.bilevel(f="x", g="y**2 + (x**2 - y**2)/(x - y)", x="x", y="y")
    table = constants(p)
    assert (table["mu"].exact, table["L_g"].exact, table["rho_g"].exact) == (2, 2, 0)


def test_a_real_pole_stays_infinite() -> None:
    for formula in ("sin(x)/x**2", "(x**2 - 1)/(x - 1/2)"):
        found = constants(problems.single_level(f=formula, x="x", domain={"x": (-1, 1)}))["L"]
        assert math.isinf(found.upper), formula


def test_a_joint_along_one_direction_says_which_derivative_and_where() -> None:
    g = "y**2 + Piecewise((0, x - 2*y < 1/2), ((x - 2*y - 1/2)**2, True))"
    table = constants(problems.bilevel(f="x", g=g, x="x", y="y"))
    assert table["mu"].value == pytest.approx(2, rel=1e-9)
    assert table["L_g"].upper == pytest.approx(6 + 4 * math.sqrt(2), rel=1e-9)
    assert math.isinf(table["rho_g"].lower)
    assert "derivative 2" in table["rho_g"].why.statement
    assert "x - 2*y = 0.5" in table["rho_g"].why.statement
    smooth = "y**2 + Piecewise(((y - x)**3/3, y > x), (0, True))"
    table = constants(problems.bilevel(f="x", g=smooth, x="x", y="y"))
    assert table["rho_g"].upper == pytest.approx(2 * 2**1.5, rel=1e-6)
    assert table["nu_g"].value == 0


@pytest.mark.parametrize("kink", ["Max(x - y, 0)", "max(0, x - y)", "plus(x - y)"])
def test_a_maximum_with_zero_is_one_kink(kink: str) -> None:
    p = problems.bilevel(f=f"{kink}**(9/4)", g="y**2", x="x", y="y", domain={"x": (-1, 1), "y": (-1, 1)})
    table = constants(p)
    assert str(table["nu_f"].exact) == "1/4"
    assert table["H_f"].upper == pytest.approx(9 / 4 * 5 / 4 * 2**0.125, rel=1e-9)
