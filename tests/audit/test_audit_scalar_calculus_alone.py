"""Differences on boxes: ends of ranges, exponents on boxes, inverted letters, and each reason why monotony proves."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from audit_pieces import Recorder, claim_of, plain

from bilevel_verify.audit.scalar import boxes, calculus
from bilevel_verify.audit.scalar.algebra import NotAlgebraic
from bilevel_verify.audit.scalar.calculus import by_boxes, by_calculus, by_derivative, numeric_ends
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.language import parse, to_text

pytestmark = pytest.mark.fast
F = Fraction
X, Y, N = (sympy.Symbol(name, positive=True) for name in ("x", "y", "n"))
REAL = sympy.Symbol("y", real=True)
R = sympy.Rational

# --- ends of ranges


@pytest.mark.parametrize(
    ("ranges", "where", "ends"),
    [
        ("x = [1, 2]", "", (1, 2)),
        ("x = (1, 2)", "", (1, 2)),
        ("x = (0, oo)", "", (0, None)),
        ("x = (-oo, 3]", "", (None, 3)),
        ("x = (-oo, oo)", "", (None, None)),
        ("x = [1, 5]", "x <= 4; x >= 2", (2, 4)),
        ("x = [1, 5]", "4 >= x; 2 <= x", (2, 4)),
        ("x = [1, 5]", "x < 4; 2 < x", (2, 4)),
        ("x = [1, 5]", "-x >= -4; 3 - 2*x <= -1", (2, 4)),
        ("x = [1, 5]", "x <= 7; x >= 0", (1, 5)),
        ("x = [1, 5]", "2*x <= x + 3", (1, 3)),
        ("x = [1, 5]", "x == 2", (1, 5)),
        ("x = [1, 5]", "x <= y; y <= 2", (1, 5)),
        ("x = [1, 5]", "x**2 <= 4", (1, 5)),
        ("x = [1, 5]", "4 >= x**2", (1, 5)),
        ("x = [1, 5]", "x <= x**2", (1, 5)),
        ("x = [1, 5]", "1 <= x <= 2", (1, 5)),
        ("x = [1, 5]", "x <= x", (1, 5)),
        ("x = [1, y]", "", (1, None)),
        ("x = integers 2..7", "", (2, 7)),
    ],
)
def test_ends_as_numbers(ranges: str, where: str, ends: tuple[Fraction | None, Fraction | None]) -> None:
    assert numeric_ends(claim_of("x <= y", f"{ranges}; y = (0, oo)", where), "x") == ends


def test_a_box_has_all_letters_and_finite_ends() -> None:
    assert calculus._finite_box(claim_of("x <= y", "x = [0, 1]; y = [2, 3]")) == {"x": (0, 1), "y": (2, 3)}
    assert calculus._finite_box(claim_of("x <= y", "x = [0, 1]; y = [2, oo)")) is None
    assert calculus._finite_box(claim_of("x <= y", "x = [0, 1]; y = (-oo, 2]")) is None


# --- exponents on boxes

BOX = {"x": (F(0), F(2)), "y": (F(-1), F(3))}


@pytest.mark.parametrize(
    ("exponent", "least"),
    [
        (X, 0), (-X, -2), (Y, -1), (-Y, -3), (2 * X - Y + 1, -2), (sympy.Integer(5), 5), (X - X, 0), (X * Y, None),
        (X**2, None), (N, None), (X + N, None), (sympy.sqrt(2) * X, None), (X + sympy.pi, None), (sympy.pi, None),
    ],
)  # fmt: skip
def test_least_value_of_an_exponent(exponent: sympy.Expr, least: int | None) -> None:
    assert calculus._corner_least(sympy.sympify(exponent), BOX) == least


@pytest.mark.parametrize(
    ("exponents", "least"),
    [
        ([X, X + 1, X + Y + 1], X),  # nowhere larger than the others
        ([X + 1, X], X),
        ([X, 2 - X], 0),  # none of them: the least number that they reach
        ([X - 1, Y], -1),
        ([X + 1, 3 - 3 * X], -3),  # the least of all, wherever it stands
        ([3 - 3 * X, X + 1], -3),
        ([X + 1, N], None),
        ([sympy.Integer(3), sympy.Integer(2)], 2),
    ],
)
def test_the_dominating_exponent(exponents: list[sympy.Expr], least: sympy.Expr | None) -> None:
    assert calculus._least(exponents, BOX) == least


@pytest.mark.parametrize(
    "value",
    [X**2 + 1 / X, X**-3 * (1 + Y) + Y / X, sympy.sqrt(X) + X ** R(-3, 2), X**Y / X**2 + X, 2 + Y, X ** (Y - 4)],
)
def test_the_dominating_power_is_divided_out(value: sympy.Expr) -> None:
    box = {"y": (F(0), F(1))}
    found = calculus._scaled(sympy.expand(value), X, box)
    ratio = [(found / value).subs({X: x, Y: R(1, 3)}).evalf() for x in (R(1, 4), R(4))]
    assert all(r > 0 for r in ratio)
    power = sympy.log(ratio[1] / ratio[0]) / sympy.log(16)  # the quotient is a power of x
    middle = (found / value).subs({X: 1, Y: R(1, 3)}).evalf()
    assert float(middle) == pytest.approx(1.0, rel=1e-12, abs=0)
    assert float(ratio[0]) == pytest.approx(float(R(1, 4) ** power), rel=1e-9, abs=0)
    for y in (0, 1, R(1, 2)):  # no pole at 0, and something is left there
        at_zero = sympy.limit(found.subs(Y, y), X, 0)
        assert at_zero.is_finite
    corner = [sympy.limit(found.subs(Y, y), X, 0) for y in (0, 1)]
    assert any(c != 0 for c in corner)


def test_no_power_dominates_what_grows_in_its_exponent() -> None:
    with pytest.raises(NotAlgebraic):
        calculus._scaled(X**N + 1, X, {})


@pytest.mark.parametrize(
    "value",
    [(1 + 1 / X) ** R(1, 2), (X + 2 / X) ** N, ((1 - X) / X + 3) ** -2, 1 / (1 + Y / X), (Y * (1 + 1 / X)) ** R(1, 3),
     (1 + X) ** 2, (1 / X + 1 / Y) ** R(-1, 2), X**2 + 1, ((X - Y) / (X - 2 * Y)) ** 2],
)  # fmt: skip
def test_powers_of_quotients_are_taken_apart_without_a_change(value: sympy.Expr) -> None:
    found = calculus._inverted(value)
    for x, y in ((R(1, 3), R(7, 5)), (R(9, 10), R(1, 5))):
        put = {X: x, Y: y, N: R(3, 7)}
        assert float(found.subs(put)) == pytest.approx(float(value.subs(put)), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("text", "ranges", "names"),
    [
        ("x <= y", "x = [0, 1]; y = [2, 3]", {"x", "y"}),
        ("x <= y", "x = [0, 1]; y = [2, oo)", {"x", "y_inverse"}),
        ("x <= y", "x = [0, 1]; y = [0, oo)", {"x", "y_inverse"}),
        ("x <= y", "x = [1, oo)", {"x_inverse", "y_inverse"}),
    ],
)
def test_letters_that_run_to_infinity_are_inverted(text: str, ranges: str, names: set[str]) -> None:
    """The sign of the difference is kept: at a point of the box it is that of the claim where it stands for."""
    claim = claim_of(text, ranges)
    reader = calculus.Analytic(claim)
    difference = reader.of(claim.right) - reader.of(claim.left)
    found, box = calculus._on_a_box(difference, claim, reader)
    assert set(box) == names
    symbols = {s.name: s for s in found.free_symbols}
    for share in (R(1, 7), R(1, 2), R(6, 7)):
        put, real = {}, {}
        for name, (low, high) in box.items():
            at = R(low) + share * R(high - low) if name != "x" else R(low) + (1 - share) * R(high - low)
            put[symbols[name]] = at
            letter = name.removesuffix("_inverse")
            first = numeric_ends(claim, letter)[0]
            assert first is not None
            real[letter] = at if letter == name else (first / at if first > 0 else first + (1 - at) / at)
        exact = real["y"] - real["x"]
        assert sympy.sign(found.subs(put)) == sympy.sign(exact)


@pytest.mark.parametrize("ranges", ["x = (-oo, 1]", "x = (-oo, oo)"])
def test_a_letter_without_a_lower_end_is_refused(ranges: str) -> None:
    claim = claim_of("x <= y", f"{ranges}; y = [0, 1]")
    reader = calculus.Analytic(claim)
    with pytest.raises(NotAlgebraic):
        calculus._on_a_box(reader.of(claim.left), claim, reader)


# --- ends of letters in expressions


@pytest.mark.parametrize(
    ("value", "end", "box", "there"),
    [
        (X + 1, 2, {}, 3),
        (X + 1, 0, {}, 1),
        (X**Y + 1, 0, {"y": (F(1), F(2))}, 1),  # a positive exponent: 0
        (X**Y + 1, 2, {"y": (F(1), F(2))}, 2**Y + 1),
        (X ** R(1, 2) + X * Y, 0, {"y": (F(0), F(1))}, 0),
        (X**-1, 2, {}, R(1, 2)),
        ((X + 1) ** -1, 0, {}, 1),
        ((X + Y) ** -1, 0, {"y": (F(1), F(2))}, 1 / Y),
        ((X - 1) ** 2, 1, {}, 0),
        (X**REAL + 1, 0, {"y": (F(1), F(2))}, 1),
        (X**REAL + 1, 0, {"y": (F(0), F(2))}, 0**REAL + 1),  # 1 or 2: the exponent may be 0
        ((X - 1) ** REAL, 1, {"y": (F(0), F(2))}, 0**REAL),
        # poles
        (X**-1, 0, {}, None),
        (X ** (Y - 1), 0, {"y": (F(0), F(2))}, None),
        ((X + Y) ** -1, 0, {"y": (F(0), F(2))}, None),
        ((X - 1) ** -1, 1, {}, None),
        ((X - 1) ** (-Y), 1, {"y": (F(0), F(2))}, None),
        ((X + Y) ** -1 + (X - 1) ** -1, 1, {"y": (F(1), F(2))}, None),
    ],
)
def test_an_expression_at_an_end(value: sympy.Expr, end: int, box: dict, there: object) -> None:  # type: ignore[type-arg]
    found = calculus._at_end(value, X, F(end), box)
    if there is None:
        assert found is sympy.nan
    else:
        assert sympy.expand(found - there) == 0


@pytest.mark.parametrize(("value", "finite"), [(X, True), (sympy.nan, False), (sympy.zoo, False), (sympy.oo, False),
                                               (-sympy.oo, False), (X + sympy.zoo, False)])  # fmt: skip
def test_finite_values(value: sympy.Expr, finite: bool) -> None:
    assert calculus._is_finite(value) == finite


def test_slopes_join_powers_of_one_base() -> None:
    assert (
        calculus._slope(X ** (Y + 1), X) == X**Y * Y + X**Y
        or sympy.expand(calculus._slope(X ** (Y + 1), X) - (Y + 1) * X**Y) == 0
    )
    assert calculus._slope(X**2, X) == 2 * X


@pytest.mark.parametrize(
    ("text", "box", "fails"),
    [
        ("x", {"x": (0, 1)}, False),
        ("x - 1/2", {"x": (0, 1)}, True),
        ("x - 1/1000", {"x": (0, 1)}, True),  # near the lower end
        ("999/1000 - x", {"x": (0, 1)}, True),  # near the upper end
        ("x + y - 1/1000", {"x": (0, 1), "y": (0, 1)}, True),  # a corner
        ("x - y + 999/1000", {"x": (0, 1), "y": (0, 1)}, True),
        ("x - 5", {"x": (5, 9)}, False),
        ("10 - x", {"x": (5, 9)}, False),
        ("(x - 1/2)**2 - 1/100", {"x": (0, 1)}, True),  # inside
        ("0 - 15/10**10", {}, True),
        ("0 - 1/10**10", {}, False),  # within rounding
        ("0 - 1/10**8", {}, True),
    ],
)
def test_what_plainly_fails_is_seen(text: str, box: dict, fails: bool) -> None:  # type: ignore[type-arg]
    exact = {n: (F(a), F(b)) for n, (a, b) in box.items()}
    assert calculus._fails_somewhere(parse(text), exact) == fails


# --- one proof


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "box", "strict", "depth", "answer"),
    [
        (sympy.Integer(0), {}, False, 3, True),
        (sympy.Integer(0), {}, True, 3, False),
        (X + 1, {"x": (0, 1)}, True, 0, True),
        (X, {"x": (0, 1)}, False, 0, False),  # 0 at an end
        (X, {"x": (0, 1)}, False, 1, True),
        (X, {"x": (0, 1)}, True, 3, False),
        (X - 1, {"x": (0, 2)}, False, 3, False),
        (X**2 - 2 * X + 1, {"x": (0, 1)}, False, 0, False),  # the sides meet at an end
        (X**2 - 2 * X + 1, {"x": (0, 1)}, False, 1, False),
        (X**2 - 2 * X + 1, {"x": (0, 1)}, False, 2, True),  # decreasing, 0 at 1
        (X**2 - 2 * X + 1, {"x": (0, 1)}, True, 3, False),
        (X**2 - 2 * X + 1, {"x": (0, 2)}, False, 1, False),  # in the middle
        (X**3 - X**2, {"x": (1, 2)}, False, 1, True),  # increasing, 0 at 1
        (X**3 - X**2, {"x": (0, 2)}, False, 3, False),
        ((X - 1) * (Y + 1) + Y, {"x": (1, 2), "y": (0, 1)}, False, 2, True),  # the other letter is left at the end
        (X**2 - 2 * X + 1, {"y": (0, 1), "x": (0, 1)}, False, 2, True),  # a letter that does not occur
        (1 / X - 1, {"x": (0, 1)}, False, 1, False),  # a pole at an end
        ((X - 1) * (Y + 1), {"x": (1, 2), "y": (0, 1)}, False, 1, True),
        (sympy.exp(X) - 1 - X, {"x": (0, 1)}, False, 2, True),
        (sympy.exp(X) - 1 - X, {"x": (0, 1)}, False, 0, False),
    ],
)
def test_proofs_on_a_box(value: sympy.Expr, box: dict, strict: bool, depth: int, answer: bool) -> None:  # type: ignore[type-arg]
    proof = calculus._Proof()
    exact = {n: (F(a), F(b)) for n, (a, b) in box.items()}
    assert proof.holds(value, exact, strict, depth) == answer


def test_what_was_used_is_told() -> None:
    up, down, plainly = calculus._Proof(), calculus._Proof(), calculus._Proof()
    assert up.holds(X**3 - X**2, {"x": (F(1), F(2))}, False, 1)
    assert down.holds(2 - X - X**2, {"x": (F(0), F(1))}, False, 1)
    assert plainly.holds(X, {"x": (F(1), F(2))}, False, 1)
    assert up.describe() == "increasing in x, its end 1"
    assert down.describe() == "decreasing in x, its end 1"
    assert plainly.describe() == "directly"
    assert plainly.boxes == 1
    assert up.boxes > 1


def test_budgets_end_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = calculus._Proof(boxes=calculus.BOXES)
    assert spent.holds(X, {"x": (F(1), F(2))}, False, 1)  # what is left is used
    assert not calculus._Proof(boxes=calculus.BOXES + 1).holds(X, {"x": (F(1), F(2))}, False, 1)
    monkeypatch.setattr(calculus, "OPERATION_LIMIT", 2)
    assert calculus._Proof().holds(X**2 + X, {"x": (F(1), F(2))}, False, 0)
    assert not calculus._Proof().holds(X**2 + X + 1, {"x": (F(1), F(2))}, False, 0)


def test_slopes_at_the_ends_decide_where_nothing_is_monotone() -> None:
    """x*(1 - x)*(...) is 0 at both ends and positive between: boxes alone never end there."""
    value = X * (1 - X) * (1 + X**2)
    proof = calculus._Proof()
    assert proof.from_the_ends(sympy.expand(value), {"x": (F(0), F(1))}, 2)
    assert proof.describe() == "slopes at the ends of x, x"
    assert proof.boxes > 1
    assert not calculus._Proof().from_the_ends(sympy.expand(-value), {"x": (F(0), F(1))}, 2)
    assert not calculus._Proof().from_the_ends(
        sympy.expand(value * (X - R(1, 2)) ** 2 - R(1, 10**4) * X), {"x": (F(0), F(1))}, 2
    )
    assert not calculus._Proof().from_the_ends(X - 2, {"x": (F(0), F(1))}, 2)


WAVE = X * (1 - X) + Y  # at both ends of x it is y


def test_slopes_that_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each end where the expression is nonnegative, the derivative away from there."""
    handed = []
    whole = boxes.nonnegative

    def spy(node: Any, box: Any, conditions: Any = (), strict: bool = False, slopes: Any = (), **words: Any) -> Any:
        handed.extend(slopes)
        return whole(node, box, conditions, strict, slopes, **words)

    monkeypatch.setattr(boxes, "nonnegative", spy)
    proof = calculus._Proof()
    assert proof.from_the_ends(WAVE, {"x": (F(0), F(1)), "y": (F(0), F(1))}, 2)
    assert [(slope.name, slope.end) for slope in handed] == [("x", 0), ("x", 1), ("y", 1)]
    for slope, sign in zip(handed[:2], (1, -1)):
        away = calculus.Analytic(claim_of("x <= y", "x = (0, oo); y = (0, oo)")).of(slope.away)
        put = {s: R(1, 3) if s.name == "x" else R(2, 7) for s in away.free_symbols}
        assert away.subs(put) == sign * (1 - 2 * R(1, 3))


