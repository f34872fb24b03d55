"""Sums over data: ``w sum_i body(u_i, p_i)`` with affine ``u_i``, bounded by Loewner sums without writing terms out.

Per sample the derivatives of the body are enclosed over the range of its few quantities, all samples as one batch of
jets; ``D^k body_i`` then enters through ``J_i`` (rows of the data): ``l_i J_i'J_i <= nabla^2 <= u_i J_i'J_i``, and for
higher orders ``n_i`` times norms of ``J_i u`` with two slots kept.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy import Expr, Symbol

from bilevel_verify.atoms.datasum import DataForm, DataSum, chunks
from bilevel_verify.constants.calculus.specials import Special
from bilevel_verify.intervals import linalg
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.jets import Jet, coefficients_of
from bilevel_verify.numbers.rounding import Array, enclose, up

if TYPE_CHECKING:
    from bilevel_verify.symbolic.program import Program

AT_ONCE = 16_384
"""Samples that one product reads."""
NUMBERS = 160_000
"""Numbers of data whose derivatives are enclosed at once."""


@dataclass(frozen=True, eq=False)
class DataTerm(Special):
    """``weight * DataSum``; ``places`` numbers the variables of the part, ``is_x`` their blocks."""

    weight: Expr
    sum: Any
    places: tuple[tuple[str, int], ...]
    is_x: tuple[bool, ...]

    def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Array, hi: Array) -> tuple[float, str]:
        lengths = {s: self._lengths(blocks[s]) for s in set(slots)}
        sizes = self._sizes(len(slots), lo, hi, self._seen({i for s in slots for i in blocks[s]}))
        total = np.prod([lengths[s] for s in slots], axis=0)
        matters = total > 0
        if (np.isinf(sizes) & matters).any():
            return math.inf, "sum over data"
        weight = np.where(matters, np.where(np.isfinite(sizes), sizes, 0.0), 0.0)
        best = float((weight * total).sum()) * (1 + 1e-11)
        for p, q in {tuple(sorted(pair)) for pair in itertools.combinations(slots, 2)}:
            best = min(best, self._two_slots(p, q, weight, total, lengths, blocks))
        return best, "sum over data: Loewner sum of the samples"

    def _two_slots(
        self,
        p: str,
        q: str,
        weight: Array,
        total: Array,
        lengths: dict[str, Array],
        blocks: dict[str, tuple[int, ...]],
    ) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(total > 0, total / (lengths[p] * lengths[q]), 0.0)
            first = np.where(total > 0, lengths[q] / lengths[p], 0.0)
            second = np.where(total > 0, lengths[p] / lengths[q], 0.0)
        left = self._top(weight * rest * first, blocks[p])
        right = left if p == q else self._top(weight * rest * second, blocks[q])
        return float(up(math.sqrt(left) * math.sqrt(right)) * (1 + 1e-11))

    def _top(self, weight: Array, block: tuple[int, ...]) -> float:
        n = 1 + max((place for _, place in self.places), default=0)
        matrix = self._gram(weight, max(n, 1 + max(block, default=0)))[np.ix_(block, block)]
        top = linalg.eigenvalue_range(matrix, matrix)[1]
        return max(0.0, float(top) + float(np.abs(np.diag(matrix)).sum()) * 1e-11 + 1e-300)

    def loewner(self, n: int, lo: Array, hi: Array, letter: str = "z") -> tuple[list[Array], list[Array]]:
        inside = {i for _, i in self.places if letter == "z" or self.is_x[i] == (letter == "x")}
        least, most = self._curvatures(lo, hi, self._seen(inside))
        out = []
        for values, sign in ((least, -1.0), (most, 1.0)):
            matrix = self._gram(np.where(np.isfinite(values), values, 0.0), n)
            room = float(np.diag(self._gram(np.where(np.isfinite(values), np.abs(values), 0.0), n)).sum()) * 1e-12
            matrix = matrix + sign * room * np.eye(n)
            out.append([matrix if np.isfinite(values).all() else np.full((n, n), sign * np.inf)])
        return out[0], out[1]

    # -- samples

    @property
    def scale(self) -> Interval:
        """Weight times the scale of the sum."""
        return Interval(*(np.asarray(v) for v in enclose(self.weight * self.sum.scale)))

    def _coefficients(self, order: int, lo: Array, hi: Array) -> Interval:
        """Partial derivatives of the body in its quantities, shape (count, samples)."""
        width = max(len(form.variables) if form.kind == "rows" else 1 for form in self.sum.forms.values())
        pieces = chunks(self.sum.count, max(256, NUMBERS // width))
        parts = [self._of_samples(order, lo, hi, samples) for samples in pieces]
        return Interval(np.concatenate([p.lo for p in parts], axis=1), np.concatenate([p.hi for p in parts], axis=1))

    def _of_samples(self, order: int, lo: Array, hi: Array, samples: slice) -> Interval:
        program, count = _program(self.sum), samples.stop - samples.start
        ranges = [_form_range(form, dict(self.places), lo, hi, samples) for form in self.sum.forms.values()]
        arithmetic = JetArithmetic(len(ranges), order)
        low, high = np.stack([r.lo for r in ranges], axis=1), np.stack([r.hi for r in ranges], axis=1)
        jets = arithmetic.variables(low, high)
        for column in self.sum.columns.values():
            values = np.asarray(column.values[samples], dtype=float)[None, :]
            jets.append(Jet(arithmetic.space, (0,), Interval(values, values)))
        rows = coefficients_of(program.run(arithmetic, jets)[0], order) * self.scale
        shape = (rows.lo.shape[0], count)
        return Interval(np.broadcast_to(rows.lo, shape), np.broadcast_to(rows.hi, shape))

    def _seen(self, inside: set[int]) -> list[int]:
        """Numbers of the quantities that move with some of these variables."""
        place = dict(self.places)
        forms = enumerate(self.sum.forms.values())
        return [k for k, form in forms if any(place[v.name] in inside for v in form.variables)]

    def _sizes(self, order: int, lo: Array, hi: Array, seen: list[int]) -> Array:
        """Upper bound of the norm of every sample's derivative in those of its quantities that are seen."""
        rows = self._coefficients(order, lo, hi)
        space = JetArithmetic(len(self.sum.forms), order).space
        numbers = list(space.of_degree(order))
        kept = [c for c, number in enumerate(numbers) if sum(space.indices[number][k] for k in seen) == order]
        if not kept:
            return np.zeros(self.sum.count)
        counts = np.array([math.factorial(order) / space.factorial[numbers[c]] for c in kept])
        size = rows.magnitude()[kept]
        if len(size) == 1:
            return np.asarray(size[0])
        return np.asarray(up(np.sqrt((size**2 * counts[:, None]).sum(axis=0)) * (1 + 1e-13)))

    def _curvatures(self, lo: Array, hi: Array, seen: list[int]) -> tuple[Array, Array]:
        """Range of the eigenvalues of every sample's Hessian in those of its quantities that are seen."""
        rows = self._coefficients(2, lo, hi)
        m = len(self.sum.forms)
        if not seen:
            return np.zeros(self.sum.count), np.zeros(self.sum.count)
        if m == 1:
            return rows.lo[0], rows.hi[0]
        low, high = np.zeros((self.sum.count, m, m)), np.zeros((self.sum.count, m, m))
        space = JetArithmetic(m, 2).space
        for column, number in enumerate(space.of_degree(2)):
            i, j = [k for k, a in enumerate(space.indices[number]) for _ in range(a)]
            low[:, i, j] = low[:, j, i] = rows.lo[column]
            high[:, i, j] = high[:, j, i] = rows.hi[column]
        block = np.ix_(range(self.sum.count), seen, seen)
        return linalg.eigenvalue_range(low[block], high[block])

    def _lengths(self, block: tuple[int, ...]) -> Array:
        """Norm bound of ``J_i`` restricted to a block, per sample."""
        total = np.zeros(self.sum.count)
        inside = set(block)
        for form in self.sum.forms.values():
            places = [dict(self.places)[v.name] for v in form.variables]
            if form.kind == "rows":
                columns = [c for c, place in enumerate(places) if place in inside]
                total += (form.matrix[:, columns] ** 2).sum(axis=1)
            elif form.kind == "entries":
                total += np.array([float(place in inside) for place in places])
            else:
                total += float(places[0] in inside)
        return np.asarray(np.sqrt(total) * (1 + 1e-13))

    def _gram(self, weight: Array, n: int) -> Array:
        """``sum_i weight_i J_i'J_i`` in floats."""
        out = np.zeros((n, n))
        for form in self.sum.forms.values():
            places = [dict(self.places)[v.name] for v in form.variables]
            if form.kind == "rows":
                for samples in chunks(self.sum.count, AT_ONCE):
                    part = form.matrix[samples]
                    out[np.ix_(places, places)] += part.T @ (weight[samples, None] * part)
            elif form.kind == "entries":
                out[places, places] += weight
            else:
                out[places[0], places[0]] += weight.sum()
        return 0.5 * (out + out.T)


