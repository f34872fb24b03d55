"""SymPy classes of the atoms: derivatives, values, rewriting, LaTeX, refusals."""

from __future__ import annotations

import subprocess
import sys

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Rational

from bilevel_verify import atoms
from bilevel_verify.atoms import TABLE, evaluator, recognise
from bilevel_verify.errors import MathematicalError

x, y, z = sympy.symbols("x y z", real=True)
HALF = Rational(1, 2)
NODES = {
    "softplus": atoms.softplus(x),
    "sigmoid": atoms.sigmoid(x),
    "logcosh": atoms.logcosh(x),
    "psi": atoms.psi(HALF, x),
    "abspow": atoms.abspow(Rational(7, 2), x),
    "sgnpow": atoms.sgnpow(Rational(7, 2), x),
    "pluspow": atoms.pluspow(Rational(7, 2), x),
    "huber": atoms.huber(1, x),
    "logsumexp": atoms.logsumexp(x, 2 * x, -x),
}


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("point", [Rational(-13, 10), Rational(3, 10), Rational(17, 10)])
def test_derivatives_by_differences(name, point):
    node = NODES[name]
    for order in range(1, 2 if name == "huber" else 4):
        with mpmath.workdps(50):
            value = mpmath.diff(
                lambda t: node.subs(x, sympy.Float(t, 60)).evalf(50)._to_mpmath(170),
                mpmath.mpf(point.p) / point.q,
                order,
                h=mpmath.mpf(10) ** -12,
            )
        assert abs(float(node.diff(x, order).subs(x, point).evalf(30)) - float(value)) < 1e-6 * (1 + abs(value))


@pytest.mark.parametrize("name", ["softplus", "sigmoid", "logcosh", "logsumexp"])
def test_rewriting_gives_the_textbook_formula(name):
    node = NODES[name]
    textbook = node.rewrite(sympy.cosh if name == "logcosh" else sympy.exp)
    for value in (Rational(-7, 3), Rational(5, 4)):
        assert abs((node - textbook).subs(x, value).evalf(30)) < 1e-28


def test_sigmoid_derivatives_are_polynomials_of_the_sigmoid():
    for order in range(1, 7):
        node = atoms.sigmoid_d(order, x)
        polynomial = node.rewrite(atoms.sigmoid)
        assert abs((node - polynomial).subs(x, Rational(2, 7)).evalf(30)) < 1e-28
    assert atoms.sigmoid(x).diff(x, 5) == atoms.sigmoid_d(5, x)
    assert atoms.sigmoid_d(3, sympy.S.Zero) == Rational(-1, 8)


def test_softmax_derivatives():
    node = atoms.logsumexp(x, y, z)
    assert sum(node.diff(s) for s in (x, y, z)).subs({x: 1, y: 2, z: 3}).evalf(30) == pytest.approx(1, abs=1e-28)
    plain = sympy.log(sympy.exp(x) + sympy.exp(y) + sympy.exp(z))
    point = {x: Rational(1, 3), y: Rational(-2, 5), z: 2}
    for symbols in [(x,), (x, y), (x, x), (x, y, z), (x, x, x)]:
        assert abs((node.diff(*symbols) - plain.diff(*symbols)).subs(point).evalf(30)) < 1e-28


def test_powers_combine_and_refuse_deltas():
    t = atoms.abspow(1, x)
    assert t**2 == x**2
    assert t ** Rational(5, 2) == atoms.abspow(Rational(5, 2), x)
    assert atoms.abspow(1, -x) == t
    assert atoms.abspow(Rational(5, 2), x).diff(x) == Rational(5, 2) * atoms.sgnpow(Rational(3, 2), x)
    assert atoms.sgnpow(3, x) == x**3
    assert atoms.abspow(3, x).diff(x, 3) == 6 * atoms.sgnpow(0, x)
    for node, order in [
        (t, 2),
        (atoms.abspow(3, x), 4),
        (atoms.pluspow(2, x), 3),
        (atoms.huber(1, x), 3),
        (atoms.psi(HALF, x), 5),
    ]:
        with pytest.raises(MathematicalError):
            node.diff(x, order)


def test_bad_parameters_are_refused():
    with pytest.raises(MathematicalError):
        atoms.psi(2, x)
    with pytest.raises(MathematicalError):
        atoms.huber(-1, x)


@pytest.mark.parametrize("name", NODES)
def test_latex_and_srepr(name):
    node = NODES[name]
    assert sympy.latex(node**2)
    assert sympy.latex(node)
    assert name in sympy.srepr(node) or name == "logsumexp"
    assert node.is_real


def test_recognise():
    assert recognise(atoms.psi_d(2, HALF, x)) == ("psi", 2, (HALF,), x)
    assert recognise(atoms.sigmoid_d(4, 2 * x)) == ("sigmoid", 4, (), 2 * x)
    assert recognise(sympy.Abs(x)) == ("abspow", 0, (1,), x)
    assert recognise(sympy.sin(x * y)) == ("sin", 0, (), x * y)
    assert recognise(x + y) is None
    assert recognise(sympy.gamma(x)) is None


def test_table_derivative_matches_kernel():
    for name, atom in TABLE.items():
        if atom.arity != 1 or name in ("floor", "ceil"):
            continue
        parameters = {"psi": (HALF,), "huber": (sympy.Integer(1),)}.get(
            name, (Rational(9, 2),) if atom.parameters else ()
        )
        for order in range(3):
            value = atom.derivative(order, Rational(3, 7), parameters).evalf(30)
            assert float(value) == pytest.approx(atom.scalar(order)(3 / 7, *map(float, parameters)), rel=1e-14)


def test_floor_has_no_derivative():
    with pytest.raises(MathematicalError):
        TABLE["floor"].derivative(1, x)


def test_evaluator_knows_own_atoms():
    f = evaluator(list(NODES.values()), [x])
    values = f(np.array([0.3, -1.2]))
    for node, row in zip(NODES.values(), values):
        assert row == pytest.approx([float(node.subs(x, Rational(v)).evalf(20)) for v in ("3/10", "-6/5")], rel=1e-14)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_assumptions_do_not_depend_on_hash_order(seed):
    code = "import bilevel_verify.atoms as a, sympy as s; print(a.abspow(s.S.Half, s.Symbol('x', real=True)).is_real)"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": str(seed), "PATH": ""},
        check=False,
    )
    assert result.stdout.strip() == "True", result.stderr[-300:]
