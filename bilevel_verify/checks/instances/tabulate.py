"""Truth at all points of a run at once: one pass in interval batches instead of one proof in balls for each place.

The enclosures are those of the truth room and about as wide as float64 rounding; a place that they do not decide is
judged again in balls of full precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb
from sympy import Symbol

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.values import Matrix, Value, Vector
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.language import tree
from bilevel_verify.numbers.rounding import inward
from bilevel_verify.theorems.card import Claim
from bilevel_verify.truth.arithmetic.algebra import Boxes
from bilevel_verify.truth.arithmetic.enclosure import Certainty, weakest
from bilevel_verify.truth.functions.formulas import BoxHyper, BoxPenalty, Hyper, Penalty
from bilevel_verify.truth.truth import Truth

if TYPE_CHECKING:
    from numpy.typing import NDArray

Key = tuple[float, ...]
CHUNK = 4096
BOXES = Boxes()

HYPER: dict[str, Callable[[BoxHyper], Any]] = {
    "phi": lambda hyper: hyper.value,
    "grad_phi": lambda hyper: hyper.gradient,
    "hess_phi": lambda hyper: hyper.hessian,
    "grad_y_star": lambda hyper: hyper.jacobian,
    "y_star": lambda hyper: hyper.minimiser,
}
PENALTY: dict[str, Callable[[BoxPenalty], Any]] = {
    "L_star": lambda penalty: penalty.value,
    "grad_L_star": lambda penalty: penalty.gradient,
    "hess_L_star": lambda penalty: penalty.hessian,
    "grad_y_star_lam": lambda penalty: penalty.jacobian,
    "y_star_lam": lambda penalty: penalty.minimiser,
}
COLUMNS = frozenset({"grad_phi", "y_star", "grad_L_star", "y_star_lam"})
Table = dict[str, dict[Key, tuple[Value, Certainty]]]


def symbols_in(claims: Iterable[Claim]) -> set[str]:
    """Function symbols of claims that can be tabulated."""
    return functions_in(claims) & (HYPER.keys() | PENALTY.keys())


def functions_in(claims: Iterable[Claim]) -> set[str]:
    """Function symbols of claims, of their conditions and definitions."""
    found: set[str] = set()
    for claim in claims:
        trees = [side.tree for link in claim.chain for side in (link.left, link.right)]
        trees += [e.tree for e in (*claim.where, *claim.define.values())]
        for one in trees:
            found |= tree.functions(one)
    return found


def tabulate(truth: Truth, names: Iterable[str], X: np.ndarray, lam: arb | None) -> Table:
    """Enclosures of truths at the rows of ``X``, shape (n, dx); rows without a proof are left out."""
    wanted = set(names)
    table: Table = {name: {} for name in wanted}
    if truth.model.lower is None or not wanted:
        return table
    X = np.unique(X[np.all(np.isfinite(X), axis=1)], axis=0)
    with ball_ends():  # the accuracy of NumPy's elementary functions is an assumption
        for start in range(0, len(X), CHUNK):
            _tabulate_chunk(truth, wanted, np.ascontiguousarray(X[start : start + CHUNK]), lam, table)
    return table


def _tabulate_chunk(truth: Truth, wanted: set[str], X: np.ndarray, lam: arb | None, table: Table) -> None:
    level, boxes = truth.points.level, [Interval(column, column) for column in np.ascontiguousarray(X.T)]
    keys: list[Key | None] = [tuple(row) for row in X.tolist()]
    Y = level.solve(X).y
    y = level.enclose(boxes, Y)[0]
    inside = _inside(truth, truth.problem.x, boxes) & _inside(truth, truth.problem.y, y)
    keys = _where_known(keys, y)
    hyper = Hyper(BOXES, truth.model, boxes, y)
    for name in wanted & HYPER.keys():
        _store(table[name], keys, HYPER[name](hyper), inside, truth.batch_certainty, name in COLUMNS)
    if lam is None or not wanted & PENALTY.keys():
        return
    low, high = v.ends(lam)
    weights = Interval(np.full(len(X), low), np.full(len(X), high))
    Z = level.solve(X, np.full(len(X), float(lam)), Y).y
    y_lam = level.enclose(boxes, Z, weights)[0]
    inside = inside & _inside(truth, truth.problem.y, y_lam)
    keys = _where_known(keys, y_lam)
    penalty = Penalty(BOXES, truth.model, weights, boxes, y, y_lam)
    certainty = weakest(truth.batch_certainty, truth.penalty_certainty(lam))
    for name in wanted & PENALTY.keys():
        _store(table[name], keys, PENALTY[name](penalty), inside, certainty, name in COLUMNS)


def _inside(truth: Truth, block: Sequence[Symbol], values: list[Interval]) -> np.ndarray:
    """Rows whose enclosure lies in the declared ranges of a block: convexity of the lower level is certified there."""
    ends = [truth.problem.range_of(symbol) for symbol in block]
    inner = [inward(low, high) for low, high in ends]
    fine = [(entry.lo >= low) & (entry.hi <= high) for entry, (low, high) in zip(values, inner)]
    return np.asarray(np.logical_and.reduce(fine))


def _where_known(keys: list[Key | None], y: list[Interval]) -> list[Key | None]:
    """Nothing rests on a minimiser that is not known; a formula that does not depend on y would not notice."""
    known = np.asarray(np.isfinite([[entry.lo, entry.hi] for entry in y]).all(axis=(0, 1)))
    return [key if fine else None for key, fine in zip(keys, known, strict=True)]


def _store(
    column: dict[Key, tuple[Value, Certainty]],
    keys: list[Key | None],
    found: Interval,
    inside: np.ndarray,
    certainty: Certainty,
    as_vector: bool,
) -> None:
    low, high = np.asarray(found.lo), np.asarray(found.hi)
    finite = np.isfinite(low) & np.isfinite(high)
    usable = finite if finite.ndim == 1 else np.asarray(finite.all(axis=tuple(range(1, finite.ndim))))
    for row, key in enumerate(keys):
        if usable[row] and key is not None:
            value = _value(low[row], high[row], as_vector)
            column[key] = (value, certainty if inside[row] else "computed")


def _value(low: NDArray[np.float64], high: NDArray[np.float64], as_vector: bool) -> Value:
    if np.ndim(low) == 0:
        return _ball(float(low), float(high))
    rows = tuple(tuple(_ball(a, b) for a, b in zip(r, s)) for r, s in zip(low.tolist(), high.tolist()))
    return Vector(tuple(row[0] for row in rows)) if as_vector else Matrix(rows)


def _ball(low: float, high: float) -> arb:
    return arb(low) if low == high else arb(low).union(arb(high))


def key_of(point: Vector) -> Key | None:
    """The floats of an exact point; None for any other."""
    numbers = tuple(float(a) for a in point.entries)
    exact = all(a.is_exact() and bool(arb(number) == a) for a, number in zip(point.entries, numbers))
    return numbers if exact else None
