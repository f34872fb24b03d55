"""Rules of differentiation, lowering and the graph where a slip would not be seen by usual expressions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
import sympy
from sympy import symbols

from bilevel_verify.atoms import logsumexp
from bilevel_verify.errors import ExpressionError
from bilevel_verify.numbers.floats import MPMATH, NUMPY, PYTHON_FLOAT
from bilevel_verify.symbolic.differentiate import adjoints, gradient, tangents, third_derivative
from bilevel_verify.symbolic.graph import ONE, Graph, Instruction, reachable
from bilevel_verify.symbolic.lower import lower
from bilevel_verify.symbolic.program import finish, program_of

pytestmark = pytest.mark.fast
x, y, z = symbols("x y z", real=True)


def build(count, make, shape=()):
    graph = Graph(tuple(f"t{k}" for k in range(count)))
    made = make(graph, *(graph.input_at(k) for k in range(count)))
    return finish(graph, made if isinstance(made, list) else [made], shape)


def values(program, point):
    with mpmath.workdps(40):
        return [float(v) for v in program.run(MPMATH, [mpmath.mpf(p) for p in point])]


# --- derivatives


def test_what_decides_a_branch_has_no_derivative_and_is_not_asked_for_one():
    def make(g, a, b):
        return g.select(g.compare("lt", g.const(0), g.emit("sign", (a,))), g.mul((a, a)), g.mul((a, b)))

    slope = gradient(build(2, make))  # the sign has no derivative, and none is needed
    assert values(slope, [3.0, 5.0]) == [6.0, 0.0]
    assert values(slope, [-3.0, 5.0]) == [5.0, -3.0]


@pytest.mark.parametrize(("text", "slope"), [("3/2", 0.0), ("5/2", 0.0), ("2", 0.0), ("7/3", 0.0)])
def test_slopes_of_powers_above_one_vanish_at_zero(text, slope):
    program = gradient(build(1, lambda g, a: g.pow(a, Fraction(text))))
    assert values(program, [0.0]) == [slope]
    assert program.run(PYTHON_FLOAT, [0.0]) == [slope]


def test_inputs_are_told_from_constants_of_the_same_number():
    f = sympy.Rational(1) * x * y + x + 2 * y**2 + z  # positions 0, 1, 2 and constants 1, 2
    program = program_of([f], [x, y, z])
    graph = program.graph()
    found = finish(graph, adjoints(graph, program.outputs[0], [0, 1, 2]), (3,))
    assert values(found, [3.0, 5.0, 7.0]) == [6.0, 23.0, 1.0]
    with_one = build(2, lambda g, a, b: g.add((g.mul((g.const(2), a)), b, g.const(1), g.mul((b, b)))))
    assert values(gradient(with_one), [3.0, 5.0]) == [2.0, 11.0]


def test_first_instruction_and_last():
    assert values(gradient(build(1, lambda g, a: g.atom("sin", a))), [0.0]) == [1.0]
    assert values(gradient(build(1, lambda g, a: a)), [4.0]) == [1.0]
    assert values(gradient(build(2, lambda g, a, b: g.mul((a, b)))), [4.0, 5.0]) == [5.0, 4.0]
    graph = Graph(("a",))
    assert tangents(graph, [], {0: graph.const(ONE)}) == []
    program = build(2, lambda g, a, b: g.mul((a, a, b)))
    assert values(gradient(program, [1]), [3.0, 5.0]) == [9.0]
    assert values(gradient(program, [1, 0, 1]), [3.0, 5.0]) == [9.0, 30.0, 9.0]
    assert values(third_derivative(program, [0]), [3.0, 5.0]) == [0.0]
    assert values(third_derivative(program), [3.0, 5.0]) == [0.0, 2.0, 0.0, 0.0]


# --- lowering

RULED = [
    ("softplus", 0), ("sigmoid", 0), ("sigmoid", 1), ("tanh", 0), ("tanh", 1), ("tan", 0), ("tan", 1), ("atan", 0),
    ("atan", 1), ("erf", 0), ("erf", 1), ("exp", 0), ("log", 0), ("sin", 0), ("cos", 0), ("sinh", 0), ("cosh", 0),
    ("asinh", 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "order"), RULED)
def test_atoms_with_a_rule_leave_no_atom(name, order):
    program = build(1, lambda g, a: g.atom(name, a, order))
    assert "atom" not in {i.op for i in lower(program).instructions}
    for t in (0.3, 1.1):
        lowered = float(np.ravel(lower(program).run(NUMPY, [np.array([t])])[0])[0])
        assert lowered == pytest.approx(program.run(PYTHON_FLOAT, [t])[0], rel=1e-14)


@pytest.mark.parametrize(
    ("name", "order"), [("softplus", 3), ("sigmoid", 2), ("tanh", 2), ("tan", 2), ("atan", 2), ("erf", 2)]
)
def test_atoms_without_a_rule_stay_what_they_are(name, order):
    program = build(1, lambda g, a: g.atom(name, a, order))
    assert [i.op for i in lower(program).instructions] == ["input", "atom"]


@pytest.mark.parametrize(
    ("p", "order", "stays"), [("4/3", 0, True), ("7/3", 1, True), ("5/2", 2, False), ("1/2", 1, True)]
)
@pytest.mark.parametrize("name", ["abspow", "sgnpow", "pluspow"])
def test_which_one_sided_powers_are_lowered(name, p, order, stays):
    program = build(1, lambda g, a: g.atom(name, a, order, (Fraction(p),)))
    assert ("atom" in {i.op for i in lower(program).instructions}) == stays
    other = build(1, lambda g, a: g.atom("huber", a, 0, (Fraction(1),)))
    assert "atom" in {i.op for i in lower(other).instructions}


def test_a_softmax_is_known_in_either_order_and_nothing_else_is():
    def make(wrap, turned):
        def inner(g, a, b):
            total = g.emit("logsumexp", (a, g.mul((b, b))))
            pair = (a, wrap(g, total))
            return g.atom("exp", g.emit("add", pair[::-1] if turned else pair))

        return build(2, inner)

    point = [0.3, -0.7]
    wraps = {
        "softmax": lambda g, t: g.neg(t),
        "absolute": lambda g, t: g.emit("abs", (t,)),
        "root": lambda g, t: g.atom("sin", t),
        "plain": lambda g, t: t,
    }
    for name, turned in product(wraps, (False, True)):
        program = make(wraps[name], turned)
        lowered = lower(program)
        found = float(lowered.run(NUMPY, [np.array([p]) for p in point])[0][0])
        assert found == pytest.approx(values(program, point)[0], rel=1e-14), name
        assert ("log" in [i.value for i in lowered.instructions if i.op == "call"]) == (name != "softmax")
    stranger = build(3, lambda g, a, b, c: g.atom("exp", g.sub(c, g.emit("logsumexp", (a, b)))))
    found = float(lower(stranger).run(NUMPY, [np.array([t]) for t in (0.3, -0.7, 2.0)])[0][0])
    assert found == pytest.approx(values(stranger, [0.3, -0.7, 2.0])[0], rel=1e-14)
    three = build(2, lambda g, a, b: g.atom("exp", g.add((a, b, g.neg(g.emit("logsumexp", (a, b)))))))
    found = float(lower(three).run(NUMPY, [np.array([t]) for t in (0.3, -0.7)])[0][0])
    assert found == pytest.approx(values(three, [0.3, -0.7])[0], rel=1e-14)


# --- the graph and its programs


def test_a_graph_that_starts_from_a_program_knows_its_instructions():
    program = program_of(sympy.sin(x * y) + x * y, [x, y])
    graph = program.graph()
    before = len(graph)
    for index, instruction in enumerate(program.instructions):
        assert graph.emit(instruction.op, instruction.args, instruction.value) == index
    assert len(graph) == before
    assert graph.input_at(0) == 0
    assert graph.input("new") == before
    assert graph.inputs == ["x", "y", "new"]
    assert graph[before] == Instruction("input", (), 2)


def test_order_matters_where_it_must():
    graph = Graph(("a", "b", "c"))
    a, b, c = (graph.input_at(k) for k in range(3))
    for op in ("add", "mul", "max", "min", "and", "or", "eq"):
        assert graph.emit(op, (a, b)) == graph.emit(op, (b, a))
    for op in ("div", "lt", "le"):
        assert graph.emit(op, (a, b)) != graph.emit(op, (b, a))
    assert graph.emit("select", (a, b, c)) != graph.emit("select", (a, c, b))


def test_relations_of_a_number_and_a_variable_stay_open():
    graph = Graph(("a",))
    a, one = graph.input_at(0), graph.const(1)
    for op in ("lt", "le", "eq"):
        assert graph[graph.compare(op, a, one)].args == (a, one)
        assert set(graph[graph.compare(op, one, a)].args) == {one, a}
    assert graph[graph.compare("lt", one, a)].args == (one, a)


def test_folded_numbers():
    graph = Graph(("a",))
    a = graph.input_at(0)
    half, third = graph.const(Fraction(1, 2)), graph.const(Fraction(1, 3))
    assert graph.rational(graph.mul((half, third))) == Fraction(1, 6)
    assert graph[graph.mul((half, a))] == Instruction("mul", (half, a), None)
    minus = graph[graph.mul((graph.const(Fraction(-1, 2)), a))]
    assert (minus.op, graph[minus.args[0]].args) == ("neg", (half, a))
    assert graph.rational(graph.pow(graph.const(1), -3)) == 1
    assert graph.rational(graph.pow(graph.const(-2), 3)) == -8
    assert graph.rational(graph.pow(graph.const(2), -64)) == Fraction(1, 2**64)
    assert graph[graph.pow(graph.const(2), -65)].op == "div"
    assert graph.rational(graph.div(graph.const(3), graph.const(-2))) == Fraction(-3, 2)
    top = graph[graph.div(graph.const(3), a)]
    assert (top.op, graph.rational(top.args[0])) == ("div", 3)
    assert graph.rational(graph.const(sympy.sqrt(2))) is None
    assert graph.rational(a) is None
    assert graph[graph.const(7)].value == Fraction(7)
    assert isinstance(graph[graph.const(7)].value, Fraction)


def test_needed_instructions():
    program = program_of([x + y, sympy.exp(x)], [x, y])
    part = program.restrict([program.outputs[1]])
    assert [i.op for i in part.instructions] == ["input", "atom"]
    assert program.restrict(list(program.outputs), (1, 2)).shape == (1, 2)
    assert program.restrict(list(program.outputs)).shape == (2,)
    assert reachable([], ()) == []
    assert reachable(list(program.instructions), ()) == [False] * len(program.instructions)
    chain = [Instruction("input", (), 0), Instruction("neg", (0,)), Instruction("neg", (1,)), Instruction("neg", (2,))]
    assert reachable(chain, (2,)) == [True, True, True, False]
    assert reachable(chain, (0,)) == [True, False, False, False]
    assert program_of((x, y, x), [x, y]).shape == (3,)
    assert program_of(sympy.Matrix([[x, y, x], [y, x, y]]), [x, y]).shape == (2, 3)
    with pytest.raises(ExpressionError, match=r"MatrixSymbol cannot be computed: A$"):  # it has a shape, no entries
        program_of(sympy.MatrixSymbol("A", 2, 2), [x])


def test_maximum_of_a_single_argument():
    program = program_of(logsumexp(x, y, z), [x, y, z])
    ops = [i.op for i in lower(program).instructions]
    assert ops.count("max") == 2
    single = build(1, lambda g, a: g.emit("logsumexp", (a,)))
    assert float(lower(single).run(NUMPY, [np.array([0.3])])[0][0]) == pytest.approx(0.3)


def test_derivatives_of_a_logarithm_beyond_the_first() -> None:
    """Only of the logarithm itself the derivative is a quotient: that of 1/t is -1/t**2."""
    first = build(1, lambda g, a: g.atom("log", a, 1))
    assert values(first, [2]) == [0.5]
    assert values(gradient(first, [0]), [2]) == [-0.25]
    second = build(1, lambda g, a: g.atom("log", a, 2))
    assert values(gradient(second, [0]), [2]) == [0.25]


def test_the_size_of_a_program_counts_what_computes_something() -> None:
    program = build(2, lambda g, a, b: g.add((g.mul((a, b)), g.const(Fraction(3, 7)))))
    computing = [i for i in program.instructions if i.op in ("add", "mul")]
    assert program.size == len(computing) == 2
    assert build(1, lambda g, a: a).size == 0
