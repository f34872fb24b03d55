"""What the user states: one frozen record for every kind of problem, and how it reads."""

from __future__ import annotations

import hashlib
import html
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

MAXIMUM_TEXT = 400
"""Characters of a formula shown in a terminal."""

MAXIMUM_OPERATIONS = 1_500
"""Operations above which a formula is not typeset."""

STATEMENTS = {
    "bilevel": (
        r"\min_{x}\; f(x,y^*(x)),\quad y^*(x)=\arg\min_y g(x,y)",
        "min over x of f(x, y*(x)), y*(x) = argmin over y of g(x, y)",
    ),
    "minimax": (r"\min_x\max_y\; f(x,y)", "min over x, max over y of f(x, y)"),
    "single_level": (r"\min_x\; f(x)", "min over x of f(x)"),
    "constrained_bilevel": (
        r"\min_{x}\; f(x,y^*(x)),\quad y^*(x)=\arg\min_{y\in Y} g(x,y)",
        "min over x of f(x, y*(x)), y*(x) = argmin over y in Y of g(x, y)",
    ),
    "simple_bilevel": (r"\min\; f(x)\quad\text{over}\quad x\in\arg\min_{Z} g", "min of f over argmin of g on Z"),
}
"""Kind -> statement in LaTeX and in words."""


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
        return text(self)

    def __repr__(self) -> str:
        return f"<Problem {self.name or self.kind}: {self.kind}, dx = {self.dx}, dy = {self.dy}>"

    def _repr_latex_(self) -> str:
        return latex(self)

    def _repr_html_(self) -> str:
        return page(self)


def text(problem: Problem) -> str:
    """Several lines: name, kind, formulas, variables, domain, knobs, data."""
    lines = [f"{problem.name or 'problem'} ({problem.kind}): {STATEMENTS[problem.kind][1]}"]
    if problem.title:
        lines.append(f"  {problem.title}")
    lines += [f"  {name} = {_short(value)}" for name, value in _formulas(problem)]
    lines.append(f"  x = {_names(problem.x)}" + (f", y = {_names(problem.y)}" if problem.y else ""))
    lines.append(f"  domain: {domain(problem)}")
    for title, table in (("knobs", problem.knobs), ("data", {k: f"array {v.shape}" for k, v in problem.data.items()})):
        if table:
            lines.append(f"  {title}: " + ", ".join(f"{k} = {v}" for k, v in table.items()))
    return "\n".join(lines)


def domain(problem: Problem) -> str:
    """The set of the problem in words."""
    if problem.set_of_x is not None:
        return problem.set_of_x.describe()
    parts = [] if problem.feasible is None else [f"y in {problem.feasible.describe()}"]
    parts += [f"{n} in [{a}, {b}]" for n, (a, b) in problem.domain.items()]
    if len(parts) > 8:
        parts = [*parts[:8], f"... ({len(parts)} ranges)"]
    return ", ".join(parts) or "the whole space"


def latex(problem: Problem) -> str:
    """Statement and formulas as a LaTeX ``aligned`` block."""
    rows = [STATEMENTS[problem.kind][0]]
    rows += [f"{name} = {_typeset(value)}" for name, value in _formulas(problem)]
    return "$$\\begin{aligned}\n" + " \\\\\n".join("& " + r for r in rows) + "\n\\end{aligned}$$"


def page(problem: Problem) -> str:
    """A small HTML block with MathML-free LaTeX, as notebooks render it."""
    head = html.escape(problem.title or problem.name or problem.kind)
    return f"<div><p><b>{head}</b> ({problem.kind}; {html.escape(domain(problem))})</p>{latex(problem)}</div>"


def _formulas(problem: Problem) -> list[tuple[str, Any]]:
    return [("f", problem.f)] + ([] if problem.g is None else [("g", problem.g)])


def _names(symbols: tuple[sympy.Symbol, ...]) -> str:
    names = [s.name for s in symbols]
    return f"({', '.join(names if len(names) <= 6 else [*names[:3], '...', names[-1]])})"


def _short(value: sympy.Expr) -> str:
    if value.count_ops() > MAXIMUM_OPERATIONS:
        return f"(an expression of {value.count_ops()} operations)"
    plain = str(value)
    return plain if len(plain) <= MAXIMUM_TEXT else plain[:MAXIMUM_TEXT] + " ..."


def _typeset(value: sympy.Expr) -> str:
    if value.count_ops() > MAXIMUM_OPERATIONS:
        return rf"\text{{(an expression of {value.count_ops()} operations)}}"
    return str(sympy.latex(value))
