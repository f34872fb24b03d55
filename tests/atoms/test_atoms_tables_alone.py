"""The tables of the atoms alone: recurrences, values at edges, suprema, properties of the SymPy functions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from sympy import S

from bilevel_verify.atoms import (
    TABLE,
    abspow,
    formulas,
    functions,
    kernels,
    logcosh,
    logsumexp,
    pluspow,
    sgnpow,
    sigmoid,
    softplus,
    suprema,
)
from bilevel_verify.atoms.functions import plus, sigmoid_d, sigmoid_polynomial
from bilevel_verify.atoms.numeric import evaluator
from bilevel_verify.atoms.table import power_smoothness, recognise
from bilevel_verify.errors import MathematicalError

pytestmark = pytest.mark.fast
INF, NAN = math.inf, math.nan
s, t = sympy.symbols("s t", real=True)
p_ = sympy.Symbol("p", positive=True)


def polynomial(coefficients, variable):
    return sympy.expand(sum(c * variable**k for k, c in enumerate(coefficients)))


# --- recurrences


@pytest.mark.parametrize("order", range(1, 7))
def test_recurrences_against_sympy(order):
    tanh = sympy.diff(sympy.tanh(t), t, order).subs(sympy.tanh(t), s)
    assert sympy.expand((1 - s**2) * polynomial(formulas.tanh_polynomial(order), s) - tanh) == 0
    tan = sympy.diff(sympy.tan(t), t, order).subs(sympy.tan(t), s)
    assert sympy.expand(polynomial(formulas.tan_polynomial(order), s) - tan) == 0
    assert sympy.expand(polynomial(formulas.hermite(order), s) - sympy.hermite(order, s)) == 0
    asinh = sympy.diff(sympy.asinh(t), t, order)
    for value in (Fraction(1, 3), Fraction(-2)):
        c = 1 / sympy.sqrt(1 + sympy.Rational(value) ** 2)
        found = sum(v * c**i * (sympy.Rational(value) * c) ** j for v, i, j in formulas.asinh_terms(order))
        assert abs(sympy.N(found - asinh.subs(t, sympy.Rational(value)), 30)) < 1e-20
    assert formulas.tan_polynomial(0) == (0, 1)
    assert formulas.hermite(0) == (1,)
    assert formulas.horner([1, -2, 3], "u") == "((3.0*u + -2.0)*u + 1.0)"


@pytest.mark.parametrize("order", range(4))
def test_derivatives_of_the_sigmoid_as_polynomials(order):
    point = sympy.Rational(2, 7)
    value = sigmoid_polynomial(order).eval(point)
    exact = sympy.diff(1 / (1 + sympy.exp(-t)), t, order).subs(t, sympy.log(point / (1 - point)))
    assert abs(sympy.N(value - exact, 30)) < 1e-20
    assert sigmoid_d(order, S.Zero) == (sympy.diff(1 / (1 + sympy.exp(-t)), t, order).subs(t, 0) if order else S.Half)


# --- kernels at edges, the same in floats and arrays


EDGES = {
    ("exp", 0): [(709.0, math.exp(709.0)), (710.0, INF), (-800.0, 0.0), (INF, INF), (-INF, 0.0)],
    ("sinh", 0): [(711.0, INF), (-711.0, -INF), (0.0, 0.0), (710.3, math.sinh(710.3)), (-710.3, -math.sinh(710.3))],
    ("sinh", 1): [(711.0, INF), (-711.0, INF), (0.0, 1.0), (710.3, math.cosh(710.3)), (-710.3, math.cosh(710.3))],
    ("cosh", 0): [(711.0, INF), (-711.0, INF), (0.0, 1.0)],
    ("cosh", 1): [(711.0, INF), (-711.0, -INF), (1.0, math.sinh(1.0))],
    ("log", 0): [(0.0, -INF), (-1.0, NAN), (INF, INF), (1.0, 0.0)],
    ("log", 1): [(2.0, 0.5), (0.0, INF), (-2.0, -0.5)],
    ("log", 2): [(2.0, -0.25)],
    ("log", 3): [(2.0, 0.25)],
    ("tan", 1): [(0.0, 1.0)],
    ("tanh", 0): [(800.0, 1.0), (-800.0, -1.0)],
    ("tanh", 1): [(0.0, 1.0), (800.0, 0.0), (-800.0, 0.0)],
    ("tanh", 2): [(0.0, 0.0), (800.0, 0.0)],
    ("sigmoid", 0): [(0.0, 0.5), (800.0, 1.0), (-800.0, 0.0)],
    ("sigmoid", 1): [(0.0, 0.25), (800.0, 0.0), (-800.0, 0.0)],
    ("softplus", 0): [(0.0, math.log(2.0)), (800.0, 800.0), (-800.0, 0.0), (1e300, 1e300)],
    ("softplus", 1): [(0.0, 0.5)],
    ("logcosh", 0): [(0.0, 0.0), (800.0, 800.0 - math.log(2.0)), (-800.0, 800.0 - math.log(2.0))],
    ("logcosh", 1): [(800.0, 1.0)],
    ("atan", 1): [(0.0, 1.0), (1e200, 0.0)],
    ("atan", 2): [(1.0, -0.5), (-1.0, 0.5)],
    ("asinh", 1): [(0.0, 1.0), (1e200, 1e-200), (-1e200, 1e-200)],
    ("asinh", 2): [(0.0, 0.0)],
    ("erf", 1): [(0.0, 2 / math.sqrt(math.pi)), (50.0, 0.0), (-50.0, 0.0)],
    ("erf", 2): [(0.0, 0.0), (1.0, -4 / math.sqrt(math.pi) * math.exp(-1.0))],
    ("floor", 0): [(1.5, 1.0), (-1.5, -2.0), (2.0, 2.0)],
    ("ceil", 0): [(1.5, 2.0), (-1.5, -1.0), (2.0, 2.0)],
    ("floor", 1): [(1.5, 0.0)],
    ("ceil", 1): [(1.5, 0.0)],
}  # fmt: skip
POWERS = {
    ("abspow", 0, 1.0): [(0.0, 0.0), (-2.0, 2.0)],
    ("abspow", 1, 1.0): [(0.0, 0.0), (-2.0, -1.0), (2.0, 1.0)],
    ("abspow", 2, 1.0): [(2.0, 0.0)],
    ("abspow", 0, 0.5): [(0.0, 0.0), (-4.0, 2.0)],
    ("abspow", 1, 0.5): [(4.0, 0.25), (-4.0, -0.25)],
    ("abspow", 2, 3.0): [(-2.0, 12.0), (2.0, 12.0), (0.0, 0.0)],
    ("abspow", 3, 3.0): [(-2.0, -6.0), (2.0, 6.0)],
    ("sgnpow", 0, 0.0): [(0.0, 0.0), (-3.0, -1.0), (3.0, 1.0)],
    ("sgnpow", 0, 2.0): [(-3.0, -9.0), (3.0, 9.0)],
    ("sgnpow", 1, 2.0): [(-3.0, 6.0), (3.0, 6.0), (0.0, 0.0)],
    ("sgnpow", 2, 2.0): [(-3.0, -2.0), (3.0, 2.0), (0.0, 0.0)],
    ("pluspow", 0, 0.0): [(0.0, 0.0), (1e-300, 1.0), (-1.0, 0.0)],
    ("pluspow", 0, 2.0): [(0.0, 0.0), (3.0, 9.0), (-3.0, 0.0)],
    ("pluspow", 1, 1.0): [(0.0, 0.0), (3.0, 1.0), (-3.0, 0.0)],
    ("pluspow", 1, 2.0): [(0.0, 0.0), (3.0, 6.0), (-3.0, 0.0)],
    ("pluspow", 1, 0.5): [(4.0, 0.25), (-4.0, 0.0), (0.0, 0.0)],
    ("huber", 0, 2.0): [(0.0, 0.0), (1.0, 0.5), (2.0, 2.0), (-2.0, 2.0), (3.0, 4.0), (-3.0, 4.0)],
    ("huber", 1, 2.0): [(1.0, 1.0), (2.0, 2.0), (3.0, 2.0), (-3.0, -2.0), (-1.0, -1.0)],
    ("huber", 2, 2.0): [(1.0, 1.0), (2.0, 1.0), (-2.0, 1.0), (2.001, 0.0), (-2.001, 0.0)],
    ("psi", 0, 1.0): [(0.0, 0.0), (2.0, -5 / 12), (1.0, 1 / 24 - 1 / 4), (-1.0, 1 / 24 - 1 / 4), (4.0, 0.0)],
    ("psi", 1, 1.0): [(0.0, 0.0), (1.0, 1 / 6 - 1 / 2), (-1.0, 1 / 2 - 1 / 6), (3.0, 1 / 2 - 1 / 6), (2.0, 0.0)],
    ("psi", 2, 1.0): [(0.0, -0.5), (1.0, 0.0), (2.0, 0.5), (0.5, -0.375), (1.5, 0.375), (-1.5, 0.375)],
    ("psi", 3, 1.0): [(0.0, 0.0), (1.0, 1.0), (1.5, 0.5), (2.5, -0.5), (-0.5, -0.5), (3.5, -0.5)],
    ("psi", 4, 1.0): [(0.5, 1.0), (1.5, -1.0), (3.5, 1.0)],
    ("psi", 4, 0.5): [(0.25, 1.0), (1.75, -1.0)],
}  # fmt: skip
CASES = [(name, order, (), pairs) for (name, order), pairs in EDGES.items()]
CASES += [(name, order, (p,), pairs) for (name, order, p), pairs in POWERS.items()]


@pytest.mark.parametrize(("name", "order", "parameters", "pairs"), CASES)
def test_kernels_at_the_edges(name, order, parameters, pairs):
    atom = TABLE[name]
    for point, wanted in pairs:
        found = atom.scalar(order)(point, *parameters)
        assert found == pytest.approx(wanted, rel=1e-14, abs=1e-300, nan_ok=True), point
        several = atom.array(order)(np.array([point, point]), *parameters)
        again = float(np.broadcast_to(several, 2)[1])
        assert again == pytest.approx(wanted, rel=1e-14, abs=1e-300, nan_ok=True) or name in ("sinh", "cosh", "exp")
        if math.isfinite(point) and abs(point) < 1e100 and math.isfinite(wanted):
            with mpmath.workdps(30):
                exact = atom.multiprecision(order)(mpmath.mpf(point), *map(mpmath.mpf, parameters))
                assert float(exact) == pytest.approx(wanted, rel=1e-13, abs=1e-30)


@pytest.mark.parametrize("name", ["exp", "sin", "sinh", "cosh", "tanh", "softplus", "sigmoid", "asinh", "atan", "erf"])
def test_kernels_hand_nan_on(name):
    for order in range(3):
        assert math.isnan(TABLE[name].scalar(order)(NAN))


def test_sources_of_kernels():
    assert kernels.kernel_name("sigmoid", 2) == "sigmoid_2"
    assert kernels.scalar_source("huber", 1).startswith("def huber_1(t, delta):\n    return ")
    text = kernels.module_source([("sin", 0), ("cos", 0), ("sin", 0)])
    assert text.count("def sin_0") == 1
    assert text.index("def sin_0") < text.index("def cos_0")
    namespace = {}
    exec(text, namespace)
    assert namespace["cos_0"](0.5) == math.cos(0.5)
    prelude = {}
    exec(kernels.PRELUDE, prelude)
    assert [prelude["sign"](v) for v in (-2.0, 0.0, 3.0)] == [-1.0, 0.0, 1.0]
    assert [prelude["power"](*v) for v in ((0.0, -1.0), (0.0, 0.0), (0.0, 2.0), (2.0, -1.0))] == [INF, 1.0, 0.0, 0.5]
    assert [prelude["log_"](v) for v in (0.0, 1.0)] == [-INF, 0.0]
    assert (prelude["where"](True, 1, 2), prelude["where"](False, 1, 2)) == (1, 2)
    assert math.isnan(prelude["cosh_"](NAN))
    assert math.isnan(prelude["sinh_"](NAN))
    assert prelude["exp_"](709.782712893384) < INF


def test_edges_in_many_digits():
    with mpmath.workdps(30):
        assert TABLE["log"].multiprecision()(mpmath.mpf(0)) == -mpmath.inf
        assert mpmath.isnan(TABLE["log"].multiprecision()(mpmath.mpf(-1)))
        assert TABLE["log"].multiprecision(1)(mpmath.mpf(0)) == mpmath.inf
        slope = TABLE["abspow"].multiprecision(1)(mpmath.mpf(2), mpmath.mpf("0.5"))
        assert abs(slope - 1 / mpmath.sqrt(8)) < mpmath.mpf(10) ** -28


# --- suprema


def symbolic_family(name):
    return {
        "tanh": sympy.tanh(t), "logcosh": sympy.log(sympy.cosh(t)), "sigmoid": 1 / (1 + sympy.exp(-t)),
        "softplus": sympy.log(1 + sympy.exp(t)), "lorentz": 1 / (1 + t**2), "odd_lorentz": t / (1 + t**2),
        "atan": sympy.atan(t), "log1psquare": sympy.log(1 + t**2), "asinh": sympy.asinh(t),
        "hypot1": sympy.sqrt(1 + t**2), "gauss": sympy.exp(-(t**2) / 2), "erf": sympy.erf(t), "sin": sympy.sin(t),
    }[name]  # fmt: skip


@pytest.mark.parametrize("name", suprema.FAMILIES)
def test_shapes_of_derivatives(name):
    family = suprema.FAMILIES[name]
    for order in range(family.start, 6):
        coefficients, power = suprema.polynomial(name, order)
        point = 0.7
        with mpmath.workdps(40):
            exact = mpmath.diff(sympy.lambdify(t, symbolic_family(name), "mpmath"), mpmath.mpf(point), order)
            if family.kind == "generator":
                inner = (
                    mpmath.tanh(mpmath.mpf(point))
                    if family.generator == "tanh"
                    else 1 / (1 + mpmath.exp(-mpmath.mpf(point)))
                )
                weight = 1
            else:
                inner = mpmath.mpf(point)
                weight = (
                    mpmath.exp(-inner * inner / 2)
                    if family.kind == "gauss"
                    else (1 + inner * inner) ** (-mpmath.mpf(power) / 2)
                )
            found = mpmath.fsum(c * inner**k for k, c in enumerate(coefficients)) * weight
            assert abs(found - exact) < 1e-25 * (1 + abs(exact))
    if family.start:
        with pytest.raises(ValueError, match="no polynomial form at order 0"):
            suprema.polynomial(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*suprema.FAMILIES, "erf", "sin"])
def test_suprema_against_a_fine_grid(name):
    grid = np.concatenate([np.linspace(-7, 7, 28001), [-200.0, 200.0]])
    for order in range(6):
        closed = suprema.supremum(name, order)
        if closed is None or closed == sympy.oo:
            assert closed is None or (
                order == 0 and name not in ("tanh", "sigmoid", "lorentz", "odd_lorentz", "atan", "gauss")
            )
            continue
        derivative = sympy.diff(symbolic_family(name), t, order)
        with np.errstate(all="ignore"):
            values = np.abs(sympy.lambdify(t, derivative, ["scipy", "numpy"])(grid) + 0 * grid)
        reached = float(np.nanmax(values))
        assert reached <= float(closed) * (1 + 1e-9)
        assert reached >= float(closed) * (1 - (2e-5 if order or name != "atan" else 4e-3))


def test_which_suprema_are_kept():
    infinite = {
        n for n in ("logcosh", "softplus", "log1psquare", "hypot1", "asinh") if suprema.supremum(n, 0) == sympy.oo
    }
    assert len(infinite) == 5
    assert suprema.supremum("tanh", 6) is None
    assert suprema.supremum("sigmoid", 6) is None
    assert suprema.supremum("logcosh", 7) is None
    assert suprema.supremum("erf", 6) is None
    assert suprema.supremum("tan", 0) is None
    assert suprema.supremum("erf", 0) == 1


def test_real_roots():
    roots = suprema.real_roots((6, -5, 1))
    assert [round(float(a)) for a, _ in roots] == [2, 3]
    assert suprema.real_roots((1,)) == ()
    assert suprema.real_roots((1, 0, 1)) == ()
    double = suprema.real_roots((1, -2, 1))
    assert len(double) == 1
    assert double[0][0] <= 1 <= double[0][1]
    ((a, b), (c, d)) = suprema.real_roots((-2, 0, 1))
    assert a * a >= 2 >= b * b
    assert c * c <= 2 <= d * d
    assert d - c <= Fraction(1, 2**80)
    assert b < c
    # zeros of s (1 - s)(1 - 2s) that lie at the ends of the range of s are left out
    assert [float(a) for a, _ in suprema.critical_generators("sigmoid", 1)] == [0.5]
    assert [float(a) for a, _ in suprema.critical_generators("tanh", 1)] == [0.0]
    assert len(suprema.critical_generators("gauss", 1)) == 2
    assert len(suprema.critical_generators("lorentz", 0)) == 1


# --- SymPy functions


def test_values_at_special_points():
    assert (softplus(S.Zero), softplus(-sympy.oo), softplus(sympy.oo)) == (sympy.log(2), 0, sympy.oo)
    assert (sigmoid(S.Zero), sigmoid(-sympy.oo), sigmoid(sympy.oo)) == (S.Half, 0, 1)
    assert logcosh(S.Zero) == 0
    assert logcosh(-t) == logcosh(t)
    assert softplus(-t) != softplus(t)
    assert sigmoid_d(0, t) == sigmoid(t)
    assert sigmoid_d(1, S.Zero) == sympy.Rational(1, 4)
    assert sigmoid(t).diff(t) == sigmoid_d(1, t)
    assert sigmoid_d(1, t).diff(t) == sigmoid_d(2, t)
    assert softplus(t).diff(t) == sigmoid(t)
    assert logcosh(t).diff(t) == sympy.tanh(t)
    assert (sigmoid_d(3, t).order, sigmoid_d(3, t).parameters, sigmoid_d(3, t).argument) == (3, (), t)
    assert (softplus(t).order, softplus(t).parameters) == (0, ())
    assert (abspow(p_, t).parameters, abspow(p_, t).argument) == ((p_,), t)


@pytest.mark.parametrize(
    ("expression", "exact"),
    [
        (softplus(sympy.Rational(1, 3)), sympy.log(1 + sympy.exp(sympy.Rational(1, 3)))),
        (sigmoid(-sympy.sqrt(2)), 1 / (1 + sympy.exp(sympy.sqrt(2)))),
        (
            sigmoid_d(2, S.One),
            (sympy.exp(-2) * 2 / (1 + sympy.exp(-1)) ** 3 - sympy.exp(-1) / (1 + sympy.exp(-1)) ** 2),
        ),
        (logcosh(S(3)), sympy.log(sympy.cosh(3))),
        (logsumexp(S(1), S(2), sympy.pi), sympy.log(sympy.E + sympy.exp(2) + sympy.exp(sympy.pi))),
        (abspow(sympy.Rational(1, 3), sympy.sin(4), evaluate=False), abs(sympy.sin(4)) ** sympy.Rational(1, 3)),
        (sgnpow(sympy.Rational(1, 3), sympy.sin(4), evaluate=False), -(abs(sympy.sin(4)) ** sympy.Rational(1, 3))),
        (pluspow(sympy.Rational(1, 3), sympy.sin(1), evaluate=False), sympy.sin(1) ** sympy.Rational(1, 3)),
    ],
)
def test_values_in_forty_digits(expression, exact):
    assert abs(sympy.N(expression, 40) - sympy.N(exact, 60)) < sympy.Float(10) ** -38
    assert expression.is_real


def test_open_expressions_have_no_number():
    for expression in (softplus(t), logsumexp(s, t, 1)):
        assert expression.evalf(20).free_symbols


def test_properties():
    assert softplus(t).is_positive
    assert sigmoid(t).is_positive
    assert logcosh(t).is_nonnegative
    assert abspow(p_, t).is_nonnegative
    assert pluspow(p_, t).is_nonnegative
    assert sgnpow(p_, t).is_nonnegative is None
    assert logsumexp(s, t, 2 * t).is_real
    assert softplus(t).rewrite(sympy.exp) == sympy.log(1 + sympy.exp(t), evaluate=False)
    assert sympy.simplify(sigmoid(t).rewrite(sympy.exp) - 1 / (1 + sympy.exp(-t))) == 0


def test_logarithms_of_sums_of_exponentials():
    assert logsumexp(t) == t
    assert logsumexp(s, t) in (s + softplus(t - s), t + softplus(s - t))
    assert logsumexp(t, s, 1) == logsumexp(1, s, t)
    u = sympy.Symbol("u", real=True)
    node = logsumexp(s, t, u)
    assert node.diff(t) == sympy.exp(t - node)
    assert sympy.simplify(node.rewrite(sympy.exp) - sympy.log(sympy.exp(s) + sympy.exp(t) + sympy.exp(u))) == 0
    for target, kind in (("numpy", np.array), ("mpmath", mpmath.mpf)):
        function = evaluator([node], [s, t, u], target)
        values = function(*(kind(v) for v in (800.0, 0.0, 801.0)))
        assert float(values[0]) == pytest.approx(801 + math.log1p(math.exp(-1)), rel=1e-15)


def test_powers_simplify_where_the_sign_is_known():
    n = sympy.Symbol("n", negative=True)
    q = sympy.Symbol("q", positive=True)
    third, half = sympy.Rational(1, 3), S.Half
    assert abspow(2, t) == t**2
    assert abspow(0, t) == 1
    assert abspow(3, t) != t**3
    assert abspow(half, q) == sympy.sqrt(q)
    assert abspow(half, n) == sympy.sqrt(-n)
    assert abspow(half, abspow(3, t)) == abspow(sympy.Rational(3, 2), t)
    assert abspow(third, -t) == abspow(third, t)
    assert abspow(third, t) ** 2 == abspow(2 * third, t)
    assert abspow(third, t) ** -1 != abspow(-third, t)
    assert sgnpow(3, t) == t**3
    assert sgnpow(2, t) != t**2
    assert sgnpow(half, S.Zero) == 0
    assert sgnpow(0, S.Zero) == 0
    assert sgnpow(half, q) == sympy.sqrt(q)
    assert sgnpow(half, n) == -sympy.sqrt(-n)
    assert sgnpow(half, -t) == -sgnpow(half, t)
    assert sgnpow(third, t) ** 2 == abspow(2 * third, t)
    assert sgnpow(third, t) ** 3 == t
    assert sgnpow(2, t) ** 3 == sgnpow(6, t)
    assert sgnpow(0, t) ** 3 == sgnpow(0, t)
    assert isinstance(sgnpow(0, t) ** 2, sympy.Pow)
    assert pluspow(half, q) == sympy.sqrt(q)
    assert pluspow(half, n) == 0
    assert pluspow(0, S.Zero) == 0
    assert pluspow(2, S.Zero) == 0
    assert pluspow(0, sympy.Symbol("m", nonnegative=True)) != 1
    assert pluspow(0, sympy.Symbol("m", positive=True)) == 1
    assert pluspow(-half, q) == 1 / sympy.sqrt(q)
    assert pluspow(-half, sympy.Symbol("m", nonnegative=True)).func is pluspow
    assert pluspow(third, t) ** 6 == pluspow(2, t)
    assert plus(t) == pluspow(1, t)


@pytest.mark.parametrize(("atom", "other"), [(abspow, sgnpow), (sgnpow, abspow), (pluspow, pluspow)])
def test_slopes_of_powers(atom, other):
    for text in ("5/2", "2/3", "1/10", "1"):
        p = sympy.Rational(text)
        found = atom(p, t).diff(t)
        if atom is sgnpow and p == 1:
            assert found == 1
            continue
        assert found == p * other(p - 1, t)
    with pytest.raises(MathematicalError, match="locally integrable"):
        atom(sympy.Rational(-1, 10), t).diff(t)
    if atom is not abspow:
        with pytest.raises(MathematicalError, match="is not a function"):
            atom(S.Zero, t).diff(t)


def test_smoothness_and_derivatives_of_the_table():
    R = sympy.Rational
    table = {
        ("abspow", 1): 0, ("abspow", 2): sympy.oo, ("abspow", 3): 2, ("abspow", R(5, 2)): 2, ("abspow", R(1, 2)): 0,
        ("abspow", R(-1, 2)): -1, ("sgnpow", 1): sympy.oo, ("sgnpow", 2): 1, ("sgnpow", 0): -1, ("sgnpow", 3): sympy.oo,
        ("pluspow", 1): 0, ("pluspow", 2): 1, ("pluspow", R(7, 3)): 2, ("abspow", 0): sympy.oo, ("pluspow", 0): -1,
    }  # fmt: skip
    assert {key: power_smoothness(key[0], S(key[1])) for key in table} == table
    assert {key: TABLE[key[0]].smoothness((S(key[1]),)) for key in table} == table
    assert TABLE["psi"].smoothness((S.Half,)) == 3
    assert TABLE["psi"].smoothness((S.Zero,)) == 2
    assert TABLE["psi"].smoothness(()) == 2
    assert TABLE["huber"].smoothness((S.One,)) == 1
    assert TABLE["sin"].smoothness() == sympy.oo
    assert TABLE["floor"].smoothness() == TABLE["ceil"].smoothness() == -1
    assert TABLE["sin"].derivative(0, t) == sympy.sin(t)
    assert TABLE["sin"].derivative(3, 2 * t) == -sympy.cos(2 * t)
    assert TABLE["abspow"].derivative(1, s, (R(5, 2),)) == R(5, 2) * sgnpow(R(3, 2), s)
    for name in ("floor", "ceil"):
        assert TABLE[name].derivative(0, t).has(t)
        with pytest.raises(MathematicalError, match="has jumps"):
            TABLE[name].derivative(1, t)
    assert TABLE["log"].domain == (0, sympy.oo)
    assert TABLE["tan"].domain == (-sympy.pi / 2, sympy.pi / 2)
    assert TABLE["exp"].domain == (-sympy.oo, sympy.oo)
    assert {TABLE[n].breaks for n in ("abspow", "sgnpow", "pluspow")} == {"zero"}
    assert {TABLE[n].breaks for n in ("floor", "ceil", "psi")} == {"integers"}
    assert (TABLE["huber"].breaks, TABLE["sin"].breaks, TABLE["logsumexp"].arity, TABLE["sin"].arity) == (
        "delta",
        "none",
        -1,
        1,
    )


def test_nodes_are_recognised():
    assert recognise(softplus(t)) == ("softplus", 0, (), t)
    assert recognise(sigmoid_d(2, t)) == ("sigmoid", 2, (), t)
    assert recognise(abspow(S.Half, t)) == ("abspow", 0, (S.Half,), t)
    assert recognise(sympy.Abs(t)) == ("abspow", 0, (S.One,), t)
    assert recognise(sympy.sign(t)) == ("sgnpow", 0, (S.Zero,), t)
    assert recognise(sympy.sin(t)) == ("sin", 0, (), t)
    assert recognise(sympy.floor(t)) == ("floor", 0, (), t)
    assert recognise(sympy.Max(s, t)) is None
    assert recognise(t) is None
    assert recognise(s + t) is None
    assert functions.AtomFunction.atom == ""
