"""Order algebra alone: false orders are not proved, true ones not refuted; directions and rows against naive ones."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from seeds import SEED

from bilevel_verify.audit.orders.derivations import decide_derivation
from bilevel_verify.audit.orders.growth import compare, growth_of
from bilevel_verify.audit.orders.monomials import Bound, Monomial, NoOrder, Regime
from bilevel_verify.audit.orders.rays import separate
from bilevel_verify.audit.orders.regimes import regime_of
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.language import parse, tree
from bilevel_verify.theorems.card import Card, Derivation
from bilevel_verify.theorems.reading.reader import read_card

pytestmark = pytest.mark.fast
HEAD = """
[paper]
key = "orders"
[letters]
k = { domain = "[1, oo)" }
e = { domain = "(0, 1]" }
a = { domain = "(0, oo)" }
b = { domain = "(0, oo)" }
c = { domain = "(0, oo)" }
x = { domain = "[0, oo)" }
n = { domain = "integers 1.." }
s = { domain = "[0, 1]" }
nu = { domain = "(0, 1]" }
p = { domain = "[2, 4]" }
m = { domain = "integers 1..3" }
low = { domain = "[-1, 0]" }
q = { domain = "[-1, 1]" }
v = { domain = "(-oo, 1]" }
u = { domain = "[-3, -1]" }
w = { domain = "(-oo, oo)" }
"""

FALSE = [
    # the range of a letter in an exponent is not [0, 1]: which of max and min a power makes
    ("a**(1 - p)", "O((a + b)**(1 - p))", ""),
    ("(a + b)**(p - 1)", "O(a**(p - 1))", ""),
    ("a**low", "O((a + b)**low)", ""),
    ("a**q", "O((a + b)**q)", ""),
    ("(a + b)**q", "O(a**q)", ""),
    ("(a + b)**p", "O(a**p)", ""),
    ("k**(p - 3)", "O(1)", ""),
    ("k**(m - 2)", "O(1)", ""),
    ("k**q", "O(1)", ""),
    ("k", "O(k**s)", ""),
    ("k", "O(k**nu)", ""),
    ("k**(1/nu)", "O(k)", ""),
    ("k**(1/(2*s - 1))", "O(k)", ""),
    ("k**(4*s*(1 - s))", "O(1)", ""),
    ("a**(s - 1/2)", "O((a + b)**(s - 1/2))", ""),
    ("a**(4*s*(1 - s) - 1/2)", "O((a + b)**(4*s*(1 - s) - 1/2))", ""),
    # such a letter outside of an exponent may be 0 or negative
    ("k**s", "O(s*k**s)", ""),
    ("k**s/s", "O(k**s)", ""),
    ("k**low", "O((1 + low)*k**low)", ""),
    ("low*k**low", "Theta(k**low)", ""),
    ("k**s", "O((s + x)*k**s)", ""),
    ("k**s*(s + e)", "Omega(k**s)", ""),
    # letters that may be negative have no logarithm
    ("v**2", "O(1)", ""),
    ("abs(v)", "O(1)", ""),
    ("k*u**2", "O(k*u)", ""),
    ("1", "O(k + w)", ""),
    ("k", "O(k*(1 + low))", ""),
    # sums, maxima, minima, quotients
    ("1/(1/a + 1/b)", "Omega(a)", ""),
    ("a", "O(min(a, b))", ""),
    ("max(a, b)", "O(a)", ""),
    ("max(a, b)", "O(b)", ""),
    ("a", "Theta(min(a, b))", ""),
    ("(a + b)/(a + c)", "O(1)", ""),
    ("a*b/(a + b)", "Omega(a)", ""),
    ("sqrt(a + b)", "O(sqrt(a))", ""),
    ("min(k, 1/e)", "O(1)", ""),
    ("k", "O(min(k, 1/e))", ""),
    ("k*(a + b)", "O(k*a)", ""),
    # rounding
    ("1", "O(floor(1/2 + e))", ""),
    ("1", "O(floor(s + e))", ""),
    ("floor(k)", "O(1)", ""),
    ("ceil(a)", "O(a)", ""),
    ("ceil(a/b)", "O(a/b)", ""),
    # which side, which symbol
    ("k", "Theta(k**2)", ""),
    ("k**2", "Theta(k)", ""),
    ("k", "Omega(k**2)", ""),
    ("x", "O(1)", ""),
    ("1/x", "O(1)", ""),
    ("sqrt(x)", "O(x)", ""),
    ("n", "O(1)", ""),
    ("2**n", "O(n)", ""),
    ("n**k", "O(n)", ""),
    # logarithms
    ("k*log(k)", "O(k)", ""),
    ("k", "O(k/log(k + 1))", ""),
    ("k", "Omega(k*log(k + 1))", ""),
    ("k**2", "softO(k)", ""),
    ("log(a)", "O(1)", ""),
    ("log(k*a)", "O(log(k))", ""),
    ("log(k/e)", "O(log(k))", ""),
    ("k*log(1/e)", "O(k)", ""),
    ("log(log(k))", "O(1)", ""),
    # hypotheses that bind less than they seem to
    ("a", "O(1)", "a + b >= 1"),
    ("a", "O(1)", "max(a, b) >= 1"),
    ("a", "O(1)", "min(a, b) <= 1"),
    ("a", "O(1)", "a*b <= 1"),
    ("a", "O(1)", "a - b <= 1"),
    ("a", "O(1)", "log(a) >= 1"),
    ("a", "O(1)", "log(a) <= b"),
    ("a", "O(1)", "a**nu <= 4*b"),
    ("a", "O(1)", "nu <= 1/2"),
    ("a/b", "O(1)", "a >= b"),
    ("1/a", "O(1)", "b >= a"),
    ("k*a", "O(1)", "k*a >= 1"),
    ("a", "O(b)", "a == b + c"),
    ("a**nu", "O(1)", ""),
    # formulas agree in every letter, over its whole range
    ("abs(v)", "v", ""),
    ("sqrt(v**2)", "v", ""),
    ("w", "abs(w)", ""),
    ("a*k", "a", ""),
    ("a + x", "a", ""),
]
TRUE = [
    ("a**(p - 1)", "O((a + b)**(p - 1))", ""),
    ("(a + b)**(1 - p)", "O(a**(1 - p))", ""),
    ("(a + b)**low", "O(a**low)", ""),
    ("a**s", "O((a + b)**s)", ""),
    ("(a + b)**(s - 1)", "O(a**(s - 1))", ""),
    ("k**(m - 4)", "O(1)", ""),
    ("k**(p - 5)", "O(1)", ""),
    ("k**(1/p)", "O(k)", ""),
    ("k**s*(1 + s)", "Theta(k**s)", ""),
    ("k**s*(2 - s)", "Theta(k**s)", ""),
    ("ceil(k)", "O(k)", ""),
    ("floor(1 + a)", "Theta(1 + a)", ""),
    ("floor(max(a, 3/2))", "Theta(max(a, 1))", ""),
    ("min(k, a)", "O(k)", ""),
    ("1/(a + b)", "O(1/a)", ""),
    ("log(k)", "O(k)", ""),
    ("k*log(k)**3", "softO(k)", ""),
    ("log(k)", "O(log(k*n))", ""),
    ("a", "O(1)", "a*k <= 1"),
    ("a**nu", "O(k)", "a <= k"),
    ("a*b", "O(a**2 + b**2)", ""),
    ("sqrt(a*b)", "O(a + b)", ""),
    ("b + c", "O(a)", "a == b + c"),
    ("1/n", "O(1)", ""),
    ("abs(k)", "k", ""),
    ("a*k/a", "k", ""),
    ("abs(v)", "v", "v >= 0"),
]


def card_of(folder: Path, result: str, gives: str, where: str) -> Card:
    path = folder / "orders.toml"
    stated = f'where = ["{where}"]' if where else ""
    entry = f'[[derivation]]\nid = "d"\nregime = []\nresult = "{result}"\ngives = "{gives}"\n{stated}'
    path.write_text(f"{HEAD}\n{entry}", encoding="utf8")
    return read_card(path)


def decided(folder: Path, result: str, gives: str, where: str) -> Decision:
    card = card_of(folder, result, gives, where)
    entry = card.entries["d"]
    assert isinstance(entry, Derivation)
    return decide_derivation(card, entry)


@pytest.mark.slow
@pytest.mark.parametrize(("result", "gives", "where"), FALSE)
def test_order_algebra_proves_nothing_false(tmp_path: Path, result: str, gives: str, where: str) -> None:
    assert decided(tmp_path, result, gives, where).outcome != "proved"


@pytest.mark.slow
@pytest.mark.parametrize(("result", "gives", "where"), TRUE)
def test_order_algebra_refutes_nothing_true(tmp_path: Path, result: str, gives: str, where: str) -> None:
    assert decided(tmp_path, result, gives, where).outcome != "refuted"


@pytest.mark.parametrize(("result", "order"), [("a/b", "O(k)"), ("a*b", "Omega(k)"), ("1/(a + b)", "softO(k)")])
def test_what_is_known_from_the_other_side_only_decides_nothing(tmp_path: Path, result: str, order: str) -> None:
    path = tmp_path / "orders.toml"
    text = f'[[derivation]]\nid = "one"\nresult = "{result}"\nsubstitute = {{ b = "{order}" }}\ngives = "O(a*k)"\n'
    path.write_text(HEAD + text, encoding="utf8")
    card = read_card(path)
    entry = card.entries["one"]
    assert isinstance(entry, Derivation)
    found = decide_derivation(card, entry)
    assert found.outcome == "undecided"
    assert "b is known only as" in found.certificate


@pytest.mark.slow
def test_most_true_orders_are_proved(tmp_path: Path) -> None:
    """The corpus of false ones is no trap for an algebra that proves nothing at all."""
    proved = [decided(tmp_path, *one).outcome == "proved" for one in TRUE]
    assert sum(proved) >= len(TRUE) - 4


# --- directions, against all small ones one by one

EXPONENTS = (Fraction(-2), Fraction(-1), Fraction(-1, 2), Fraction(1, 2), Fraction(1), Fraction(2))
NAMES = ("a", "b", "c")


def drawn(chance: random.Random, depth: int = 2) -> str:
    """A random positive expression in three letters."""
    kind = chance.choice(("power", "power", "+", "*", "/", "max", "min")) if depth else "power"
    if kind == "power":
        exponent = chance.choice(EXPONENTS)
        return f"{chance.choice(NAMES)}**({exponent})"
    one, two = drawn(chance, depth - 1), drawn(chance, depth - 1)
    return f"{kind}({one}, {two})" if kind in ("max", "min") else f"({one}) {kind} ({two})"


def speed(node: tree.Node, direction: dict[str, Fraction]) -> Fraction:
    """The exponent of t, straight from the formula."""
    match node:
        case tree.Letter(name=name):
            return direction[name]
        case tree.Number():
            return Fraction(0)
        case tree.Add(terms=parts) | tree.Call(function="max", arguments=parts):
            return max(speed(part, direction) for part in parts)
        case tree.Call(function="min", arguments=parts):
            return min(speed(part, direction) for part in parts)
        case tree.Multiply(factors=parts):
            return sum((speed(part, direction) for part in parts), Fraction(0))
        case tree.Divide(numerator=top, denominator=bottom):
            return speed(top, direction) - speed(bottom, direction)
        case tree.Power(base=base, exponent=exponent):
            return speed(base, direction) * number(exponent)
    raise AssertionError(node)


def number(node: tree.Node) -> Fraction:
    match node:
        case tree.Number(value=value):
            return value
        case tree.Negate(operand=operand):
            return -number(operand)
        case tree.Divide(numerator=top, denominator=bottom):
            return number(top) / number(bottom)
    raise AssertionError(node)


@pytest.mark.slow
def test_orders_fail_exactly_along_the_directions_that_are_seen_one_by_one() -> None:
    chance = random.Random(SEED)
    answers = []
    for _ in range(40):
        left, right = parse(drawn(chance)), parse(drawn(chance))
        rows = tuple({n: Fraction(chance.choice((-1, 1)))} for n in NAMES if chance.random() < 0.7)
        rows += ({"a": Fraction(1), "b": Fraction(-1)},) * (chance.random() < 0.4)
        ray = compare(growth_of(left), growth_of(right), Regime(NAMES, rows))
        if ray is not None:
            direction = {n: ray.direction.get(n, Fraction(0)) for n in NAMES}
            assert speed(left, direction) - speed(right, direction) >= ray.rate > 0
            assert all(sum(v * direction[n] for n, v in row.items()) >= 0 for row in rows)
        else:
            for steps in product(range(-2, 3), repeat=3):
                direction = dict(zip(NAMES, map(Fraction, steps)))
                if all(sum(v * direction[n] for n, v in row.items()) >= 0 for row in rows):
                    assert speed(left, direction) <= speed(right, direction), (left, right, rows)
        answers.append(ray is None)
    assert 5 <= sum(answers) <= 35


@pytest.mark.parametrize(
    ("exponent", "span", "grows"),
    [
        ("nu", (1, 1), True),
        ("nu", (-2, -1), False),
        ("nu", (0, 1), True),
        ("1 - nu", (0, 1), True),
        ("1 - nu", (2, 3), False),
        ("(nu - 1)*(nu - 2)", (1, 2), False),
        ("(nu - 1)**2", (0, 1), True),
        ("-(nu - 1)**2", (0, 1), False),
        ("(nu - 1/2)**2", (0, 1), True),  # an even power has one sign
        ("(nu - 3)*(nu - 1/2)**2", (0, 1), False),
        ("1/(nu - 3)", (0, 1), False),
        ("1/(nu - 3)", (4, 5), True),
    ],
)
def test_which_of_two_terms_a_power_keeps_is_told_by_the_range(
    exponent: str, span: tuple[int, int], grows: bool
) -> None:
    """A sum to a power that is not negative is the larger of two powers, else the smaller."""
    spans = {"nu": (Fraction(span[0]), Fraction(span[1]))}
    found = growth_of(parse(f"(a + b)**({exponent})"), spans)
    assert (len(found.clauses) == 2) == grows
    assert (len(found.clauses[0]) == 1) == grows


@pytest.mark.parametrize("text", ["nu*a", "a/nu", "nu", "nu + a", "(nu + nu)*a", "a*(1 - nu)", "a - nu", "a*(nu - 2)"])
def test_what_may_be_zero_has_no_order(text: str) -> None:
    spans = {"nu": (Fraction(0), Fraction(1))}
    with pytest.raises(NoOrder):
        growth_of(parse(text), spans)


@pytest.mark.parametrize(("exponent", "span"), [("nu", (-1, 1)), ("1/(nu - 1)", (0, 2)), ("1/(nu - nu)", (0, 1))])
def test_a_sign_that_changes_is_refused(exponent: str, span: tuple[int, int]) -> None:
    with pytest.raises(NoOrder):
        growth_of(parse(f"(a + b)**({exponent})"), {"nu": (Fraction(span[0]), Fraction(span[1]))})


# --- the rows of a regime, against points

CONDITIONS = [
    "a >= b", "a <= 4*b", "a*b <= 1", "a*b >= 3", "a**2 >= b/8", "sqrt(a) >= b", "a == b", "a >= 2*b + 3*c",
    "max(a, b) <= c", "a + b <= c", "a/b >= 1/4", "a >= max(b, 2*c)", "a/(b*c) <= 1/2", "1/(a + b) >= c",
    "a**(1/2)*b <= c**2", "log(a) >= 2", "a < b", "a > 3*b", "a*(b + c) <= 5", "a**(-1) <= b", "3/2 >= a*b",
    "a + b >= c", "a >= b - c", "min(a, b) >= c", "a >= log(b)", "pi*a <= b", "a == 2*b*c", "sqrt(a + b) <= 3*c",
]  # fmt: skip


def floats(node: tree.Node, point: dict[str, float]) -> float:
    match node:
        case tree.Number(value=value):
            return float(value)
        case tree.Letter(name=name):
            return math.pi if name == "pi" else point[name]
        case tree.Add(terms=parts):
            return sum(floats(part, point) for part in parts)
        case tree.Multiply(factors=parts):
            return math.prod(floats(part, point) for part in parts)
        case tree.Negate(operand=operand):
            return -floats(operand, point)
        case tree.Divide(numerator=top, denominator=bottom):
            return floats(top, point) / floats(bottom, point)
        case tree.Power(base=base, exponent=exponent):
            return floats(base, point) ** floats(exponent, point)
        case tree.Call(function=name, arguments=arguments):
            return {"max": max, "min": min, "log": math.log, "sqrt": math.sqrt}[name](  # type: ignore[no-any-return, operator]
                *(floats(part, point) for part in arguments)
            )
    raise AssertionError(node)


def holds(condition: tree.Node, point: dict[str, float]) -> bool:
    assert isinstance(condition, tree.Compare)
    one, two = (floats(side, point) for side in condition.operands)
    slack = 1e-9 * max(abs(one), abs(two))
    return {
        "<=": one <= two + slack, ">=": one >= two - slack, "<": one < two, ">": one > two,
        "==": abs(one - two) <= slack,
    }[condition.operators[0]]  # fmt: skip


@pytest.mark.parametrize("text", CONDITIONS)
def test_rows_allow_every_direction_of_a_hypothesis_and_starts_satisfy_it(tmp_path: Path, text: str) -> None:
    card = card_of(tmp_path, "a*b*c", "O(1)", text)
    entry = card.entries["d"]
    assert isinstance(entry, Derivation)
    regime = regime_of(card, entry, [entry.result.tree, entry.gives.tree], frozenset())
    condition = parse(text)
    for steps in product((-2, -1, 0, 1, 2), repeat=3):
        direction = dict(zip(NAMES, steps))
        along = [holds(condition, {n: 2.0 ** (u * t) for n, u in direction.items()}) for t in (40, 90)]
        if all(along):
            assert all(sum(v * direction[n] for n, v in row.items()) >= 0 for row in regime.rows), direction
        start = [sum((v * direction[n] for n, v in bound.row.items()), bound.size) for bound in regime.bounds]
        allowed = all(value > 0 if bound.strict else value >= 0 for value, bound in zip(start, regime.bounds))
        if allowed and not regime.unread:
            assert holds(condition, {n: 2.0**u for n, u in direction.items()}), direction


def test_the_ray_does_not_depend_on_what_was_asked_before_or_on_the_order_of_the_rows() -> None:
    """Several shortest rays separate these two; one of them is shown, with one start, in every order of asking."""
    rows = [{"a": Fraction(1)}, {"b": Fraction(1)}, {"c": Fraction(1)}, {"d": Fraction(1)}]
    rows.append({"a": Fraction(-1), "b": Fraction(1), "d": Fraction(1)})
    one = (Monomial({"a": Fraction(1), "b": Fraction(1), "d": Fraction(1)}),)
    other = (Monomial({"c": Fraction(1)}),)
    chance, shown = random.Random(SEED), set()
    for number in range(12):
        letters = chance.sample("abcd", 4)
        some = chance.sample(rows, len(rows))
        regime = Regime(tuple(letters), tuple(some), bounds=tuple(Bound(row, size=Fraction(-2)) for row in some))
        if number % 3 == 0:
            separate((Monomial({letters[0]: Fraction(2)}),), (Monomial({letters[1]: Fraction(1)}),), regime)
        ray = separate(one, other, regime)
        assert ray is not None
        shown.add((tuple(sorted(ray.direction.items())), tuple(sorted(ray.start.items()))))
    assert len(shown) == 1
