"""Atoms where a slip hides: lengths of tables, orders that are kept, guard digits, exponents that are no numbers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy
from sympy import S

from bilevel_verify.atoms import (
    TABLE,
    abspow,
    formulas,
    kernels,
    logsumexp,
    pluspow,
    sgnpow,
    sigmoid,
    softplus,
    suprema,
)
from bilevel_verify.atoms.functions import _needs_integrable, plus, sigmoid_d
from bilevel_verify.atoms.table import recognise
from bilevel_verify.errors import MathematicalError

pytestmark = pytest.mark.fast
s, t, u = sympy.symbols("s t u", real=True)


@pytest.mark.parametrize("order", range(1, 8))
def test_tables_hold_nothing_superfluous(order):
    assert len(formulas.tanh_polynomial(order)) == order
    assert len(formulas.tan_polynomial(order)) == order + 2
    assert len(formulas.hermite(order)) == order + 1
    for p in (formulas.tanh_polynomial(order), formulas.tan_polynomial(order), formulas.hermite(order)):
        assert p[-1] != 0
    terms = formulas.asinh_terms(order)
    assert all(v for v, _, _ in terms)
    assert all(i >= 1 and j >= 0 for _, i, j in terms)
    assert len({(i, j) for _, i, j in terms}) == len(terms) == (order + 1) // 2
    with mpmath.workdps(40):
        for value in (0.3, -2.0):
            c = 1 / mpmath.sqrt(1 + mpmath.mpf(value) ** 2)
            found = mpmath.fsum(v * c**i * (value * c) ** j for v, i, j in terms)
            assert abs(found - mpmath.diff(mpmath.asinh, mpmath.mpf(value), order)) < 1e-20


KEPT = {
    "sin": range(9), "cos": range(9), "tanh": range(6), "logcosh": range(7), "sigmoid": range(6), "softplus": range(7),
    "lorentz": range(9), "odd_lorentz": range(9), "atan": range(9), "log1psquare": range(9), "hypot1": range(5),
    "asinh": (0, 1, 2, 3, 5), "gauss": range(5), "erf": range(6), "tan": (),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_orders_with_a_closed_supremum(name):
    found = [order for order in range(9) if suprema.supremum(name, order) is not None]
    assert found == list(KEPT[name])
    infinite = [order for order in found if suprema.supremum(name, order) == sympy.oo]
    assert infinite == ([0] if name in ("logcosh", "softplus", "log1psquare", "hypot1", "asinh") else [])


DEFINED = {
    "tanh": sympy.tanh(t), "sigmoid": 1 / (1 + sympy.exp(-t)), "lorentz": 1 / (1 + t**2), "odd_lorentz": t / (1 + t**2),
    "hypot1": sympy.sqrt(1 + t**2), "gauss": sympy.exp(-(t**2) / 2), "asinh": sympy.asinh(t), "erf": sympy.erf(t),
    "logcosh": sympy.log(sympy.cosh(t)), "softplus": sympy.log(1 + sympy.exp(t)), "atan": sympy.atan(t),
    "log1psquare": sympy.log(1 + t**2), "sin": sympy.sin(t), "cos": sympy.cos(t),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFINED)
def test_suprema_to_six_digits(name):
    grid = np.concatenate([np.linspace(-6, 6, 60001), np.linspace(-3000, 3000, 2001)])
    for order in KEPT[name]:
        closed = suprema.supremum(name, order)
        if closed == sympy.oo or order > 6:
            continue
        with np.errstate(all="ignore"):
            function = sympy.lambdify(t, sympy.diff(DEFINED[name], t, order), ["scipy", "numpy"])
            found = np.abs(function(grid) + 0 * grid)
        reached = float(found[np.isfinite(found)].max())
        room = 4e-4 if (name, order) == ("atan", 0) else 1e-7 if order < 5 else 1e-5
        assert float(closed) == pytest.approx(reached, rel=room), order


def test_polynomial_arithmetic():
    assert suprema._difference((1, 2, 3), (1,)) == (0, 2, 3)
    assert suprema._difference((1,), (1, 2, 3)) == (0, -2, -3)
    assert suprema._difference((1, 2), (1, 2)) == (0,)
    assert suprema._difference((1, 0, 2), (1, 0, 2, 5)) == (0, 0, 0, -5)
    assert suprema._product((1, 2), (0, 3)) == (0, 3, 6)
    assert suprema._product((5,), (2,)) == (10,)
    assert suprema._derivative((7, 2, 3)) == (2, 6)
    assert suprema.real_roots((0,)) == ()
    assert suprema.real_roots((3,)) == ()
    assert suprema.real_roots((-3, 1)) == ((3, 3),)
    ((a, b),) = suprema.real_roots((-2, 0, 0, 1))
    assert a**3 <= 2 <= b**3
    assert 0 < b - a <= 2**-80
    for name in ("tanh", "sigmoid", "gauss", "softplus"):
        assert {suprema.polynomial(name, order)[1] for order in range(1, 5)} == {0}
    assert [suprema.polynomial("asinh", order)[1] for order in (1, 2, 3)] == [1, 3, 5]
    for name, order, count in (("tanh", 0, 0), ("tanh", 1, 1), ("tanh", 2, 2), ("sigmoid", 2, 2), ("logcosh", 0, 1)):
        assert len(suprema.critical_generators(name, order)) == count


# --- kernels


def test_the_value_is_the_default():
    assert float(kernels.scalar("sin")(0.5)) == pytest.approx(math.sin(0.5))
    assert float(kernels.array("sin")(0.5)) == pytest.approx(math.sin(0.5))
    assert float(kernels.multiprecision("sin")(mpmath.mpf(0.5))) == pytest.approx(math.sin(0.5))
    assert kernels.scalar_source("sin").startswith("def sin_0(")
    sine = TABLE["sin"]
    assert float(sine.scalar()(0.5)) == float(sine.array()(0.5)) == pytest.approx(math.sin(0.5))
    assert float(sine.multiprecision()(mpmath.mpf(0.5))) == pytest.approx(math.sin(0.5))
    assert sine.scalar_source() == kernels.scalar_source("sin", 0)


@pytest.mark.parametrize("name", ["abspow", "sgnpow", "pluspow"])
def test_powers_of_small_exponent_in_many_digits(name):
    with mpmath.workdps(30):
        kernel = TABLE[name].multiprecision(0)
        zero = kernel(mpmath.mpf(0), mpmath.mpf("0.5"))
        assert zero == 0
        assert mpmath.isinf(kernels.multiprecision("log", 1)(mpmath.mpf(0)))
        names = kernels._mpmath_names()
        assert names["power"](mpmath.mpf(0), mpmath.mpf("0.5")) == 0
        assert names["power"](mpmath.mpf(0), mpmath.mpf(0)) == 1
        assert names["power"](mpmath.mpf(0), mpmath.mpf("-0.5")) == mpmath.inf
        assert names["power"](mpmath.mpf(4), mpmath.mpf("-0.5")) == mpmath.mpf("0.5")
        assert names["two"] == kernels._numpy_names()["two"] == 2


# --- functions of SymPy


@pytest.mark.parametrize(("name", "last"), [("huber", 2), ("psi", 4)])
def test_a_derivative_that_is_no_function_is_refused(name, last):
    body = formulas.FORMULAS[name][1]
    assert body(last)
    for order in (last + 1, last + 2):
        with pytest.raises(MathematicalError, match=f"derivative of order {order} of {name}"):
            body(order)


def test_forty_digits_of_ill_conditioned_values():
    far = -(10**5) * sympy.pi
    exact = sympy.exp(far)
    assert abs(sympy.N(softplus(far), 40) / sympy.N(exact, 60) - 1) < sympy.Float(10) ** -39
    third = sympy.Rational(1, 3)
    node = logsumexp(far, far + sympy.sqrt(2), far - third)
    exact = far + sympy.log(1 + sympy.exp(sympy.sqrt(2)) + sympy.exp(-third))
    assert abs(sympy.N(node, 40) - sympy.N(exact, 60)) < sympy.Float(10) ** -34
    wide = logsumexp(S(0), S(-200), S(-300))
    exact = sympy.log(1 + sympy.exp(-200) + sympy.exp(-300))
    assert abs(sympy.N(wide, 40) - sympy.N(exact, 160)) < sympy.Float(10) ** -39
    far_apart = logsumexp(S(-(10**60)), S(1), S(2), evaluate=False)
    assert abs(sympy.N(far_apart, 40) - sympy.N(1 + sympy.log(1 + sympy.E), 60)) < sympy.Float(10) ** -38
    power = abspow(sympy.sqrt(2), 10**9 * sympy.sin(4), evaluate=False)
    exact = (-(10**9) * sympy.sin(4)) ** sympy.sqrt(2)
    assert abs(sympy.N(power, 40) / sympy.N(exact, 60) - 1) < sympy.Float(10) ** -38


def test_exponents_that_are_no_positive_numbers_leave_the_power_alone():
    n = sympy.Symbol("n", positive=True)
    third = sympy.Rational(1, 3)
    for atom in (abspow, pluspow):
        for exponent in (n, -1, -third):
            assert isinstance(atom(third, t) ** exponent, sympy.Pow)
        assert atom(third, t) ** S.Half == atom(third / 2, t)
    for exponent in (n, -1, S.Half, -2):
        assert isinstance(sgnpow(third, t) ** exponent, sympy.Pow)
    assert sgnpow(S.Half, t) ** 3 == sgnpow(sympy.Rational(3, 2), t)
    assert sgnpow(2, t) ** 2 == t**4
    assert isinstance(sgnpow(-third, t), sgnpow)
    assert isinstance(sgnpow(-1, t), sgnpow)
    assert abspow(-third, t) != t ** (-third)
    assert isinstance(abspow(-2, t), abspow)
    assert abspow(third, abspow(n, t)) == abspow(n / 3, t) or abspow(third, abspow(n, t)).has(abspow)
    with pytest.raises(MathematicalError):
        _needs_integrable(S(-1), "it")
    _needs_integrable(sympy.Rational(-9, 10), "it")
    _needs_integrable(n, "it")
    _needs_integrable(-n, "it")


def test_what_is_handed_to_the_positive_part():
    assert plus(3) == 3
    assert plus(-2) == 0
    assert plus(t).args == (1, t)
    assert plus("t") != pluspow(1, sympy.Symbol("t"))


def test_arguments_of_derivatives_of_the_sigmoid():
    assert sigmoid_d(2, t).diff(t) == sigmoid_d(3, t)
    assert sigmoid_d(2, t).fdiff() == sigmoid_d(3, t)
    assert abspow(S(5) / 2, t).fdiff() == S(5) / 2 * sgnpow(S(3) / 2, t)
    assert sigmoid(t).rewrite(sympy.exp) == 1 / (1 + sympy.exp(-t))
    found = sigmoid_d(2, t).rewrite(sigmoid)
    exact = sympy.diff(1 / (1 + sympy.exp(-t)), t, 2)
    assert abs(sympy.N((found - exact).subs(t, S(1) / 3), 30)) < 1e-25
    for node in (softplus(t), sigmoid(t), sigmoid_d(1, t), abspow(S.Half, t), sgnpow(S.Half, t), logsumexp(s, t, u)):
        assert node.is_real is True
    for make in (softplus, sigmoid):
        with pytest.raises(TypeError):
            make(s, t)
    for make in (abspow, sgnpow, pluspow, sigmoid_d):
        with pytest.raises(TypeError):
            make(s, t, u)
    node = logsumexp(s, t, u)
    assert [node.fdiff(k + 1) for k in range(3)] == [sympy.exp(a - node) for a in node.args]


def test_only_plain_atoms_of_one_argument_are_recognised_by_class():
    assert recognise(sympy.ceiling(t)) == ("ceil", 0, (), t)
    assert recognise(sympy.Function("f")(t)) is None
    assert recognise(logsumexp(s, t, u)) is None
    assert recognise(sympy.exp(t)) == ("exp", 0, (), t)
    assert recognise(S(3)) is None
    assert recognise(sympy.sin) is None
    assert TABLE["floor"].function is sympy.floor
    assert TABLE["exp"].arity == 1
    for name in ("abspow", "sgnpow", "pluspow"):
        assert TABLE[name].parameters == ("p",)


@pytest.mark.parametrize("order", range(1, 7))
@pytest.mark.parametrize("point", [-3.0, -0.25, 0.25, 3.0])
def test_derivatives_of_the_arctangent_on_both_sides(order: int, point: float) -> None:
    """Of odd order they are even functions, of even order odd ones."""
    from bilevel_verify.atoms import kernels as atom_kernels

    with mpmath.workdps(50):
        wanted = float(mpmath.diff(mpmath.atan, mpmath.mpf(point), order))
    assert float(atom_kernels.scalar("atan", order)(point)) == pytest.approx(wanted, rel=1e-12)
