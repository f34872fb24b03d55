"""Branch and bound on boxes: cutting, splitting, ends that decide; powers near a pole."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from audit_pieces import claim_of
from flint import arb

from bilevel_verify.audit.scalar import boxes, prove
from bilevel_verify.audit.scalar.boxes import (
    Slope,
    _holds,
    nonnegative,
)
from bilevel_verify.audit.scalar.calculus import by_boxes, by_calculus, by_derivative
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.audit.scalar.work import counting
from bilevel_verify.language import parse

pytestmark = pytest.mark.fast

# --- branch and bound

X = {"x": (Fraction(0), Fraction(1))}
XY = {**X, "y": (Fraction(0), Fraction(2))}


@pytest.mark.parametrize(
    ("text", "box", "where", "strict", "proved"),
    [
        ("x", X, "", False, False),
        ("x + 1/10**6", X, "", True, True),
        ("x + 1/10**6", X, "", False, True),
        ("1", {}, "", True, True),
        ("0", {}, "", False, True),
        ("0", {}, "", True, False),
        ("-1", {}, "", False, False),
        ("0*x", X, "", False, True),
        ("0*x", X, "", True, False),
        ("x - x + 1/100", X, "", True, True),
        ("x*x - x + 26/100", X, "", True, True),
        ("x*x - x + 24/100", X, "", False, False),
        ("x*y - 2*x*y + 3", XY, "", True, True),
        ("y*y - 2*y + 1 + 1/50", {"y": XY["y"]}, "", True, True),
        ("x - 1", X, "x >= 1 + 1/100", False, True),
        ("x - 1/2", X, "x >= 2/3", True, True),
        ("x - 2/3 + 1/10**9", X, "x >= 2/3; x <= 2", True, False),
        ("x - 1/2", X, "x >= 1/3", False, False),
        ("x - 1/2", X, "y >= 0; x >= 2/3", True, True),
        ("x - 1/2", X, "x >= 2/3; y >= 0", True, True),
        ("-1", X, "x >= 2", True, True),
        ("x", X, "x <= 1/2; x >= 2/3", True, True),
        ("1/(x - 2)", X, "", False, False),
        ("1/x", X, "", False, False),
        ("sqrt(x)", X, "", False, False),
        ("sqrt(x) + 1/100", X, "", True, True),
        ("1 - x**y", XY, "", False, False),
        ("11/10 - x**y", XY, "", False, True),
    ],
)
def test_proofs_on_boxes(text: str, box: Any, where: str, strict: bool, proved: bool) -> None:
    conditions = tuple(parse(c) for c in where.split("; ") if c)
    box = {**box, "y": XY["y"]} if "y >=" in where else box
    found = nonnegative(parse(text), box, conditions, strict)
    assert found.proved is proved
    assert bool(found.worst) is (not proved and bool(box))


def test_boxes_are_counted_and_searched_in_breadth() -> None:
    assert nonnegative(parse("x + 1"), X).boxes == 1
    assert nonnegative(parse("x*x - x + 26/100"), X).boxes > 2
    assert nonnegative(parse("x - 2"), X).boxes == 1
    assert nonnegative(parse("x - 2"), X).worst == "x in [0, 1]"
    assert nonnegative(parse("x - 2"), X, (parse("x >= -1"),)).boxes > 20
    assert nonnegative(parse("x - 1/2"), X).boxes == 3
    assert nonnegative(parse("x - 1/2"), X).worst == "x in [0, 0.25]"
    assert nonnegative(parse("2/3 - x"), X).worst == "x in [0.6667, 0.6667]"
    assert nonnegative(parse("1/4 - x"), X).worst == "x in [0.25, 0.25]"
    assert nonnegative(parse("x*y - y + 1/4"), XY).worst.startswith("x in [")


def test_as_many_boxes_as_are_allowed() -> None:
    text, box = parse("(x - y)*(x - y) + 1/10**9"), {**X, "y": X["x"]}
    assert nonnegative(text, box).proved
    wide = nonnegative(parse("y*y - 2*y + 1 + 1/50"), XY)
    assert (wide.proved, wide.boxes) == (False, 3001)


def test_no_box_is_smaller_than_it_may_be() -> None:
    found = nonnegative(parse("x - x*x - 1/4"), X, (parse("x <= 1/2 - 1/10**12"),))
    assert not found.proved
    assert found.boxes < 3000
    ends = found.worst.removeprefix("x in [").rstrip("]").split(", ")
    assert found.worst.startswith("x in [")
    assert float(ends[1]) - float(ends[0]) < 1e-4


@pytest.mark.parametrize(
    ("text", "name", "end", "away", "proved"),
    [
        ("x - x**2/2", "x", "0", "1 - x", True),
        ("x - x**2/2", "x", "1", "1 - x", False),
        ("x - x**2/2", "x", "0", "x - 1", False),
        ("x - x**2/2 - 1/10", "x", "0", "-1", False),
        ("1 - x**2 - 0*x", "x", "1", "2*x", True),
    ],
)
def test_ends_at_which_the_sides_meet(text: str, name: str, end: str, away: str, proved: bool) -> None:
    slope = Slope(name, Fraction(end), parse(away))
    assert nonnegative(parse(text), X, (), False, (slope,)).proved is proved
    other = Slope("x", Fraction(1), parse("-1"))
    assert nonnegative(parse(text), X, (), False, (other, slope)).proved is proved
    assert not nonnegative(parse(text), X, (), True, (slope,)).proved


def test_a_slope_that_is_not_known_says_nothing() -> None:
    assert not _holds(None)
    assert _holds(arb(0))
    assert _holds(arb(0.5))
    assert not _holds(arb(-1))
    assert not _holds(boxes._interval(Fraction(-1), Fraction(1)))


def test_work_is_counted() -> None:
    with counting(100.0) as work:
        found = nonnegative(parse("x*x - x + 26/100"), X, (parse("x <= 2"),))
    nodes = sum(1 for _ in parse("x*x - x + 26/100").walk()) + sum(1 for _ in parse("x <= 2").walk())
    assert work.spent == pytest.approx(0.002 * found.boxes * nodes)


@pytest.mark.parametrize(
    ("text", "answer"),
    [("x + 1", True), ("x - 2", True), ("x - 1/2", False), ("x", False), ("x - 1", False), ("1/x", False),
    ("1/(x + 1)", True),
     ("x/2 - 3/4", True), ("sqrt(x + y)", True), ("-1 - x**y", True)],
)  # fmt: skip
def test_bases_away_from_zero(text: str, answer: bool) -> None:
    assert boxes.away_from_zero(parse(text), {**X, "y": (Fraction(1), Fraction(2))}) is answer


def test_bits() -> None:
    limits = (boxes.PRECISION, boxes.BOX_LIMIT, boxes.SMALLEST)
    assert limits == (90, 3000, Fraction(1, 10**7))


# --- powers near a pole

POLES = [
    ("x**e <= 1 + 1/10**8", "x = (0, 1/4]; e = [-1/10**9, 0]"),
    ("x**e <= 1 + 1/10**6", "x = (0, 1/4]; e = [-1/10**9, 0]"),
    ("x**(-1/10**9) <= 1 + 1/10**6", "x = (0, 1/4]"),
    ("x*(x*y)**e <= 1 + 1/10**6", "x = (0, 1/4]; y = [1/2, 1]; e = [-1 - 1/10**9, -1]"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "domains"), POLES)
def test_a_pole_at_an_open_end_is_seen(text: str, domains: str) -> None:
    """False so near to the end that no sample finds it."""

    def settled(claim: ScalarClaim) -> Decision:
        return prove.settle(prepared(claim), 1, 300)

    claim = prepared(claim_of(text, domains))
    for found in (by_boxes(claim), by_calculus(claim), by_derivative(claim, settled)):
        assert found.outcome == "undecided"


@pytest.mark.slow
def test_a_pole_at_an_open_end_is_seen_by_all_engines_together() -> None:
    found = prove.decide_here(claim_of("x**e <= 1 + 1/10**6", "x = (0, 1/4]; e = [-1/10**9, 0]"), effort=1.0)
    assert found.outcome != "proved"
    slow = prove.decide_here(claim_of("x**(-1/10**9) <= 2", "x = (0, 1/4]"), effort=1.0)
    assert slow.outcome != "proved"
