"""A program that is written as a function of Python gives what the interpreter gives, ball for ball."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.floats import PythonFloat
from bilevel_verify.numbers.rounding import ball, precision
from bilevel_verify.symbolic import program as room
from bilevel_verify.symbolic.program import program_of

pytestmark = pytest.mark.fast
X, Y = sympy.symbols("x y", real=True)
EXPRESSIONS = [
    X * Y / 3 + sympy.sin(X) ** 2 - sympy.Rational(7, 10) * Y,
    sympy.exp(-X) / (1 + Y**2) + abs(X - Y),
    sympy.sqrt(2) * X + sympy.pi,
    sympy.Piecewise((X, X > Y), (-Y, True)),
]


class Interpreted(ArbBalls):
    """The same balls without operators of their own."""

    operators = False


def same(a, b):
    return a.mid() == b.mid() and a.rad() == b.rad()


@pytest.mark.parametrize("bits", [64, 256])
def test_the_same_balls(bits):
    program = program_of(EXPRESSIONS, (X, Y))
    with precision(bits):
        for number in range(3 * room.FIRST_RUNS):
            point = [ball(Fraction(number, 7)), ball(Fraction(-3, 11))]
            for one, other in zip(program.run(ArbBalls(), point), program.run(Interpreted(), point), strict=True):
                assert same(one, other)


def test_constants_follow_the_precision():
    """A third known to 64 bits is no third in 512: what was kept for one precision is not used at another."""
    program = program_of([X / 3], (X,))
    for bits in (64, 512, 64):
        with precision(bits):
            for _ in range(2 * room.FIRST_RUNS):
                (found,) = program.run(ArbBalls(), [ball(1)])
            assert found.overlaps(ball(Fraction(1, 3)))
            assert float(found.rad()) < 2.0 ** (4 - bits)
            assert float(found.rad()) > 2.0 ** (-8 - bits)


def test_only_arithmetics_that_say_so(monkeypatch):
    """Floats divide by zero in their own way: they are interpreted however often the program runs."""
    program = program_of([1 / X], (X,))
    monkeypatch.setattr(room.Program, "_written", property(lambda self: pytest.fail("written out")))
    assert {program.run(PythonFloat(), [0.0])[0] for _ in range(3 * room.FIRST_RUNS)} == {float("inf")}


def test_it_is_used_after_some_runs(monkeypatch):
    program = program_of([X * Y + 1], (X, Y))
    calls = []
    written = program._written
    object.__setattr__(program, "__dict__", {**program.__dict__, "_written": lambda *a: calls.append(1) or written(*a)})
    for _ in range(room.FIRST_RUNS + 5):
        program.run(ArbBalls(), [ball(2), ball(3)])
    assert len(calls) == 5


def test_a_wrong_number_of_inputs_is_refused():
    program = program_of([X * Y], (X, Y))
    for _ in range(2 * room.FIRST_RUNS):
        with pytest.raises(ValueError, match="2 inputs"):
            program.run(ArbBalls(), [ball(1)])
