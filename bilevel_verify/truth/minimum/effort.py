"""How long the infimum of phi would be searched for, before anything is searched."""

from __future__ import annotations

from bilevel_verify.constants.bound.memory import remembered
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.model import model_of
from bilevel_verify.truth.minimum.separable import parts_of

LONG = 1_000_000
"""Work of a search (instructions of f and g, times the square of the dimension) from which on it takes minutes."""
FEW_X, FEW_Y = 8, 3
"""Up to here phi may be an explicit expression of x."""
KEPT = 64
_KNOWN: dict[str, int] = {}
"""Content of a problem -> work of its search: every start of a batch asks."""


def is_long(problem: Problem) -> bool:
    """Whether ``inf phi`` is a search over boxes in so many variables that nobody waits for it.

    Of blocks that fall apart, of explicit phi and of small problems it is not.
    """
    if problem.lower is None or problem.dx <= FEW_X or problem.dy <= FEW_Y:
        return False
    return remembered(_KNOWN, problem.content_hash(), lambda: _work(problem), KEPT) > LONG


def _work(problem: Problem) -> int:
    """Of the longest search of a part; 0 where none has many variables."""
    most = 0
    for part in parts_of(problem):
        if part.lower is not None and part.dx > FEW_X and part.dy > FEW_Y:
            model = model_of(part)
            size = model.upper.program.size + (0 if model.lower is None else model.lower.program.size)
            most = max(most, size * part.dx**2)
    return most
