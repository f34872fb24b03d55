"""A problem for a terminal and for a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import sympy

if TYPE_CHECKING:
    from bilevel_verify.problems.problem import Problem

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


def _short(value: Any) -> str:
    if value.count_ops() > MAXIMUM_OPERATIONS:
        return f"(an expression of {value.count_ops()} operations)"
    plain = str(value)
    return plain if len(plain) <= MAXIMUM_TEXT else plain[:MAXIMUM_TEXT] + " ..."


def _typeset(value: Any) -> str:
    if value.count_ops() > MAXIMUM_OPERATIONS:
        return rf"\text{{(an expression of {value.count_ops()} operations)}}"
    return str(sympy.latex(value))
