"""What an answer is made of: the simplest counterexample, trees from SymPy, the limits of a question."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
import sympy
from audit_pieces import claim_of

from bilevel_verify.audit.limits import Ended
from bilevel_verify.audit.scalar import deciding, shrink
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.audit.scalar.shrink import _few_digits, _simpler, weight
from bilevel_verify.language import to_text
from bilevel_verify.numbers.exact import Formula

pytestmark = pytest.mark.fast
F = Fraction
A, B = sympy.symbols("a b", positive=True)


# --- the simplest counterexample


def test_numbers_by_how_hard_they_are_to_read() -> None:
    order = [F(0), F(1), F(-1), F(2), F(10), F(100), F(12), F(1, 2), F(123), F(1, 3), F(12, 7), F(123, 77)]
    assert [v for v in order if v.denominator == 1] == sorted((v for v in order if v.denominator == 1), key=weight)
    assert weight(F(-2)) > weight(F(2))
    assert weight(F(12)) > weight(F(1000))  # two digits and one
    assert weight(F(1, 3)) > weight(F(3))
    assert weight(F(1, 100)) == weight(F(1, 100)) < weight(F(1, 12))
    assert weight(F(5)) == (1, 6, False)
    assert weight(F(-7, 10)) == (2, 17, True)
    assert weight(F(120)) == (2, 121, False)


@pytest.mark.parametrize("value", [F(123456, 1000), F(-987, 1234), F(22, 7), F(1, 12345), F(5), F(0), F(1, 3)])
def test_simpler_numbers_come_simplest_first_and_are_simpler(value: Fraction) -> None:
    found = list(_simpler(value))
    assert found == sorted(found, key=weight)
    assert all(weight(v) < weight(value) for v in found)
    assert len(set(found)) == len(found)
    if weight(value) > weight(F(3)):
        assert found[0] == 0
        assert min(abs(v - value) / abs(value) for v in found) < F(3, 5)  # one of them is near
    assert (value != 0) or found == []


@pytest.mark.parametrize("value", [F(123456, 1000), F(-98765), F(1, 3), F(7), F(2, 30001), F(99999, 7)])
@pytest.mark.parametrize("digits", [1, 2, 3])
def test_roundings_to_few_digits(value: Fraction, digits: int) -> None:
    found = _few_digits(value, digits)
    assert abs(found - value) <= abs(value) * F(1, 2 * 10 ** (digits - 1))
    whole = found
    while whole.denominator > 1:
        whole *= 10
    assert len(str(abs(whole.numerator)).rstrip("0")) <= digits + 1
    assert _few_digits(F(0), digits) == 0


def test_a_point_is_made_simple_letter_by_letter() -> None:
    point = {"a": F(314159, 100000), "b": F(-271828, 100000)}
    asked: list[dict[str, Fraction]] = []

    def refutes(at: Any) -> bool:
        asked.append(dict(at))
        return bool(at["a"] > 3 and at["b"] < -2)

    found = shrink.shrink(point, refutes)
    assert found == {"a": 4, "b": -3}
    assert point == {"a": F(314159, 100000), "b": F(-271828, 100000)}  # unchanged
    assert all(at.keys() == {"a", "b"} for at in asked)


def test_what_helps_one_letter_may_help_another_in_the_next_round() -> None:
    found = shrink.shrink({"a": F(7), "b": F(9)}, lambda at: at["a"] >= at["b"] - 2 and at["b"] >= 1)
    assert found == {"a": 0, "b": 1}
    first = shrink.shrink({"a": F(70), "b": F(71)}, lambda at: at["a"] == at["b"] - 1 or at["a"] == at["b"])
    assert first["a"] in (first["b"], first["b"] - 1)


@pytest.mark.parametrize("steps", range(5))
def test_of_steps_that_wait_for_each_other_three_rounds_are_made(steps: int) -> None:
    """In a round every letter moves once: from (a, a) to the next (b, b) where only the stairs between refute."""
    stairs = [1000, 100, 10, 4, 3][: steps + 1]
    allowed = {(a, a) for a in stairs} | {(b, a) for a, b in pairwise(stairs)}
    found = shrink.shrink({"a": F(1000), "b": F(1000)}, lambda at: (at["a"], at["b"]) in allowed)
    assert found == dict.fromkeys("ab", stairs[min(steps, 3)])


def test_roundings_have_denominators_up_to_a_hundred() -> None:
    near = F(2, 101) + F(1, 10**9)
    found = set(_simpler(near))
    assert near.limit_denominator(100) in found
    assert F(2, 101) not in found


def test_a_search_for_simpler_points_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    point = {f"a{n}": F(12345, 678) + n for n in range(40)}

    def never(at: Any) -> bool:
        calls.append(1)
        return False

    assert shrink.shrink(point, never) == point
    assert len(calls) == shrink.CALLS == 400
    calls.clear()
    one = {"a": F(12345, 678)}
    assert shrink.shrink(one, never) == one
    assert len(calls) == len(list(_simpler(one["a"])))  # nothing has changed: no second round
    monkeypatch.setattr(shrink, "ROUNDS", 0)
    assert shrink.shrink(one, lambda at: True) == one


# --- SymPy back to trees


@pytest.mark.parametrize(
    "expression",
    [
        sympy.Integer(3), sympy.Integer(-3), sympy.Rational(-2, 3), A, sympy.pi, sympy.E, A + B, A - B, 2 * A * B,
        A / B,
        -A / B, A**2, A**-2, A ** sympy.Rational(-1, 2), sympy.sqrt(A + B), (A + 1) ** (B + 1), A**B, A**-B,
        sympy.Max(A, B, 1), sympy.Min(A, 2 * B), sympy.log(A + B), sympy.exp(-A),
        sympy.Abs(sympy.Symbol("c", real=True)),
        3 * A / (2 * B) - 1, sympy.exp(A) / sympy.log(B + 2), (A + B) / (A * B) ** 2,
    ],
)  # fmt: skip
def test_trees_have_the_value_of_the_expression(expression: Any) -> None:
    letters = {"a": F(7, 5), "b": F(3, 4), "c": F(-9, 8)}
    from bilevel_verify.numbers import exact
    from bilevel_verify.numbers.rounding import precision

    with precision(exact.BITS):
        found = Formula(letters).value(to_tree(sympy.sympify(expression)))
        wanted = sympy.N(
            expression.subs({s: sympy.Rational(str(letters[s.name])) for s in expression.free_symbols}), 40
        )
        low, high = exact.ends(found)
    assert low - 1e-15 * abs(low) <= float(wanted) <= high + 1e-15 * abs(high)
    assert abs(float(wanted) - (low + high) / 2) <= 1e-12 * max(1.0, abs(float(wanted)))


def test_quotients_and_signs_are_written_as_people_do() -> None:
    assert to_text(to_tree(A / B)) == "a/b"
    assert to_text(to_tree(1 / A)) == "1/a"
    assert to_text(to_tree(sympy.Integer(-2))) == "-2"
    with pytest.raises(ValueError, match="no tree for tan"):
        to_tree(sympy.tan(A))


# --- the question


def test_a_question_is_asked_under_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    answer: Any = Decision("proved", "x", "y")

    def bounded(function: str, *arguments: Any, **options: Any) -> Any:
        asked.append((function, arguments, options))
        return answer

    monkeypatch.setattr(deciding, "bounded", bounded)
    claim = claim_of("a <= b")
    assert deciding.decide(claim) == answer
    where = "bilevel_verify.audit.scalar.prove:decide_here"
    assert asked[-1] == (where, (claim,), {"seed": 0, "effort": 20.0, "seconds": 20 * deciding.PATIENCE})
    deciding.decide(claim, seed=3, effort=2.0)
    assert asked[-1][2] == {"seed": 3, "effort": 2.0, "seconds": 2 * deciding.PATIENCE}
    deciding.decide(claim, effort=2.0, seconds=0.5)
    assert asked[-1][2]["seconds"] == 0.5
    answer = Ended("the processor time was over")
    assert deciding.decide(claim) == Decision("undecided", "budget", "the processor time was over")
