"""Branch and bound for claims about points, without an attack before it: true by a little, false by a little, no shape.

Closed forms: y*(x) = x, phi = x^2 + x, y*_lam = x - 1/lam, L* = phi - 1/(2 lam) on [-1, 2]; linear y* in the plane.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

import bilevel_verify as bv
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Tally
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.judging import boxes
from bilevel_verify.checks.judging.boxes import Entries, NotHere, Smooth, _halve, _norm, _World, prove
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Condition, Domain, Expression, Link
from bilevel_verify.truth.functions import formulas

pytestmark = pytest.mark.fast
POINTS = Domain("domain", "domain", space="x")
LETTERS: dict[str, Any] = {
    "M": (v.ball(5.125), "certified"),
    "W": (v.ball(5.0).union(v.ball(5.5)), "certified"),  # somewhere in [5, 5.5]
}
LINE = {"f": "x1**2 + y1", "g": "(y1 - x1)**2/2", "x": "x1", "y": "y1", "domain": {"x1": (-1, 2)}}
RIGHT = {**LINE, "domain": {"x1": (0, 2)}}
PLANE = {
    "f": "x1**2 + 3*x2**2 + 0*y1", "g": "(y1 - 3*x1 - 4*x2)**2/2", "x": "x1 x2", "y": "y1",
    "domain": {"x1": (0, 1), "x2": (0, 1)},
}  # fmt: skip
TURNED = {**PLANE, "g": "(y1 - 3*x1)**2/2 + (y2 - 4*x2)**2/2", "y": "y1 y2"}
PROBLEMS = {"line": LINE, "right": RIGHT, "plane": PLANE, "turned": TURNED}


@cache
def made(name: str) -> tuple[Any, Any]:
    problem = bv.bilevel(**PROBLEMS[name])  # type: ignore[arg-type]
    return problem, bv.truth(problem)


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def asked(relation: str, name: str = "line", lam: Any = 10, letter: str = "x", **more: Any) -> str | None:
    """What the engine says of a relation on its own; ``more`` changes the claim, the problem or its truth."""
    problem, truth = made(name)
    node = parse(relation)
    (left, right), (op,) = node.operands, node.operators  # type: ignore[attr-defined]
    link = Link(Expression(left, ""), op, Expression(right, ""))
    ranges = more.pop("for_", {letter: POINTS})
    claim = Claim(id="c", over="point", chain=(link,), for_=ranges, where=more.pop("where", ()))
    functions = more.pop("functions", SimpleNamespace(lam=None if lam is None else v.ball(lam)))
    instance = SimpleNamespace(truth=more.pop("truth", truth), local=())
    case: Any = SimpleNamespace(problem=more.pop("problem", problem), instance=instance, functions=functions)
    assert not more
    return prove(case, Judged(claim, link, 0, Tally(), Evaluator(LETTERS, {})))


TRUE = [
    ("norm(grad_phi(x)) <= 5 + 1/1000", "line"), ("norm(grad_phi(x)) < 5 + 1/1000", "line"),
    ("5 + 1/1000 >= norm(grad_phi(x))", "line"), ("norm(grad_phi(x)) >= 1 - 1/1000", "right"),
    ("phi(x) >= -1/4 - 1/1000", "line"), ("phi(x) > -1/4 - 1/1000", "line"), ("phi(x) <= 6 + 1/1000", "line"),
    ("-phi(x) <= 1/4 + 1/1000", "line"), ("2*phi(x) + norm(y_star(x)) <= 14 + 1/100", "line"),
    ("phi(x)/2 <= 3 + 1/1000", "line"), ("phi(x)*norm(y_star(x)) <= 12 + 1/10", "line"),
    ("phi(x)**2 <= 36 + 1/10", "line"), ("abs(phi(x)) <= 6 + 1/1000", "line"),
    ("norm(y_star(x))**2 <= 4 + 1/100", "line"), ("norm(y_star(x)) >= -1/10**9", "line"),
    ("phi(x) <= phi(x) + 1", "line"),
    ("abs(L_star(x) - phi(x)) <= 1/20 + 1/1000", "line"), ("phi(x) - L_star(x) >= 1/20 - 1/1000", "line"),
    ("norm(y_star_lam(x) - y_star(x)) <= 1/10 + 1/100", "line"), ("norm(y_star(x)) <= 2 + 1/1000", "line"),
    ("norm(grad_L_star(x) - grad_phi(x)) <= 1/100", "line"), ("norm(hess_L_star(x)) <= 2 + 1/100", "line"),
    ("norm(grad_y_star(x) - grad_y_star_lam(x)) <= 1/100", "line"), ("norm(hess_phi(x)) <= 2 + 1/100", "line"),
    ("norm(grad_phi(x)) <= M", "line"), ("norm(grad_phi(x))/M <= 1", "line"),
    ("norm(grad_phi(x)) <= W + 1/100", "line"),
    ("norm(grad_phi(x)) <= 5 + 1/100 + W - W + 1/2", "line"), ("1 <= 2", "line"),
    ("norm(grad_y_star(x)) >= 5 - 1/100", "plane"), ("norm(grad_y_star(x)) <= 5 + 1/100", "plane"),
    ("norm(hess_phi(x)) <= 13/2", "plane"), ("norm(hess_phi(x)) >= -1/10**9", "plane"),
    ("phi(x) <= 4 + 1/100", "plane"),
    ("norm(grad_y_star(x)) <= 5 + 1/100", "turned"), ("norm(grad_phi(x)) <= 32/5", "plane"),
    ("norm(y_star(x)) <= 5 + 1/100", "turned"), ("norm(-y_star(x) + y_star(x)) <= 4", "turned"),
]  # fmt: skip
FALSE = [
    ("norm(grad_phi(x)) <= 5 - 1/1000", "line"), ("norm(grad_phi(x)) < 5", "line"),
    ("5 > norm(grad_phi(x))", "line"), ("norm(grad_phi(x)) >= 1 + 1/1000", "right"),
    ("norm(grad_phi(x)) >= 1/1000", "line"), ("phi(x) >= -1/4 + 1/1000", "line"), ("phi(x) > -1/4", "line"),
    ("phi(x) <= 6 - 1/1000", "line"), ("-phi(x) <= 1/4 - 1/1000", "line"), ("phi(x)/2 <= 3 - 1/1000", "line"),
    ("2*phi(x) + norm(y_star(x)) <= 14 - 1/100", "line"), ("phi(x)*norm(y_star(x)) <= 12 - 1/10", "line"),
    ("phi(x)**2 <= 36 - 1/10", "line"), ("abs(phi(x)) <= 6 - 1/1000", "line"), ("norm(y_star(x)) > 0", "line"),
    ("norm(y_star(x))**2 <= 4 - 1/100", "line"), ("phi(x) < phi(x)", "line"), ("2 <= 1", "line"),
    ("abs(L_star(x) - phi(x)) <= 1/20 - 1/1000", "line"), ("phi(x) - L_star(x) >= 1/20 + 1/1000", "line"),
    ("norm(y_star_lam(x) - y_star(x)) <= 1/10 - 1/100", "line"), ("norm(hess_phi(x)) <= 2 - 1/100", "line"),
    ("norm(y_star_lam(x)) <= 19/10 - 1/100", "line"), ("norm(hess_L_star(x)) <= 2 - 1/100", "line"),
    ("norm(grad_phi(x)) <= M - 1/7", "line"), ("norm(grad_phi(x)) <= W - 1/100", "line"),
    ("norm(grad_phi(x)) + 1/10 <= W - W + 5", "line"), ("norm(grad_phi(x)) <= W", "line"),
    ("norm(grad_y_star(x)) >= 5 + 1/100", "plane"), ("norm(grad_y_star(x)) <= 5 - 1/100", "plane"),
    ("norm(hess_phi(x)) >= 6 + 1/5", "plane"),  # 6; the Frobenius norm is 6.32
    ("norm(grad_y_star(x)) >= 9/2", "turned"),  # 4; the Frobenius norm is 5
    ("norm(y_star(x)) <= 5 - 1/100", "turned"), ("norm(grad_phi(x)) <= 6", "plane"),
]  # fmt: skip
"""False, or true and out of reach of an engine that loses a little (``<= W`` where W begins at 5)."""


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "name"), TRUE)
def test_true_by_a_little_is_proved(relation: str, name: str) -> None:
    found = asked(relation, name)
    assert found is not None
    assert found.startswith("branch and bound on ")


@pytest.mark.slow
@pytest.mark.parametrize(("relation", "name"), FALSE)
def test_false_by_a_little_is_not_proved(relation: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "MOST_BOXES", 3_000)
    assert asked(relation, name) is None


@pytest.mark.parametrize(
    ("relation", "name"),
    [
        ("norm(grad_phi(x) + y_star(x)) <= 10**6", "plane"),  # two numbers and one
        ("norm(y_star(x) + grad_phi(x)) <= 10**6", "plane"),
        ("norm(hess_phi(x) + grad_phi(x)) <= 10**6", "line"),  # a matrix and a vector, one number each
        ("norm(grad_phi(x) - grad_y_star(x)) <= 10**6", "plane"),
        ("norm(hess_phi(x) + grad_y_star(x)) <= 10**6", "plane"),
    ],
)
def test_what_has_no_common_shape_is_no_sum(relation: str, name: str) -> None:
    assert asked(relation, name) is None


@pytest.mark.parametrize(
    "relation",
    ["norm(f(x, y_star(x))) <= 10**6", "f(x, y_star(x)) <= 10**6", "phi(x)**3 <= 10**6", "1/(phi(x) + 7) <= 10**6",
     "norm(2*y_star(x)) <= 10**6", "phi(2*x) <= 10**6", "sqrt(phi(x) + 1) <= 10**6", "norm(x) <= 10**6",
     "norm(y_star(x), 1) <= 10**6", "norm(grad_phi(y_star(x))) <= 10**6", "abs(x) <= 10**6", "norm(phi(x)) <= 10**6",
     "phi(x, x) <= 10**6", "phi(x)**nobody <= 10**6"],
)  # fmt: skip
def test_forms_that_are_not_read(relation: str) -> None:
    try:
        assert asked(relation) is None
    except v.EvaluationError:  # a name without a value: the attack has met it before
        assert "nobody" in relation


HOLDS = "norm(y_star(x)) <= 100"


def test_what_is_tried_at_all() -> None:
    problem, truth = made("line")
    wide = bv.bilevel(**{**LINE, "domain": None})  # type: ignore[arg-type]
    half = SimpleNamespace(dx=1, x=problem.x, range_of=lambda symbol: (0, float("inf")))
    many = SimpleNamespace(dx=3, x=problem.x * 3, range_of=problem.range_of)
    assert asked(HOLDS) == "branch and bound on 1 box"
    assert asked("norm(y_star(u)) <= 100", letter="u") is not None
    assert asked("norm(y_star(x)) == 100") is None
    for changed in (
        {"for_": {}},
        {"for_": {"x": POINTS, "w": POINTS}},
        {"for_": {"x": Domain("domain", "domain", space="y")}},
        {"for_": {"x": Domain("vectors x", "vectors", space="x")}},
        {"where": (Condition(parse("norm(x) <= 1"), ""),)},
        {"functions": None},
        {"truth": SimpleNamespace(certainty="computed", batch_certainty="computed")},
        {"problem": wide},
        {"problem": half},
        {"problem": many},
    ):
        assert asked(HOLDS, **changed) is None, changed  # type: ignore[arg-type]
    assert truth.certainty == "certified"
    assert asked("abs(L_star(x) - phi(x)) <= 1", lam=None) is None
    assert asked("norm(y_star_lam(x)) <= 100", lam=None) is None


@pytest.mark.parametrize("op", ["<=", "<", ">=", ">"])
def test_a_gap_of_nothing_is_no_strict_relation(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three boxes on which right - left begins above, at and below 0."""

    class World(boxes._World):
        def __init__(self, *given: Any) -> None:
            self.offsets, self.solvable = [], np.ones(3, dtype=bool)

        def number(self, node: Any) -> Smooth:
            low, high = np.array([0.5, 0.0, -0.5]), np.array([1.0, 1.0, 1.0])
            return Smooth(Interval(low, high) if node == "gap" else Interval(np.zeros(3), np.zeros(3)))

        def add(self, a: Smooth, b: Smooth) -> Smooth:
            low, high = a.centre.lo + b.centre.lo, a.centre.hi + b.centre.hi  # exactly, so that 0 is met
            return Smooth(Interval(low, high))

    monkeypatch.setattr(boxes, "_World", World)
    small, large = ("0", "gap") if op in ("<=", "<") else ("gap", "0")
    link = SimpleNamespace(left=SimpleNamespace(tree=small), op=op, right=SimpleNamespace(tree=large))
    judged: Any = SimpleNamespace(link=link)
    nowhere = np.zeros((3, 1))
    found = boxes._judge_boxes(None, judged, "x", nowhere, nowhere)  # type: ignore[arg-type]
    assert found.tolist() == [True, op in ("<=", ">="), False]


