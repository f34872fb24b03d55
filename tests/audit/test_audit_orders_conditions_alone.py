"""Side conditions of the order algebra: each word and its reason, shortest rays, starts, and hypotheses as rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import sympy
from audit_pieces import judged

from bilevel_verify.audit.orders import derivations, growth, rays, regimes
from bilevel_verify.audit.orders.growth import compare, growth_of, same_monomial
from bilevel_verify.audit.orders.monomials import Bound, NoOrder, Ray, Regime, power_text
from bilevel_verify.language import parse, to_text
from bilevel_verify.theorems.card_parts import Domain, Expression

pytestmark = pytest.mark.fast
F = Fraction
ABOVE, BELOW = {"k": F(1)}, {"e": F(-1)}
REGIME = Regime(("a", "e", "k"), (ABOVE, BELOW), bounds=(Bound(ABOVE), Bound(BELOW)))
"""k >= 1, 0 < e <= 1, a > 0."""
FREE = Regime(("a", "b", "c"), ())


# --- which word, and why


@pytest.mark.parametrize(
    ("result", "gives", "said"),
    [
        ("k", "O(k)", "the same monomial"),
        ("k", "O(k**2)", "implied but weaker"),
        ("k + 1", "O(k)", "the same order"),
        ("k*log(k)**2", "softO(k)", "the same monomial"),
        ("k", "Theta(k + 1)", "the same order"),
        ("k**2", "Theta(k**2)", "the same monomial"),
        ("k**2", "Omega(k**2)", "the same monomial"),
        ("k**2", "Omega(k)", "implied but weaker"),
        ("k + 1", "Omega(k)", "the same order"),
        ("log(e)", "O(log(e))", "the same monomial"),
        ("log(e)", "O(1)", "the same order"),  # the left side alone may fall
        ("log(e) - k", "O(1)", "the same order"),  # negative, however large
        ("log(e) - k", "O(k)", "the same order"),
    ],
)
def test_what_is_proved_and_how(result: str, gives: str, said: str) -> None:
    decision = judged(parse(result), parse(gives), REGIME)
    assert decision.outcome == "proved"
    assert decision.certificate.startswith(said)


@pytest.mark.parametrize(
    ("result", "gives"),
    [
        ("k", "Theta(k**2)"), ("k**2", "Theta(k)"), ("k", "Omega(k**2)"), ("k**2", "O(k)"), ("k**2 - k", "O(k)"),
        ("k*log(k)", "O(k)"), ("k", "Omega(k*log(k))"), ("k**2", "softO(k)"), ("a", "O(k)"), ("1/e", "O(k)"),
    ],
)  # fmt: skip
def test_what_is_refuted(result: str, gives: str) -> None:
    decision = judged(parse(result), parse(gives), REGIME)
    assert decision.outcome == "refuted"
    assert decision.ray is not None
    assert decision.ray.rate > 0 or (decision.ray.rate == 0 and decision.ray.logs > 0)


@pytest.mark.parametrize(
    ("result", "gives", "reason"),
    [
        ("log(1/e)", "O(log(e))", "the logarithm of the bound"),  # of one size, and of the other sign
        ("1", "O(log(e))", "the logarithm of the bound"),
        ("log(e)", "Theta(log(1/e))", "a logarithm that may be negative"),
        ("log(1/e)", "Theta(log(e))", "a logarithm that may be negative"),
        ("log(1/e)", "Omega(log(e))", "a logarithm that may be negative"),
        ("k - log(e)", "O(k)", "taken away"),
        ("k - k*log(e)", "O(k**2)", "taken away"),
        ("k - k", "O(1)", "parts are of one order"),
        ("k - k**2", "O(1)", "parts are of one order"),
        ("k", "O(k*c)", "how c grows"),
    ],
)
def test_what_stays_open_and_why(result: str, gives: str, reason: str) -> None:
    with pytest.raises(NoOrder, match=reason):
        judged(parse(result), parse(gives), REGIME)


def test_a_family_refutes_only_if_every_unread_hypothesis_and_the_numbers_agree() -> None:
    ray = Ray({"k": F(1)}, F(1), letters=("k",))
    square, one = parse("k**2"), parse("k")
    yes, no = parse("k**2 + 1 >= k"), parse("k**2 + 1 <= k")
    for unread in ((), (yes,), (yes, yes)):
        assert derivations._refuted(square, one, ray, Regime(("k",), (), unread=unread)).outcome == "refuted"
    for unread in ((no,), (yes, no), (no, yes)):
        with pytest.raises(NoOrder, match="not certain"):
            derivations._refuted(square, one, ray, Regime(("k",), (), unread=unread))
    for faster, slower in ((one, square), (one, one)):
        with pytest.raises(NoOrder, match="not confirmed"):
            derivations._refuted(faster, slower, ray, Regime(("k",), ()))


# --- rays


def test_what_is_not_said_is_nothing() -> None:
    ray = Ray({"k": F(1)}, F(1))
    assert (ray.logs, ray.at, ray.start, ray.letters) == (0, {}, {}, ())
    assert Bound({}) == Bound({}, F(0), False)
    assert [power_text("t", F(n)) for n in (-2, 0, 1, 2)] == ["t**(-2)", "t**0", "t", "t**2"]
    assert power_text("t", F(3, 2)) == "t**(3/2)"


@pytest.mark.parametrize(
    ("left", "right", "rows"),
    [
        ("a*b*c", "1", ()),
        ("a", "b*c", ()),
        ("a**3*b", "c", ()),
        ("a*b**2/c**3", "1", ({"b": -1}, {"c": 1})),
        ("a*b", "c", ({"a": -1, "b": 1}, {"c": 1})),
        ("a", "b", ({"b": 1, "a": -1, "c": 2}, {"c": -1})),
        ("a*b*c", "a**2", ({"a": 1, "b": -2}, {"a": 1})),
    ],
)
def test_rays_are_the_shortest_for_their_rate(left: str, right: str, rows: Any) -> None:
    """No small whole direction of the regime is shorter, per unit of the rate, than the ray."""
    one, two = (growth_of(parse(text)).clauses[0][0] for text in (left, right))
    kept = tuple({n: F(v) for n, v in row.items()} for row in rows)
    ray = rays.separate((one,), (two,), Regime(("a", "b", "c"), kept))
    gaps = {n: int(one.exponents.get(n, 0) - two.exponents.get(n, 0)) for n in "abc"}
    lengths = []
    for steps in product(range(-2, 3), repeat=3):
        direction = dict(zip("abc", steps))
        rate = sum(gaps[n] * v for n, v in direction.items())
        if rate > 0 and all(sum(v * direction[n] for n, v in row.items()) >= 0 for row in kept):
            lengths.append(F(sum(map(abs, steps)), rate))
    if ray is None:
        assert not lengths
        return
    assert ray.rate == sum(gaps[n] * v for n, v in ray.direction.items())
    assert F(sum(map(abs, ray.direction.values()), F(0))) / ray.rate <= min(lengths)
    assert all(v.denominator == 1 for v in ray.direction.values())
    assert all(sum(v * ray.direction.get(n, F(0)) for n, v in row.items()) >= 0 for row in kept)


def test_a_solver_that_gives_up_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import z3

    class Tired(z3.Solver):  # type: ignore[misc]
        def check(self, *_: Any) -> Any:
            return z3.unknown

    monkeypatch.setattr(z3, "Solver", Tired)
    with pytest.raises(NoOrder, match="gave up"):
        compare(growth_of(parse("a")), growth_of(parse("b")), FREE)
    spans = {"nu": (F(0), F(1))}
    power = growth_of(parse("a**nu"), spans)
    with pytest.raises(NoOrder):
        compare(power, growth_of(parse("b"), spans), Regime(("a", "b"), (), spans))


def test_the_work_of_the_solver_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = growth_of(parse("a**2*b + b*c")), growth_of(parse("a*b + b**2"))
    assert compare(left, right, FREE) is not None
    monkeypatch.setattr(rays, "RESOURCES", 1)
    with pytest.raises(NoOrder):
        compare(left, right, FREE)


def test_a_ray_between_the_points_of_a_grid_is_no_proof() -> None:
    spans = {"nu": (F(0), F(1))}
    left, right = growth_of(parse("k**nu"), spans), growth_of(parse("1"))
    rising = ({"k": F(1)},)
    grids: tuple[Any, ...] = ((), ({"nu": F(0)},))
    for grid in grids:
        with pytest.raises(NoOrder, match="grid"):
            compare(left, right, Regime(("k",), rising, spans, grid=grid))
    ray = compare(left, right, Regime(("k",), rising, spans, grid=({"nu": F(0)}, {"nu": F(1, 3)})))
    assert ray is not None
    assert (ray.at, ray.direction, ray.rate) == ({"nu": F(1, 3)}, {"k": 1}, F(1, 3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "right", "fails"),
    [
        ("k**(nu**2)", "k**nu", False),
        ("k**nu", "k**(nu**2)", True),
        ("k**(nu**2)", "k", False),
        ("k", "k**(nu**2)", True),
        ("k**(nu**3)", "k", False),
        ("k", "k**(nu**3)", True),
        ("k**(2*nu**2)", "k**(3/2)", True),
        ("k**(nu*mu)", "k**nu", False),
        ("k**(nu + mu)", "k**(3/2)", True),
        ("k**(nu + mu)", "k**2", False),
        ("k**(1/(nu + 1))", "k", False),
        ("k", "k**(1/(nu + 1))", True),
        ("k**(1 - nu)", "k", False),
        ("k**(2 - nu)", "k", True),
    ],
)
def test_polynomials_in_exponents(left: str, right: str, fails: bool) -> None:
    spans = {"mu": (F(0), F(1)), "nu": (F(0), F(1))}
    one, two = (growth_of(parse(text), spans) for text in (left, right))
    ray = compare(one, two, Regime(("k",), ({"k": F(1)},), spans))
    assert (ray is not None) is fails
    if ray is not None:
        (a, _), (b, _) = (g.clauses[0][0].at(ray.at) for g in (one, two))
        assert ray.rate == (a.get("k", 0) - b.get("k", 0)) * ray.direction["k"] > 0


def test_letters_that_are_fixed_or_unknown() -> None:
    a, one, both = (growth_of(parse(text)) for text in ("a", "1", "a*z"))
    assert compare(a, one, FREE) is not None
    assert compare(a, one, Regime(("a", "b"), (), fixed=frozenset("a"))) is None
    assert compare(a, one, Regime(("a", "b"), (), fixed=frozenset("bq"))) is not None
    with pytest.raises(NoOrder, match="how z grows"):
        compare(both, a, FREE)
    with pytest.raises(NoOrder, match="how z grows"):
        compare(a, both, FREE)
    assert compare(both, growth_of(parse("a*z")), FREE) is None  # it cancels


@pytest.mark.parametrize(
    ("left", "right", "signed", "rate", "logs"),
    [
        ("log(a)", "1", False, 0, 1),
        ("log(a)**2", "log(a)", False, 0, 1),
        ("log(a)**3", "1", False, 0, 3),
        ("log(a)", "log(a)**2", False, None, None),
        ("a*log(a)", "a", True, 0, 1),
        ("log(max(a, b, c))", "log(a)", False, 0, 1),
        ("log(min(a, b, c))", "1", True, 0, 1),
    ],
)
def test_logarithms_count_where_no_power_does(left: str, right: str, signed: bool, rate: Any, logs: Any) -> None:
    ray = compare(growth_of(parse(left)), growth_of(parse(right)), Regime(("a", "b", "c"), ()), signed)
    assert (rate, logs) == (None, None) if ray is None else (ray.rate, ray.logs) == (rate, logs)
    if ray is not None:
        assert all(ray.start.get(n, 0) for n in "abc")  # no logarithm begins at 0


@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [
        ("log(log(k))", "1", "size is not known"),
        ("softO(k)", "k", "size is not known"),
        ("log(k)", "log(log(k))", "size is not known"),
        ("log(k)**2", "log(log(k))", "ray"),
        ("k", "log(log(k))", "ray"),
        ("k*log(log(k))", "1", "ray"),
        ("1", "log(log(k))", "none"),
        ("log(log(k))", "k", "none"),
    ],
)
def test_a_logarithm_of_unknown_size_counts_against_a_ray(left: str, right: str, answer: str) -> None:
    one, two = growth_of(parse(left)), growth_of(parse(right))
    regime = Regime(("k",), ({"k": F(1)},))
    if answer in ("ray", "none"):
        assert (compare(one, two, regime) is not None) is (answer == "ray")
        return
    with pytest.raises(NoOrder, match=answer):
        compare(one, two, regime)


def test_a_soft_order_is_not_moved_by_a_letter_that_stays_bounded() -> None:
    spans = {"nu": (F(1, 2), F(1))}
    soft, hard = (growth_of(parse(text), spans) for text in ("softO(k**nu)", "k**nu"))
    regime = Regime(("k",), ({"k": F(1)},), spans)
    assert compare(hard, soft, regime) is None
    with pytest.raises(NoOrder, match="size is not known"):
        compare(soft, hard, regime)


@pytest.mark.parametrize(
    ("left", "right", "rate", "logs"),
    [
        ("min(log(a), log(a)**3)", "1", 0, 1),
        ("min(log(a)**3, log(a))", "1", 0, 1),
        ("min(a, a**3)", "1", 1, 0),
        ("min(a**3, a)", "1", 1, 0),
        ("a**3", "a + a**2", 1, 0),
    ],
)
def test_the_rate_of_a_minimum_is_its_least(left: str, right: str, rate: int, logs: int) -> None:
    rising = Regime(("a",), ({"a": F(1)},))
    ray = compare(growth_of(parse(left)), growth_of(parse(right)), rising)
    assert ray is not None
    assert (ray.direction, ray.rate, ray.logs) == ({"a": 1}, rate, logs)


def test_a_root_of_a_logarithm_that_stays_is_defined() -> None:
    left, one = growth_of(parse("a*sqrt(log(b))")), growth_of(parse("1"))
    for rows in ((), ({"b": F(1)},)):
        ray = compare(left, one, Regime(("a", "b"), rows, fixed=frozenset("b")), signed=True)
        assert ray is not None
        assert (ray.direction, ray.rate) == ({"a": 1}, 1)
    falls = Regime(("a", "b"), ({"a": F(-1)}, {"b": F(-1)}))
    assert compare(left, one, falls, signed=True) is None


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ((Bound({"a": F(1)}, F(-64)),), True),  # at most 2**64
        ((Bound({"a": F(1)}, F(-65)),), False),
        ((Bound({"a": F(-1)}, F(-64)),), True),
        ((Bound({"a": F(-1)}, F(-65)),), False),
        ((Bound({"a": F(1)}, F(-3)), Bound({"a": F(-1)}, F(3))), True),
        ((Bound({"a": F(1)}, F(-3), True), Bound({"a": F(-1)}, F(3))), False),  # > 8 and <= 8
        ((Bound({}, F(0)),), True),
        ((Bound({}, F(0), True),), False),
        ((Bound({"a": F(1), "b": F(-1)}, F(0), True),), True),
    ],
)
def test_families_start_where_every_bound_holds(bounds: tuple[Bound, ...], found: bool) -> None:
    c, one = growth_of(parse("c")), growth_of(parse("1"))
    regime = Regime(("a", "b", "c"), (), bounds=bounds)
    if not found:
        with pytest.raises(NoOrder, match="starting point"):
            compare(c, one, regime)
        return
    ray = compare(c, one, regime)
    assert ray is not None
    for bound in bounds:
        value = bound.size + sum(v * ray.start.get(n, 0) for n, v in bound.row.items())
        assert value > 0 if bound.strict else value >= 0


def test_a_family_starts_at_one_where_it_may() -> None:
    ray = compare(growth_of(parse("a")), growth_of(parse("1")), FREE)
    assert ray is not None
    assert ray.start == {}
    assert ray.letters == ("a", "b", "c")


# --- hypotheses as rows


def row(size: int = 0, strict: bool = False, **powers: Any) -> Bound:
    return Bound({n: F(v) for n, v in powers.items()}, F(size), strict)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a >= b", [row(a=1, b=-1)]),
        ("a > b", [row(0, True, a=1, b=-1)]),
        ("a < b", [row(0, True, a=-1, b=1)]),
        ("a <= 4*b", [row(2, a=-1, b=1)]),
        ("a == 2*b", [row(-1, a=1, b=-1), row(1, a=-1, b=1)]),
        ("a >= b + 3*c", [row(-1, a=1, b=-1), row(-3, a=1, c=-1)]),
        ("a >= b + c + d", [row(-2, a=1, b=-1), row(-2, a=1, c=-1), row(-2, a=1, d=-1)]),
        ("a >= max(b, 2*c)", [row(a=1, b=-1), row(-1, a=1, c=-1)]),
        ("sqrt(a) >= b", [row(a=F(1, 2), b=-1)]),
        ("sqrt(a) >= 4", [row(-2, a=F(1, 2))]),
        ("a**2 >= b/8", [row(3, a=2, b=-1)]),
        ("1/(3*a) >= b", [row(-2, a=-1, b=-1)]),
        ("b >= 1/(3*a)", [row(1, a=1, b=1)]),
        ("(3*a)**(-1) >= b", [row(-2, a=-1, b=-1)]),
        ("b >= (3*a)**(-1)", [row(1, a=1, b=1)]),
        ("a*b*a >= b", [row(a=2)]),
        ("pi*a >= b", [row(1, a=1, b=-1)]),
        ("a >= pi*b", [row(-2, a=1, b=-1)]),
        ("log(a) >= 2", [row(-3, a=1)]),
        ("log(a) > 1", [row(-2, True, a=1)]),
        ("a > 0", []),
        ("4 > 2", []),
        ("2 >= 2", []),
        ("2 > 2", [row(0, True)]),
        ("2 >= 3", [row(-1)]),
        ("a + 2 >= 2", []),
        ("a + 3 > 1", []),
    ],
)
def test_hypotheses_as_rows(text: str, rows: list[Bound]) -> None:
    assert regimes._bounds(parse(text), frozenset()) == rows


@pytest.mark.parametrize(
    "text",
    ["a + b >= c", "a + 2 > 2", "a + 2 >= 3", "1/(a + b) >= c", "c >= 1/(a + b)", "c >= (a + b)**(-1)", "a - b > 0",
     "0 >= a", "oo >= a", "a**nu >= b", "nu*a >= 1", "log(a) >= b", "log(a) >= -1", "min(a, b) >= c",
     "a >= 1 and b >= 1"],
)  # fmt: skip
def test_hypotheses_that_are_no_rows(text: str) -> None:
    with pytest.raises(NoOrder):
        regimes._bounds(parse(text), frozenset({"nu"}))


def test_chains_conjunctions_and_order_symbols_are_taken_apart() -> None:
    parts = [to_text(part) for part in regimes._parts(parse("a <= b < c and d >= 1"))]
    assert parts == [to_text(parse(text)) for text in ("a <= b", "b < c", "d >= 1")]
    assert [to_text(p) for p in regimes._parts(parse("a <= b or c >= 1"))] == [to_text(parse("a <= b or c >= 1"))]
    assert to_text(regimes._plain(parse("k*O(a) + softO(O(b))"))) == to_text(parse("k*a + b"))


def test_exponent_letters_have_a_finite_range() -> None:
    ends = [SimpleNamespace(kind="interval", lower=None, upper=None), _between("0", "1"), _between("0", "oo")]
    card: Any = SimpleNamespace(letters={n: SimpleNamespace(domain=d) for n, d in zip("xst", ends)})
    texts = [SimpleNamespace(tree=parse(text)) for text in ("a**x + a**(s*pi)", "O(a**t*v)", "b**v")]
    entry: Any = SimpleNamespace(
        result=texts[0], gives=texts[1], substitute={"c": texts[2]}, for_={"v": _between("1", "2")}
    )
    assert derivations.exponent_letters(card, entry) == {"s", "v"}


def _between(low: str, high: str) -> Domain:
    return Domain("", "interval", *(Expression(parse(text), text) for text in (low, high)))


def test_the_regime_of_an_entry_stands_before_that_of_the_card() -> None:
    card: Any = SimpleNamespace(regimes={"default": ("d",), "other": ("o",)}, entries={}, settings={})
    for own, wanted in (((), ["d", "w"]), (("r",), ["r", "w"])):
        entry: Any = SimpleNamespace(regime=own, premise=(), where=("w",), settings=())
        assert list(regimes._stated(card, entry)) == wanted
    bare: Any = SimpleNamespace(regimes={}, entries={}, settings={})
    entry = SimpleNamespace(regime=(), premise=(), where=(), settings=())
    assert list(regimes._stated(bare, entry)) == []


def test_hidden_letters_are_those_that_the_sentence_leaves_out() -> None:
    sides = (parse("k*D*M"), parse("O(M)"))
    card: Any = SimpleNamespace(hides=SimpleNamespace(letters=["D", "M", "N"]))
    assert regimes.hidden(card, sides) == {"D"}
    none: Any = SimpleNamespace(hides=None)
    assert regimes.hidden(none, sides) == frozenset()


# --- growth


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("log(a**2)", "log(1/a)", True),  # primitive, up to the sign
        ("log(a*b)", "log(a/b)", False),
        ("log(a**2*b**4)", "log(a*b**2)", True),
        ("log(a**(1/2)*b**(1/3))", "log(a**3*b**2)", True),
        ("log(a*b/b)", "log(a)", True),
        ("log(a)", "log(b)", False),
        ("log(2)", "1", True),
        ("softO(a)", "a", False),
        ("softO(2)", "1", True),
    ],
)
def test_which_logarithms_are_of_one_size(one: str, two: str, same: bool) -> None:
    assert same_monomial(growth_of(parse(one)), growth_of(parse(two))) is same


@pytest.mark.parametrize(
    ("text", "ends", "value"),
    [
        ("nu - 1", (1, 2), "0"), ("2*nu + 1", (1, 2), "3"), ("3 - nu", (1, 2), "1"), ("3 - 2*nu", (-1, 2), "-1"),
        ("a", (1, 2), None), ("nu*a", (1, 2), None), ("5", (1, 2), "5"),
    ],
)  # fmt: skip
def test_the_least_value_over_the_range(text: str, ends: tuple[int, int], value: str | None) -> None:
    found = growth._least(parse(text), {"nu": (F(ends[0]), F(ends[1]))})
    assert found == (None if value is None else F(value))
    inside = found is not None and found >= 1
    assert growth._one_inside(parse(text), {"nu": (F(ends[0]), F(ends[1]))}) is inside


@pytest.mark.parametrize(
    ("text", "value"),
    [("nu + 2", "nu + 2"), ("2*nu", "2*nu"), ("nu/3", "nu/3"), ("-nu", "-nu"), ("nu**2", "nu**2"), ("1/2", "1/2")],
)
def test_exponents_are_read_as_written(text: str, value: str) -> None:
    nu = sympy.Symbol("nu")
    wanted = {"nu + 2": nu + 2, "2*nu": 2 * nu, "nu/3": nu / 3, "-nu": -nu, "nu**2": nu**2, "1/2": sympy.Rational(1, 2)}
    assert sympy.cancel(growth.exponent_of(parse(text), {"nu": (F(0), F(1))}) - wanted[value]) == 0
    with pytest.raises(NoOrder):
        growth.exponent_of(parse(f"{text} + a"), {"nu": (F(0), F(1))})
