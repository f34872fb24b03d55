"""Which description fits a simple bilevel problem: polyhedral, composite, a known g under monotone functions, any."""

from __future__ import annotations

import sympy

from bilevel_verify.errors import InputError
from bilevel_verify.problems.composite import split
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.simple_bilevel.composite import CompositeTruth
from bilevel_verify.truth.simple_bilevel.polyhedral import PolyhedralTruth, kinks_of
from bilevel_verify.truth.simple_bilevel.rescaled import RescaledTruth, layers_of
from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth


def simple_truth_of(problem: Problem) -> SimpleTruth:
    """Truth of a simple bilevel problem, by the most exact way there is for its g."""
    polyhedral = _polyhedral(problem)
    if polyhedral is not None:
        return polyhedral
    composite = split(problem)
    if composite is not None:
        return CompositeTruth(problem, composite)
    layers = None if problem.g is None else layers_of(problem)
    return SimpleTruth(problem) if layers is None else RescaledTruth(problem, layers)


def _polyhedral(problem: Problem) -> SimpleTruth | None:
    """Truth of a polyhedral g over a set of linear constraints; None for other problems."""
    if problem.g is None or any(p.free_symbols for p in problem.f.atoms(sympy.Abs, sympy.Max)):
        return None
    found = kinks_of(problem.g, problem.x)
    try:
        return None if found is None else PolyhedralTruth(problem, *found)
    except InputError:
        return None