@pytest.mark.parametrize(("found", "kept"), [("", "before"), ("there", "there")])
def test_boxes_and_the_worst_of_them_are_told_of_the_ends_too(
    monkeypatch: pytest.MonkeyPatch, found: str, kept: str
) -> None:
    proof = calculus._Proof(boxes=100, worst="before")
    monkeypatch.setattr(proof, "holds", lambda *asked: True)
    result = SimpleNamespace(boxes=7, worst=found, proved=False)
    monkeypatch.setattr(boxes, "nonnegative", lambda *asked: result)
    assert not proof.from_the_ends(WAVE, {"x": (F(0), F(1)), "y": (F(0), F(1))}, 2)
    assert (proof.boxes, proof.worst, proof.steps) == (107, kept, ())


def test_quotients_of_positive_sums_are_split_and_others_are_not() -> None:
    t, b = sympy.Symbol("t", positive=True), sympy.Symbol("b", real=True)
    assert calculus._inverted(sympy.sqrt(1 + 1 / t)) == sympy.sqrt(t + 1) / sympy.sqrt(t)
    assert calculus._inverted(sympy.sqrt(1 + 1 / b)).is_Pow  # b may be negative: the root of a quotient stays
    assert calculus._inverted((t + 1) ** 2 + sympy.sqrt(t + 2)) == sympy.expand((t + 1) ** 2) + sympy.sqrt(t + 2)


