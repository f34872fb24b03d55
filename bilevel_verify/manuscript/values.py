"""Values of expression trees at random points, in enough dimensions that an order of matrices or a transpose shows.

What a letter is follows from the notation of the paper: scalars are numbers, vectors have ``DIMENSION`` entries,
matrices are square and not symmetric, tensors are cubes; a sequence or a function that nobody knows is a fixed random
smooth map of its indices or arguments, the same wherever its name stands. Two expressions that differ anywhere differ
at almost every such point; two that agree are compared in double precision, with a tolerance far above its rounding
errors (a few hundred operations on numbers near 1) and far below what a wrong factor, sign or index makes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.language.elementary import ELEMENTARY
from bilevel_verify.latex import Notation
from bilevel_verify.latex.grammar.derivatives import split_name, value_kind

if TYPE_CHECKING:
    import numpy as np

    from bilevel_verify.theorems.card_parts import Domain

Number: TypeAlias = "float | np.ndarray"
"""A number or an array of numbers."""
DIMENSION = 3
SHAPES: dict[str, tuple[int, ...]] = {
    "scalar": (),
    "unknown": (),
    "vector": (DIMENSION,),
    "covector": (DIMENSION,),
    "matrix": (DIMENSION, DIMENSION),
    "tensor": (DIMENSION, DIMENSION, DIMENSION),
}
LONGEST_SUM = 400
WORK = 40_000
"""Terms of one sum, and nodes visited for one value."""


class NotNumeric(Exception):
    """An expression without a value at a point: sets, words, minimisers, a root of a negative number."""


def kind_of(notation: Notation, name: str, role: str) -> str:
    """Kind of the value of a name in a role (letter, sequence, function)."""
    entry = notation.by_name.get((name, role))
    if entry is not None:
        return str(entry.kind)
    if role == "function":
        found = split_name(name, notation.functions)
        if found is not None and (base := notation.by_name.get((found[1], "function"))) is not None:
            return str(value_kind(base, found[0]))
        return _guessed(name)
    other = notation.by_name.get((name, "sequence" if role == "letter" else "letter"))
    return str(other.kind) if other is not None else "scalar"


@dataclass
class Point:
    """One random point: a number for every name, made when it is first asked for.

    ``seed`` tells points apart; ``domains`` are ranges of letters; with ``whole`` a letter is a whole number.
    """

    seed: int
    notation: Notation
    domains: Mapping[str, Domain] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()
    work: int = 0
    made: dict[str, Number] = field(default_factory=dict)

    def letter(self, name: str) -> Number:
        """Value of a letter."""
        if name not in self.made:
            self.made[name] = self._drawn(name)
        return self.made[name]

    def _drawn(self, name: str) -> Number:
        shape = SHAPES.get(kind_of(self.notation, name, "letter"))
        if shape is None:
            raise NotNumeric(f"{name} is a {kind_of(self.notation, name, 'letter')}")
        draw = _draw(self.seed, "letter", name)
        if shape:
            return draw.normal(size=shape)
        domain = self.domains.get(name)
        if name in self.whole or (domain is not None and domain.kind == "integers"):
            return int(draw.integers(3, 7))
        low, high = _ends(domain)
        if low is not None and high is not None:
            return low + (high - low) * float(draw.uniform(0.15, 0.85))
        return (low or 0.0) + float(draw.uniform(0.35, 2.1))

    def image(self, role: str, name: str, arguments: Sequence[Number]) -> Number:
        """Value of a sequence or function at numbers: a smooth random map; scalars of a sequence are positive."""
        import numpy as np

        shape = SHAPES.get(kind_of(self.notation, name, role))
        if shape is None:
            raise NotNumeric(f"{name} is a {kind_of(self.notation, name, role)}")
        flat = np.concatenate([np.atleast_1d(np.asarray(a, dtype=float)).ravel() for a in arguments])
        draw = _draw(self.seed, role, name, len(flat))
        size = int(np.prod(shape)) if shape else 1
        weights, phases = draw.normal(size=(size, 4, len(flat))), draw.uniform(0, 6, size=(size, 4))
        found = np.cos(weights @ flat + phases).sum(axis=1) + draw.normal(size=size)
        return found.reshape(shape) if shape else 1.3 + math.tanh(float(found[0]))


def _draw(*key: object) -> np.random.Generator:
    import numpy as np

    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def _guessed(name: str) -> str:
    """Kind of a derivative of a function that the notation does not have."""
    for word, kind in (("grad_", "vector"), ("hess_", "matrix"), ("third_", "tensor")):
        if word in name:
            return kind
    return "scalar"


def _ends(domain: Domain | None) -> tuple[float | None, float | None]:
    """Ends of a range that are numbers."""
    if domain is None or domain.kind != "interval":
        return None, None
    found = []
    for end in (domain.lower, domain.upper):
        value = end.tree if end is not None else None
        found.append(float(value.value) if isinstance(value, tree.Number) else None)
    return found[0], found[1]


REAL: dict[str, Callable[[Any], Any]] = {
    **{name: one.real for name, one in ELEMENTARY.items()},
    "abs": abs,
    "plus": lambda a: max(a, 0.0),
    "indicator": float,
}
FOLDS: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "prod": math.prod, "max": max, "min": min}


def value(node: tree.Node, point: Point) -> Any:
    """Value of an expression at a point: a number or an array.

    Raises
    ------
    NotNumeric : it has none, or would take too long.
    """
    try:
        return _value(node, point, {})
    except (ArithmeticError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise NotNumeric(str(error)[:80]) from None


def _value(node: tree.Node, point: Point, bound: Mapping[str, object]) -> Any:
    point.work += 1
    if point.work > WORK:
        raise NotNumeric("too much work")
    match node:
        case tree.Number(value=number):
            return int(number) if number.denominator == 1 else float(number)
        case tree.Letter(name=name):
            return _letter(name, point, bound)
        case tree.Add(terms=terms):
            return _total([_value(t, point, bound) for t in terms])
        case tree.Multiply(factors=factors):
            return _product([_value(f, point, bound) for f in factors])
        case tree.MatrixMultiply(left=left, right=right):
            return _contracted(_value(left, point, bound), _value(right, point, bound))
        case tree.Divide(numerator=top, denominator=bottom):
            return _value(top, point, bound) / _number(_value(bottom, point, bound))
        case tree.Modulo(left=left, right=right):
            return _value(left, point, bound) % _value(right, point, bound)
        case tree.Negate(operand=inner):
            return -_value(inner, point, bound)
        case tree.Power(base=base, exponent=exponent):
            return _power(_value(base, point, bound), _value(exponent, point, bound))
        case tree.Index(base=base, indices=indices):
            return point.image("sequence", base, [_value(i, point, bound) for i in indices])
        case tree.Compare(operands=operands, operators=operators):
            held = [_number(_value(o, point, bound)) for o in operands]
            return all(tree.HOLDS[op](a, b) for op, a, b in zip(operators, held, held[1:], strict=False))
        case tree.Conditional(test=test, yes=yes, no=no):
            return _value(yes if _value(test, point, bound) else no, point, bound)
        case tree.Call():
            return _call(node, point, bound)
    raise NotNumeric(type(node).__name__)


def _letter(name: str, point: Point, bound: Mapping[str, object]) -> Any:
    if name in bound:
        return bound[name]
    known = {"pi": math.pi, "E": math.e}
    if name in known:
        return known[name]
    if name in ("oo", "dots", "_"):
        raise NotNumeric(f"{name} has no value")
    return point.letter(name)


def _number(found: object) -> Any:
    if getattr(found, "shape", ()) not in ((), None):
        raise NotNumeric("an array where a number is expected")
    return found


def _total(terms: list[Any]) -> Any:
    shapes = {getattr(t, "shape", ()) for t in terms}
    if len(shapes) > 1:
        raise NotNumeric("a sum of things of different shapes")
    return sum(terms[1:], terms[0])


def _product(factors: list[Any]) -> Any:
    arrays = [f for f in factors if getattr(f, "shape", ())]
    if len(arrays) > 1:
        raise NotNumeric("a product of arrays without an order")
    return math.prod((f for f in factors if not getattr(f, "shape", ())), start=arrays[0] if arrays else 1)


def _contracted(left: Any, right: Any) -> Any:
    """``@``; a vector is one-dimensional and its transpose a row, so that ``x @ T(y)`` is no inner product."""
    import numpy as np

    if np.ndim(left) == 1 and np.ndim(right) == 2 and len(right) == 1:
        return np.outer(left, right)
    found = left @ right
    return found[0] if found.shape == (1,) else found


def _transposed(array: np.ndarray) -> np.ndarray:
    if array.ndim == 1:
        return array[None, :]
    return array[0] if len(array) == 1 else array.T


def _power(base: Any, exponent: Any) -> Any:
    import numpy as np

    exponent = _number(exponent)
    if getattr(base, "shape", ()):
        if base.ndim != 2 or int(exponent) != exponent:
            raise NotNumeric("a power of an array")
        return np.linalg.matrix_power(base, int(exponent))
    if base < 0 and int(exponent) != exponent:
        raise NotNumeric("a root of a negative number")
    return float(base) ** exponent


def _call(node: tree.Call, point: Point, bound: Mapping[str, object]) -> Any:
    name, arguments = node.function, node.arguments
    if (span := binder(node)) is not None:
        return _folded(name, arguments[0], span, point, bound)
    if any(isinstance(a, tree.Tuple) for a in arguments) and name not in ("Piecewise", "matrix"):
        raise NotNumeric(f"{name} over a set")
    if name == "Piecewise":
        return _cases(arguments, point, bound)
    if name in ("argmin", "argmax", "set", "family", "list", "member", "such_that", "matrix", "inf", "sup"):
        raise NotNumeric(f"{name} has no value")
    held = [_value(a, point, bound) for a in arguments]
    if name in REAL:
        return REAL[name](_number(held[0]))
    if name in ("max", "min") and held:
        return FOLDS[name]([_number(h) for h in held])
    return _known(name, held) if name in LINEAR else point.image("function", name, held)


def _cases(arguments: tuple[tree.Node, ...], point: Point, bound: Mapping[str, object]) -> Any:
    for branch in arguments:
        if isinstance(branch, tree.Tuple) and len(branch.items) == 2 and _value(branch.items[1], point, bound):
            return _value(branch.items[0], point, bound)
    raise NotNumeric("no case applies")


def _folded(
    name: str, body: tree.Node, span: tuple[str, tree.Node, tree.Node], point: Point, bound: Mapping[str, object]
) -> Any:
    """A sum, product, minimum or maximum over whole numbers; an integral by Gauss' rule."""
    import numpy as np

    index, low, high = span[0], *(_number(_value(end, point, bound)) for end in span[1:])
    if name == "integral":
        nodes, weights = np.polynomial.legendre.leggauss(24)
        at = (high - low) / 2 * nodes + (high + low) / 2
        return (high - low) / 2 * _total([w * _value(body, point, {**bound, index: p}) for p, w in zip(at, weights)])
    if name not in FOLDS or low != int(low) or high - low > LONGEST_SUM:
        raise NotNumeric(f"{name} over this range")
    held = [_value(body, point, {**bound, index: i}) for i in range(int(low), math.floor(high) + 1)]
    if name == "sum" and held:
        return _total(held)
    if not held and name in ("max", "min"):
        raise NotNumeric(f"{name} of nothing")
    return FOLDS[name](held)


