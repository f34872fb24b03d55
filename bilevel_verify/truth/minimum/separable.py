"""Problems that fall into independent blocks of variables: ``inf phi`` is the sum of the blocks' infima.

Two variables belong to one block if a term of f, or a term of g that holds some y, has both. Terms of g without y do
not move y* and tie nothing together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import sympy

from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.structure import spread_constants
from bilevel_verify.truth.minimum.minimum import Minimum

MOST_TERMS = 4000


def parts_of(problem: Problem) -> list[Problem]:
    """Independent sub-problems (each with at least one x); the problem itself if there is one block only."""
    f_terms = _terms(problem.f)
    g_terms = [] if problem.g is None else [t for t in _terms(problem.g) if t.free_symbols & set(problem.y)]
    if problem.dx < 2 or len(f_terms) + len(g_terms) > MOST_TERMS:
        return [problem]
    blocks = _components(problem, [*f_terms, *g_terms])
    if len(blocks) < 2:
        return [problem]
    out = []
    for number, block in enumerate(blocks):
        f = [
            t
            for t in f_terms
            if t.free_symbols & block or (number == 0 and not t.free_symbols & set(problem.variables))
        ]
        g = [t for t in g_terms if t.free_symbols & block]
        x = tuple(s for s in problem.x if s in block)
        y = tuple(s for s in problem.y if s in block)
        names = {s.name for s in (*x, *y)}
        lower = None if problem.g is None else sympy.Add(*g)
        out.append(
            Problem(
                kind=problem.kind if y else "single_level",
                f=sympy.Add(*f),
                g=lower if y else None,
                x=x,
                y=y,
                domain={k: v for k, v in problem.domain.items() if k in names},
            )
        )
    return out


def _terms(expression: sympy.Expr) -> list[sympy.Expr]:
    return list(sympy.Add.make_args(spread_constants(expression)))


def _components(problem: Problem, terms: Iterable[sympy.Expr]) -> list[set[sympy.Symbol]]:
    """Blocks of variables in the order of their first x; blocks of y alone join the first one."""
    variables = set(problem.variables)
    blocks: list[set[sympy.Symbol]] = [{s} for s in problem.variables]
    for term in terms:
        tied = term.free_symbols & variables
        touched = [b for b in blocks if b & tied]
        if len(touched) > 1:
            blocks = [b for b in blocks if not b & tied] + [set().union(*touched)]
    with_x = [b for b in blocks if b & set(problem.x)]
    with_x.sort(key=lambda b: min(problem.x.index(s) for s in b if s in problem.x))
    for block in blocks:
        if not block & set(problem.x):
            with_x[0] |= block
    return with_x


def combined(problem: Problem, parts: list[Problem], minima: list[Minimum]) -> Minimum:
    """The minimum of the whole from those of its blocks, ends rounded outward."""
    lower, upper = 0.0, 0.0
    for found in minima:
        lower = float(np.nextafter(lower + found.lower, -np.inf))
        upper = float(np.nextafter(upper + found.upper, np.inf))
    unbounded = next((m for m in minima if m.upper == -np.inf), None)
    if unbounded is not None:
        return replace(unbounded, x=np.zeros(problem.dx))
    place = {s: float(v) for part, found in zip(parts, minima) for s, v in zip(part.x, found.x)}
    attained = [m.attained for m in minima]
    ways = list(dict.fromkeys(m.method for m in minima))
    return Minimum(
        lower,
        upper,
        np.array([place[s] for s in problem.x]),
        all(m.bounded_part for m in minima),
        sum(m.boxes for m in minima),
        all(m.complete for m in minima),
        f"sum over {len(parts)} independent blocks of variables ({'; '.join(ways)})",
        attained=True if all(a is True for a in attained) else False if False in attained else None,
        certified=all(m.certified for m in minima),
    )
