"""What the user states: one frozen record for every kind of problem."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

import sympy

from bilevel_verify.problems.digest import content_digest
from bilevel_verify.problems.feasible import FeasibleSet

Kind = Literal["bilevel", "minimax", "single_level", "simple_bilevel", "constrained_bilevel"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Interval = tuple[sympy.Expr, sympy.Expr]
"""Closed range of one variable: exact numbers, or ``-oo`` / ``oo``."""


def _empty() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """A problem as stated. Symbols are real; ``x`` and ``y`` keep the order of the user.

    Attributes
    ----------
    kind : ``bilevel`` (min f over x, y in argmin g), ``minimax`` (min over x, max over y of f), ``single_level``
        (min f(x)), ``simple_bilevel`` (min f over argmin of g over a feasible set; ``y`` is empty),
        ``constrained_bilevel`` (as bilevel, y in a box, an orthant or a simplex).
    f, g : SymPy expressions; ``g`` is None for ``single_level`` and ``minimax``.
    x, y : symbols of the two blocks, dimensions ``dx`` and ``dy``.
    domain : symbol name -> closed range; a missing name is the whole line.
    feasible : the feasible set of a simple bilevel problem, the set of y of a constrained one, else None.
    knobs : values put in for the knobs of a family (name -> number), for the record.
    data : arrays of a data-driven problem, read-only (name -> float64 array).
    known : what the author states about it (constants, minima, solutions): claims to be checked, never used as truth.
    start : a suggested ``x0``; None for none.
    text : ``{"f": ..., "g": ...}`` as the user wrote it, for reports and problem files.
    """

    kind: Kind
    f: sympy.Expr
    x: tuple[sympy.Symbol, ...]
    g: sympy.Expr | None = None
    y: tuple[sympy.Symbol, ...] = ()
    domain: Mapping[str, Interval] = field(default_factory=_empty)
    feasible: FeasibleSet | None = None
    name: str = ""
    title: str = ""
    source: str = ""
    note: str = ""
    knobs: Mapping[str, Any] = field(default_factory=_empty)
    data: Mapping[str, Any] = field(default_factory=_empty)
    known: Mapping[str, Any] = field(default_factory=_empty)
    start: tuple[float, ...] | None = None
    text: Mapping[str, str] = field(default_factory=_empty)
    _digest: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def dx(self) -> int:
        """Dimension of x."""
        return len(self.x)

    @property
    def dy(self) -> int:
        """Dimension of y."""
        return len(self.y)

    @property
    def variables(self) -> tuple[sympy.Symbol, ...]:
        """All variables, x first."""
        return self.x + self.y

    @property
    def lower(self) -> sympy.Expr | None:
        """The function minimised over y: ``g``, or ``-f`` for minimax; None for one level."""
        return -self.f if self.kind == "minimax" else self.g

    def range_of(self, symbol: sympy.Symbol) -> Interval:
        """Closed range of one variable (the whole line where none was declared)."""
        return self.domain.get(symbol.name, (-sympy.oo, sympy.oo))

    @property
    def set_of_x(self) -> FeasibleSet | None:
        """The set in which x must lie (a simple bilevel problem's), None for none."""
        return self.feasible if self.kind == "simple_bilevel" else None

    @property
    def whole_space(self) -> bool:
        """True if no variable is restricted."""
        return all(self.range_of(s) == (-sympy.oo, sympy.oo) for s in self.variables)

    def content_hash(self) -> str:
        """SHA-256 of everything that decides a result: kind, expressions, order of variables, domain, set, data."""
        if not self._digest:  # asked for by every cache, and long expressions take their time
            self._digest.append(self._compute_hash())
        return self._digest[0]

    def _compute_hash(self) -> str:
        payload = {
            "kind": self.kind,
            "f": content_digest(self.f),
            "g": None if self.g is None else content_digest(self.g),
            "x": [s.name for s in self.x],
            "y": [s.name for s in self.y],
            "domain": {k: [sympy.srepr(a), sympy.srepr(b)] for k, (a, b) in sorted(self.domain.items())},
            "feasible": None if self.feasible is None else repr(self.feasible),
            "data": {
                k: hashlib.sha256(v.tobytes() + repr(v.shape).encode()).hexdigest()
                for k, v in sorted(self.data.items())
            },
        }
        return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()

    def __str__(self) -> str:
        from bilevel_verify.problems.display import text

        return text(self)

    def __repr__(self) -> str:
        return f"<Problem {self.name or self.kind}: {self.kind}, dx = {self.dx}, dy = {self.dy}>"

    def _repr_latex_(self) -> str:
        from bilevel_verify.problems.display import latex

        return latex(self)

    def _repr_html_(self) -> str:
        from bilevel_verify.problems.display import page

        return page(self)
