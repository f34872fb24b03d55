"""Does a side of a relation only grow, or only fall, while a run goes on?

What a run cut short by its budget has counted so far (calls, iterations, epochs) can only grow when the run goes on. A
relation that is violated stays violated only if the side that is too large never falls again and the side that is too
small never rises; that is decided on the trees of both sides, with the signs that the enclosures of letters give.
"""

from __future__ import annotations

from enum import Enum

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.facts import COUNTERS, conditions_of
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import elementary, tree
from bilevel_verify.language.binding import RANGE_FUNCTIONS

FIXED = frozenset({"x_int", "pi", "E", "oo"})
INCREASING = elementary.INCREASING | {"plus"}
ONE_SIDED = frozenset(one.name for one in elementary.ELEMENTARY.values() if one.start == 0)
"""Those that have no value once their argument has fallen far enough."""
EXTREMES = frozenset({"max", "min"})


class Trend(Enum):
    """How a quantity moves while a run goes on."""

    STILL = "still"
    UP = "never falls"
    DOWN = "never rises"
    UNKNOWN = "unknown"

    def turned(self) -> Trend:
        """The trend of the negative."""
        return {Trend.UP: Trend.DOWN, Trend.DOWN: Trend.UP}.get(self, self)


def stays_violated(judged: Judged) -> bool:
    """Whether a relation that is violated now is violated at every later time of the run, too."""
    trend, worst = Trends(judged.evaluator), judged.tally.worst
    if worst is None or any(trend.of(one) is not Trend.STILL for one in conditions_of(judged.claim)):
        return False  # a place may vanish when the run goes on
    left, right = trend.of(judged.link.left.tree), trend.of(judged.link.right.tree)
    too_large = left in (Trend.STILL, Trend.UP) and right in (Trend.STILL, Trend.DOWN)
    too_small = left in (Trend.STILL, Trend.DOWN) and right in (Trend.STILL, Trend.UP)
    if judged.link.op == "==":
        return too_large if worst.measured > worst.bound else too_small and worst.measured < worst.bound
    return too_large if judged.link.op in ("<=", "<") else too_small


class Trends:
    """Trends of trees, with the values that an interpreter gives them now."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._open: set[str] = set()

    def of(self, node: tree.Node) -> Trend:
        """The trend of a tree."""
        match node:
            case tree.Number() | tree.Truth():
                return Trend.STILL
            case tree.Letter(name=name):
                return self._letter(name)
            case tree.Negate(operand=operand):
                return self.of(operand).turned()
            case tree.Add(terms=terms):
                return _together([self.of(term) for term in terms])
            case tree.Multiply(factors=factors):
                return self._product([(factor, False) for factor in factors])
            case tree.Divide(numerator=top, denominator=bottom):
                return self._product([(top, False), (bottom, True)])
            case tree.Power(base=base, exponent=exponent):
                return self._power(base, exponent)
            case tree.Call(function=name, arguments=arguments):
                return self._call(name, arguments)
        return self._whole(node)

    def _letter(self, name: str) -> Trend:
        if name in self.evaluator.letters or name in FIXED:
            return Trend.STILL
        if name in self.evaluator.definitions and name not in self._open:
            self._open.add(name)
            try:
                return self.of(self.evaluator.definitions[name])
            finally:
                self._open.discard(name)
        return Trend.UP if name in COUNTERS else Trend.UNKNOWN

    def _whole(self, node: tree.Node) -> Trend:
        """A tree that is taken as a whole: still if nothing in it moves."""
        parts = list(node.walk())
        if any(isinstance(part, tree.Index) for part in parts):
            return Trend.UNKNOWN
        leaves = [part for part in parts if isinstance(part, tree.Letter | tree.Call)]
        return Trend.STILL if all(self.of(leaf) is Trend.STILL for leaf in leaves) else Trend.UNKNOWN

    def _sign(self, node: tree.Node) -> int:
        """1 where a tree is certainly >= 0 now, -1 where it is certainly <= 0, 2 where > 0, -2 where < 0, else 0."""
        try:
            low, high = v.ends(self.evaluator.scalar(node, {}))
        except MathematicalError:
            return 0
        if low >= 0:
            return 2 if low > 0 else 1
        if high <= 0:
            return -2 if high < 0 else -1
        return 0

    def _product(self, factors: list[tuple[tree.Node, bool]]) -> Trend:
        """A product: in absolute value every factor grows or shrinks, and none changes its sign from now on."""
        sign, size = 1, [Trend.STILL]
        moving = [self.of(factor) for factor, _ in factors]
        if all(trend is Trend.STILL for trend in moving):
            return Trend.STILL
        for (factor, below), trend in zip(factors, moving):
            now = self._sign(factor)
            kept = now != 0 and (trend is Trend.STILL or (trend is Trend.UP) == (now > 0))
            if trend is Trend.UNKNOWN or (below and abs(now) < 2):
                return Trend.UNKNOWN
            if not kept and (below or sum(t is not Trend.STILL for t in moving) > 1 or trend is Trend.STILL):
                return Trend.UNKNOWN  # it may cross zero
            if not kept:  # the one factor that moves, its sign free: the signs of the others decide
                size.append(trend)
                continue
            sign *= 1 if now > 0 else -1
            grows = Trend.STILL if trend is Trend.STILL else Trend.UP
            size.append(grows.turned() if below else grows)
        total = _together(size)
        return total if sign > 0 else total.turned()

    def _power(self, base: tree.Node, exponent: tree.Node) -> Trend:
        a, b = self.of(base), self.of(exponent)
        if a is b is Trend.STILL:
            return Trend.STILL
        if b is not Trend.STILL or a is not Trend.UP:
            return Trend.UNKNOWN
        power, now = self._sign(exponent), self._sign(base)
        if power > 0 and now > 0:
            return Trend.UP
        return Trend.DOWN if power < 0 and now == 2 else Trend.UNKNOWN

    def _call(self, name: str, arguments: tuple[tree.Node, ...]) -> Trend:
        if name == "calls":
            return Trend.UP
        ranged = name in RANGE_FUNCTIONS and len(arguments) >= 2 and isinstance(arguments[-1], tree.Tuple)
        if ranged:
            return Trend.UNKNOWN
        trends = [self.of(argument) for argument in arguments]
        if all(trend is Trend.STILL for trend in trends):
            return Trend.STILL
        if name in EXTREMES or (name in INCREASING and len(arguments) == 1):
            total = _together(trends)
            return Trend.UNKNOWN if name in ONE_SIDED and total is Trend.DOWN else total
        if name == "abs" and trends == [Trend.UP] and self._sign(arguments[0]) > 0:
            return Trend.UP
        return Trend.UNKNOWN


def _together(trends: list[Trend]) -> Trend:
    """The trend of a sum: that of its terms if they agree."""
    found = {trend for trend in trends if trend is not Trend.STILL}
    if not found:
        return Trend.STILL
    return found.pop() if len(found) == 1 else Trend.UNKNOWN
