"""Terms that touch few of many variables: bounded in their own few dimensions, added up by coordinate projectors.

If ``h_l`` depends on the coordinates in ``S_l`` only and ``|D^k h_l| <= n_l``, then ``|sum_l D^k h_l[u, v, ...]| <=
max_i sum_(l: i in S_l) n_l`` for k >= 2 (Cauchy-Schwarz with the projectors on ``S_l``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import sympy
from sympy import Expr, Symbol

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.memory import remembered
from bilevel_verify.constants.calculus.specials import Special
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import Structure, structure_of
from bilevel_verify.intervals.rounding import Array

MANY = 4
"""From this dimension on terms with fewer variables are bounded on their own."""


class Analysed(Protocol):
    """The analysis of a term in its own few variables."""

    @property
    def is_x(self) -> tuple[bool, ...]:
        """For every variable whether it belongs to x."""

    def norm(self, slots: str) -> Bound:
        """A bound of the derivative with these slots."""

    def hessian_range(self, letter: str) -> tuple[float, float]:
        """Certified range of the eigenvalues of a diagonal Hessian block."""


Analyse = Callable[[Structure, tuple[bool, ...], Domain, str, float], Analysed]
"""How a term on its own is analysed: structure, blocks, domain, name, effort."""
_PARTS: dict[Hashable, Analysed] = {}


@dataclass(frozen=True)
class SparseTerm(Special):
    """A term of the rest with its own analysis; ``part`` numbers its variables anew."""

    part: Analysed

    def bound(self, slots: str, blocks: dict[str, tuple[int, ...]], lo: Array, hi: Array) -> tuple[float, str]:
        if any(not set(self.members) & set(blocks[s]) for s in slots):
            return 0.0, "block not touched"
        return self.part.norm(slots).upper, "own dimensions"

    def loewner(self, n: int, lo: Array, hi: Array, letter: str = "z") -> tuple[list[Array], list[Array]]:
        own = [i for k, i in enumerate(self.members) if letter == "z" or self.part.is_x[k] == (letter == "x")]
        least, most = self.part.hessian_range(letter) if own else (0.0, 0.0)
        projector = np.zeros(n)
        projector[own] = 1.0

        def times(v: float) -> Array:
            return np.diag(np.where(projector > 0, v, 0.0))

        return [times(least)], [times(most)]


def sparse_terms(
    rest: Expr | None,
    variables: Sequence[Symbol],
    is_x: tuple[bool, ...],
    domain: Domain,
    name: str,
    effort: float,
    analyse: Analyse,
) -> tuple[list[Special], Expr | None]:
    """Split off the terms that touch fewer variables than the group has (only for many variables)."""
    if rest is None or len(variables) < MANY:
        return [], rest
    found: list[Special] = []
    remaining = []
    for term in sympy.Add.make_args(rest):
        members = tuple(i for i, v in enumerate(variables) if v in term.free_symbols)
        if len(members) >= min(len(variables), MANY):
            remaining.append(term)
            continue
        part = _own_part(term, members, variables, is_x, domain, name, effort, analyse)
        found.append(SparseTerm(term, members, part))
    return found, sympy.Add(*remaining) if remaining else None


def _own_part(
    term: Expr,
    members: tuple[int, ...],
    variables: Sequence[Symbol],
    is_x: tuple[bool, ...],
    domain: Domain,
    name: str,
    effort: float,
    analyse: Analyse,
) -> Analysed:
    """The analysis of one term; equal terms on equal boxes (up to names) share it."""
    fresh = [sympy.Symbol(f"z{k}", real=True) for k in range(len(members))]
    renamed = term.xreplace({variables[i]: fresh[k] for k, i in enumerate(members)})
    blocks = tuple(is_x[i] for i in members)
    own = domain.part(members)
    key = (renamed, blocks, own.lo.tobytes(), own.hi.tobytes(), effort)
    return remembered(_PARTS, key, lambda: analyse(structure_of(renamed, fresh), blocks, own, name, effort), 512)
