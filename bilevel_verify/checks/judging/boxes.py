"""Branch and bound for point claims on the box of an instance, in one or two upper-level variables.

Every box of x carries an enclosure of y*(x) (and of y*_lam(x)) for all its points, from the truth room's Krawczyk test
in intervals. Scalars keep their value at the centre and an enclosure of their gradient, so that differences of nearly
equal functions (such as L* and phi) cancel before the width of the box enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.intervals.batch import Interval, sum_of
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.language import tree
from bilevel_verify.numbers.rounding import down, outward, up

if TYPE_CHECKING:
    from bilevel_verify.checks.instances.case import Case

MOST_BOXES = 60_000
ROUNDS = 26


class NotHere(Exception):
    """This claim has a form that the box evaluator does not know."""


@dataclass(frozen=True, slots=True)
class Smooth:
    """A scalar over each box: its value at the centre, and its gradient over the box (None: a constant)."""

    centre: Interval
    slopes: tuple[Interval, ...] | None = None

    def range(self, offsets: list[Interval]) -> Interval:
        """Enclosure over the box by the mean value theorem."""
        total = self.centre
        for slope, offset in zip(self.slopes or (), offsets):
            total = total + slope * offset
        return total


@dataclass(frozen=True, slots=True)
class Entries:
    """A vector, shape ``(n,)``, or a matrix, shape ``(m, n)``, over each box, row by row."""

    shape: tuple[int, ...]
    parts: tuple[Interval, ...]

    @property
    def is_flat(self) -> bool:
        """Whether its Euclidean norm is its spectral norm; of any other matrix it is an upper bound only."""
        return len(self.shape) == 1 or min(self.shape) == 1

    def plus(self, other: Entries) -> Entries:
        """Sum; what has another shape is no summand."""
        if other.shape != self.shape:
            raise NotHere
        return Entries(self.shape, tuple(a + b for a, b in zip(self.parts, other.parts)))


def prove(case: Case, judged: Judged) -> str | None:
    """The text of a proof on the whole box of the instance, or None.

    Only claims ``for = { x = "domain" }`` on a bounded box with dx <= 2 are tried.
    """
    claim, problem = judged.claim, case.problem
    quantified = [(name, domain) for name, domain in claim.for_.items()]
    if len(quantified) != 1 or quantified[0][1].kind != "domain" or quantified[0][1].space != "x":
        return None
    ends = [outward(*problem.range_of(symbol)) for symbol in problem.x]
    if problem.dx > 2 or not np.all(np.isfinite(ends)) or case.functions is None or claim.where:
        return None
    if judged.link.op not in ("<=", "<", ">=", ">"):
        return None
    try:
        with ball_ends():  # the accuracy of NumPy's elementary functions is an assumption
            certified = case.instance.truth.batch_certainty == "certified"
            return _branch(case, judged, quantified[0][0], np.array(ends)) if certified else None
    except NotHere:
        return None


def _branch(case: Case, judged: Judged, letter: str, ends: np.ndarray) -> str | None:
    low, high = ends[:, 0][None, :], ends[:, 1][None, :]
    done = 0
    for _ in range(ROUNDS):
        proved = _judge_boxes(case, judged, letter, low, high)
        done += int(proved.sum())
        if proved.all():
            return f"branch and bound on {done} box{'es' if done != 1 else ''}"
        low, high = low[~proved], high[~proved]
        if 2 * len(low) > MOST_BOXES:
            return None
        low, high = _halve(low, high)
    return None


def _halve(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split every box at the middle of its longest side."""
    rows = np.arange(len(low))
    side = np.argmax(high - low, axis=1)
    middle = 0.5 * (low[rows, side] + high[rows, side])
    left_high, right_low = high.copy(), low.copy()
    left_high[rows, side] = middle
    right_low[rows, side] = middle
    return np.vstack([low, right_low]), np.vstack([left_high, high])


