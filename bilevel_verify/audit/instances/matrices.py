"""Relations of norms of matrices, attacked with random and structured matrices: exact rational counterexamples.

Letters are kept apart as the print has them: the Hessian at x and the Hessian at y are two matrices. What survives is
*undecided*; only a relation that breaks with room between the enclosures of its two sides is refuted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from bilevel_verify.audit.instances.rational import (
    Ends,
    Matrix,
    NoValue,
    Value,
    evaluate,
    identity,
    number,
    positive_definite,
    times,
    transposed,
)
from bilevel_verify.language import tree

KINDS = ("matrices", "symmetric matrices", "positive definite matrices", "vectors", "positive numbers")
"""What a letter may be."""
SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((1, 0), (0, 1)), ((0, 1), (0, 0)), ((0, 1), (1, 0)), ((0, -1), (1, 0)), ((1, 0), (0, 0)), ((1, 1), (0, 1)),
    ((2, 0), (0, 1)), ((0, 0), (0, 0)), ((1, 0), (0, -1)), ((1, 2), (3, 4)),
)  # fmt: skip
"""The identity, a nilpotent one, a swap, a rotation, a projection, a shear, two curvatures, zero, a reflection."""
TRIES = 400
HOLDS = {"<=": lambda a, b: a.high <= b.low, ">=": lambda a, b: a.low >= b.high, "<": lambda a, b: a.high < b.low,
         ">": lambda a, b: a.low > b.high, "==": lambda a, b: a.low == a.high == b.low == b.high}  # fmt: skip
FAILS = {"<=": lambda a, b: a.low > b.high, ">=": lambda a, b: a.high < b.low, "<": lambda a, b: a.low >= b.high,
         ">": lambda a, b: a.high <= b.low, "==": lambda a, b: a.low > b.high or a.high < b.low}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between numbers made of matrices; ``kinds`` : letter -> one of :data:`KINDS`."""

    left: tree.Node
    op: str
    right: tree.Node
    kinds: Mapping[str, str]
    where: tuple[tree.Compare, ...] = ()


@dataclass(frozen=True, slots=True)
class Attack:
    """What an attack found: the matrices that refute (exactly), or the largest ratio of the sides and where."""

    refuted: bool
    at: Mapping[str, Value] = field(default_factory=dict)
    instances: int = 0
    ratio: float = 0.0
    left: float | None = None
    right: float | None = None


def attack(relation: Relation, tries: int = TRIES, seed: int = 0) -> Attack:
    """Try structured matrices in all places, then random ones, then changes of the worst.

    Parameters
    ----------
    tries : instances; the work is this number and no time.
    """
    best, count = Attack(False), 0
    rng = random.Random(seed)
    for number_, at in enumerate(_instances(relation, rng)):
        if number_ >= tries:
            break
        if best.at and number_ > tries // 2:
            at = _changed(best.at, relation.kinds, rng)
        sides = _sides(relation, at)
        if sides is None:
            continue
        count += 1
        left, right = sides
        if FAILS[relation.op](left, right):
            return Attack(True, at, count, _ratio(relation.op, left, right), float(left.low), float(right.high))
        ratio = _ratio(relation.op, left, right)
        if ratio >= best.ratio or not best.at:
            best = Attack(False, at, count, ratio, float(left.high), float(right.low))
    return Attack(False, best.at, count, best.ratio, best.left, best.right)


def _sides(relation: Relation, at: Mapping[str, Value]) -> tuple[Ends, Ends] | None:
    """Both sides, where they have values and every hypothesis holds for certain."""
    try:
        for condition in relation.where:
            held = [number(evaluate(o, at)) for o in condition.operands]
            if not all(HOLDS[op](a, b) for op, a, b in zip(condition.operators, held, held[1:], strict=False)):
                return None
        return number(evaluate(relation.left, at)), number(evaluate(relation.right, at))
    except (NoValue, ZeroDivisionError):
        return None


def _ratio(op: str, left: Ends, right: Ends) -> float:
    """The share of the bound that is used up; 0 where the bound is 0."""
    small, large = (left, right) if op in ("<=", "<", "==") else (right, left)
    return float(small.low / large.high) if large.high > 0 else 0.0


def _instances(relation: Relation, rng: random.Random) -> Iterator[dict[str, Value]]:
    """Structured matrices, all letters alike first, then drawn; sizes 2, 1 and 3 in turn."""
    for shape in SHAPES:
        same = _exact(shape)
        yield {name: _of_kind(kind, same, rng) for name, kind in relation.kinds.items()}
    while True:
        size = rng.choice((2, 2, 3, 1))
        yield {name: _of_kind(kind, _drawn(size, rng), rng) for name, kind in relation.kinds.items()}


def _drawn(size: int, rng: random.Random) -> Matrix:
    """A structured matrix, or one with small whole entries over a small number."""
    if size == 2 and rng.random() < 0.5:
        return _exact(rng.choice(SHAPES))
    scale = rng.choice((1, 1, 2, 10))
    return tuple(tuple(Fraction(rng.randint(-4, 4), scale) for _ in range(size)) for _ in range(size))


def _exact(rows: Sequence[Sequence[int]]) -> Matrix:
    return tuple(tuple(Fraction(x) for x in row) for row in rows)


def _of_kind(kind: str, value: Matrix, rng: random.Random) -> Value:
    """A value of a kind, made from a square matrix."""
    size = len(value)
    if kind == "vectors":
        return tuple((row[0],) for row in value)
    if kind == "positive numbers":
        exact = abs(value[0][0]) or Fraction(1, rng.choice((1, 10, 100)))
        return Ends(exact, exact)
    if kind == "symmetric matrices":
        return tuple(tuple((a + b) / 2 for a, b in zip(r, s)) for r, s in zip(value, transposed(value)))
    if kind == "positive definite matrices":
        square, small = times(transposed(value), value), Fraction(1, rng.choice((1, 10, 1000)))
        assert isinstance(square, tuple)
        return tuple(tuple(a + small * e for a, e in zip(r, i)) for r, i in zip(square, identity(size)))
    return value


def _changed(at: Mapping[str, Value], kinds: Mapping[str, str], rng: random.Random) -> dict[str, Value]:
    """The worst instance with one letter moved a little."""
    found = dict(at)
    name = rng.choice(sorted(found))
    value = found[name]
    step = Fraction(rng.randint(-8, 8), rng.choice((4, 32, 256)))
    if isinstance(value, Ends):
        moved = max(value.low + step, Fraction(1, 256))
        found[name] = Ends(moved, moved)
        return found
    row, column = rng.randrange(len(value)), rng.randrange(len(value[0]))
    rows = [list(r) for r in value]
    rows[row][column] += step
    if kinds[name] in ("symmetric matrices", "positive definite matrices") and row != column:
        rows[column][row] += step
    moved_matrix = tuple(tuple(r) for r in rows)
    if kinds[name] == "positive definite matrices" and not positive_definite(moved_matrix):
        return found
    found[name] = moved_matrix
    return found


def shown(at: Mapping[str, Value]) -> dict[str, str]:
    """An instance as text: rows of fractions."""
    return {name: str(v.low) if isinstance(v, Ends) else _rows(v) for name, v in at.items()}


def _rows(value: Matrix) -> str:
    return "[" + ", ".join("[" + ", ".join(map(str, row)) + "]" for row in value) + "]"