def test_boxes_and_rounds_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    relation = "phi(x) >= -1/4 - 1/10"
    assert asked(relation) not in (None, "branch and bound on 1 box")
    monkeypatch.setattr(boxes, "ROUNDS", 1)
    assert asked(relation) is None
    monkeypatch.setattr(boxes, "ROUNDS", 26)
    monkeypatch.setattr(boxes, "MOST_BOXES", 1)
    assert asked(relation) is None
    assert asked(HOLDS) == "branch and bound on 1 box"


def test_boxes_are_halved_along_their_longest_side() -> None:
    low, high = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 4.0], [3.0, 1.0]])
    left, right = _halve(low, high)
    assert left.tolist() == [[0, 0], [1, 0], [0, 2], [2, 0]]
    assert right.tolist() == [[1, 2], [2, 1], [1, 4], [3, 1]]
    assert low.tolist() == [[0, 0], [1, 0]]


def interval(low: float, high: float) -> Interval:
    return Interval(np.array([low]), np.array([high]))


@pytest.mark.parametrize("ends", [[(0.1, 0.3), (0.7, 0.9)], [(-0.1, 0.3), (0.7, 0.9)], [(0.1, 0.1)] * 3, [(-3, -2)]])
def test_norms_are_rounded_outwards(ends: list[tuple[float, float]]) -> None:
    found = _norm([interval(low, high) for low, high in ends])
    least = sum(0 if low < 0 < high else min(Fraction(low) ** 2, Fraction(high) ** 2) for low, high in ends)
    most = sum(max(Fraction(low) ** 2, Fraction(high) ** 2) for low, high in ends)
    assert 0 <= Fraction(found.lo[0]) ** 2 <= least
    assert Fraction(found.hi[0]) ** 2 >= most
    assert float(found.hi[0] ** 2) <= float(most) * (1 + 1e-14)


