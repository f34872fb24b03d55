"""Every rule of differentiation, of lowering and of the graph alone: 40 digits, ties, zeros, large differences."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Rational, symbols

from bilevel_verify.atoms import TABLE, abspow, logsumexp, pluspow, sgnpow
from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers.floats import MPMATH, NUMPY, PYTHON_FLOAT
from bilevel_verify.symbolic.differentiate import (
    adjoints,
    atom_rule,
    gradient,
    hessian,
    hessian_product,
    jacobian_product,
    packed_positions,
    tangents,
    third_derivative,
)
from bilevel_verify.symbolic.graph import ONE, ZERO, Graph, Instruction, reachable
from bilevel_verify.symbolic.lower import lower
from bilevel_verify.symbolic.program import Program, finish, program_of

pytestmark = pytest.mark.fast
x, y, z, w = symbols("x y z w", real=True)
DIGITS = 40


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(DIGITS):
        yield


def build(count, make, shape=()):
    graph = Graph(tuple(f"t{k}" for k in range(count)))
    inputs = [graph.input_at(k) for k in range(count)]
    made = make(graph, *inputs)
    return finish(graph, made if isinstance(made, list) else [made], shape)


def values(program, point):
    return program.run(MPMATH, [mpmath.mpf(p) for p in point])


def difference(program, point, *places):
    """A partial derivative of a scalar program by differences at 40 digits."""

    def function(*t):
        return program.run(MPMATH, list(t))[0]

    orders = tuple(places.count(k) for k in range(len(point)))
    return mpmath.diff(function, tuple(mpmath.mpf(p) for p in point), orders)


def agree(found, wanted, tolerance=1e-13):
    assert abs(found - wanted) <= tolerance * (1 + abs(wanted)), (found, wanted)


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
RULES = {
    "add": (3, lambda g, a, b, c: g.add((a, b, c, a)), (0.3, -0.7, 1.1)),
    "neg": (1, lambda g, a: g.neg(g.mul((a, a))), (0.3,)),
    "mul": (2, lambda g, a, b: g.mul((a, b, a)), (0.3, -0.7)),
    "mul of three": (3, lambda g, a, b, c: g.mul((a, b, c, g.const(Fraction(-3, 7)))), (0.3, -0.7, 1.1)),
    "div": (2, lambda g, a, b: g.div(a, b), (0.3, -0.7)),
    "div by a product": (2, lambda g, a, b: g.div(g.mul((a, a)), g.mul((a, b))), (0.3, -0.7)),
    "square": (1, lambda g, a: g.pow(a, 2), (-0.6,)),
    "cube": (1, lambda g, a: g.pow(a, 3), (-0.6,)),
    "root": (1, lambda g, a: g.pow(a, HALF), (0.6,)),
    "cube root": (1, lambda g, a: g.pow(a, THIRD), (0.6,)),
    "power 3/2": (1, lambda g, a: g.pow(a, Fraction(3, 2)), (0.6,)),
    "power 5/2": (1, lambda g, a: g.pow(a, Fraction(5, 2)), (0.6,)),
    "power 7/3": (1, lambda g, a: g.pow(a, Fraction(7, 3)), (0.6,)),
    "inverse": (1, lambda g, a: g.pow(a, -2), (0.6,)),
    "inverse root": (1, lambda g, a: g.pow(a, -HALF), (0.6,)),
    "logsumexp": (3, lambda g, a, b, c: g.emit("logsumexp", (a, b, g.mul((c, c)))), (0.3, -0.7, 1.1)),
    "select yes": (2, lambda g, a, b: g.select(g.compare("lt", b, a), g.mul((a, b)), g.pow(a, 3)), (0.3, -0.7)),
    "select no": (2, lambda g, a, b: g.select(g.compare("lt", a, b), g.mul((a, b)), g.pow(a, 3)), (0.3, -0.7)),
    "max left": (2, lambda g, a, b: g.emit("max", (g.mul((a, b)), g.pow(b, 3))), (0.3, -0.7)),
    "max right": (2, lambda g, a, b: g.emit("max", (g.pow(b, 3), g.mul((a, b)))), (0.3, -0.7)),
    "min left": (2, lambda g, a, b: g.emit("min", (g.pow(b, 3), g.mul((a, b)))), (0.3, -0.7)),
    "min right": (2, lambda g, a, b: g.emit("min", (g.mul((a, b)), g.pow(b, 3))), (0.3, -0.7)),
    "shared": (2, lambda g, a, b: g.mul((g.atom("sin", g.mul((a, b))), g.atom("exp", g.mul((a, b))))), (0.3, -0.7)),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_each_rule_against_differences(name):
    count, make, point = RULES[name]
    program = build(count, make)
    first, second, third = gradient(program), hessian(program), third_derivative(program)
    for k, found in enumerate(values(first, point)):
        agree(found, difference(program, point, k))
    for (i, j), found in zip(product(range(count), repeat=2), values(second, point), strict=True):
        agree(found, difference(program, point, i, j), 1e-10)
    for places, found in zip(packed_positions(count), values(third, point), strict=True):
        agree(found, difference(program, point, *places), 1e-8)
    for lowered in (lower(program), lower(first), lower(second)):
        floats = lowered.run(NUMPY, [np.array([p, p]) for p in point])
        wanted = {(): [values(program, point)[0]], (count,): values(first, point)}.get(
            lowered.shape, values(second, point)
        )
        for found, want in zip(floats, wanted, strict=True):
            assert float(np.broadcast_to(found, 2)[1]) == pytest.approx(float(want), rel=1e-13, abs=1e-14)


SMOOTH = {
    "exp": 0.7, "sin": 0.7, "cos": 0.7, "sinh": 0.7, "cosh": 0.7, "tanh": -0.7, "asinh": 0.7, "atan": -0.7, "erf": 0.4,
    "softplus": -0.7, "sigmoid": 0.7, "logcosh": -0.7, "log": 0.7, "tan": -0.7,
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_each_atom_against_differences(name):
    program = build(1, lambda g, a: g.atom(name, a))
    point = (SMOOTH[name],)
    now = program
    for order in range(1, 4):
        now = gradient(now) if order == 1 else jacobian_product(now, [0])
        found = values(now, point if order == 1 else [*point, *[1.0] * (order - 1)])
        agree(found[0], difference(program, point, *[0] * order), 1e-12 * 10**order)
    scaled = build(1, lambda g, a: atom_rule(g, a, name, 0, (), g.const(Fraction(-3))))
    agree(values(scaled, point)[0], -3 * difference(program, point, 0))


@pytest.mark.parametrize(
    ("name", "p"), [(n, Fraction(p)) for n in ("abspow", "sgnpow", "pluspow") for p in ("3", "7/2", "10/3", "4")]
)
def test_powers_with_a_kink_against_differences(name, p):
    program = build(1, lambda g, a: g.atom(name, a, 0, (p,)))
    for t in (-0.8, 0.6):
        agree(values(gradient(program), [t])[0], difference(program, [t], 0))
        agree(values(hessian(program), [t])[0], difference(program, [t], 0, 0), 1e-10)


@pytest.mark.parametrize(("op", "position"), [("max", 0), ("min", 0)])
def test_at_a_tie_the_first_argument_is_followed(op, position):
    program = gradient(build(2, lambda g, a, b: g.emit(op, (a, b))))
    for arithmetic in (PYTHON_FLOAT, MPMATH):
        found = program.run(arithmetic, [arithmetic.constant(Fraction(1)), arithmetic.constant(Fraction(1))])
        assert [float(v) for v in found] == [1.0 - position, float(position)]
    lowered = lower(program).run(NUMPY, [np.array([1.0]), np.array([1.0])])
    assert [float(np.max(v)) for v in lowered] == [1.0 - position, float(position)]


def test_the_slope_of_a_root_uses_the_root():
    slope = gradient(build(1, lambda g, a: g.pow(a, HALF)))
    assert [i.op for i in slope.instructions].count("pow") == 1
    assert [i.op for i in gradient(build(1, lambda g, a: g.pow(a, THIRD))).instructions].count("pow") == 1


@pytest.mark.parametrize(("atom", "p"), [(abspow, Rational(1, 2)), (pluspow, Rational(1, 2)), (sgnpow, Rational(1, 2))])
def test_powers_below_one_have_one_derivative_and_those_of_zero_none(atom, p):
    program = program_of(atom(p, x), [x])
    agree(values(gradient(program), [0.7])[0], difference(program, [0.7], 0))
    with pytest.raises(MathematicalError):
        hessian(program)


def test_derivatives_that_are_no_functions_are_refused():
    for expression in (sympy.sign(x), sgnpow(0, x), pluspow(0, x)):
        with pytest.raises(MathematicalError):
            gradient(program_of(expression, [x]))
    with pytest.raises(MathematicalError):
        hessian(program_of(sympy.Abs(x) * y, [x, y]))
    plain = build(1, lambda g, a: g.emit("abs", (a,)))
    assert [float(values(gradient(plain), [t])[0]) for t in (-0.4, 0.4)] == [-1.0, 1.0]
    with pytest.raises(MathematicalError, match="kink is at zero"):
        hessian(plain)
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        gradient(program_of([x, y], [x, y]))
    graph = Graph(("t",))
    with pytest.raises(MathematicalError):
        atom_rule(graph, graph.input_at(0), "huber", 2, (Fraction(1),), graph.const(ONE))


def test_blocks_of_equal_size_are_not_taken_for_symmetric():
    f = x * w**2 + 5 * y * z + sympy.sin(x * z) * w
    program = program_of(f, [x, y, z, w])
    point = [0.3, -0.7, 1.1, 0.4]
    found = values(hessian(program, [0, 1], [2, 3]), point)
    for (i, j), entry in zip(product((0, 1), (2, 3)), found, strict=True):
        agree(entry, difference(program, point, i, j), 1e-10)
    assert abs(found[1] - found[2]) > 1
    other = values(hessian(program, [2, 3], [0, 1]), point)
    for (i, j), entry in zip(product((2, 3), (0, 1)), other, strict=True):
        agree(entry, difference(program, point, i, j), 1e-10)
    oblong = values(hessian(program, [3], [0, 2, 1]), point)
    for j, entry in zip((0, 2, 1), oblong, strict=True):
        agree(entry, difference(program, point, 3, j), 1e-10)
    assert hessian(program, [3], [0, 2, 1]).shape == (1, 3)
    whole = values(hessian(program), point)
    for (i, j), entry in zip(product(range(4), repeat=2), whole, strict=True):
        agree(entry, difference(program, point, i, j), 1e-10)
    assert hessian(program, [2, 0]).shape == (2, 2)
    turned = values(hessian(program, [2, 0]), point)
    for (i, j), entry in zip(product((2, 0), repeat=2), turned, strict=True):
        agree(entry, difference(program, point, i, j), 1e-10)


def test_products_name_their_directions_and_contract_the_right_side():
    program = program_of(x**2 * y * z + y**3 * w, [x, y, z, w])
    point, v, u = [0.3, -0.7, 1.1, 0.4], [2.0, -1.0], [0.5, 3.0]
    once = hessian_product(program, [0, 1], [2, 3])
    assert once.inputs == ("x", "y", "z", "w", "v0", "v1")
    for i, entry in zip((0, 1), values(once, [*point, *v]), strict=True):
        agree(entry, sum(difference(program, point, i, j) * v[k] for k, j in enumerate((2, 3))), 1e-10)
    twice = jacobian_product(jacobian_product(gradient(program, [0, 1]), [0, 1], "v"), [2, 3], "w")
    assert twice.inputs == ("x", "y", "z", "w", "v0", "v1", "w0", "w1")
    for i, entry in zip((0, 1), values(twice, [*point, *v, *u]), strict=True):
        wanted = sum(
            difference(program, point, i, j, k) * v[a] * u[b]
            for a, j in enumerate((0, 1))
            for b, k in enumerate((2, 3))
        )
        agree(entry, wanted, 1e-8)
    part = gradient(program, [3, 0])
    assert part.shape == (2,)
    for k, entry in zip((3, 0), values(part, point), strict=True):
        agree(entry, difference(program, point, k))
    some = third_derivative(program, [1, 0])
    for places, entry in zip(packed_positions(2), values(some, point), strict=True):
        agree(entry, difference(program, point, *[(1, 0)[p] for p in places]), 1e-8)
    several = jacobian_product(program_of([x * y, y * z, x], [x, y, z]), [1])
    assert [float(t) for t in values(several, [2.0, 3.0, 5.0, 7.0])] == [14.0, 35.0, 0.0]
    assert several.shape == (3,)
    along = jacobian_product(program_of(x * y, [x, y]))
    assert along.inputs == ("x", "y", "v0", "v1")
    assert float(values(along, [2.0, 3.0, 5.0, 7.0])[0]) == 29.0


def test_what_does_not_depend_has_derivative_zero_and_costs_nothing():
    program = program_of(sympy.sin(x) + 0 * y, [x, y])
    assert [float(v) for v in values(gradient(program), [0.0, 1.0])] == [1.0, 0.0]
    jump = program_of(x * sympy.sign(y), [x, y])  # no derivative in y, one in x
    assert [float(v) for v in values(gradient(jump, [0]), [3.0, -2.0])] == [-1.0]
    graph = Graph(("a", "b"))
    a, b = graph.input_at(0), graph.input_at(1)
    out = graph.mul((a, a))
    assert graph.rational(adjoints(graph, out, [1])[0]) == 0
    assert graph.rational(tangents(graph, [out], {1: graph.const(ONE)})[0]) == 0
    assert graph.rational(tangents(graph, [b], {1: graph.const(ONE)})[0]) == 1
    assert tangents(graph, [], {}) == []
    graph.emit("sign", (a,))  # no output needs it, so that it may have no derivative
    beside = graph.atom("exp", a)
    assert graph[tangents(graph, [beside], {0: graph.const(ONE)})[0]].op == "atom"


# --- lowering


EXTREMES = [-800.0, -40.0, -1.0, -1e-9, 0.0, 1e-9, 0.7, 40.0, 800.0]
TRUE = {
    ("softplus", 0): lambda t: mpmath.log1p(mpmath.exp(t)),
    ("sigmoid", 0): lambda t: 1 / (1 + mpmath.exp(-t)),
    ("softplus", 1): lambda t: 1 / (1 + mpmath.exp(-t)),
    ("sigmoid", 1): lambda t: mpmath.exp(-t) / (1 + mpmath.exp(-t)) ** 2,
    ("tanh", 0): mpmath.tanh,
    ("tanh", 1): lambda t: 1 / mpmath.cosh(t) ** 2,
    ("logcosh", 1): mpmath.tanh,
    ("atan", 0): mpmath.atan,
    ("atan", 1): lambda t: 1 / (1 + t * t),
    ("erf", 0): mpmath.erf,
    ("erf", 1): lambda t: 2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-t * t),
    ("asinh", 0): mpmath.asinh,
    ("sin", 0): mpmath.sin,
    ("cos", 0): mpmath.cos,
}


@pytest.mark.parametrize(("name", "order"), TRUE)
def test_lowered_atoms_far_out(name, order):
    program = build(1, lambda g, a: g.atom(name, a))
    program = gradient(program) if order else program
    with np.errstate(under="ignore"):
        found = np.broadcast_to(lower(program).run(NUMPY, [np.array(EXTREMES)])[0], len(EXTREMES))
    with mpmath.workdps(800):
        for t, value in zip(EXTREMES, found.tolist(), strict=True):
            want = TRUE[name, order](mpmath.mpf(t))
            assert value == pytest.approx(float(want), rel=4e-15, abs=1e-300), (name, t)


def test_lowered_tangent():
    program = gradient(build(1, lambda g, a: g.atom("tan", a)))
    found = lower(program).run(NUMPY, [np.array([-1.2, 0.0, 0.4])])[0]
    assert found == pytest.approx([1 / math.cos(t) ** 2 for t in (-1.2, 0.0, 0.4)], rel=1e-14)


@pytest.mark.parametrize("shift", [(800, 0, 0), (0, 800, -800), (-800, 0, -3), (0, 0, 800), (1000, -1000, 999)])
def test_lowered_logarithm_of_a_sum_of_exponentials_with_differences_of_800(shift):
    program = program_of(logsumexp(x, y, z), [x, y, z])
    point = [0.3 + shift[0], -0.7 + shift[1], 1.1 + shift[2]]
    arrays = [np.array([p]) for p in point]
    with mpmath.workdps(60), np.errstate(over="raise", invalid="raise", under="ignore"):
        wanted = mpmath.log(sum(mpmath.exp(mpmath.mpf(p)) for p in point))
        shares = [mpmath.exp(mpmath.mpf(p) - wanted) for p in point]
        assert float(lower(program).run(NUMPY, arrays)[0][0]) == pytest.approx(float(wanted), rel=1e-15)
        for found, share in zip(lower(gradient(program)).run(NUMPY, arrays), shares, strict=True):
            assert float(found[0]) == pytest.approx(float(share), rel=1e-13, abs=1e-300)
        second = lower(hessian(program)).run(NUMPY, arrays)
        for (i, j), found in zip(product(range(3), repeat=2), second, strict=True):
            want = shares[i] * (i == j) - shares[i] * shares[j]
            assert float(np.max(found)) == pytest.approx(float(want), rel=1e-12, abs=1e-15)
        for arithmetic in (PYTHON_FLOAT, MPMATH):
            plain = program.run(arithmetic, [arithmetic.constant(Fraction(p)) for p in point])[0]
            assert float(plain) == pytest.approx(float(wanted), rel=1e-15)


def test_a_quotient_is_taken_only_for_a_softmax():
    from collections import Counter

    softmax = program_of(sympy.exp(x - logsumexp(x, y, z)), [x, y, z])
    calls = Counter(i.value for i in lower(softmax).instructions if i.op == "call")
    assert "log" not in calls
    for other in (sympy.exp(w - logsumexp(x, y, z)), sympy.exp(x + logsumexp(x, y, z)), sympy.exp(x - y)):
        program = program_of(other, [x, y, z, w])
        found = lower(program).run(NUMPY, [np.array([t]) for t in (0.3, -0.2, 0.5, 0.9)])[0]
        assert float(found[0]) == pytest.approx(float(values(program, [0.3, -0.2, 0.5, 0.9])[0]), rel=1e-14)


@pytest.mark.parametrize("text", ["1", "2", "3", "5", "7", "1/2", "3/2", "5/2", "1/3", "7/3"])
def test_lowered_powers(text):
    exponent = Fraction(text)
    program = build(1, lambda g, a: g.mul((g.const(Fraction(2)), g.pow(a, exponent))))
    found = lower(program).run(NUMPY, [np.array([0.7, 1.9])])[0]
    assert found == pytest.approx([2 * 0.7 ** float(exponent), 2 * 1.9 ** float(exponent)], rel=1e-14)
    ops = {i.op for i in lower(program).instructions}
    assert ("real_power" in ops) == (exponent.denominator > 2)
    assert ("call" in ops) == (exponent.denominator == 2)
    assert "pow" not in ops


@pytest.mark.parametrize("text", ["0", "1", "2", "3", "4", "1/2", "3/2", "5/2", "7/2", "4/3", "7/3"])
@pytest.mark.parametrize("name", ["abspow", "sgnpow", "pluspow"])
def test_one_sided_powers_lowered_and_plain_agree_also_at_zero(name, text):
    p = Fraction(text)
    points = [-1.3, -0.2, 0.0, 0.4, 1.7]
    for order in range(4):
        if p < order:
            continue
        program = build(1, lambda g, a, o=order: g.atom(name, a, o, (p,)))
        lowered = np.broadcast_to(lower(program).run(NUMPY, [np.array(points)])[0], len(points))
        for t, found in zip(points, lowered.tolist(), strict=True):
            plain = program.run(PYTHON_FLOAT, [t])[0]
            assert found == pytest.approx(float(plain), rel=1e-14, abs=1e-300), (name, p, order, t)
            if t:
                factor = math.prod(float(p - j) for j in range(order))
                size = factor * abs(t) ** float(p - order)
                sign = math.copysign(1.0, t)
                parity = {"abspow": order, "sgnpow": order + 1, "pluspow": 0}[name]
                want = size * sign**parity if name != "pluspow" else size * (t > 0)
                assert found == pytest.approx(want, rel=1e-13)
        ops = {i.op for i in lower(program).instructions}
        if (p - order).denominator <= 2:
            assert "atom" not in ops


def test_lowering_keeps_signs_sums_and_shapes():
    program = program_of(sympy.Matrix([[x - y, -x * y], [x / y, sympy.Max(x, y)]]), [x, y])
    lowered = lower(program)
    assert lowered.shape == (2, 2)
    found = lowered.run(NUMPY, [np.array([2.0]), np.array([5.0])])
    assert [float(v[0]) for v in found] == [-3.0, -10.0, 0.4, 5.0]


# --- the graph


def test_sums_collect_constants():
    graph = Graph(("a", "b"))
    a, b = graph.input_at(0), graph.input_at(1)
    two, minus = graph.const(2), graph.const(Fraction(-2))
    assert graph.add((a, two, minus)) == a
    assert graph.rational(graph.add((two, two, minus))) == 2
    assert graph.rational(graph.add(())) == 0
    total = graph[graph.add((a, two, b, two))]
    assert (total.op, total.args) == ("add", (graph.const(4), a, b))
    assert graph.add((a, b)) == graph.add((b, a))
    assert graph[graph.sub(a, b)].op == "add"
    assert graph.rational(graph.sub(two, minus)) == 4


def test_products_collect_constants_and_signs():
    graph = Graph(("a", "b"))
    a, b = graph.input_at(0), graph.input_at(1)
    minus = graph.neg(a)
    assert graph.mul((minus, minus)) == graph.mul((a, a))
    assert graph[graph.mul((minus, b))].op == "neg"
    assert graph.mul((a, graph.const(Fraction(1, 2)), graph.const(2))) == a
    assert graph.mul((a, graph.const(-1))) == minus
    assert graph.rational(graph.mul((a, graph.const(0)))) == 0
    assert graph.rational(graph.mul((graph.const(3), graph.const(Fraction(-1, 2))))) == Fraction(-3, 2)
    assert graph.rational(graph.mul(())) == 1
    product_ = graph[graph.mul((graph.const(-3), a, b))]
    assert product_.op == "neg"
    assert graph[product_.args[0]].args == (graph.const(3), a, b)
    assert graph.neg(minus) == a
    assert graph.rational(graph.neg(graph.const(3))) == -3
    assert graph.mul((a, b)) == graph.mul((b, a))


def test_quotients_and_powers_of_constants():
    graph = Graph(("a", "b"))
    a, b = graph.input_at(0), graph.input_at(1)
    assert graph[graph.div(a, graph.const(4))].args == (graph.const(Fraction(1, 4)), a)
    assert graph.rational(graph.div(graph.const(0), b)) == 0
    assert graph[graph.div(a, graph.const(0))].op == "div"
    assert graph[graph.div(graph.neg(a), b)].op == "neg"
    assert graph[graph.div(a, b)].args == (a, b)
    assert graph.rational(graph.pow(a, 0)) == 1
    assert graph.pow(a, 1) == a
    assert graph.rational(graph.pow(graph.const(2), -3)) == Fraction(1, 8)
    assert graph.rational(graph.pow(graph.const(0), 3)) == 0
    assert graph[graph.pow(graph.const(0), -1)].op == "div"
    assert graph.rational(graph.pow(graph.const(2), 64)) == 2**64
    assert graph[graph.pow(graph.const(2), 65)].op == "pow"
    assert graph[graph.pow(graph.const(2), Fraction(1, 2))].op == "pow"
    inverse = graph[graph.pow(a, -2)]
    assert (inverse.op, graph.rational(inverse.args[0])) == ("div", 1)
    assert graph[graph.pow(a, Fraction(3, 2))].value == Fraction(3, 2)


def test_comparisons_of_constants_and_truth_values():
    graph = Graph(("a", "b"))
    a, b = graph.input_at(0), graph.input_at(1)
    one, two = graph.const(1), graph.const(2)
    truths = {
        ("lt", one, two): True, ("lt", one, one): False, ("lt", two, one): False, ("le", one, one): True,
        ("le", two, one): False, ("le", one, two): True, ("eq", one, one): True, ("eq", one, two): False,
    }  # fmt: skip
    for (op, left, right), truth in truths.items():
        assert graph[graph.compare(op, left, right)].op == ("true" if truth else "false")
    less = graph.compare("lt", a, b)
    assert graph[less].args == (a, b)
    assert graph.compare("lt", b, a) != less
    assert graph.compare("eq", b, a) == graph.compare("eq", a, b)
    true, false = graph.emit("true"), graph.emit("false")
    other = graph.compare("lt", b, a)
    assert graph.logical("not", (true,)) == false
    assert graph.logical("not", (false,)) == true
    assert graph.logical("not", (graph.logical("not", (less,)),)) == less
    assert graph.logical("and", (less, true)) == less
    assert graph.logical("and", (less, false)) == false
    assert graph.logical("or", (less, true)) == true
    assert graph.logical("or", (less, false)) == less
    assert graph.logical("and", (true, true)) == true
    assert graph.logical("or", (false,)) == false
    assert graph.logical("and", (less, less)) == less
    assert graph[graph.logical("and", (less, other))].op == "and"
    assert graph.select(true, a, b) == a
    assert graph.select(false, a, b) == b
    assert graph.select(less, a, a) == a
    assert graph[graph.select(less, a, b)].args == (less, a, b)


def test_what_is_needed_and_what_is_kept():
    graph = Graph(("a", "b"))
    a, b = graph.input_at(0), graph.input_at(1)
    unused = graph.atom("sin", b)
    used = graph.mul((a, a))
    assert reachable(graph.instructions, (used,)) == [k in (a, used) for k in range(len(graph))]
    assert not reachable(graph.instructions, (used,))[unused]
    program = finish(graph, [used, a], (2,))
    assert [i.op for i in program.instructions] == ["input", "mul"]
    assert program.size == 1
    assert [float(v) for v in values(program, [3, 5])] == [9.0, 3.0]
    part = program.restrict([1])
    assert part.shape == (1,)
    assert [float(v) for v in values(part, [3, 5])] == [9.0]
    assert program.restrict([1], ()).shape == ()
    with pytest.raises(ValueError, match="2 inputs, 1 were given"):
        program.run(MPMATH, [1])
    with pytest.raises(ValueError, match="unknown operation 'nonsense'"):
        Program((), (Instruction("nonsense", (), None),), (0,), ()).run(MPMATH, [])
    assert program_of([x, y], [x, y]).shape == (2,)
    assert program_of(sympy.Matrix([[x, y]]), [x, y]).shape == (1, 2)
    assert program_of(x, [x]).shape == ()
    assert graph.rational(graph.const(sympy.pi)) is None
    assert graph.rational(graph.const(ZERO)) == 0


STEPS = {
    "floor": ([-1.5, 2.0, 2.7], [-2.0, 2.0, 2.0]), "ceil": ([-1.5, 2.0, 2.7], [-1.0, 2.0, 3.0]),
    "abs": ([-1.5, 0.0, 2.7], [1.5, 0.0, 2.7]), "sign": ([-1.5, 0.0, 2.7], [-1.0, 0.0, 1.0]),
}  # fmt: skip


@pytest.mark.parametrize("op", STEPS)
def test_steps_in_three_arithmetics(op):
    program = build(1, lambda g, a: g.emit(op, (a,)))
    points, wanted = STEPS[op]
    assert [float(program.run(PYTHON_FLOAT, [p])[0]) for p in points] == wanted
    assert [float(values(program, [p])[0]) for p in points] == wanted
    assert program.run(NUMPY, [np.array(points)])[0].tolist() == wanted
    with np.errstate(invalid="ignore"):
        assert math.isnan(program.run(PYTHON_FLOAT, [math.nan])[0]) or op == "abs"
    assert abs(program.run(PYTHON_FLOAT, [math.inf])[0]) in (1.0, math.inf)


def test_relations_and_branches_in_three_arithmetics():
    def program(op, logic):
        def make(g, a, b):
            test = g.compare(op, a, b)
            test = (
                g.logical("not", (test,))
                if logic == "not"
                else g.logical(logic, (test, g.compare("lt", a, g.const(1))))
            )
            return g.select(test, a, g.add((b, g.const(10))))

        return build(2, make)

    for op, logic in product(("lt", "le", "eq"), ("not", "and", "or")):
        one = program(op, logic)
        for a, b in [(0.5, 0.5), (0.5, 0.7), (0.7, 0.5), (2.0, 2.0), (2.0, 3.0), (3.0, 2.0)]:
            truth = {"lt": a < b, "le": a <= b, "eq": a == b}[op]
            truth = not truth if logic == "not" else (truth and a < 1) if logic == "and" else (truth or a < 1)
            want = a if truth else b + 10
            assert one.run(PYTHON_FLOAT, [a, b])[0] == want
            assert float(values(one, [a, b])[0]) == want
            assert one.run(NUMPY, [np.array([a]), np.array([b])])[0].tolist() == [want]


def test_the_table_knows_which_derivatives_exist():
    assert TABLE["abspow"].smoothness((Rational(7, 2),)) == 3
    assert TABLE["pluspow"].smoothness((Rational(2),)) == 1
