"""Kernels of the atoms on floats, arrays and mpmath numbers against high-precision definitions and differences."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.atoms import TABLE, module_source
from bilevel_verify.errors import MathematicalError

mp = mpmath.mp
DEFINITIONS = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "atan": mpmath.atan,
    "erf": mpmath.erf,
    "softplus": lambda t: mpmath.log(1 + mpmath.exp(t)),
    "sigmoid": lambda t: 1 / (1 + mpmath.exp(-t)),
    "logcosh": lambda t: mpmath.log(mpmath.cosh(t)),
    "huber": lambda t, d: t * t / 2 if abs(t) <= d else d * (abs(t) - d / 2),
    "abspow": lambda t, p: abs(t) ** p,
    "sgnpow": lambda t, p: mpmath.sign(t) * abs(t) ** p,
    "pluspow": lambda t, p: max(t, 0) ** p,
}
PARAMETERS = {"huber": (1.0,), "abspow": (4.5,), "sgnpow": (4.5,), "pluspow": (4.5,)}
POINTS = [-2.3, -1.31, -0.4, 0.07, 0.65, 1.45, 3.9]
ORDERS = range(6)


def psi_by_the_sheet(t, nu):
    """psi_nu, transcribed from section 9.6 of the sheet ragd-gs."""
    u = (t + 1) % 4
    s, up = (u - 1, True) if u <= 2 else (3 - u, False)
    G = lambda v: abs(v) ** (3 + nu) / ((1 + nu) * (2 + nu) * (3 + nu)) - v * v / (2 * (1 + nu))
    return G(s) if up else 2 * G(mpmath.mpf(1)) - G(s)


def exact_derivative(name, order, t, parameters):
    function = DEFINITIONS.get(name) or psi_by_the_sheet
    with mpmath.workdps(60):
        return mpmath.diff(lambda v: function(v, *parameters), mpmath.mpf(t), order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", [*DEFINITIONS, "psi"])
def test_derivatives(name, order):
    parameters = PARAMETERS.get(name, (0.5,) if name == "psi" else ())
    if (name == "huber" and order > 2) or (name == "psi" and order > 4):
        with pytest.raises(MathematicalError):
            TABLE[name].scalar(order)
        return
    for t in POINTS:
        if (name == "log" and t <= 0) or (name == "tan" and abs(t) > 1.5):
            continue
        want = float(exact_derivative(name, order, t, parameters))
        got = TABLE[name].scalar(order)(t, *parameters)
        assert got == pytest.approx(want, rel=2e-13, abs=1e-14), (name, order, t)
        assert float(TABLE[name].array(order)(np.array([t]), *parameters)[0]) == pytest.approx(
            got, rel=5e-15, abs=1e-15
        )
        with mpmath.workdps(40):
            assert abs(
                TABLE[name].multiprecision(order)(mpmath.mpf(t), *map(mpmath.mpf, parameters)) - want
            ) <= 1e-13 * (1 + abs(want))


@pytest.mark.parametrize("name", ["softplus", "sigmoid", "logcosh", "tanh", "atan", "asinh", "erf"])
@given(t=st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=60, deadline=None)
def test_bounded_families_never_overflow(name, t):
    for order in ORDERS:
        value = TABLE[name].scalar(order)(t)
        assert not math.isnan(value), (name, order, t)
        if order >= 1:
            assert abs(value) <= 30, (name, order, t)


@pytest.mark.parametrize("name", ["softplus", "sigmoid", "logcosh", "tanh"])
@pytest.mark.parametrize("t", [-700.0, -300.0, -50.0, 50.0, 300.0])
def test_tails_keep_relative_accuracy(name, t):
    for order in (0, 1, 2):
        if (name, order) in (("tanh", 0), ("logcosh", 1)):
            continue
        with mpmath.workdps(400):
            want = {
                "softplus": [mpmath.log1p(mpmath.exp(t)), 1 / (1 + mpmath.exp(-t)), None],
                "sigmoid": [1 / (1 + mpmath.exp(-t)), None, None],
                "logcosh": [mpmath.log(mpmath.cosh(t)), None, None],
                "tanh": [None, 1 / mpmath.cosh(t) ** 2, None],
            }[name][order]
            if want is not None and abs(want) > mpmath.mpf(10) ** -300:
                assert abs(TABLE[name].scalar(order)(t) / want - 1) < 1e-14, (name, order, t)


@pytest.mark.parametrize("t", [1e-9, 1e-6, 1e-3, 0.3, 0.9999, 1.0001])
def test_logcosh_near_zero_is_relatively_accurate(t):
    with mpmath.workdps(50):
        assert abs(TABLE["logcosh"].scalar(0)(t) / mpmath.log(mpmath.cosh(t)) - 1) < 1e-15 * 4


@pytest.mark.parametrize("t", [1e-30, 1e-12, 4.0, 4 + 1e-9, -8.0, 2.0, 1e9 + 0.25])
def test_psi_wave_is_reduced_exactly(t):
    for nu in (0.25, 0.5, 1.0):
        with mpmath.workdps(60):
            want = [psi_by_the_sheet(mpmath.mpf(t), mpmath.mpf(nu)), None, None, None]
            u = (mpmath.mpf(t) + 1) % 4
            s = u - 1 if u <= 2 else 3 - u
            want[3] = mpmath.sign(s) * abs(s) ** mpmath.mpf(nu)
        for order in (0, 3):
            assert TABLE["psi"].scalar(order)(t, nu) == pytest.approx(float(want[order]), rel=1e-13, abs=1e-300)


def test_scalar_source_is_a_module_of_its_own():
    text = module_source([("softplus", 0), ("softplus", 0), ("psi", 3), ("erf", 2)])
    assert text.count("def softplus_0") == 1
    namespace: dict = {}
    exec(compile(text, "<test>", "exec"), namespace)
    assert namespace["psi_3"](0.25, 0.5) == pytest.approx(0.5)
    assert namespace["softplus_0"](800.0) == 800.0


@pytest.mark.slow
def test_scalar_source_compiles_under_numba():
    numba = pytest.importorskip("numba")
    wanted = [(n, k) for n in ("softplus", "logcosh", "psi", "asinh", "pluspow", "atan") for k in (0, 2)]
    scope: dict = {"njit": numba.njit}
    exec(compile(module_source(wanted).replace("\ndef ", "\n@njit\ndef "), "<test>", "exec"), scope)
    for name, order in wanted:
        parameters = PARAMETERS.get(name, (0.5,) if name == "psi" else ())
        for t in (-1.3, 0.4):
            assert scope[f"{name}_{order}"](t, *parameters) == pytest.approx(
                TABLE[name].scalar(order)(t, *parameters), rel=1e-15, abs=1e-300
            )


def test_edges_are_infinite_not_errors():
    assert TABLE["exp"].scalar()(1000.0) == math.inf
    assert TABLE["log"].scalar()(0.0) == -math.inf
    assert math.isnan(TABLE["log"].scalar()(-1.0))
    assert TABLE["cosh"].scalar()(-1e4) == math.inf


def test_smoothness():
    half = sympy.Rational(1, 2)
    assert TABLE["abspow"].smoothness((5 * half,)) == 2
    assert TABLE["abspow"].smoothness((3,)) == 2
    assert TABLE["abspow"].smoothness((4,)) == sympy.oo
    assert TABLE["pluspow"].smoothness((2,)) == 1
    assert TABLE["psi"].smoothness((half,)) == 3
    assert TABLE["huber"].smoothness((1,)) == 1
    assert TABLE["floor"].smoothness() == -1
    assert TABLE["softplus"].smoothness() == sympy.oo
