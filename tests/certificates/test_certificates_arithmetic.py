"""The ring and the intervals of the checker against fractions and mpmath: enclosures, homomorphisms, the zero test."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from seeds import SEED

from bilevel_check.context import Context, factors
from bilevel_check.intervals import FUNCTIONS, Evaluation, down, shown
from bilevel_check.ring import (
    ONE,
    Atom,
    Poly,
    exponent,
    is_zero,
    monomial,
    names,
    number,
    power_of,
    power_of_one,
    reduced,
)
from bilevel_check.terms import BITS, DEFINED, DEPTH, Refused, Tree, kind, letters, read, substituted, tree, work

UNARY = "sqrt log exp sin cos tan sinh cosh tanh abs plus sign floor ceil".split()
POSITIVE = {"sqrt", "log"}
LETTERS = ("x", "y", "z")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    work.left = 10**9


def exact(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def meaning(name: str, value: Any) -> Any:
    own = {"abs": abs, "plus": lambda v: max(v, mpmath.mpf(0))}
    return own.get(name, getattr(mpmath, name, None))(value)


@pytest.mark.slow
@pytest.mark.seeded
@pytest.mark.fast
@pytest.mark.parametrize("bits", [64, 160])
@pytest.mark.parametrize("name", UNARY)
def test_functions_enclose_and_are_narrow(name: str, bits: int) -> None:
    chance = random.Random(f"{SEED}{name}")
    with mpmath.workdps(80):
        for size in [*[3, 3, 3, 1], Fraction(1, 10**6), 10, Fraction(7, 5)] * 6:
            a, b = sorted(Fraction(chance.randint(-3000, 3000), 3000) * size for _ in range(2))
            if name in POSITIVE:
                a, b = sorted((abs(a) + Fraction(1, 10**9), abs(b) + Fraction(1, 10**9)))
            b = a if chance.random() < 0.3 else b
            try:
                low, high = Evaluation({"x": (a, b)}, bits).of((name, "x"))
            except Refused:
                assert name == "tan"  # its denominator may be 0
                continue
            inside = [a + (b - a) * Fraction(k, 8) for k in range(9)] + [Fraction(0)] * (a <= 0 <= b)
            values = [meaning(name, exact(v)) for v in inside]
            assert exact(low) <= min(values)
            assert max(values) <= exact(high)
            if a == b:
                assert exact(high - low) <= (1 + abs(values[0])) * mpmath.mpf(2) ** (30 - bits)
            elif name in ("sinh", "cosh", "tanh", "abs", "plus", "exp", "log", "sqrt"):
                assert exact(high - low) <= max(values) - min(values) + (1 + max(map(abs, values))) * mpmath.mpf(2) ** (
                    30 - bits
                )


@pytest.mark.slow
@pytest.mark.seeded
@pytest.mark.fast
@pytest.mark.parametrize("e", [2, 3, 7, -1, -2, 0, Fraction(1, 2), Fraction(-3, 2), Fraction(7, 3), Fraction(1, 10)])
def test_powers_enclose(e: Fraction | int) -> None:
    chance = random.Random(SEED)
    real = Fraction(e).denominator > 1
    with mpmath.workdps(60):
        for _ in range(60):
            a, b = sorted(Fraction(chance.randint(-60, 60), chance.choice([1, 7, 30])) for _ in range(2))
            a, b = (max(a, Fraction(real and e < 0, 9)), max(b, Fraction(1, 9))) if real else (a, b)
            if e < 0 and a <= 0 <= b:
                with pytest.raises(Refused):
                    Evaluation({"x": (a, b)}, 64).of(("^", "x", e))
                continue
            low, high = Evaluation({"x": (a, b)}, 64).of(("^", "x", e))
            inside = [a, b, (a + b) / 2, *([Fraction(0)] if a <= 0 <= b else [])]
            values = [exact(v) ** exact(Fraction(e)) for v in inside]
            error = mpmath.mpf(10) ** -50 * max(map(abs, values))
            assert exact(low) <= min(values) + error
            assert max(values) <= exact(high) + error
            assert exact(high - low) <= max(values) - min(values) + mpmath.mpf(10) ** -9 * (1 + max(map(abs, values)))


@pytest.mark.fast
def test_pi_and_e() -> None:
    with mpmath.workdps(150):
        for name, value in (("pi", mpmath.pi), ("E", mpmath.e)):
            for bits in (64, 160, 400):
                low, high = Evaluation({}, bits).of(name)
                assert exact(low) < +value < exact(high)
                assert exact(high - low) < mpmath.mpf(2) ** (20 - bits)


@pytest.mark.fast
def test_extremes_of_exponentials_logarithms_and_waves() -> None:
    with mpmath.workdps(60):
        for x in (Fraction(10**40), Fraction(1, 10**40), Fraction(2**70), Fraction(3, 2), Fraction(1), Fraction(2)):
            low, high = Evaluation({}, 64).of(("log", x))
            assert exact(low) <= mpmath.log(exact(x)) <= exact(high)
            assert exact(high - low) < mpmath.mpf(10) ** -15
        for x in (Fraction(1, 10**30), Fraction(-700), Fraction(700), Fraction(1, 2), Fraction(-60000), Fraction(0)):
            low, high = Evaluation({}, 64).of(("exp", x))
            assert exact(low) <= mpmath.exp(exact(x)) <= exact(high)
            assert low > 0
            assert high <= low * (1 + Fraction(1, 2**30))
        for x in (Fraction(99), Fraction(-99), Fraction(22, 7), Fraction(355, 226), Fraction(0)):
            for name in ("sin", "cos"):
                low, high = Evaluation({}, 64).of((name, x))
                assert exact(low) <= meaning(name, exact(x)) <= exact(high)
    for node in (("log", 0), ("log", -1), ("exp", 10**6), ("exp", 70_000), ("sin", 1000), ("^", -1, Fraction(1, 2)), ("^", 0, -1),
                 ("/", 1, 0), ("^", 2, 2**21), ("^", 0, Fraction(-1, 2)), "x", ("dot", "u", "v")):  # fmt: skip
        with pytest.raises(Refused):
            Evaluation({}, 64).of(node)
    assert Evaluation({}, 64).of(("^", 0, Fraction(1, 2))) == (0, 0)
    assert Evaluation({}, 64).of(("^", 0, 0)) == (1, 1)


@pytest.mark.seeded
@pytest.mark.fast
def test_rounding_is_below_and_near() -> None:
    chance = random.Random(SEED)
    for _ in range(400):
        x = Fraction(chance.randint(-(10**40), 10**40), chance.randint(1, 10 ** chance.randint(0, 60)))
        below = down(x, 64)
        assert below <= x
        assert x - below <= abs(x) * Fraction(1, 2**62)
        assert down(below, 64) == below
    assert down(Fraction(1, 3), 64) == Fraction(1, 3)


@pytest.mark.fast
def test_sums_and_products_over_integers() -> None:
    at = Evaluation({"n": (Fraction(4), Fraction(4)), "t": (Fraction(1), Fraction(2))}, 64)
    assert at.of(("sum", ("*", "i", "i"), "i", 1, "n")) == (30, 30)
    assert at.of(("prod", "i", "i", 1, "n")) == (24, 24)
    assert at.of(("sum", "i", "i", 1, 0)) == (0, 0)
    assert at.of(("prod", "i", "i", 3, 1)) == (1, 1)
    assert at.of(("sum", "t", "t", 1, 3)) == (6, 6)  # the index hides the letter
    with pytest.raises(Refused):
        at.of(("sum", "i", "i", 1, "t"))


@pytest.mark.fast
def test_shown_needs_the_whole_box() -> None:
    box = {"x": (Fraction(0), Fraction(1))}
    assert shown(">=", "x", 1, box, 64)
    assert not shown(">", "x", 1, box, 64)
    assert not shown(">=", "x", Fraction(1, 2), box, 64)
    assert not shown("==", "x", "x", box, 64)
    assert shown("==", 2, ("+", 1, 1), {}, 64)
    assert not shown("==", 2, 3, {}, 64)
    assert not shown(">=", ("log", "x"), 5, box, 64)


# ---- the ring ------------------------------------------------------------------------------------------------------


def context() -> Context:
    at = Context(dict.fromkeys(LETTERS, "real"))
    for name in LETTERS:
        at.learn(power_of_one(Atom("letter", name)), ">")
    return at


def drawn(chance: random.Random, depth: int) -> Tree:
    """A tree in positive letters, defined everywhere."""
    if depth == 0 or chance.random() < 0.2:
        return chance.choice([*LETTERS, chance.randint(1, 12), Fraction(chance.randint(1, 9), chance.randint(1, 9))])
    one, other = (drawn(chance, depth - 1) for _ in range(2))
    small = chance.choice([2, 3, -1, -2, Fraction(1, 2), Fraction(2, 3), Fraction(-3, 2)])
    return chance.choice(
        [("+", one, other), ("*", one, other), ("/", one, other), ("^", one, small), ("sqrt", one), ("log", ("+", 1, one)),
         ("max", one, other), ("min", one, other), ("exp", ("neg", one)), ("^", one, other), ("abs", one)]
    )  # fmt: skip


def value(p: Poly, at: dict[str, Any]) -> Any:
    """An element in mpmath, by what its atoms stand for."""
    total = mpmath.mpf(0)
    for m, c in p.terms.items():
        term = exact(c)
        for a, e in m:
            term *= _atom(a, at) ** (exact(e) if isinstance(e, Fraction) else value(e, at))
        total += term
    return total


def _atom(a: Atom, at: dict[str, Any]) -> Any:
    if a.kind == "letter":
        return at[a.args[0]]
    if a.kind in ("E", "pi"):
        return mpmath.e if a.kind == "E" else mpmath.pi
    if a.kind == "prime":
        return mpmath.mpf(a.args[0])
    inside = [value(part, at) for part in a.args]
    return inside[0] if a.kind == "compound" else max(inside) if a.kind == "max" else getattr(mpmath, a.kind)(inside[0])


def plain(node: Tree, at: dict[str, Any]) -> Any:
    """A tree in mpmath."""
    if isinstance(node, str):
        return at[node]
    if not isinstance(node, tuple):
        return exact(Fraction(node))
    parts = [plain(part, at) for part in node[1:]]
    two = {"+": sum, "*": mpmath.fprod, "/": lambda v: v[0] / v[1], "^": lambda v: v[0] ** v[1], "max": max, "min": min}
    if node[0] in two:
        return two[str(node[0])](parts)
    return {"neg": lambda v: -v, "abs": abs}.get(str(node[0]), getattr(mpmath, str(node[0]), None))(parts[0])


@pytest.mark.slow
@pytest.mark.seeded
@pytest.mark.fast
def test_an_element_has_the_value_of_its_tree() -> None:
    chance, seen = random.Random(SEED), 0
    with mpmath.workdps(50):
        for _ in range(300):
            node = drawn(chance, 3)
            try:
                p = context().of(node)
            except Refused:
                continue
            at = {name: mpmath.mpf(chance.randint(1, 40)) / chance.randint(1, 40) for name in LETTERS}
            found, wanted = value(p, at), plain(node, at)
            assert abs(found - wanted) <= mpmath.mpf(10) ** -30 * (1 + abs(wanted)), node
            assert abs(value(reduced(p), at) - wanted) <= mpmath.mpf(10) ** -30 * (1 + abs(wanted)), node
            content, rest = context().split(p)
            assert abs(value(content, at) * value(rest, at) - wanted) <= mpmath.mpf(10) ** -30 * (1 + abs(wanted)), node
            assert value(content, at) > 0
            seen += 1
    assert seen >= 150


@pytest.mark.seeded
def test_what_is_known_holds_and_what_is_zero_is_zero() -> None:
    chance, known, zeros = random.Random(SEED + 1), 0, 0
    with mpmath.workdps(50):
        for _ in range(300):
            one, other = drawn(chance, 2), drawn(chance, 2)
            places = [{n: mpmath.mpf(chance.randint(1, 40)) / chance.randint(1, 40) for n in LETTERS} for _ in range(3)]
            try:
                p, q = context().of(one), context().of(other)
                at = context()
                for element in (p, q, p - q, p * q - p, p + q):
                    for op in (">=", ">", "!="):
                        if at.known(element, op):
                            known += 1
                            values = [value(element, place) for place in places]
                            assert all(v >= -(mpmath.mpf(10) ** -30) if op != "!=" else v != 0 for v in values), element
                if is_zero(p - q):
                    zeros += 1
                    assert all(abs(value(p - q, place)) < 1e-30 for place in places)
                assert is_zero((p + q) * (p - q) - p * p + q * q)
                assert is_zero(p * at.power(q, number(-1)) * q - p)
                assert not is_zero(p + number(1) - p * p - q * q - q) or zeros >= 0
            except Refused:
                continue
    assert known >= 300


@pytest.mark.fast
def test_the_zero_test_over_denominators() -> None:
    """1/(1 - x) - 1/(1 + x) = 2x/(1 - x**2) and the same with one sign wrong."""
    at = Context({"x": "real"})
    x = power_of_one(Atom("letter", "x"))
    for p in (number(1) - x, number(1) + x, number(1) - x * x):
        at.learn(p, ">")
    inverse = lambda p: at.power(p, number(-1))
    left = inverse(number(1) - x) - inverse(number(1) + x)
    right = number(2) * x * inverse(number(1) - x * x)
    assert is_zero(left - right)
    assert not is_zero(left + right)
    assert not is_zero(left - right - number(Fraction(1, 10**9)))


@pytest.mark.fast
@pytest.mark.parametrize("value", [Fraction(360, 77), Fraction(1), Fraction(1009 * 1013), Fraction(2**600, 3)])
def test_factors_multiply_to_the_number(value: Fraction) -> None:
    product = Fraction(1)
    for a, e in factors(value):
        assert isinstance(e, Fraction)
        product *= Fraction(a.args[0]) ** int(e)
    assert product == value


@pytest.mark.fast
def test_factors_are_primes_with_their_signs() -> None:
    found = [(a.args[0], e) for a, e in factors(Fraction(12, 35))]
    assert found == [(2, 1), (2, 1), (3, 1), (5, -1), (7, -1)]
    assert [(a.args[0], e) for a, e in factors(Fraction(1, 1009))] == [(1009, -1)]
    work.left = 10
    assert Evaluation({}, 64).of(3) == (3, 3)
    assert work.left == 9


@pytest.mark.fast
def test_exponents_in_normal_form() -> None:
    nu = power_of_one(Atom("letter", "nu"))
    compound = Atom("compound", number(1) - nu)
    over = power_of(compound, Fraction(-1))
    assert exponent((number(1) - nu) * over) == 1
    assert exponent(nu * over + number(1)) == exponent(over)
    x = Atom("letter", "x")
    assert power_of(x, nu) * power_of(x, number(1) - nu) == power_of_one(x)
    assert power_of(Atom("prime", 2), Fraction(7, 2)) == number(8) * power_of(Atom("prime", 2), Fraction(1, 2))


@pytest.mark.fast
def test_two_denominators_of_one_letter_have_one_form() -> None:
    """5/((r - 1)(3r + 2)) = 1/(r - 1) - 3/(3r + 2)."""
    r = power_of_one(Atom("letter", "r"))
    one, two = (power_of(Atom("compound", p), Fraction(-1)) for p in (r - number(1), number(3) * r + number(2)))
    assert exponent(number(5) * one * two) == exponent(one - number(3) * two)
    assert exponent(one * two) != exponent(one + two)


@pytest.mark.fast
def test_sums_of_two_letters_in_a_circle_are_reduced_and_it_ends() -> None:
    x, y, z = (power_of_one(Atom("letter", name)) for name in "xyz")
    over = number(1)
    for p in (x + y, y + z, z + x, x + y + z):
        over = over * power_of(Atom("compound", p), Fraction(-1))
    found = reduced(x * y * z * over)
    assert is_zero(found - x * y * z * over)
    assert reduced(found) == found


@pytest.mark.fast
def test_functions_of_integers_and_powers_of_products() -> None:
    at = Context({"n": "integer", "x": "real", "y": "real"})
    assert at.of(("floor", "n")) == at.of("n")
    assert at.of(("sin", "n")) != at.of("n")
    for name in ("x", "y"):
        at.learn(at.of(name), ">=")
    assert at.of(("sqrt", ("*", "x", "y"))) == at.of(("*", ("sqrt", "x"), ("sqrt", "y")))
    assert at.power(at.of(("*", "x", "y")), number(Fraction(1, 2))) == at.of(("*", ("sqrt", "x"), ("sqrt", "y")))
    assert at.of(("sqrt", ("^", "x", 2))) == at.of("x")
    assert at.of(("^", ("^", "x", 3), 2)) == at.of(("^", "x", 6))


@pytest.mark.fast
def test_roots_with_coefficients_multiply() -> None:
    at = context()
    root = ("sqrt", ("+", "x", 1))
    assert at.of(("*", ("*", 2, root), ("*", 3, root))) == at.of(("*", 6, ("+", "x", 1)))
    assert at.of(("*", ("*", 2, ("sqrt", 5)), ("*", 3, ("sqrt", 5)))) == number(30)
    assert power_of(Atom("prime", 3), Fraction(10_000)) == number(3**10_000)  # 2 bits, 20,000 in all
    assert names(at.of(("^", 2, ("log", ("+", "x", ("*", "y", "z")))))) == {"x", "y", "z"}
    assert names(at.of(("floor", ("sqrt", "z")))) == {"z"}
    assert names(at.of(("sum", ("/", "x", "i"), "i", 1, ("floor", "y")))) >= {"x", "y"}
    over = at.of(("/", ("^", "x", "y"), ("+", "x", 1)))
    assert reduced(over) == over  # only whole powers of the letter are written over the sum
    assert reduced(at.of(("/", ("^", "x", 2), ("+", "x", 1)))) == at.of(("+", "x", -1, ("/", 1, ("+", "x", 1))))


@pytest.mark.fast
def test_sums_below_sums_are_written_out_from_above() -> None:
    """x/(sqrt(x + 1) + 1) = sqrt(x + 1) - 1."""
    root = ("sqrt", ("+", "x", 1))
    p = context().of(("+", ("/", "x", ("+", root, 1)), ("neg", root), 1))
    assert p.terms
    assert is_zero(p)
    assert not is_zero(p + number(1))


@pytest.mark.fast
def test_powers_that_are_defined() -> None:
    at = Context({"x": "real", "y": "real", "z": "real"})
    for name in ("x", "y"):
        at.learn(at.of(name), ">=")
    assert at.of(("^", "z", 100)) == at.of(("*", *["z"] * 100))  # more than sums are multiplied out to
    assert at.of(("^", "x", "y")) == power_of(Atom("letter", "x"), power_of_one(Atom("letter", "y")))  # 0**0 is 1
    assert at.of(("^", "z", 0)) == number(1)
    one, other = ("+", "x", 1), ("+", "y", 1)
    assert at.of(("sqrt", ("*", one, other))) == at.of(("*", ("sqrt", one), ("sqrt", other)))
    assert at.of(("sqrt", ("^", one, 2))) == at.of(one)
    at.of("x")
    work.left = 10
    assert at.of("x") == power_of_one(Atom("letter", "x"))
    assert work.left == 8  # its kind and its value, once each
    work.left = 10**9
    for node in (("^", "x", "z"), ("^", "z", "y"), ("^", "x", ("neg", "y")), ("^", "z", -1), ("^", "x", -1)):
        with pytest.raises(Refused):
            at.of(node)


@pytest.mark.fast
def test_inner_products_are_bilinear_and_what_has_no_word_is_refused() -> None:
    at = Context({"x": "real", "y": "real", "u": "vector", "v": "vector"})
    for left, right, scale in (
        (("*", "x", "u"), ("*", "y", "v"), ("*", "x", "y")),
        (("*", 2, "x", "y", "u"), ("neg", "v"), ("*", -2, "x", "y")),
        (("*", "u", ("^", "x", 2)), ("/", ("*", 3, "v"), 2), ("*", Fraction(3, 2), ("^", "x", 2))),
    ):
        assert at.of(("dot", left, right)) == at.of(("*", scale, ("dot", "u", "v"))) == at.of(("dot", right, left))
    both = ("dot", ("+", "u", ("*", "x", "v")), ("+", "u", ("neg", ("*", "x", "v"))))
    assert at.of(both) == at.of(("+", ("dot", "u", "u"), ("neg", ("*", "x", "x", ("dot", "v", "v")))))
    assert at.of(("dot", ("+", "u", ("neg", "u")), "v")) == number(0)
    assert at.known(at.of(("dot", both[1], both[1])), ">=")
    assert not at.known(at.of(both), ">=")
    for node in (("prod", "i", "i", 1, 2), ("sign", "x")):
        with pytest.raises(Refused, match="not known to the ring"):
            at.of(node)


@pytest.mark.fast
def test_nothing_of_the_index_stands_before_its_sum() -> None:
    at = Context({"x": "real", "n": "integer"})
    at.learn(at.of("x"), ">")
    for body, before in (("i", 1), (("*", "x", "i"), "x"), (("^", "x", ("+", "n", ("neg", "i"))), ("^", "x", "n")),
                         (("*", ("^", "i", 2), ("^", "x", 3)), ("^", "x", 3)), (("/", "x", ("+", "i", "x")), "x")):  # fmt: skip
        [(m, c)] = at.of(("sum", body, "i", 1, "n")).terms.items()
        kept = {(a, e) for a, e in m if a.kind != "sum"}
        assert c == 1
        assert len(m) == len(kept) + 1
        assert Poly({frozenset(kept): Fraction(1)}) == at.of(before)
    assert at.of(("sum", "x", "i", 1, 4)) == at.of(("*", 4, "x"))


@pytest.mark.fast
def test_signs_of_atoms() -> None:
    x, at = Atom("letter", "x"), Context({"x": "real"})
    for a in (Atom("prime", 2), Atom("pi"), Atom("E")):
        assert at.atom(a, ">")
    assert not at.atom(x, ">=")
    at.learn(-power_of_one(x), ">")
    assert [at.atom(x, op) for op in ("!=", ">=", ">")] == [True, False, False]
    at.learn(number(-1), ">=")
    assert at.absurd
    assert at.atom(x, ">")  # what contradicts itself says everything
    assert not Context({"x": "real"}, [(number(0), ">=")]).absurd


@pytest.mark.fast
def test_limits() -> None:
    deep = lambda depth: ["neg", deep(depth - 1)] if depth else 1
    assert tree(deep(DEPTH))
    with pytest.raises(Refused):
        tree(deep(DEPTH + 1))
    for whole in (BITS + 1, -BITS - 1):
        with pytest.raises(Refused):
            power_of(Atom("prime", 3), Fraction(whole))
    work.left = 5
    with pytest.raises(Refused):
        tree(["+", 1, 2, 3, 4, 5, 6])
    work.left = 5
    with pytest.raises(Refused):
        number(1) * number(2) * number(3)


@pytest.mark.fast
def test_the_limits_are_those_that_the_documents_say() -> None:
    x = Atom("letter", "x")
    assert (DEPTH, BITS) == (60, 20_000)
    assert read('"' + "a" * 999_998 + '"') == "a" * 999_998
    assert read("9" * 400) == int("9" * 400)
    for text in ('"' + "a" * 999_999 + '"', "9" * 401, '"about 1' + "0" * 400 + '"'):
        with pytest.raises(Refused, match="1000000 characters"):
            read(text)
    assert number(2**19_998).constant() == 2**19_998
    once = {monomial({x: Fraction(1)}): Fraction(1)}
    for long in ({ONE: Fraction(2**19_999)}, {ONE: Fraction(1, 2**19_999)}, {ONE: Fraction(2**19_999), **once}):
        with pytest.raises(Refused, match="20000 bits"):
            Poly(long)
    sum_of_two = power_of_one(x) + number(1)
    assert len(sum_of_two.to_the(64).terms) == 65
    with pytest.raises(Refused, match="at most 64"):
        sum_of_two.to_the(65)


@pytest.mark.fast
def test_what_is_no_tree() -> None:
    for data in (
        {"+": 0, "x": 1},
        [],
        {},
        "",
        None,
        True,
        ["+"],
        ["/", 1],
        ["neg", 1, 2],
        [["+"], 1],
        [1],
        ["sum", 1, 2, 3, 4],
    ):
        with pytest.raises(Refused):
            tree(data)
    assert tree(["+", "x"]) == ("+", "x")


@pytest.mark.fast
def test_every_node_is_counted_once() -> None:
    node = ("+", "x", ("neg", "y"), 3)
    for count in (tree, letters, lambda one: substituted(one, {}), lambda one: kind(one, {"x": "real", "y": "real"})):
        work.left = 100
        count(["+", "x", ["neg", "y"], 3] if count is tree else node)
        assert work.left == 95
    both = power_of_one(Atom("letter", "x")) + power_of_one(Atom("letter", "y"))
    work.left = 100
    assert names(both) == {"x", "y"}
    assert work.left == 95


@pytest.mark.fast
def test_letters_and_kinds_of_sums_and_vectors() -> None:
    assert letters(("sum", ("*", "i", "x"), "i", "n", "m")) == {"x", "n", "m"}
    assert letters(("sum", "i", "i", "i", 3)) == {"i"}
    assert substituted(("sum", ("*", "i", "x"), "i", "i", "x"), {"i": 1, "x": 2}) == ("sum", ("*", "i", 2), "i", 1, 2)
    sorts = {"x": "real", "u": "vector", "v": "vector"}
    for node in (("*", "x", "v"), ("*", 2, "x", "v"), ("/", "v", "x"), ("+", "u", "v"), ("neg", "v")):
        assert kind(node, sorts) == "vector"
    for node in (
        ("*", "u", "v"),
        ("/", "x", "v"),
        ("/", "u", "v"),
        ("+", "x", "v"),
        ("^", "v", 2),
        ("max", "v"),
        ("neg", ("<=", 0, 1)),
    ):
        with pytest.raises(Refused):
            kind(node, sorts)
    assert kind(("dot", "u", ("*", "x", "v")), sorts) == kind(("norm", "v"), sorts) == "number"
    assert kind(("sum", "v", "v", 1, 2), sorts) == "number"
    for node in (("sum", "i", "i", 1, "i"), ("sum", 1, "v", 1, "v"), ("prod", 1, "i", "i", 2)):
        with pytest.raises(Refused):
            kind(node, sorts)
    assert kind(("and", ("<=", 0, 1), ("or", ("<", 0, "x"))), sorts) == "condition"


@pytest.mark.fast
def test_every_word_has_a_meaning() -> None:
    assert not set(FUNCTIONS) & set(DEFINED)