LINEAR = frozenset(
    "norm frobenius dot T inv mode entry lambda_min lambda_max binomial factorial eigenvalue dim".split()
)


def _known(name: str, held: list[Any]) -> Any:
    """Functions of vectors and matrices, and of whole numbers."""
    import numpy as np

    first = held[0]
    match name:
        case "norm":
            found: Any = abs(first) if np.ndim(first) == 0 else _norm(first)
        case "frobenius":
            found = float(np.linalg.norm(np.ravel(first)))
        case "dot":
            found = float(np.dot(first, held[1])) if np.ndim(first) == np.ndim(held[1]) == 1 else _refused(name)
        case "T":
            found = first if np.ndim(first) == 0 else _transposed(first) if np.ndim(first) <= 2 else _refused(name)
        case "inv":
            found = np.linalg.inv(first) if np.ndim(first) == 2 else 1 / _number(first)
        case "mode":
            found = _mode(first, int(held[1]), held[2])
        case "lambda_min" | "lambda_max" if np.ndim(first) == 2:
            found = float(np.linalg.eigvalsh((first + first.T) / 2)[0 if name == "lambda_min" else -1])
        case "entry":
            found = first[tuple((int(i) - 1) % DIMENSION for i in held[1:])]
        case "binomial":
            found = math.comb(int(first), int(held[1]))
        case "factorial":
            found = math.factorial(int(first))
        case _:
            found = _refused(name)
    return found


def _refused(name: str) -> NoReturn:
    raise NotNumeric(f"{name} of such a thing")


def _norm(array: np.ndarray) -> float:
    """Euclidean, spectral, and for tensors the norm of all entries with unequal weights: equal tensors, equal norms."""
    import numpy as np

    if array.ndim <= 2:
        return float(np.linalg.norm(array, 2))
    return float(np.linalg.norm(np.ravel(array)))


def _mode(array: np.ndarray, which: int, matrix: np.ndarray) -> np.ndarray:
    """``X x_i A``: rows of A against mode i, counted from 1."""
    import numpy as np

    if array.ndim != 3 or np.ndim(matrix) != 2 or which not in (1, 2, 3):
        raise NotNumeric("a mode product of such things")
    return np.moveaxis(np.tensordot(matrix, array, axes=(1, which - 1)), 0, which - 1)