@lru_cache(maxsize=64)
def _program(data: DataSum) -> Program:
    from bilevel_verify.symbolic.program import program_of

    return program_of(data.body, [*data.forms, *data.columns])


def _form_range(form: DataForm, place: dict[str, int], lo: Array, hi: Array, samples: slice) -> Interval:
    """Range of an affine quantity, one interval for each of some samples."""
    chosen = [place[v.name] for v in form.variables]
    if form.kind == "same":
        count = samples.stop - samples.start
        return Interval(np.full(count, lo[chosen[0]]), np.full(count, hi[chosen[0]]))
    if form.kind == "entries":
        return Interval(lo[chosen[samples]], hi[chosen[samples]])
    low, high, matrix = lo[chosen], hi[chosen], form.matrix[samples]
    positive, negative = np.maximum(matrix, 0.0), np.minimum(matrix, 0.0)
    with np.errstate(invalid="ignore"):
        bottom = np.where(positive > 0, positive * low, 0.0) + np.where(negative < 0, negative * high, 0.0)
        top = np.where(positive > 0, positive * high, 0.0) + np.where(negative < 0, negative * low, 0.0)
        size = np.where(matrix != 0, np.abs(matrix) * np.maximum(np.abs(low), np.abs(high)), 0.0)
        room = size.sum(axis=1) * linalg.gamma(len(chosen) + 3)
        room = np.where(np.isfinite(room), room, 0.0)
        return Interval.of(bottom.sum(axis=1) - room, top.sum(axis=1) + room)


