"""Terms ``w(x) phi(c'y)``: a weight of the upper level times a ridge of the lower one, as weighted samples give.

Their yy block is ``w(x) phi''(c'y) c c'``, a matrix of rank one whose one eigenvalue has a range; entry by entry that
is lost. So they are taken out, and what they add at least to the smallest eigenvalue is known.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import sympy
from sympy import Expr, Symbol

from bilevel_verify.constants.calculus.exact import exact_range
from bilevel_verify.constants.formula.smoothness import range_of
from bilevel_verify.constants.formula.structure import as_ridge
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.numbers.rounding import enclose

if TYPE_CHECKING:
    from bilevel_verify.constants.groups.part import Part


def without_weighted_ridges(part: Part) -> tuple[Part, float] | None:
    """The part without such terms, and a lower bound of the eigenvalues of their yy blocks together; None if none."""
    rest = part.structure.rest
    if rest is None:
        return None
    kept, least = [], 0.0
    for term in sympy.Add.make_args(rest):
        low = _least_eigenvalue(term, part)
        if low is None:
            kept.append(term)
        else:
            least = float(np.nextafter(least + low, -math.inf)) if low < 0 else least
    if len(kept) == len(sympy.Add.make_args(rest)):
        return None
    structure = replace(part.structure, rest=sympy.Add(*kept) if kept else None)
    return type(part)(structure, part.is_x, part.domain, part.name, part.effort), least


def _least_eigenvalue(term: Expr, part: Part) -> float | None:
    """A finite lower bound of ``w phi'' |c|^2``, at most 0; None where the term has another form or there is none."""
    below = {v for v, is_x in zip(part.structure.variables, part.is_x, strict=True) if not is_x}
    weight, core = term.as_independent(*below, as_Add=False)
    symbols = core.free_symbols
    if not weight.free_symbols or not symbols or not symbols <= below:
        return None
    found = as_ridge(core, symbols)
    if found is None:
        return None
    factor, function, argument, _ = found
    ends = exact_range(function, 2)
    if ends is None:
        at = Interval(*(np.asarray([end]) for end in range_of(argument, part.structure, part.domain)))
        curved = function.range(2, at)
    else:
        curved = Interval(np.asarray([enclose(ends[0])[0]]), np.asarray([enclose(ends[1])[1]]))
    weights = Interval(*(np.asarray([end]) for end in range_of(weight * factor, part.structure, part.domain)))
    if weights.lo[0] >= 0 and curved.lo[0] >= 0:
        return 0.0  # also where the weight is unbounded
    low = float((weights * curved).lo[0]) if np.isfinite([weights.lo, weights.hi]).all() else -math.inf
    size = enclose(_square_norm(argument, symbols))[1]
    least = 0.0 if low >= 0 else float(np.nextafter(low * size, -math.inf))
    return least if math.isfinite(least) else None


def _square_norm(argument: Expr, symbols: set[Symbol]) -> Expr:
    """``|c|^2`` of an affine form."""
    return sympy.Add(*(sympy.diff(argument, symbol) ** 2 for symbol in symbols))
