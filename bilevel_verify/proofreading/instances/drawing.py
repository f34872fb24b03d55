"""The value of a printed formula on a drawn instance.

Letters are positive numbers, vectors or symmetric matrices of three dimensions, running indices small whole numbers; a
function has any value at any point, the same at the same point. What holds on many such instances needs no premise.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.instances.quadratics import stationary_point

Array: TypeAlias = NDArray[np.float64]
Value: TypeAlias = float | Array
SIZE = 3
SPREADS = (0.5, 2.5, 1.2)
"""Numbers are drawn between 10**-0.5 and 10**0.5, or 2.5, or 1.2, their logarithms evenly: in turn."""
LARGEST_SUM = 12
LEAST_NUMBER = 2
"""Of a number of something: where it is 1, its powers and sums say nothing; instances at the ends of ranges have 1."""
DIGITS = 9
NORMS = ("norm", "norm_2", "dual_norm", "frobenius")
KEPT = frozenset("sum max min abs sqrt log exp floor ceil plus dot T inv component".split()) | {*NORMS}
"""Functions with a meaning of their own; all others have free values."""
UNKNOWN = ("O", "softO", "Theta", "Omega", "integral", "Piecewise", "argmin", "argmax", "prod", "matrix", "such_that",
           "indicator", "mode", "probability", "expectation", "E")  # fmt: skip
EXTREMES = {"min": 1, "max": -1, "argmin": 1, "argmax": -1}
SIZES = ("dist", "count", "norm_Q")


class Unknown(ValueError):
    """A formula that has no value here."""


@dataclass
class Instance:
    """One instance: everything is drawn from ``seed`` when it is asked for.

    ``kind`` says of a tree whether it is a scalar, vector or matrix; ``values`` are letters that have a value already,
    ``rules`` entries that are formulas, ``whole`` letters that stand for small whole numbers, ``natural`` letters that
    stand for numbers of something.
    """

    seed: int
    kind: Callable[[tree.Node], str]
    values: dict[str, Value] = field(default_factory=dict)
    rules: Mapping[tree.Node, tree.Node] = field(default_factory=dict)
    same: Mapping[str, str] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    natural: frozenset[str] = frozenset()
    peak: float = 1.0
    drawn: dict[tuple[str, str], Value] = field(default_factory=dict)
    known: dict[tuple[int, tuple[tuple[str, float], ...]], Value] = field(default_factory=dict)
    held: list[tree.Node] = field(default_factory=list)
    depth: int = 0
    salt: int = 0

    def scalar(self, node: tree.Node, bound: Mapping[str, float] | None = None) -> float:
        """A number.

        Raises
        ------
        Unknown : the formula is none, or has no value.
        """
        return self._plain(self.value(node, bound or {}))

    def value(self, node: tree.Node, bound: Mapping[str, float]) -> Value:
        """A formula; parts that were asked for before are not worked out again.

        Raises
        ------
        Unknown : the formula has no value.
        """
        key = id(node), tuple(bound.items()) if bound else ()
        if key not in self.known:
            try:
                found = self._value(node, bound)
            except (OverflowError, ZeroDivisionError, RecursionError, np.linalg.LinAlgError):
                raise Unknown("no value") from None
            if not isinstance(found, np.ndarray) and not math.isfinite(found):
                raise Unknown("no finite value")
            self.known[key] = found
            self.held.append(node)  # so that no other tree gets its id
            if not isinstance(found, np.ndarray):
                self.peak = max(self.peak, abs(found))
        return self.known[key]

    def _value(self, node: tree.Node, bound: Mapping[str, float]) -> Value:
        match node:
            case tree.Number(value=value):
                return float(value)
            case tree.Letter(name=name):
                return bound[name] if name in bound else self.letter(name)
            case tree.Index():
                return self._entry(node, bound)
            case tree.Add(terms=terms):
                return self._added([self.value(term, bound) for term in terms])
            case tree.Negate(operand=inner):
                return -self.value(inner, bound)
            case tree.Multiply(factors=factors):
                return self._multiplied([self.value(factor, bound) for factor in factors])
            case tree.Divide(numerator=top, denominator=bottom):
                below = self.scalar(bottom, bound)
                if not below:
                    raise Unknown("a division by zero")
                return self.value(top, bound) / below
            case tree.Power(base=base, exponent=exponent):
                return self._raised(self.scalar(base, bound), self.scalar(exponent, bound))
            case tree.MatrixMultiply(left=left, right=right):
                return self._product(self.value(left, bound), self.value(right, bound))
            case tree.Call():
                return self._call(node, bound)
        raise Unknown("no formula of numbers and vectors")

    def letter(self, name: str) -> Value:
        """The value of a letter, drawn once."""
        if name not in self.values:
            if name in ("oo", "_", "dots"):
                raise Unknown(name)
            kind = self.kind(tree.Letter(name))
            if name == "I" and kind == "matrix":
                self.values[name] = np.eye(SIZE)
            elif name in self.whole:
                self.values[name] = float(3 + crc32(f"{self.seed}:{name}".encode()) % 3)
            else:
                value = {"pi": math.pi, "E": math.e}.get(name) or self._draw(kind, name, "")
                counts = name in self.natural and not isinstance(value, np.ndarray)
                self.values[name] = float(max(LEAST_NUMBER, round(self._plain(value)))) if counts else value
        return self.values[name]

    def _draw(self, kind: str, name: str, at: str) -> Value:
        if (name, at) not in self.drawn:
            source = random.Random(crc32(f"{self.seed}:{name}:{at}".encode()))
            spread = SPREADS[self.seed % len(SPREADS)]
            size = 10 ** source.uniform(-spread, spread)
            if kind == "scalar":
                self.drawn[name, at] = size
            elif kind in ("vector", "covector") and self.seed % 6 == 3:
                self.drawn[name, at] = np.ones(SIZE) * size * source.choice((-1, 1))  # on one line: norms add up
            elif kind in ("vector", "covector"):
                self.drawn[name, at] = np.array([source.gauss(0, 1) for _ in range(SIZE)]) * size
            elif kind == "matrix":
                rows = np.array([[source.gauss(0, 1) for _ in range(SIZE)] for _ in range(SIZE)])
                self.drawn[name, at] = (rows + rows.T) * size
            else:
                raise Unknown(kind)
        return self.drawn[name, at]

    def _entry(self, node: tree.Index, bound: Mapping[str, float]) -> Value:
        if node in self.rules and self.depth < 6:
            self.depth += 1
            try:
                return self.value(self.rules[node], bound)
            finally:
                self.depth -= 1
        kind = self.kind(node)
        return self._draw(kind if kind != "covector" else "vector", self._named(node, bound), "")

    def _named(self, node: tree.Index, bound: Mapping[str, float]) -> str:
        """An entry by the values of its indices; what the paper says to be equal has one name."""
        places = [self.scalar(index, bound) for index in node.indices]
        name = f"{node.base}[{','.join(f'{place:.{DIGITS}g}' for place in places)}]"
        return self.same.get(name, name)

    def set(self, node: tree.Node, value: float) -> None:
        """Give a letter or an entry a value."""
        if isinstance(node, tree.Letter):
            self.values[node.name] = value
        elif isinstance(node, tree.Index):
            self.drawn[self._named(node, {}), ""] = value
        self.known.clear()

    def _added(self, parts: list[Value]) -> Value:
        if len({np.shape(part) for part in parts}) > 1:
            raise Unknown("a sum of things of different sizes")
        return sum(parts[1:], parts[0])

    def _multiplied(self, parts: list[Value]) -> Value:
        found: Value = 1.0
        for part in parts:
            found = self._product(found, part)
        return found

    def _product(self, left: Value, right: Value) -> Value:
        if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
            return left * right
        found = left @ right
        return float(found) if np.ndim(found) == 0 else found

    def _raised(self, base: float, exponent: float) -> float:
        if base < 0 and exponent != int(exponent):
            raise Unknown("a root of a negative number")
        return float(base**exponent)

    def _call(self, node: tree.Call, bound: Mapping[str, float]) -> Value:
        name, arguments = node.function, node.arguments
        if name in UNKNOWN and not (name in EXTREMES and _over_the_space(arguments[-1])):
            raise Unknown(name)
        if arguments and isinstance(arguments[-1], tree.Tuple):
            return self._ranged(node, bound)
        if name not in KEPT:
            return self._free(node, bound)
        held = [self.value(argument, bound) for argument in arguments]
        if name in NORMS and len(held) == 1:
            whole = np.ndim(held[0]) == 2 and name != "frobenius"
            return float(np.linalg.norm(held[0], 2) if whole else np.linalg.norm(held[0]))
        match name, held:
            case "dot", [left, right]:
                return float(np.sum(np.asarray(left) * np.asarray(right)))
            case "T", [inner]:
                return np.transpose(inner) if isinstance(inner, np.ndarray) else inner
            case "inv", [inner]:
                return (
                    np.asarray(np.linalg.inv(inner), dtype=np.float64) if isinstance(inner, np.ndarray) else 1 / inner
                )
            case "component", [vector, place] if isinstance(vector, np.ndarray) and vector.ndim == 1:
                return float(vector[int(self._plain(place)) % SIZE])
            case "max" | "min", [*_]:
                numbers = [self._plain(h) for h in held]
                return max(numbers) if name == "max" else min(numbers)
            case _, [inner]:
                return self._of_number(name, self._plain(inner))
        raise Unknown(name)

    def _plain(self, value: Value) -> float:
        if isinstance(value, np.ndarray):
            raise Unknown("no number")
        return value

    def _of_number(self, name: str, value: float) -> float:
        if (name == "sqrt" and value < 0) or (name == "log" and value <= 0):
            raise Unknown(name)
        table: dict[str, Callable[[float], float]] = {
            "abs": abs, "sqrt": math.sqrt, "log": math.log, "exp": math.exp, "floor": math.floor, "ceil": math.ceil,
            "plus": lambda one: max(one, 0.0),
        }  # fmt: skip
        if name not in table:
            raise Unknown(name)
        return float(table[name](value))

    def _free(self, node: tree.Call, bound: Mapping[str, float]) -> Value:
        """A function at a point: drawn, the same at the same point."""
        held = [self.value(argument, bound) for argument in node.arguments]
        at = ";".join(",".join(f"{part:.{DIGITS}g}" for part in np.atleast_1d(h).ravel() + 0.0) for h in held)
        kind = self.kind(node)
        found = self._draw("vector" if kind == "covector" else kind, node.function, at)
        if kind != "scalar" or node.function in SIZES:
            return found
        own = crc32(f"{self.seed}:{node.function}:{at}:{self.salt}".encode())
        return found * (1 + own % 7 * bool(self.salt)) * (1 if own & 64 else -1)

    def _ranged(self, node: tree.Call, bound: Mapping[str, float]) -> Value:
        """A sum, maximum or minimum over a range of whole numbers, or over two members of a named set."""
        span = node.arguments[-1]
        assert isinstance(span, tree.Tuple)
        if node.function in EXTREMES and _over_the_space(span):
            return self._extreme(node, span.items[0], bound)
        places = self._places(node, span, bound)
        name = span.items[0].name if isinstance(span.items[0], tree.Letter) else ""
        parts = [self.value(node.arguments[0], {**bound, name: float(place)}) for place in places]
        if node.function == "sum":
            return self._added([0.0 * self.value(node.arguments[0], {**bound, name: 3.0}), *parts]) if not parts else (
                self._added(parts)
            )  # fmt: skip
        if node.function in ("max", "min") and parts:
            numbers = [self._plain(part) for part in parts]
            return max(numbers) if node.function == "max" else min(numbers)
        raise Unknown(node.function)

    def _extreme(self, node: tree.Call, letter: tree.Node, bound: Mapping[str, float]) -> Value:
        """The smallest or largest value of a quadratic over the whole space, or the point at which it is."""
        kind, name = self.kind(letter), letter.name if isinstance(letter, tree.Letter) else ""
        if not name or name in bound or kind not in ("scalar", "vector"):
            raise Unknown(kind)

        def at(point: Array) -> float:
            there: Value = point if kind == "vector" else float(point[0])
            one = replace(self, values={**self.values, name: there}, known={}, held=[])
            return one.scalar(node.arguments[0], bound)

        found = stationary_point(at, SIZE if kind == "vector" else 1, EXTREMES[node.function])
        if found is None:
            raise Unknown("no extreme value of a quadratic")
        if node.function.startswith("arg"):
            return found if kind == "vector" else float(found[0])
        return at(found)

    def _places(self, node: tree.Call, span: tree.Tuple, bound: Mapping[str, float]) -> list[int]:
        ends = binder(node)
        if ends is not None:
            low, high = (self.scalar(end, bound) for end in ends[1:])
            if low != int(low) or high != int(high) or high - low > LARGEST_SUM or high < low - 1:
                raise Unknown("a range that is none of whole numbers")
            return list(range(int(low), int(high) + 1))
        match span.items:
            case (tree.Letter(), tree.Letter(name=name)):
                first = crc32(name.encode()) % 1000 + 100
                return [first, first + 1]
        raise Unknown("a range")


def _over_the_space(span: tree.Node) -> bool:
    """Whether a range is ``y in R^d``."""
    if not isinstance(span, tree.Tuple) or len(span.items) != 2:
        return False
    space = span.items[1]
    return isinstance(space, tree.Call) and space.function == "reals"