def _judge_boxes(case: Case, judged: Judged, letter: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    world = _World(case, judged, letter, low, high)
    with np.errstate(all="ignore"):
        left, right = world.number(judged.link.left.tree), world.number(judged.link.right.tree)
        gap = world.add(right, world.negate(left)).range(world.offsets)
        if judged.link.op in (">=", ">"):
            gap = -gap
        strict = judged.link.op in ("<", ">")
        return np.asarray(gap.lo > 0 if strict else gap.lo >= 0) & world.solvable


class _World:
    """Values of trees over a batch of boxes."""

    def __init__(self, case: Case, judged: Judged, letter: str, low: np.ndarray, high: np.ndarray) -> None:
        from bilevel_verify.truth.arithmetic.algebra import Boxes

        self.case, self.judged, self.letter = case, judged, letter
        self.n, self.algebra = len(low), Boxes()
        self.boxes = [Interval(low[:, j].copy(), high[:, j].copy()) for j in range(low.shape[1])]
        centre = 0.5 * (low + high)
        self.points = [Interval(centre[:, j].copy(), centre[:, j].copy()) for j in range(low.shape[1])]
        self.centre = centre
        self.offsets = [box - point for box, point in zip(self.boxes, self.points)]
        self.level = case.instance.truth.points.level
        self._kept: dict[str, Any] = {}
        self.solvable = np.ones(self.n, dtype=bool)
        """Boxes on which every minimiser that was asked for is known to exist; what rests on none says nothing."""

    # --- truth over boxes ---------------------------------------------------------------------------------------------

    def solved(self, lam: bool) -> np.ndarray:
        """Float minimisers at the centres."""
        key = f"solved {lam}"
        if key not in self._kept:
            weights = self.lam().centre() if lam else None
            start = self.solved(False) if lam else None
            self._kept[key] = self.level.solve(self.centre, weights, start).y
        return self._kept[key]  # type: ignore[no-any-return]

    def lam(self) -> Interval:
        """The penalty parameter, one for all boxes."""
        functions = self.case.functions
        if functions is None or functions.lam is None:
            raise NotHere
        low, high = v.ends(functions.lam)
        return Interval(np.full(self.n, low), np.full(self.n, high))

    def hyper(self, wide: bool) -> Any:
        """phi's ingredients over the boxes or at their centres."""
        from bilevel_verify.truth.functions.formulas import Hyper

        key = f"hyper {wide}"
        if key not in self._kept:
            where = self.boxes if wide else self.points
            model = self.case.instance.truth.model
            y = [] if model.lower is None else self._minimisers(where)
            self._kept[key] = Hyper(self.algebra, model, where, y)
        return self._kept[key]

    def penalty(self, wide: bool) -> Any:
        """The same for the penalty function."""
        from bilevel_verify.truth.functions.formulas import Penalty

        key = f"penalty {wide}"
        if key not in self._kept:
            where = self.boxes if wide else self.points
            weights = self.lam()
            y, y_lam = self._minimisers(where), self._minimisers(where, weights)
            model = self.case.instance.truth.model
            self._kept[key] = Penalty(self.algebra, model, weights, where, y, y_lam)
        return self._kept[key]

    def _minimisers(self, where: list[Interval], weights: Interval | None = None) -> list[Interval]:
        """Enclosures of y*, or of y*_lam; they are unbounded where no minimiser is proved to exist."""
        found, _ = self.level.enclose(where, self.solved(weights is not None), weights)
        for y in found:
            self.solvable &= np.isfinite(y.lo) & np.isfinite(y.hi)
        return found

    # --- trees --------------------------------------------------------------------------------------------------------

    def number(self, node: tree.Node) -> Smooth:
        """A scalar tree over the boxes."""
        if not _mentions(node, self.letter):
            return self.constant(node)
        match node:
            case tree.Add(terms=terms):
                total = self.number(terms[0])
                for term in terms[1:]:
                    total = self.add(total, self.number(term))
                return total
            case tree.Negate(operand=operand):
                return self.negate(self.number(operand))
            case tree.Multiply(factors=factors):
                return self.product([self.number(factor) for factor in factors])
            case tree.Divide(numerator=top, denominator=bottom) if not _mentions(bottom, self.letter):
                return self.product([self.number(top), self.reciprocal(bottom)])
            case tree.Power(base=base, exponent=tree.Number(value=power)) if power == 2:
                inner = self.number(base).range(self.offsets)
                return Smooth(inner.square())
            case tree.Call(function=name, arguments=arguments):
                return self.call(name, arguments)
        raise NotHere

    def constant(self, node: tree.Node) -> Smooth:
        """A tree without the quantified letter, by the exact interpreter."""
        low, high = v.ends(self.judged.evaluator.scalar(node, {}))
        return Smooth(Interval(np.full(self.n, low), np.full(self.n, high)))

    def reciprocal(self, node: tree.Node) -> Smooth:
        number = v.divide(Fraction(1), self.judged.evaluator.scalar(node, {}))
        low, high = v.ends(number if isinstance(number, Fraction) else v.scalar_ball(number))
        return Smooth(Interval(np.full(self.n, low), np.full(self.n, high)))

    def add(self, a: Smooth, b: Smooth) -> Smooth:
        """Sum; gradients add."""
        if a.slopes is None or b.slopes is None:
            return Smooth(a.centre + b.centre, a.slopes or b.slopes)
        return Smooth(a.centre + b.centre, tuple(p + q for p, q in zip(a.slopes, b.slopes)))

    def negate(self, a: Smooth) -> Smooth:
        """The negative."""
        return Smooth(-a.centre, None if a.slopes is None else tuple(-s for s in a.slopes))

    def product(self, factors: list[Smooth]) -> Smooth:
        """Product; a gradient survives multiplication by a constant."""
        total = factors[0]
        for factor in factors[1:]:
            if factor.slopes is None or total.slopes is None:
                plain, other = (factor, total) if factor.slopes is None else (total, factor)
                slopes = None if other.slopes is None else tuple(plain.centre * s for s in other.slopes)
                total = Smooth(plain.centre * other.centre, slopes)
            else:
                total = Smooth(total.range(self.offsets) * factor.range(self.offsets))
        return total

    def call(self, name: str, arguments: tuple[tree.Node, ...]) -> Smooth:
        """Scalar functions of the box evaluator."""
        if name == "norm" and len(arguments) == 1:
            entries = self.entries(arguments[0])
            size = _norm(entries.parts)
            return Smooth(size if entries.is_flat else Interval(np.zeros(self.n), size.hi))
        if name == "abs":
            return Smooth(self.number(arguments[0]).range(self.offsets).absolute())
        if name in ("phi", "L_star") and self.is_letter(arguments):
            source = self.hyper if name == "phi" else self.penalty
            gradient = source(True).gradient
            return Smooth(source(False).value, tuple(gradient[:, j, 0] for j in range(len(self.boxes))))
        raise NotHere

    def is_letter(self, arguments: tuple[tree.Node, ...]) -> bool:
        """Whether the only argument is the quantified point itself."""
        return len(arguments) == 1 and isinstance(arguments[0], tree.Letter) and arguments[0].name == self.letter

    def entries(self, node: tree.Node) -> Entries:
        """A vector or matrix tree over the boxes."""
        match node:
            case tree.Add(terms=terms):
                total = self.entries(terms[0])
                for term in terms[1:]:
                    total = total.plus(self.entries(term))
                return total
            case tree.Negate(operand=operand):
                inner = self.entries(operand)
                return Entries(inner.shape, tuple(-part for part in inner.parts))
            case tree.Call(function=name, arguments=arguments) if self.is_letter(arguments):
                return self.named(name)
        raise NotHere

    def named(self, name: str) -> Entries:
        """A vector- or matrix-valued truth over the boxes."""
        if name in ("y_star", "y_star_lam"):
            y = tuple(self._minimisers(self.boxes, self.lam() if name == "y_star_lam" else None))
            return Entries((len(y),), y)
        sources = {
            "grad_phi": (self.hyper, "gradient"),
            "hess_phi": (self.hyper, "hessian"),
            "grad_y_star": (self.hyper, "jacobian"),
            "grad_L_star": (self.penalty, "gradient"),
            "hess_L_star": (self.penalty, "hessian"),
            "grad_y_star_lam": (self.penalty, "jacobian"),
        }
        if name not in sources:
            raise NotHere
        source, what = sources[name]
        table = getattr(source(True), what)
        rows, columns = table.lo.shape[1:]
        parts = tuple(table[:, i, j] for i in range(rows) for j in range(columns))
        return Entries((rows,) if what == "gradient" else (rows, columns), parts)


def _mentions(node: tree.Node, letter: str) -> bool:
    return any(isinstance(part, tree.Letter) and part.name == letter for part in node.walk())


def _norm(parts: Sequence[Interval]) -> Interval:
    """Enclosure of the Euclidean norm from entries."""
    if len(parts) == 1:
        return parts[0].absolute()
    total = sum_of([part.square() for part in parts])
    low = np.maximum(down(np.sqrt(np.maximum(total.lo, 0.0))), 0.0)
    return Interval(low, up(np.sqrt(total.hi)))
