"""Letters by paper, laziness, bad input: every infinite constant names its term, every failure is one line."""

from __future__ import annotations

import math

import pytest
import sympy

from bilevel_verify import problems
from bilevel_verify.constants import constants, letter_sets, letters_of
from bilevel_verify.errors import InputError
from bilevel_verify.problems import Ball, Box, Orthant, Simplex

TOY = {"f": "sin(x1) + y1**2/2 + cos(x1 - y1)", "g": "y1**2 + cos(y1)/2 - x1*y1", "x": "x1", "y": "y1"}


def test_ragd_gs_letters() -> None:
    c = constants(problems.bilevel(**TOY))
    assert list(c) == ["mu", "L_g", "rho_g", "nu_g", "M_g", "C_f", "L_f", "nu_f", "H_f", "rho_f"]
    assert c["mu"].value == 1.5
    assert c["mu"].side == "lower"
    assert c["L_g"].exact == sympy.Rational(5, 4) + sympy.sqrt(41) / 4
    assert c["L_g"].value >= float(c["L_g"].exact)
    assert (c["nu_g"].value, c["nu_f"].value) == (1.0, 1.0)
    assert c["H_f"].value == pytest.approx(math.sqrt(5), rel=1e-5)
    assert c["rho_f"].value == pytest.approx(math.sqrt(2), rel=1e-5)
    assert all(v.certified and v.whole_space for v in c.values())
    assert "Loewner" in str(c["L_g"].why)
    assert "spectral" in c["L_g"].norm


def test_nothing_is_computed_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    from bilevel_verify.constants.groups.engine import Analysis

    asked: list[str] = []
    true = Analysis.norm
    monkeypatch.setattr(Analysis, "norm", lambda self, slots: asked.append(slots) or true(self, slots))
    c = constants(problems.bilevel(**TOY), only=["L_f"])
    assert list(c) == ["L_f"]
    assert asked == []
    assert c["L_f"].value == pytest.approx(3.0)
    assert asked == ["zz"]


def test_rahgd_sum_metric_on_its_toy() -> None:
    """M, ell, rho, nu, mu, kappa: the larger of the two partial constants, at most the joint ones of the sheet."""
    g = "y1**2 + cos(y1)/2 - x1*y1 + y2**2 + cos(y2)/2 - x2*y2"
    f = "cos(x1) - cos(x2) + 0.7*cos(y1) - 0.7*cos(y2)"
    c = constants(problems.bilevel(f=f, g=g, x="x1 x2", y="y1 y2"), paper="rahgd")
    assert list(c) == ["M", "ell", "rho", "nu", "mu", "kappa"]
    assert c["mu"].value == 1.5
    assert c["M"].value == pytest.approx(math.sqrt(2), rel=1e-6)  # joint: sqrt(2 + 2*0.49)
    assert c["ell"].value == pytest.approx(math.sqrt(1 + 2.5**2), rel=1e-3)  # joint: 2.850781
    assert c["rho"].value == pytest.approx(1.0)
    assert c["nu"].value == pytest.approx(0.5)
    assert c["kappa"].value == pytest.approx(c["ell"].value / 1.5)
    assert "sum metric" in c["ell"].norm


def test_fsba_and_minimax_and_one_level() -> None:
    c = constants(problems.bilevel(**TOY), paper="fsba")
    assert c["ell"].value == pytest.approx(3.0)
    assert c["rho"].value == pytest.approx(3.256037, rel=1e-5)
    assert c["nu"].value == pytest.approx(0.5)
    m = constants(problems.minimax(f="cos(x1) + x1*y1 - 2*y1**2", x="x1", y="y1"))
    assert m["mu"].value == 4.0
    assert m["rho"].value == 1.0
    assert m["ell"].value == pytest.approx((5 + math.sqrt(13)) / 2)
    s = constants(problems.single_level(f="cos(x1 + x2) + log(1 + (x1 - x2)**2)", x="x1 x2"))
    assert list(s) == ["L", "rho", "mu"]
    assert s["L"].value == pytest.approx(4.0)
    assert list(constants(problems.single_level(f="cos(x1)", x="x1"), paper="restarted-agd-hb")) == ["L", "rho"]