def data_terms(
    rest: Expr | None, variables: tuple[Symbol, ...], is_x: tuple[bool, ...]
) -> tuple[list[Special], Expr | None]:
    """Split off the sums over data.

    Raises
    ------
    ValueError : a sum over data occurs inside another expression (not as a term of its own).
    """
    if rest is None or not rest.has(DataSum):
        return [], rest
    place = {v.name: i for i, v in enumerate(variables)}
    found: list[Special] = []
    remaining = []
    for term in sympy.Add.make_args(rest):
        if not term.has(DataSum):
            remaining.append(term)
            continue
        sums = [f for f in sympy.Mul.make_args(term) if isinstance(f, DataSum)]
        weight = sympy.Mul(*[f for f in sympy.Mul.make_args(term) if not isinstance(f, DataSum)])
        if len(sums) != 1 or weight.free_symbols:
            raise ValueError(
                f"a sum over data inside {str(term)[:60]} cannot be bounded; write it as a term of its own"
            )
        names = sorted(str(v) for form in sums[0].forms.values() for v in form.variables)
        members = tuple(sorted({place[name] for name in names}))
        places = tuple((name, place[name]) for name in dict.fromkeys(names))
        found.append(DataTerm(term, members, weight, sums[0], places, is_x))
    return found, sympy.Add(*remaining) if remaining else None