class Spy(calculus._Proof):
    """Notes what it is asked, and believes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.depths: list[int] = []

    def holds(self, value: Any, box: Any, strict: bool, depth: int) -> bool:
        self.depths.append(depth)
        return False


def test_ends_are_one_level_deeper_and_without_any_nothing_is_searched() -> None:
    spy = Spy()
    assert not spy.from_the_ends(WAVE, {"x": (F(0), F(1)), "y": (F(0), F(1))}, 2)
    assert spy.depths == [1, 1, 1, 1]
    assert (spy.boxes, spy.describe()) == (0, "directly")


@pytest.mark.parametrize(
    ("strict", "depth", "asked"), [(False, 3, [2]), (False, 2, [1]), (False, 1, []), (True, 3, [])]
)
def test_slopes_are_for_weak_relations_with_depth_left(
    strict: bool, depth: int, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(calculus._Proof, "monotone", lambda *_: False)
    monkeypatch.setattr(calculus._Proof, "from_the_ends", lambda self, value, box, left: seen.append(left))
    calculus._Proof().holds(X**2 - X + R(1, 4), {"x": (F(0), F(1))}, strict, depth)
    assert seen == asked


def test_the_worst_box_is_kept_and_what_plainly_fails_costs_none() -> None:
    proof = calculus._Proof()
    assert not proof.holds(X**2 - 2 * X + 1, {"x": (F(0), F(1))}, False, 0)
    assert proof.worst.startswith("x in [")
    before = proof.worst
    assert proof.holds(X + 1, {"x": (F(0), F(1))}, False, 0)
    assert proof.worst == before
    plain_failure = calculus._Proof()
    assert not plain_failure.holds(X - 1, {"x": (F(0), F(2))}, False, 3)
    assert plain_failure.boxes == 0
    ends = calculus._Proof()
    dented = sympy.expand(X * (1 - X) * ((X - R(1, 2)) ** 2 - R(1, 10**12)))
    assert not ends.from_the_ends(dented, {"x": (F(0), F(1))}, 2)
    assert ends.worst.startswith("x in [")
    assert ends.describe() == "directly"


# --- the engines


@pytest.mark.parametrize(
    ("text", "ranges", "where", "proved"),
    [
        ("x <= 2", "x = [0, 1]", "", True),
        ("x < 2", "x = [0, 1]", "", True),
        ("2 >= x", "x = [0, 1]", "", True),
        ("2 > x", "x = [0, 1]", "", True),
        ("x < 1", "x = [0, 1]", "", False),
        ("1 > x", "x = [0, 1]", "", False),
        ("2 <= x", "x = [0, 1]", "", False),
        ("0*x <= 0", "x = [0, 1]", "", True),
        ("0*x >= 0", "x = [0, 1]", "", True),
        ("0*x < 0", "x = [0, 1]", "", False),
        ("0*x > 0", "x = [0, 1]", "", False),
        ("x == x", "x = [0, 1]", "", False),
        ("x <= 2", "x = [0, 1]; y = [0, oo)", "y <= y", False),
        ("x <= 1/2", "x = [0, 1]", "4*x <= 1", True),
        ("sin(x) <= 3/2", "x = [0, 9]", "", True),
        ("a + b + c + d <= 5", "a = [0, 1]; b = [0, 1]; c = [0, 1]; d = [0, 1]", "", True),
        ("a + b + c + d + x <= 6", "a = [0, 1]; b = [0, 1]; c = [0, 1]; d = [0, 1]; x = [0, 1]", "", False),
    ],
)
def test_boxes_alone(text: str, ranges: str, where: str, proved: bool) -> None:
    found = by_boxes(claim_of(text, ranges, where))
    assert (found.outcome, found.engine) == ("proved" if proved else "undecided", "boxes")


@pytest.mark.parametrize(
    ("text", "ranges", "proved"),
    [
        ("log(1 + x) <= x", "x = [0, 1]", True),
        ("x >= log(1 + x)", "x = [0, 1]", True),
        ("log(1 + x) < x", "x = [0, 1]", False),
        ("log(1 + x) >= x", "x = [0, 1]", False),
        ("1/(1 + x) <= 1", "x = [0, oo)", True),
        ("1/(1 + x) >= 1", "x = [0, oo)", False),
        ("x/(1 + x) < 1", "x = [0, oo)", True),
        ("x/(1 + x) <= 9/10", "x = [0, oo)", False),
        ("x**2 + 1 > x", "x = [0, oo)", True),
        ("x == x", "x = [0, 1]", False),
        ("x <= y", "x = (-oo, 1]; y = [2, 3]", False),
        ("a + b + c + d + 1 >= 0", "a = [0, 1]; b = [0, 1]; c = [0, 1]; d = [0, 1]", True),
        ("a + b + c + d + x + 1 >= 0", "a = [0, 1]; b = [0, 1]; c = [0, 1]; d = [0, 1]; x = [0, 1]", False),
        ("(1 - 2*x)**k <= 1", "x = [0, 1]; k = integers 1..5", False),  # of either sign to an integer power
        ("(2 - x)**k >= 1/2", "x = [0, 1]; k = integers 1..5", True),
        ("abs(x) >= 0", "x = [0, 1]", False),
    ],
)
def test_calculus_alone(text: str, ranges: str, proved: bool) -> None:
    found = by_calculus(claim_of(text, ranges))
    assert (found.outcome, found.engine) == ("proved" if proved else "undecided", "boxes")


def believed(text: str, ranges: str, where: str = "") -> tuple[Decision, list[str]]:
    """The derivative engine where every part is believed, and what was asked."""
    decide = Recorder()
    return by_derivative(claim_of(text, ranges, where), decide), [one.split(";")[0] for one in decide.texts]


def test_monotone_in_a_letter_and_true_at_its_end() -> None:
    found, texts = believed("x <= x**2 + y", "x = [1, oo); y = [0, 1]")
    assert (found.outcome, found.engine, found.certificate) == ("proved", "monotone", "monotone in x, true at its end")
    assert texts[0] == plain("0 <= y")  # at x = 1
    assert plain("0 <= 2*x - 1") in texts[:2] or plain("0 <= -1 + 2*x") in texts[:2]


@pytest.mark.parametrize("outcome", ["undecided", "refuted"])
@pytest.mark.parametrize("which", [0, 1])
def test_both_the_end_and_the_slope_are_needed(which: int, outcome: str) -> None:
    claim = claim_of("x <= x**2", "x = [1, oo)")
    record = Recorder()
    by_derivative(claim, record)
    refused = Recorder(outcomes={record.texts[which]: outcome})  # type: ignore[dict-item]
    assert by_derivative(claim, refused).outcome == "undecided"


def test_a_vacuous_end_is_true_and_a_vacuous_slope_proves_nothing() -> None:
    claim = claim_of("x <= x**2", "x = [1, oo)")
    record = Recorder()
    by_derivative(claim, record)
    end, slope = record.texts[:2]
    assert by_derivative(claim, Recorder(outcomes={end: "vacuous"})).outcome == "proved"
    assert by_derivative(claim, Recorder(outcomes={slope: "vacuous"})).outcome == "undecided"


@pytest.mark.parametrize(
    ("text", "ranges", "where", "first"),
    [
        ("x < x**2 + y", "x = [1, oo); y = [0, 1]", "", "0 < y"),
        ("x**2 + y > x", "x = [1, oo); y = [0, 1]", "", "0 < y"),
        ("x**2 + y >= x", "x = [1, oo); y = [0, 1]", "", "0 <= y"),
        ("x**2 <= x + y", "x = (-oo, 1]; y = [0, 1]", "", "0 <= y"),  # from the upper end down
    ],
)
def test_what_is_asked_at_the_end(text: str, ranges: str, where: str, first: str) -> None:
    assert believed(text, ranges, where)[1][0] == plain(first)


def test_the_letter_is_gone_at_its_end() -> None:
    record = Recorder()
    assert by_derivative(claim_of("x <= x**2 + y", "x = [1, oo); y = [0, 1]"), record).outcome == "proved"
    assert record.asked[0].domains.keys() == {"y"}
    assert record.asked[1].domains.keys() == {"x", "y"}


def test_a_pole_at_one_end_leaves_the_other() -> None:
    assert believed("0 <= y/x", "x = (0, 1]; y = [0, 1]")[0].outcome == "proved"


def test_a_range_without_an_end() -> None:
    assert by_derivative(claim_of("k <= k**2", "k = integers 1.."), Recorder("undecided")).outcome == "undecided"


def test_from_an_upper_end_the_slope_is_turned() -> None:
    texts = believed("x <= 2 - x", "x = (-oo, 1]")[1]
    assert texts[:2] == [plain("0 <= 0"), plain("0 <= 2")]


@pytest.mark.parametrize(
    ("text", "ranges", "where"),
    [
        ("x == x**2", "x = [1, oo)", ""),
        ("x <= x**2", "x = (-oo, oo)", ""),
        ("x <= x**2", "x = [1, oo)", "x <= 2"),  # a hypothesis needs the letter
        ("x <= x**2", "x = [y, oo); y = [1, 2]", "y <= y**2; 1 <= x"),
        ("abs(x) <= x**2", "x = [1, oo)", ""),
        ("(1 - 2*x)**k <= 1", "x = [0, 1]; k = integers 1..5", ""),
        ("1 <= 1/x", "x = (0, oo)", ""),  # a pole at the end
    ],
)
def test_where_no_end_is_asked(text: str, ranges: str, where: str) -> None:
    found, texts = believed(text, ranges, where)
    assert (found.outcome, texts) == ("undecided", [])


def test_letters_that_other_ranges_need_are_not_put_to_their_ends() -> None:
    names = [believed("x + y <= x**2 + y**2 + 1", "x = [1, 5]; y = [x, 9]")[0].certificate]
    assert names == ["monotone in y, true at its end"] or names == ["monotone in no letter with an end"]
    assert calculus._others(claim_of("x <= y", "x = [1, 5]; y = [x, 9]"), "x")[0] == parse("y >= x")
    assert calculus._others(claim_of("x <= y", "x = [1, 5]; y = [2, 9]", "x <= y"), "y")[0] == parse("x <= y")
    assert len(calculus._others(claim_of("x <= y", "x = [1, 5]; y = [2, 9]", "x <= y"), "y")) == 3


def test_too_large_a_slope_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert believed("x <= x**2", "x = [1, oo)")[0].outcome == "proved"
    monkeypatch.setattr(calculus, "OPERATION_LIMIT", 2)
    assert believed("x <= x**2", "x = [1, oo)")[0].outcome == "proved"  # 2*x - 1 has two operations
    monkeypatch.setattr(calculus, "OPERATION_LIMIT", 1)
    assert believed("x <= x**2", "x = [1, oo)")[0].outcome == "undecided"


def test_definedness_is_asked() -> None:
    """1/(x*x - 5) is decreasing on either side of its pole: monotony proves nothing across it."""
    claim = claim_of("1/(x*x - 5) <= 5", "x = [3, 9]")
    record = Recorder()
    assert by_derivative(claim, record).outcome == "proved"
    assert record.texts[2:] == [plain("abs(x*x - 5) > 0")]
    assert by_derivative(claim, Recorder(outcomes={record.texts[2]: "undecided"})).outcome == "undecided"
    assert by_derivative(claim, Recorder(outcomes={record.texts[2]: "vacuous"})).outcome == "proved"


@pytest.mark.parametrize(
    ("text", "ranges", "answer"),
    [
        ("x**k <= 1", "x = [0, 1]; k = integers 0..", False),
        ("x**k <= 1", "x = [-1, 1]; k = integers 0..", True),
        ("1 <= x**k", "x = [-1, 1]; k = integers 0..", True),
        ("x**2 <= 1", "x = [-1, 1]", False),
        ("(x - y)**k <= 1", "x = [2, 3]; y = [0, 1]; k = integers 0..", False),  # seen by the solver
        ("(x*x - x + 1)**k <= 1", "x = [0, 3]; k = integers 0..", False),
        ("(x*x - 2*x + 1)**k <= 1", "x = [0, 3]; k = integers 0..", False),
        ("(x*x - x)**k <= 1", "x = [0, 3]; k = integers 0..", True),
    ],
)
def test_integer_powers_of_what_may_be_negative(text: str, ranges: str, answer: bool) -> None:
    assert calculus._of_either_sign(claim_of(text, ranges)) == answer


def test_logarithms_and_exponentials_are_read() -> None:
    claim: ScalarClaim = claim_of("log(x) <= exp(x) + x**(y/3)", "x = (0, oo); y = [0, 1]")
    reader = calculus.Analytic(claim)
    put = {reader.symbols["x"]: 1.7, reader.symbols["y"]: 0.6}
    assert float(reader.of(claim.left).subs(put)) == pytest.approx(np.log(1.7), rel=1e-12, abs=0)
    assert float(reader.of(claim.right).subs(put)) == pytest.approx(np.exp(1.7) + 1.7**0.2, rel=1e-12, abs=0)
    assert float(reader.of(parse("x**log(x)")).subs(put)) == pytest.approx(1.7 ** np.log(1.7), rel=1e-12, abs=0)
    with pytest.raises(NotAlgebraic):
        reader.of(parse("x**(64 + 1)"))
    with pytest.raises(NotAlgebraic):
        reader.of(parse("floor(x)"))
    assert float(reader.of(parse("sin(x) - atan(x)")).subs(put)) == pytest.approx(
        np.sin(1.7) - np.arctan(1.7), abs=1e-12
    )
    assert to_text(claim.left) == "log(x)"


def test_a_quotient_hidden_in_a_sum_is_taken_apart() -> None:
    """(1 + 1/y)^n = (1 + y)^n y^-n: every power of y stands by itself."""
    found = calculus._inverted((1 + 1 / Y) ** N)
    assert found == (1 + Y) ** N * Y**-N
    assert calculus._inverted((1 + Y) ** N) == (1 + Y) ** N
    assert not calculus._inverted((1 + 1 / REAL) ** N).has(REAL**-N)  # y may be negative: it stays whole
