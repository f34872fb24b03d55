"""What the solver is told: the facts of every function, written out and tried with numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
import z3
from audit_pieces import claim_of

from bilevel_verify.audit.scalar.smt import prove
from bilevel_verify.audit.scalar.smt_translation import BOUNDS, Translation, Unsupported
from bilevel_verify.language import parse
from bilevel_verify.language.elementary import INCREASING

pytestmark = pytest.mark.fast

RANGES = "z = (-oo, oo); n = [0, oo); k = integers 0..; j = integers ..; nu = [0, 1]; w = [-1, 1]; s = [1, 2]"


def translated(text: str) -> list[str]:
    """The term of an expression, then the facts that belong to it."""
    claim = claim_of(f"{text} <= 1", RANGES)
    problem = Translation(z3, claim)
    term = problem.term(claim.left)
    return [" ".join(str(part).split()) for part in (term, *problem.facts)]


def power(base: str, letter: str, value: str) -> list[str]:
    """What is true of ``value = base**letter``: at 0 and 1, against 1 and the base, its tangent and its chord."""
    above, below = f"And({base} > 0, {base} >= 1)", f"And({base} > 0, {base} <= 1)"
    unit, tangent = f"And({letter} >= 0, {letter} <= 1)", f"1 + {letter}*({base} - 1)"
    return [
        f"Implies(And({base} == 0, {letter} > 0), {value} == 0)",
        f"Implies({letter} == 0, {value} == 1)",
        f"Implies({letter} == 1, {value} == {base})",
        f"Implies({base} == 1, {value} == 1)",
        f"Implies({base} > 0, {value} > 0)",
        f"Implies(And({above}, {letter} >= 0), {value} >= 1)",
        f"Implies(And({below}, {letter} >= 0), {value} <= 1)",
        f"Implies(And({above}, {letter} <= 0), {value} <= 1)",
        f"Implies(And({below}, {letter} <= 0), {value} >= 1)",
        f"Implies(And({unit}, {above}), {value} <= {base})",
        f"Implies(And({unit}, {below}), {value} >= {base})",
        f"Implies(And({above}, {letter} >= 1), {value} >= {base})",
        f"Implies(And({below}, {letter} >= 1), {value} <= {base})",
        f"Implies(And({unit}, {base} > 0), {value} <= {tangent})",
        f"Implies(And({base} > 0, Or({letter} >= 1, {letter} <= 0)), {value} >= {tangent})",
        f"Implies(And({unit}, {base} > 0), {value}*({base} + {letter}*(1 - {base})) >= {base})",
    ]


def same_letter(one: str, two: str, letter: str, v: str, u: str) -> list[str]:
    """Powers ``v = one**letter``, ``u = two**letter``: monotone in the base."""
    both = f"And({one} > 0, {two} > 0)"
    return [f"Implies(And({both}, {one} <= {two}, {letter} >= 0), {v} <= {u})",
            f"Implies(And({both}, {one} <= {two}, {letter} <= 0), {v} >= {u})",
            f"Implies(And({both}, {two} <= {one}, {letter} >= 0), {u} <= {v})",
            f"Implies(And({both}, {two} <= {one}, {letter} <= 0), {u} >= {v})"]  # fmt: skip


def same_base(base: str, e: str, d: str, v: str, u: str) -> list[str]:
    """Powers ``v = base**e``, ``u = base**d``: monotone in the exponent."""
    both = f"And({base} > 0, {base} > 0)"
    return [
        f"Implies(And({base} >= 1, {e} <= {d}), {v} <= {u})",
        f"Implies(And({both}, {base} <= 1, {e} <= {d}), {v} >= {u})",
        f"Implies(And({base} >= 1, {d} <= {e}), {u} <= {v})",
        f"Implies(And({both}, {base} <= 1, {d} <= {e}), {u} >= {v})",
    ]


def odd(t: str, v: str, *above: str) -> list[str]:
    return [f"Implies({t} >= 0, {fact.format(t=t, v=v)})" for fact in above] + [
        f"Implies({t} <= 0, {fact.format(t=f'-{t}', v=f'-{v}')})" for fact in above
    ]


TANH = ("{v} >= 0", "{v} < 1", "{v} <= {t}", "{v}*(1 + {t}) >= {t}")
SIZE = "If(z >= 0, z, -z)"
INTEGER = [
    *power("z", "j", "aux1"),
    "Implies(And(z > 0), {})",
    *power(SIZE, "j", "aux2"),
    *same_letter(SIZE, "z", "j", "aux2", "aux1"),
]
FACTS = [
    ("3/7", ["3/7", "7 != 0"]),
    ("a*b*z", ["a*b*z"]),
    ("a + b - z", ["a + b + -z"]),
    ("a/b", ["a/b", "b != 0"]),
    ("z**0", ["1"]),
    ("z**3", ["z*z*z"]),
    ("z**(-2)", ["1/(z*z)", "z != 0"]),
    ("z**1.5", ["aux0*aux0*aux0", "aux0 >= 0", "aux0*aux0 == z"]),
    ("z**(-0.5)", ["1/aux0", "aux0 >= 0", "aux0*aux0 == z", "aux0 != 0"]),
    ("sqrt(z)", ["aux0", "aux0 >= 0", "aux0*aux0 == z"]),
    ("sqrt(z) + z**0.5", ["aux0 + aux0", *["aux0 >= 0", "aux0*aux0 == z"] * 2]),
    ("sqrt(z) + sqrt(a)", ["aux0 + aux1", "aux0 >= 0", "aux0*aux0 == z", "aux1 >= 0", "aux1*aux1 == a"]),
    ("abs(z)", [SIZE]),
    ("plus(z)", ["If(z >= 0, z, 0)"]),
    ("max(a, b, z)", ["If(If(a >= b, a, b) >= z, If(a >= b, a, b), z)"]),
    ("min(a, b, z)", ["If(If(a <= b, a, b) <= z, If(a <= b, a, b), z)"]),
    ("sign(z)", ["If(z > 0, 1, If(z < 0, -1, 0))"]),
    ("floor(z)", ["aux0", "aux0 <= z", "aux0 > z - 1"]),
    ("ceil(z)", ["aux0", "aux0 >= z", "aux0 < z + 1"]),
    ("floor(z) + ceil(z)", ["aux0 + aux1", "aux0 <= z", "aux0 > z - 1", "aux1 >= z", "aux1 < z + 1"]),
    ("floor(z) + floor(a)", ["aux0 + aux1", "aux0 <= z", "aux0 > z - 1", "aux1 <= a", "aux1 > a - 1"]),
    ("log(z)", ["aux0", "z > 0", "aux0 <= z - 1", "aux0*z >= z - 1"]),
    ("log(z) + log(z)", ["aux0 + aux0", "z > 0", "aux0 <= z - 1", "aux0*z >= z - 1"]),
    ("exp(z)", ["aux0", "aux0 > 0", "aux0 >= 1 + z", "Implies(z < 1, aux0*(1 - z) <= 1)"]),
    ("log(a) + exp(b)", ["aux0 + aux1", "a > 0", "aux0 <= a - 1", "aux0*a >= a - 1", "aux1 > 0", "aux1 >= 1 + b",
                         "Implies(b < 1, aux1*(1 - b) <= 1)"]),
    ("log(a) + log(b)", ["aux0 + aux1", "a > 0", "aux0 <= a - 1", "aux0*a >= a - 1", "b > 0", "aux1 <= b - 1",
                         "aux1*b >= b - 1", "Implies(b <= a, aux1 <= aux0)", "Implies(b >= a, aux1 >= aux0)",
                         "(aux1 - aux0)*a <= b - a", "(aux0 - aux1)*b <= a - b"]),
    ("exp(a) + exp(b)", ["aux0 + aux1", "aux0 > 0", "aux0 >= 1 + a", "Implies(a < 1, aux0*(1 - a) <= 1)", "aux1 > 0",
                         "aux1 >= 1 + b", "Implies(b < 1, aux1*(1 - b) <= 1)", "Implies(b <= a, aux1 <= aux0)",
                         "Implies(b >= a, aux1 >= aux0)", "aux1 >= aux0*(1 + b - a)", "aux0 >= aux1*(1 + a - b)"]),
    ("tanh(z)", ["aux0", *odd("z", "aux0", *TANH)]),
    ("tanh(z) - tanh(z)", ["aux0 + -aux0", *odd("z", "aux0", *TANH)]),
    ("tanh(a) + tanh(b)", ["aux0 + aux1", *odd("a", "aux0", *TANH), *odd("b", "aux1", *TANH),
                           "Implies(b <= a, aux1 <= aux0)", "Implies(b >= a, aux1 >= aux0)"]),
    ("cosh(a) + cosh(b)", ["aux0 + aux1", "Implies(a*a >= 0, aux0*2 >= 2 + a*a)",
    "Implies(b*b >= 0, aux1*2 >= 2 + b*b)"]),
    ("atan(z)", ["aux0", *odd("z", "aux0", "{v} >= 0", "{v}*10000 < 15708", "{v} <= {t}", "{v}*(1 + {t}*{t}) >= {t}"),
                 "314159265358979/100000000000000 < pi", "15707963267949/5000000000000 > pi", "2*aux0 < pi",
                 "-2*aux0 < pi"]),
    ("erf(z)", ["aux0", *odd("z", "aux0", "{v} >= 0", "{v} <= 1", "{v}*1000 <= 1129*{t}")]),
    ("sinh(z)", ["aux0", *odd("z", "aux0", "{v}*6 >= 6*{t} + {t}*{t}*{t}")]),
    ("asinh(z)", ["aux0", *odd("z", "aux0", "{v} >= 0", "{v} <= {t}")]),
    ("sin(z)", ["aux0", *odd("z", "aux0", "{v} <= 1", "{v} >= -1", "{v} <= {t}", "{v}*6 >= 6*{t} - {t}*{t}*{t}")]),
    ("cos(z)", ["aux0", *[f"Implies(z*z >= 0, {f})" for f in ("aux0 <= 1", "aux0 >= -1", "aux0*2 >= 2 - z*z",
                                                             "aux0*24 <= 24 - 12*z*z + z*z*z*z")]]),
    ("(1/a if a > 1 else log(b))", ["If(And(1 < a), 1/a, aux0)", "Implies(And(And(1 < a)), a != 0)",
                                    *[f"Implies(And(Not(And(1 < a))), {f})" for f in ("b > 0", "aux0 <= b - 1",
                                    "aux0*b >= b - 1")]]),
    ("pi", ["pi", "314159265358979/100000000000000 < pi", "15707963267949/5000000000000 > pi"]),
    # letters in exponents
    ("a**nu", ["1*aux0", *power("a", "nu", "aux0")]),
    ("a**nu + a**nu", ["1*aux0 + 1*aux0", *power("a", "nu", "aux0")]),
    ("a**(2*nu)", ["1*aux0*aux0", *power("a", "nu", "aux0")]),
    ("a**(nu + 1)", ["a*aux0", *power("a", "nu", "aux0")]),
    ("a**(-nu)", ["1*(1/aux0)", *power("a", "nu", "aux0"), "aux0 != 0"]),
    ("a**(nu*0.5)", ["1*aux1", *power("a", "nu", "aux0"), "aux1 >= 0", "aux1*aux1 == aux0"]),
    ("a**(nu + w)", ["1*aux0*aux1", *power("a", "nu", "aux0"), *power("a", "w", "aux1"), *same_base("a", "w", "nu",
    "aux1", "aux0")]),
    ("a**nu + b**nu", ["1*aux0 + 1*aux1", *power("a", "nu", "aux0"), *power("b", "nu", "aux1"),
                       *same_letter("b", "a", "nu", "aux1", "aux0")]),
    ("a**nu*b**w", ["1*aux0*1*aux1", *power("a", "nu", "aux0"), *power("b", "w", "aux1")]),
    ("n**nu", ["1*aux0", *power("n", "nu", "aux0")]),
    ("n**(nu + 1)", ["n*aux0", *power("n", "nu", "aux0")]),
    # bases that may be 0 or negative
    ("n**w", ["aux0", "Not(And(n == 0, w < 0))", "Implies(And(n == 0, w > 0), aux0 == 0)", "Implies(w == 0, aux0 == 1)",
              *power("n", "w", "aux1"), "Implies(And(n > 0), aux0 == 1*aux1)"]),
    ("z**j", ["aux0", "Not(And(z == 0, j < 0))", "Implies(And(z == 0, j > 0), aux0 == 0)", "Implies(j == 0, aux0 == 1)",
              *[f.format("aux0 == 1*aux1") for f in INTEGER],
              "Implies(And(z < 0), Or(aux0 == 1*aux2, aux0 == -(1*aux2)))"]),
    ("z**(2*j)", ["aux0", "Not(And(z == 0, 2*j < 0))", "Implies(And(z == 0, 2*j > 0), aux0 == 0)",
    "Implies(2*j == 0, aux0 == 1)",
                  *[f.format("aux0 == 1*aux1*aux1") for f in INTEGER], "Implies(And(z < 0), Or(aux0 == 1*aux2*aux2))"]),
    ("z**(2*j + 1)", ["aux0", "Not(And(z == 0, 2*j + 1 < 0))", "Implies(And(z == 0, 2*j + 1 > 0), aux0 == 0)",
                      "Implies(2*j + 1 == 0, aux0 == 1)", *[f.format("aux0 == z*aux1*aux1") for f in INTEGER],
                      f"Implies(And(z < 0), Or(aux0 == -({SIZE}*aux2*aux2)))"]),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "facts"), FACTS)
def test_what_is_written_for_the_solver(text: str, facts: list[str]) -> None:
    assert translated(text) == facts


def test_powers_of_zero_with_equal_exponents_are_ordered() -> None:
    def order(text: str) -> list[str]:
        return [f for f in translated(text) if re.match(r"Implies\(And\(\w >= 0, \w <= \w", f)]

    assert order("n**w + z**w") == ["Implies(And(z >= 0, z <= n, w >= 0), aux2 <= aux0)",
                                    "Implies(And(n >= 0, n <= z, w >= 0), aux0 <= aux2)"]  # fmt: skip
    assert order("a**w + z**w") == ["Implies(And(z >= 0, z <= a, w >= 0), aux1 <= 1*aux0)",
                                    "Implies(And(a >= 0, a <= z, w >= 0), 1*aux0 <= aux1)"]  # fmt: skip
    assert len(order("z**w + a**w")) == 2
    assert order("a**w + b**w") == []
    assert order("n**w + z**nu") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "split"),
    [("n**(nu + 1)", True), ("n**(nu + s)", True), ("n**(nu - 1)", False), ("n**(nu - s)", False),
    ("n**(1 - nu)", False),
     ("n**w", False), ("n**(nu + w)", False), ("z**nu", False), ("a**w", True), ("a**(w - 1)", True),
     ("n**(0.5 + nu)", True),
     ("n**(nu - 0.5)", False)],
)  # fmt: skip
def test_powers_are_split_where_that_is_right(text: str, split: bool) -> None:
    assert any(fact.startswith("Not(And(") for fact in translated(text)) is not split


@pytest.mark.parametrize(
    "text",
    ["oo", "E", "z**41", "z**(-41)", "z**(1/25)", "a**(nu/25)", "a**(nu*nu)", "sum(z, (i, 1, 3))", "gamma(z)", "z % 2",
     "a**(2**nu)", "(z if z else 1)", "max(z, (i, 1, 3))", "a**exp(nu)", "binomial(a, b)"],
)  # fmt: skip
def test_what_is_outside_the_theory(text: str) -> None:
    with pytest.raises(Unsupported):
        translated(text)
    found = prove(claim_of(f"{text} <= 1 + {text}", RANGES), 100)
    assert (found.outcome, found.engine) == ("undecided", "smt")


def test_as_much_as_is_allowed() -> None:
    problem = Translation(z3, claim_of("z <= 1", RANGES))
    assert z3.simplify(z3.substitute(problem.term(parse("z**40")), (z3.Real("z"), z3.RealVal(2)))) == 2**40
    for text, size in (
        ("a**(1/24)", "1 letters, 1 auxiliary variables"),
        ("a**(nu/24)", "2 letters, 2 auxiliary variables"),
    ):
        problem = Translation(z3, claim_of(f"{text} <= 1", RANGES))
        problem.term(parse(text))
        assert problem.size() == size


# --- the facts with numbers


def holds(fact: Any, values: dict[str, Fraction]) -> bool:
    pairs = [(z3.Real(name), z3.RealVal(str(value))) for name, value in values.items()]
    return z3.is_true(z3.simplify(z3.substitute(fact, *pairs)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a**nu", "a**nu + b**nu", "a**(nu + w)", "n**w", "z**j", "z**(2*j)", "z**(2*j + 1)", "a**(2*nu)"]
)
def test_facts_about_powers_are_true(text: str) -> None:
    """At bases and exponents whose powers are rational."""
    claim = claim_of(f"{text} <= 1", RANGES)
    problem = Translation(z3, claim)
    problem.term(claim.left)
    roots = [Fraction(1, 2), Fraction(3), Fraction(0), Fraction(-2)]
    others = roots[:2] if "b" in text else roots[:1]
    heights = [Fraction(-1, 2), Fraction(1)] if "nu + w" in text else [Fraction(1)]
    met = 0
    for choice in product(roots, others, [Fraction(k, 2) for k in (-4, -1, 0, 1, 3)], heights):
        values, whole = (
            dict(zip("abnz", (choice[0] ** 2, choice[1] ** 2, choice[0] ** 2, choice[0]))),
            choice[2].denominator == 1,
        )
        values |= {"nu": choice[2], "w": choice[3] if "nu" in text else choice[2], "j": choice[2]}
        if ((values["a"] == 0 or values["b"] == 0) and min(choice[2:]) < 0) or (
            "j" in text and (not whole or choice[0] == 0)
        ):
            continue
        point = {**values, **_auxiliaries(problem, values)}
        for fact in problem.facts:
            assert holds(fact, point), (fact, point)
            met += 1
    assert met > 50


def _auxiliaries(problem: Translation, values: dict[str, Fraction]) -> dict[str, Fraction]:
    found = {}
    for key, variable in problem.fresh.items():
        exponent: Any = parse(key[2]) if isinstance(key[2], str) else key[2]
        base, height = _number(key[1], values), _number(exponent, values)
        found[str(variable)] = _power(base, height)
    return found


def _number(node: Any, values: dict[str, Fraction]) -> Fraction:
    from bilevel_verify.numbers.exact import Formula

    value = Formula(values).value(node)
    assert isinstance(value, Fraction)
    return value


def _power(base: Fraction, height: Fraction) -> Fraction:
    if height.denominator == 1:
        return base ** int(height)
    if base < 0:  # only integer powers are used there
        return Fraction(0)
    root = Fraction(int(mpmath.sqrt(base.numerator)), int(mpmath.sqrt(base.denominator)))
    assert root**2 == base
    return root**height.numerator


FUNCTIONS = {name: getattr(mpmath, name) for name in BOUNDS}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_true_of_their_functions(name: str) -> None:
    with mpmath.workdps(40):
        for k in range(-400, 401):
            t = mpmath.mpf(k) / 40
            value = FUNCTIONS[name](t)
            assert all(fact or not guard for guard, fact in BOUNDS[name](t, value)), t
            if name in INCREASING and abs(t) < 5:
                assert FUNCTIONS[name](t + mpmath.mpf(1) / 40) > value
    assert {"tanh", "atan", "erf", "sinh", "asinh"} == INCREASING & BOUNDS.keys()


def test_a_power_that_is_met_again_is_the_same_unknown() -> None:
    problem = Translation(z3, claim_of("a <= 1", RANGES))
    first, other = problem.letter_power(parse("a"), "nu"), problem.letter_power(parse("a"), "w")
    assert problem.letter_power(parse("a"), "nu").eq(first)
    assert not first.eq(other)
    assert not first.eq(problem.letter("nu"))
