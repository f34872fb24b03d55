"""The quantity at a point whose supremum (of ``mu``: infimum) over the domain is a constant; in floating point."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.constants import constants
from bilevel_verify.constants.api import Constants
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.constants.papers import Letter
from bilevel_verify.errors import InputError
from bilevel_verify.oracles import oracles
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth import truth

FloatArray = NDArray[np.float64]
HYPER = "L_phi"
"""The smoothness of the hyper-objective: no certified constant, but a Hessian that truth knows at every point."""
LARGEST_TENSOR, AT_ONCE = 4_000, 2_000_000
"""Entries of one derivative tensor that is still drawn; entries of all tensors that are worked on together."""
NOT_HERE = {
    "exponent": "an exponent compares two points and has no value at one",
    "hoelder": "a Hoelder constant compares two points and has no value at one",
    "ratio": "it divides two constants that are reached at different points; draw {partner}",
    "diameter": "it belongs to the set and not to a point of it",
    "error bound": "its quotient needs the distance to the solutions of the lower level",
    "Polyak-Lojasiewicz": "its quotient needs the minimum of the function, and is 0/0 there",
}
"""Measure -> why its constant has no picture."""


def why_not(letter: Letter) -> str:
    """Why a constant has no value at a point; empty where it has one."""
    return NOT_HERE.get(letter.measure, "").format(partner=" or ".join(letter.partner))


def sizes(problem: Problem, letter: Letter, points: FloatArray) -> FloatArray:
    """The quantity behind a letter at rows (x, y), shape (n,); NaN where a derivative is not known.

    Norms are the largest over the letter's parts, as the constant is.

    Raises
    ------
    InputError : a constant that has no value at a point, or a derivative that is too large to be drawn.
    """
    if reason := why_not(letter):
        raise InputError(f"letter: no picture of {letter.name}: {reason}")
    if letter.measure == "strong convexity":
        ((function, form),) = letter.parts
        return np.asarray(np.linalg.eigvalsh(_matrix(problem, function, form, points))[:, 0])
    found = [_norm(problem, function, form, points) for function, form in letter.parts]
    return np.asarray(np.max(found, axis=0))


def hyper_sizes(problem: Problem, points: FloatArray) -> FloatArray:
    """The spectral norm of the Hessian of the hyper-objective at rows x, shape (n,); NaN where it is not known.

    Raises
    ------
    InputError : a problem that has no hyper-objective.
    """
    if problem.kind in ("simple_bilevel", "constrained_bilevel"):
        raise InputError(f"letter: no picture of {HYPER}: its Hessian at many points is not here for {problem.kind}")
    values, errors = truth(problem).hess_phi_batch(points)
    usable = np.isfinite(errors) & np.isfinite(values).all(axis=(1, 2))
    found = np.full(len(points), np.nan)
    found[usable] = np.linalg.norm(values[usable], ord=2, axis=(1, 2))
    return found


def _norm(problem: Problem, function: str, form: str, points: FloatArray) -> FloatArray:
    if len(form) == 1:
        return np.asarray(np.linalg.norm(_gradient(problem, function, form, points), axis=1))
    if len(form) == 2:
        return np.asarray(np.linalg.norm(_matrix(problem, function, form, points), ord=2, axis=(1, 2)))
    return _tensor_norm(problem, function, form, points)


def _asked(problem: Problem, function: str) -> tuple[str, float]:
    """Whose oracle answers for the lower level, and its sign: that of minimax is -f."""
    return ("f", -1.0) if function == "g" and problem.kind == "minimax" else (function, 1.0)


def _gradient(problem: Problem, function: str, form: str, points: FloatArray) -> FloatArray:
    ask, (name, _) = oracles(problem), _asked(problem, function)
    x, y = (ask.grad_f_batch if name == "f" else ask.grad_g_batch)(points[:, : problem.dx], points[:, problem.dx :])
    return np.concatenate([x, y], axis=1)[:, _block(problem, form)]


def _matrix(problem: Problem, function: str, form: str, points: FloatArray) -> FloatArray:
    """A block of the Hessian, shape (n, rows, columns)."""
    ask, (name, sign) = oracles(problem), _asked(problem, function)
    hessian = ask.hess_f_batch if name == "f" else ask.hess_g_batch
    xx, xy, yy = hessian(points[:, : problem.dx], points[:, problem.dx :])
    across = np.concatenate([xx, xy], axis=2), np.concatenate([xy.transpose(0, 2, 1), yy], axis=2)
    whole = sign * np.concatenate(across, axis=1)
    return np.asarray(whole[:, _block(problem, form[0])][:, :, _block(problem, form[1])])


def _block(problem: Problem, letter: str) -> slice:
    return {"x": slice(0, problem.dx), "y": slice(problem.dx, None)}.get(letter, slice(None))


def _tensor_norm(problem: Problem, function: str, form: str, points: FloatArray) -> FloatArray:
    """Derivatives of order three and more: largest over groups of variables that do not interact."""
    table = constants(problem)
    assert isinstance(table, Constants), "a picture is of one problem"
    analysis = table.analysis(function)
    best = np.zeros(len(points))
    for part, group in zip(analysis.parts, analysis.structure.groups, strict=True):
        if part.touches(form):
            best = np.maximum(best, _of_part(part, form, points[:, list(group)]))
    return best


def _of_part(part: Part, form: str, points: FloatArray) -> FloatArray:
    entries, order = part.n ** len(form), len(form)
    if part.only_specials:
        raise InputError("letter: no picture of a third derivative of a sum over data: it is bounded, not evaluated")
    if entries > LARGEST_TENSOR:
        raise InputError(f"letter: no picture of a derivative with {entries} entries; {LARGEST_TENSOR} are drawn")
    evaluated = Form(part.model, form)

    def norms(piece: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return evaluated.reached(part.model.evaluate(order, piece, piece))

    found = np.concatenate(list(_in_pieces(norms, points, max(1, AT_ONCE // entries))))
    return np.where(np.isfinite(found), found, np.nan)


def _in_pieces(ask: Callable[[FloatArray], FloatArray], points: FloatArray, size: int) -> Iterable[FloatArray]:
    return (ask(points[first : first + size]) for first in range(0, len(points), size))