def test_strong_convexity_of_one_level() -> None:
    """Eigenvalues of [[4, 1], [1, 4]] are 3 and 5; cos(x3) has curvature -1 at 0."""
    convex = constants(problems.single_level(f="2*x1**2 + x1*x2 + 2*x2**2", x="x1 x2"))["mu"]
    assert (convex.value, convex.side, convex.certified) == (pytest.approx(3.0), "lower", True)
    both = constants(problems.single_level(f="2*x1**2 + x1*x2 + 2*x2**2 + cos(x3)", x="x1 x2 x3"))["mu"]
    assert both.value == pytest.approx(-1.0)


def test_every_letter_is_documented() -> None:
    for one in letter_sets().values():
        for letter in one.letters:
            assert letter.meaning
            assert letter.norm


def test_simple_bilevel() -> None:
    p = problems.simple_bilevel(f="(x1**2 + x2**2)/2", g="(x1 - 1)**2/2", x="x1 x2", feasible=Ball(radius=1))
    c = constants(p)
    assert (c["L_f"].value, c["L_g"].value, c["D"].value) == (1.0, 1.0, 2.0)
    assert c["M"].value <= math.sqrt(2) * (1 + 1e-6)
    q = problems.simple_bilevel(f="(x1 - 1)**2/2", g="x1 + x1**2", x="x1 x2", feasible=Box(lo=(0, 0), hi=(1, 1)))
    assert constants(q)["D"].value == pytest.approx(math.sqrt(2))
    r = problems.simple_bilevel(f="(x1**2 + x2**2)/2", g="(x1 + x2 - 1)**2/2", x="x1 x2", feasible=Orthant())
    assert math.isinf(constants(r)["D"].value)
    assert constants(r)["L_g"].value == pytest.approx(2.0)
    s = problems.simple_bilevel(f="x1**2", g="x2**2", x="x1 x2", feasible=Simplex(total=2.0))
    assert constants(s)["D"].value == pytest.approx(2 * math.sqrt(2))


def test_infinite_constants_name_the_term_and_a_domain() -> None:
    c = constants(problems.bilevel(f="exp(x1) + y1", g="y1**2 + y1**4", x="x1", y="y1"))
    assert math.isinf(c["L_g"].value)
    text = str(c["L_g"].why)
    assert "y1^4" in text
    assert "add y1 = [-10, 10] under [domain]" in text
    assert math.isinf(c["L_f"].value)
    assert "exp" in str(c["L_f"].why)
    assert c["mu"].value == 2.0


def test_not_strongly_convex_has_a_witness() -> None:
    c = constants(problems.bilevel(f="x1", g="y1**2/4 + cos(x1 + y1)", x="x1", y="y1"))
    mu = c["mu"]
    assert mu.value == -0.5
    assert mu.upper < 0
    point = mu.witness
    assert 0.5 - math.cos(point["x1"] + point["y1"]) < 0


def test_a_removable_singularity_is_no_error() -> None:
    box = {"x1": (-1, 1), "y1": (-1, 1)}
    c = constants(problems.bilevel(f="x1", g="y1**2 + sin(x1*y1)/(x1*y1)", x="x1", y="y1", domain=box))
    assert c["mu"].value == pytest.approx(5 / 3, rel=1e-6)
    assert 2.0 <= c["L_g"].value <= 2.02


def test_a_piecewise_jump_says_which_derivative_and_where() -> None:
    jump = "y1**2 + Piecewise((0, y1 < 0), (y1**2, True))"
    c = constants(problems.bilevel(f="x1", g=jump, x="x1", y="y1"))
    assert math.isinf(c["rho_g"].value)
    assert "derivative 2" in str(c["rho_g"].why)
    assert "y1 = 0" in str(c["rho_g"].why)
    smooth = constants(
        problems.bilevel(
            f="x1", g="y1**2 + Piecewise((0, y1 < 0), (y1**3, True))", x="x1", y="y1", domain={"y1": (-1, 1)}
        )
    )
    assert smooth["rho_g"].value == pytest.approx(6.0)


