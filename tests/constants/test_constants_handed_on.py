"""What is handed on of a constant: its safe end, its certainty, its domain, and how routes are put together."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants import constants as constants_of
from bilevel_verify.constants.api import Constants, _largest
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.constants.papers import letters_of
from bilevel_verify.constants.search.branch import Supremum
from bilevel_verify.errors import InputError

pytestmark = pytest.mark.fast

X, Y = VARIABLES = sympy.symbols("x y", real=True)
INF = math.inf
WHY = Reason("test", "nothing is known")
NOTHING = Bound(INF, 0.0, True, "calculus", WHY)


def part_of(expression: sympy.Expr, size: float = 1.0) -> Part:
    domain = Domain(np.full(2, -size), np.full(2, size), "", math.isinf(size))
    return Part(structure_of(normalise(expression), VARIABLES), (True, False), domain, "h", 0.04)


BOXED = part_of(sympy.sin(3 * X) * Y - X**2 * Y**2)
FREE = part_of(1 / (1 + X**2 + Y**2), INF)


@pytest.mark.parametrize(
    ("f", "letter"),
    [
        ("abs(x1)*y1", "L_f"),
        ("abs(x1 - y1)", "L_f"),
        ("max(x1, y1)", "L_f"),
        ("abs(x1*y1)", "L_f"),
        ("max(x1 + y1, 0)**2", "rho_f"),
        ("floor(x1)*y1", "C_f"),
    ],
)
def test_a_kink_inside_leaves_no_finite_constant(f: str, letter: str) -> None:
    problem = bv.bilevel(f=f, g="y1**2", x="x1", y="y1", domain={"x1": (-1, 1), "y1": (-1, 1)})
    assert constants_of(problem)[letter].value == INF


def test_where_the_domain_ends_a_constant_is_local_and_elsewhere_it_is_not() -> None:
    def constant(domain: dict[str, tuple[float, float]] | None, f: str = "sin(x1)*cos(y1)") -> Constant:
        return constants_of(bv.bilevel(f=f, g="y1**2", x="x1", y="y1", domain=domain))["L_f"]

    assert constant(None).whole_space
    assert not constant({"x1": (-1, 1)}).whole_space
    assert constant({"x1": (-1, 1)}).domain == "-1 <= x1 <= 1"
    assert constant(None, "exp(x1)*y1").value == INF
    assert math.isfinite(constant({"x1": (-1, 1), "y1": (-1, 1)}, "exp(x1)*y1").value)


# ---- what is handed on -----------------------------------------------------------------------------------------------


PROBLEM = bv.bilevel(f="x1*y1", g="y1**2 + x1*y1", x="x1", y="y1")


def constant(name: str, value: float, side: str = "upper", certified: bool = True, **more: object) -> Constant:
    ends = {"lower": value, "upper": value} | {k: more.pop(k) for k in ("lower", "upper") if k in more}
    return Constant(name, value, side=side, certified=certified, route="calculus", norm="", domain="", why=WHY,  # type: ignore[arg-type]
                    **ends, **more)  # fmt: skip


def ratio(top: Constant, bottom: Constant) -> Constant:
    found = constants_of(PROBLEM, paper="rahgd")
    assert isinstance(found, Constants)
    letter = next(a for a in letters_of("rahgd", "bilevel").letters if a.measure == "ratio")
    known = dict(zip(letter.partner, (top, bottom)))
    found._get = known.__getitem__  # type: ignore[method-assign]
    return found._ratio(letter)


@pytest.mark.parametrize("seed", range(5))
def test_a_ratio_is_rounded_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(200):
        a, b = (float(v) for v in rng.uniform(0.1, 10, size=2))
        found = ratio(constant("ell", a), constant("mu", b, "lower"))
        assert Fraction(found.value) >= Fraction(a) / Fraction(b)
        assert found.value <= a / b * (1 + 1e-15)


def test_a_ratio_takes_the_ends_that_are_safe_and_the_weaker_certainty() -> None:
    top = constant("ell", 6.0, lower=5.0)
    bottom = constant("mu", 2.0, "lower", lower=2.0, upper=4.0)
    found = ratio(top, bottom)
    assert found.value == pytest.approx(3.0, rel=1e-15)
    assert found.lower == 1.25
    assert found.certified
    for first, second in ((False, True), (True, False), (False, False)):
        weak = ratio(constant("ell", 6.0, certified=first), constant("mu", 2.0, "lower", second))
        assert not weak.certified


@pytest.mark.parametrize("mu", [0.0, -1.0])
def test_a_ratio_over_nothing_positive_is_infinite(mu: float) -> None:
    found = ratio(constant("ell", 6.0), constant("mu", mu, "lower", lower=mu, upper=1.0))
    assert (found.value, found.status) == (INF, "no bound found")
    surely = ratio(constant("ell", 6.0), constant("mu", mu, "lower", lower=mu, upper=mu))
    assert (surely.value, surely.lower) == (INF, INF)
    exact = ratio(
        constant("ell", 6.0, exact=sympy.Integer(6)), constant("mu", mu, "lower", exact=sympy.Integer(int(mu)))
    )
    assert (exact.value, exact.exact) == (INF, None)


def test_a_closed_ratio_needs_both_closed_and_is_tight_only_if_both_are() -> None:
    six, two = sympy.Integer(6), sympy.Integer(2)
    both = ratio(constant("ell", 6.0, exact=six, attained=True), constant("mu", 2.0, "lower", exact=two, attained=True))
    assert (both.exact, both.value, both.attained) == (3, 3.0, True)
    half = ratio(constant("ell", 6.0, exact=six, attained=True), constant("mu", 2.0, "lower"))
    assert (half.exact, half.attained) == (None, False)


def test_the_largest_of_several_parts() -> None:
    letter = next(a for a in letters_of("ragd-gs", "bilevel").letters if a.name == "rho_f")
    parts = [Bound(3.0, 2.5, True, "calculus", WHY), Bound(5.0, 1.0, True, "branch and bound", WHY, sympy.Integer(5))]
    found = _largest(letter, parts)
    assert (found.upper, found.lower, found.certified, found.route, found.exact) == (
        5.0,
        2.5,
        True,
        "branch and bound",
        5,
    )
    weak = [Bound(3.0, 2.5, False, "calculus", WHY), parts[1]]
    assert not _largest(letter, weak).certified
    assert not _largest(letter, weak[::-1]).certified
    assert _largest(letter, weak[:1]) is weak[0]


def test_the_value_is_the_safe_end() -> None:
    found = constants_of(bv.bilevel(f="x1*y1", g="y1**2*(2 + sin(x1)) + x1*y1", x="x1", y="y1"))
    assert isinstance(found, Constants)
    mu, other = found["mu"], found["C_f"]
    assert mu.side == "lower"
    assert mu.value == mu.lower <= 2.0 <= mu.upper
    assert other.side == "upper"
    assert other.value == other.upper
    letter = next(a for a in letters_of("ragd-gs", "bilevel").letters if a.name == "L_f")
    bound = Bound(5.0, 2.0, False, "calculus", WHY)
    assert (found._constant(letter, bound).value, found._constant(letter, bound, "lower").value) == (5.0, 2.0)
    assert not found._constant(letter, bound).certified


@pytest.mark.parametrize("nu", [-0.1, 1.1, math.nan, {"nu_g": 2}])
def test_an_exponent_outside_of_its_range_is_refused(nu: object) -> None:
    with pytest.raises(InputError, match=r"exponent lies in \[0, 1\]"):
        constants_of(PROBLEM, nu=nu)  # type: ignore[arg-type]


def test_letters_asked_for_are_those_given_and_others_are_refused() -> None:
    assert list(constants_of(PROBLEM, only="mu")) == ["mu"]
    assert list(constants_of(PROBLEM, only=["L_f", "mu"])) == ["mu", "L_f"]
    found = constants_of(PROBLEM, only=["mu"])
    assert "L_f" not in found
    with pytest.raises(KeyError):
        found["L_f"]
    with pytest.raises(InputError, match="has no constant 'D'"):
        constants_of(PROBLEM, only=["mu", "D"])


def test_a_lower_level_of_a_minimax_problem_is_minus_f() -> None:
    saddle = bv.minimax(f="x1*y1 - 3*y1**2", x="x1", y="y1")
    assert constants_of(saddle)["mu"].value == 6.0


# ---- how routes are put together -------------------------------------------------------------------------------------


def found(upper: float, lower: float) -> Supremum:
    return Supremum(upper, lower, np.zeros(2), (np.zeros(2), np.ones(2)), 10, True)


def searched(monkeypatch: pytest.MonkeyPatch, part: Part, first: Bound, outcome: Supremum) -> Bound:
    monkeypatch.setattr(sys.modules[Part.__module__], "supremum", lambda *a, **k: outcome)
    return part._search("zz", first)


def test_a_search_that_found_nothing_better_leaves_the_calculus(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Bound(5.0, 2.0, True, "calculus", WHY)
    worse = searched(monkeypatch, BOXED, first, found(5.0, 3.0))
    assert (worse.upper, worse.lower, worse.route) == (5.0, 3.0, "calculus")
    assert searched(monkeypatch, BOXED, first, found(6.0, 9.0)).lower == 5.0
    better = searched(monkeypatch, BOXED, first, found(4.0, 3.0))
    assert (better.upper, better.lower, better.route, better.certified) == (4.0, 3.0, "branch and bound", True)


def test_a_search_that_is_stuck_on_the_whole_space_does_not_replace_the_calculus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = Bound(5.0, 2.0, True, "calculus", WHY)
    assert searched(monkeypatch, FREE, first, found(4.0, 2.0)).route == "calculus"
    assert searched(monkeypatch, FREE, first, found(2.05, 2.0)).route == "branch and bound"
    assert searched(monkeypatch, BOXED, first, found(4.0, 2.0)).route == "branch and bound"
    assert searched(monkeypatch, FREE, NOTHING, found(4.0, 2.0)).route == "branch and bound"


# ---- curvature, tightness, blocks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("g", "mu"),
    [
        ("y1**2 + abs(y1)", 2.0),
        ("y1**2 + max(y1, 0) + abs(y1 - 1/2)", 2.0),
        ("y1**2 - abs(y1)", -INF),
        ("y1**2 + abs(y1) - max(y1 - 1/4, 0)", -INF),
        ("y1**2 + x1*abs(y1)", -INF),
        ("y1**2 + abs(x1)", 2.0),
        ("2*y1**2 + sin(y1)", 3.0),
        ("2*y1**2 - cos(y1)/2 + x1*y1", 3.5),
        ("y1**2 - 3*x1*y1", 2.0),
        ("y1**2 + y2**2 + 3*y1*y2", -1.0),
        ("y1**2/2 + 5*y2**2 + sin(x1)", 1.0),
    ],
)
def test_strong_convexity_of_known_functions(g: str, mu: float) -> None:
    names = "y1 y2" if "y2" in g else "y1"
    found = constants_of(bv.bilevel(f="x1*y1", g=g, x="x1", y=names))["mu"]
    assert found.side == "lower"
    assert found.value == pytest.approx(mu, abs=1e-12)
    assert found.value <= mu
    assert found.upper >= found.lower


def test_the_kink_of_a_convex_term_keeps_the_certified_rest() -> None:
    """With a certified positive curvature the theorem applies; a kink of the wrong sign must not leave any."""
    box = {"y1": (-1, 1), "x1": (-1, 1)}
    kept = constants_of(bv.bilevel(f="x1*y1", g="y1**2 + cos(y1) + abs(y1)", x="x1", y="y1", domain=box))["mu"]
    assert 0.99 <= kept.value <= 1.0
    lost = constants_of(bv.bilevel(f="x1*y1", g="y1**2 + cos(y1) - abs(y1)", x="x1", y="y1", domain=box))["mu"]
    assert (lost.value, lost.status) == (-INF, "no bound found")


@pytest.mark.parametrize(
    ("expression", "slots", "norm"),
    [
        (sympy.sin(3 * Y) + X * Y, "zzz", 27.0),
        (sympy.sin(3 * Y) + X * Y, "yyz", 27.0),
        (sympy.sin(3 * Y) + X * Y, "xzz", 0.0),
        (sympy.sin(3 * Y) + X * Y, "xy", 1.0),
        (sympy.sin(3 * X) + X * Y, "zzzz", 81.0),
        (sympy.sin(3 * X) + X * Y, "xxy", 0.0),
        (2 * sympy.sin(X + Y), "zz", 4.0),
        (2 * sympy.sin(X + Y), "xy", 2.0),
        (2 * sympy.sin(X + Y), "zzz", 4 * 2**0.5),
        (-2 * sympy.cos(X - 2 * Y), "yyy", 16.0),
    ],
)
def test_norms_of_known_functions_on_the_whole_plane(expression: sympy.Expr, slots: str, norm: float) -> None:
    bound = part_of(expression, INF).norm(slots)
    assert norm <= bound.upper * (1 + 1e-15)
    assert bound.upper <= norm * (1 + 1e-9) + 1e-12
    if bound.exact is not None:
        assert float(bound.exact) == pytest.approx(norm, abs=1e-15)
    assert bound.lower <= bound.upper
    assert bound.certified


def test_a_bound_is_attained_only_where_it_is_a_supremum() -> None:
    tight = part_of(sympy.sin(X) - 2 * sympy.cos(X + Y), INF)
    assert tight.norm("zz").attained
    boxed = part_of(sympy.sin(X) - 2 * sympy.cos(X + Y), 0.3)
    assert not boxed.norm("zz").attained
    dependent = part_of(sympy.sin(X) - sympy.sin(2 * X) + sympy.sin(X + Y), INF)
    assert not dependent.norm("zzz").attained


def test_a_group_is_touched_by_the_forms_that_can_see_it() -> None:
    quadratic = part_of(X * Y + Y**2)
    assert [quadratic.touches(s) for s in ("z", "zz", "xy", "zzz")] == [True, True, True, False]
    linear = part_of(X + 2 * Y)
    assert [linear.touches(s) for s in ("z", "zz")] == [True, False]
    ridge = part_of(sympy.sin(X + Y))
    assert all(ridge.touches(s) for s in ("z", "zz", "xyz", "zzzz"))
    only_y = Part(
        structure_of(Y**2 + sympy.sin(Y), (Y,)), (False,), Domain(np.zeros(1), np.ones(1), "", False), "h", 0.0
    )
    assert not only_y.touches("xy")
    assert only_y.norm("xy").upper == 0.0