@pytest.mark.parametrize("which", ["hyper", "penalty"])
@pytest.mark.parametrize("wide", [True, False])
def test_formulas_are_asked_over_the_boxes_or_at_their_centres(
    which: str, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """y* is enclosed where the formula is asked, and each of the two is made once."""
    enclosed: list[Any] = []

    def enclose(where: Any, *_: Any) -> tuple[list[Interval], None]:
        enclosed.append(where)
        return [interval(0, 0)], None

    level = SimpleNamespace(
        enclose=enclose, solve=lambda centre, weights, start: SimpleNamespace(y=np.zeros((len(centre), 1)))
    )
    points = SimpleNamespace(level=level)
    case: Any = SimpleNamespace(
        instance=SimpleNamespace(truth=SimpleNamespace(points=points, model=SimpleNamespace(lower="g"))),
        functions=SimpleNamespace(lam=v.ball(10)),
    )
    monkeypatch.setattr(formulas, "Hyper", lambda algebra, model, where, y: ("hyper", where))
    monkeypatch.setattr(formulas, "Penalty", lambda algebra, model, lam, where, y, y_lam: ("penalty", where))
    world = boxes._World(case, SimpleNamespace(), "x", np.array([[0.0]]), np.array([[4.0]]))  # type: ignore[arg-type]
    for _ in range(2):
        name, where = getattr(world, which)(wide)
        assert name == which
        assert (where[0].lo[0], where[0].hi[0]) == ((0.0, 4.0) if wide else (2.0, 2.0))
    assert len(enclosed) == (1 if which == "hyper" else 2)
    assert all(one is where for one in enclosed)


def test_slopes_survive_sums_and_constants_only() -> None:
    world: Any = object.__new__(boxes._World)
    world.offsets = [interval(-1, 1)]
    phi = Smooth(interval(3, 3), (interval(2, 2),))
    psi = Smooth(interval(1, 1), (interval(-2, -2),))
    four = Smooth(interval(4, 4))

    def ends(value: Smooth, low: float, high: float) -> bool:
        found = value.range(world.offsets)
        return low - 1e-12 < found.lo[0] <= low and high <= found.hi[0] < high + 1e-12

    assert ends(phi, 1, 5)
    assert ends(world.add(phi, psi), 4, 4)  # the slopes cancel
    assert ends(world.add(phi, four), 5, 9)
    assert ends(world.add(four, phi), 5, 9)
    assert ends(world.add(four, four), 8, 8)
    assert ends(world.negate(phi), -5, -1)
    assert ends(world.add(phi, world.negate(phi)), 0, 0)  # a slope without its sign would be hidden by [-1, 1]
    assert ends(world.add(psi, world.negate(phi)), -6, 2)
    assert ends(world.negate(four), -4, -4)
    assert ends(world.product([phi, four]), 4, 20)
    assert ends(world.product([four, phi]), 4, 20)
    assert ends(world.product([four, four]), 16, 16)
    both = world.product([phi, psi])  # (3 + 2t)(1 - 2t) on [-1, 1]: from -5 to 4
    assert both.slopes is None
    assert both.centre.lo[0] <= -5
    assert both.centre.hi[0] >= 4
    assert world.product([phi, psi, four]).centre.lo[0] <= -20


def test_entries_and_their_shapes() -> None:
    one, two = interval(1, 1), interval(2, 2)
    assert Entries((2,), (one, two)).is_flat
    assert Entries((2, 1), (one, two)).is_flat
    assert Entries((1, 2), (one, two)).is_flat
    assert not Entries((2, 2), (one, two, one, two)).is_flat
    total = Entries((2,), (one, two)).plus(Entries((2,), (two, two)))
    assert [float(part.lo[0]) for part in total.parts] == pytest.approx([3, 4], rel=1e-12)
    for other in (Entries((2, 1), (one, two)), Entries((1, 2), (one, two)), Entries((1,), (one,))):
        with pytest.raises(NotHere):
            Entries((2,), (one, two)).plus(other)


def test_a_range_by_the_mean_value_theorem_goes_with_its_slope() -> None:
    """Offsets that are not symmetric: 1 + 2 [0, 1] is [1, 3], not [-1, 1]."""
    from bilevel_verify.checks.judging.boxes import Smooth

    one, two, unit = (Interval(np.array([a]), np.array([b])) for a, b in ((1.0, 1.0), (2.0, 2.0), (0.0, 1.0)))
    found = Smooth(one, (two,)).range([unit])
    assert float(found.lo[0]) == pytest.approx(1.0)
    assert float(found.hi[0]) == pytest.approx(3.0)
    assert found.lo[0] <= 1.0
    assert found.hi[0] >= 3.0


def test_a_constant_that_is_a_ball_keeps_both_its_ends() -> None:
    """A number between 2 and 4, and its reciprocal between 1/4 and 1/2: one end alone would prove too much."""
    ball = v.scalar_ball(Fraction(3)) + arb(0, 1)
    evaluator = SimpleNamespace(scalar=lambda node, bound: ball)
    world: Any = SimpleNamespace(n=2, judged=SimpleNamespace(evaluator=evaluator))
    for make, low, high in ((_World.constant, 2, 4), (_World.reciprocal, 0.25, 0.5)):
        found = make(world, parse("a")).centre
        assert (found.lo <= low).all()
        assert (found.hi >= high).all()
        assert found.lo == pytest.approx(np.full(2, low), rel=1e-6)
        assert found.hi == pytest.approx(np.full(2, high), rel=1e-6)


def test_no_norm_of_two_numbers_ends_below_the_true_one() -> None:
    rng = np.random.default_rng(0)
    parts = rng.uniform(0.5, 2.0, size=(2, 4000))
    found = _norm([Interval(part, part) for part in parts])
    for low, high, a, b in zip(found.lo.tolist(), found.hi.tolist(), *parts.tolist(), strict=True):
        assert Fraction(low) ** 2 <= Fraction(a) ** 2 + Fraction(b) ** 2 <= Fraction(high) ** 2


def test_nothing_is_proved_on_boxes_without_a_known_minimiser(monkeypatch: pytest.MonkeyPatch) -> None:
    """phi = f(x) needs no y*, but where g has no minimiser there is no phi."""
    inf = float("inf")
    unknown = Interval(np.array([0.0, -inf]), np.array([0.0, inf]))
    level = SimpleNamespace(
        enclose=lambda *_: ([unknown], None),
        solve=lambda centre, weights, start: SimpleNamespace(y=np.zeros((len(centre), 1))),
    )
    truth = SimpleNamespace(points=SimpleNamespace(level=level), model=SimpleNamespace(lower="g"))
    case: Any = SimpleNamespace(instance=SimpleNamespace(truth=truth), functions=SimpleNamespace(lam=None))

    def number(world: Any, node: Any) -> boxes.Smooth:
        world.hyper(True)
        edge = 1.0 if node == "right" else 0.0
        return boxes.Smooth(Interval(np.full(2, edge), np.full(2, edge)))

    monkeypatch.setattr(boxes._World, "number", number)
    monkeypatch.setattr(formulas, "Hyper", lambda *_: None)
    link = SimpleNamespace(left=SimpleNamespace(tree="left"), right=SimpleNamespace(tree="right"), op="<=")
    ends = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    found = boxes._judge_boxes(case, SimpleNamespace(link=link), "x", *ends)  # type: ignore[arg-type]
    assert found.tolist() == [True, False]