def test_wrong_requests_are_one_line() -> None:
    p = problems.bilevel(**TOY)
    for call in (
        lambda: constants(p, paper="nope"),
        lambda: constants(p, only=["q"]),
        lambda: constants(p, nu=2.0),
        lambda: letters_of("agm-bio", "bilevel"),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_exponent_on_request() -> None:
    p = problems.bilevel(f="x1", g="y1**2 - x1*y1 + psi(1/2, x1 + 2*y1)/2", x="x1", y="y1")
    c = constants(p)
    assert c["nu_g"].value == 0.5
    assert c["M_g"].value == pytest.approx(11.82177, rel=1e-6)
    assert c["mu"].exact == sympy.Rational(2, 3)
    lower = constants(p, nu={"nu_g": 0.25})
    assert lower["nu_g"].value == 0.25
    assert lower["M_g"].value < math.inf
    assert math.isinf(constants(p, nu={"nu_g": 1.0})["M_g"].value)


def test_results_are_shared_between_calls() -> None:
    p = problems.bilevel(**TOY)
    assert constants(p).analysis("g") is constants(p, paper="rahgd").analysis("g")  # type: ignore[attr-defined]


def test_local_constants_say_so() -> None:
    c = constants(problems.bilevel(**TOY, domain={"x1": (-3, 3), "y1": (-3, 3)}))
    assert not c["L_g"].whole_space
    assert "-3 <= x1 <= 3" in c["L_g"].domain


def test_piecewise_functions_are_exact() -> None:
    """Joints by absolute values, a function that is flat at a point, and one inside a product."""
    box = {"x1": (-1, 1), "y1": (-3, 3)}
    folded = "y1**2 + Piecewise((-y1**2/4, abs(y1) < 1), (y1**2/4 - abs(y1) + 1/2, True))"
    c = constants(problems.bilevel(f="x1", g=folded, x="x1", y="y1", domain=box))
    assert (c["mu"].value, c["L_g"].value) == (pytest.approx(1.5), pytest.approx(2.5))
    assert math.isinf(c["rho_g"].value)
    flat = constants(problems.bilevel(f="x1", g="y1**2 + Piecewise((exp(-1/y1), y1 > 0), (0, True))", x="x1", y="y1"))
    assert flat["mu"].value == pytest.approx(1.58006368, rel=1e-6)
    assert flat["L_g"].value == pytest.approx(4.54996027, rel=1e-6)
    inside = "y1**2 + x1**2*Piecewise((exp(-1/y1), y1 > 0), (0, True))"
    product = constants(problems.bilevel(f="x1", g=inside, x="x1", y="y1", domain=box))
    assert product["mu"].value == pytest.approx(1.58006368, rel=1e-2)


def test_a_flat_function_in_irrational_units() -> None:
    """The zero-chain bump in the variable x / sqrt(2): the joint is irrational, the shape is not."""
    bump = "Piecewise((0, x1/sqrt(2) <= 1/2), (exp(1 - 1/(2*x1/sqrt(2) - 1)**2), True))"
    c = constants(problems.single_level(f=f"{bump}*cos(x2)", x="x1 x2"))
    assert c["L"].value >= 32.38664 / 2 * (1 - 1e-6)  # second derivative of the bump, rescaled
    assert c["L"].value <= 32.38664 / 2 * 1.03
    assert math.isfinite(c["rho"].value)


def test_error_bounds_of_simple_bilevel_problems() -> None:
    inverse = problems.simple_bilevel(f="(x1**2 + x2**2)/2", g="(x1 + x2 - 1)**2/2", x="x1 x2", feasible=Orthant())
    c = constants(inverse)
    assert (c["alpha"].value, c["r"].value) == (1.0, 2.0)
    assert c["M"].value <= math.sqrt(2) * (1 + 1e-9)
    sharp = problems.simple_bilevel(
        f="(x1 - 1)**2/2 + x2**2", g="x1 + 2*x1**2", x="x1 x2", feasible=Box(lo=(0, 0), hi=(1, 1))
    )
    assert (constants(sharp)["alpha"].value, constants(sharp)["r"].value) == (1.0, 1.0)
    strong = problems.simple_bilevel(f="x1", g="x1**2 + x2**2 + x1*x2", x="x1 x2", feasible=Ball(radius=1))
    assert (constants(strong)["alpha"].value, constants(strong)["r"].value) == (1.0, 2.0)
    tangent = constants(problems.simple_bilevel(f="x2", g="(x1 - 1)**2/2", x="x1 x2", feasible=Ball(radius=1)))
    assert (tangent["alpha"].value, tangent["r"].value) == (0.5, 4.0)  # dist^2 <= 2 (1 - x1) on the unit ball
