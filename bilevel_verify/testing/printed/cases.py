"""Examples that show a named method at work: letters with which it restarts, uses every warm start, and ends.

Where a method restarts, its threshold is put between two values that the first epoch takes (halfway, or close to one),
so that the epoch ends at a step drawn in advance; later epochs move less, and the last one ends by itself. An example
counts only if a start moved by a part in 10^12 gives the same run: else rounding would decide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.testing.instances import decoding
from bilevel_verify.testing.instances.decoding import Reader
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.instances.simple import SimpleInstance
from bilevel_verify.testing.printed import guilt
from bilevel_verify.testing.printed.drawing import (
    INEXACT,
    SADDLES,
    Letters,
    one_level,
    simple_letters,
    start,
    two_levels,
)
from bilevel_verify.testing.printed.library import Printed
from bilevel_verify.testing.printed.library import printed as pseudocode
from bilevel_verify.testing.printed.oracles import NamedOracles
from bilevel_verify.testing.printed.products import danskin_operator, model_value, penalty_operator
from bilevel_verify.testing.printed.running import Transcript, transcribe

FloatArray = NDArray[np.float64]
BUDGET = 20_000
"""Calls that a run may make."""
STEADY = 1e-9
"""Largest relative change of a run when its start moves by ``NUDGE``."""
NUDGE = 1e-12
SETS = {"agm-conceptual": "Ball", "cg-bio": "Ball", "p-agm-bio": "Box", "bisec-bio": "Ball"}
"""Feasible sets of methods that are not for every set, or need the solutions themselves."""
WIDE = ("agm-conceptual",)
"""Methods whose set must hold the solutions; for all others it is so small on two of three that projections matter."""
SHAPES = ("plain", "crossed", "displaced", "displaced")
"""Two-level examples: ``crossed``: grad_x f depends on y; ``displaced``: the mixed block of g depends on y."""
EAGER, LAZY = ("fsba", "mcn", "cubic-newton-step"), ("lfsba", "lmcn")
"""Cubic methods that end by the size of a step, and by that of a step and of the way from the last snapshot."""


@dataclass(frozen=True)
class Example:
    """A problem, a start, and all letters that a method takes there."""

    instance: Instance | SimpleInstance
    x0: FloatArray
    parameters: Mapping[str, Any]

    def oracles(self, budget: int = BUDGET) -> NamedOracles:
        """Fresh ones."""
        return NamedOracles(self.instance, budget)


def _near_a_saddle(read: Reader, method: str) -> bool:
    """Whether the example begins where the curvature is negative: two of three for methods that exploit it."""
    return method in SADDLES and read.upto(2) > 0


def _instance(read: Reader, rest: bytes, method: str) -> Instance | SimpleInstance:
    from bilevel_verify.methods import METHODS

    kind = METHODS[method].kinds[0]
    if kind == "simple_bilevel":
        simple = decoding.simple_bilevel(rest)
        size = 0 if method in WIDE else (0, 1, 2)[read.upto(2)]
        return replace(simple, feasible=SETS.get(method, simple.feasible), size=size)
    if kind == "single_level":
        return decoding.saddle(rest) if _near_a_saddle(read, method) else decoding.single_level(rest)
    kappa, shape = (9, 4, 20)[read.upto(2)], SHAPES[read.upto(3)]
    if shape == "displaced":
        return decoding.displaced(rest, kappa=kappa, kind=kind)
    make: Callable[..., Instance] = decoding.minimax if kind == "minimax" else decoding.bilevel
    return make(rest, bounded=shape == "plain", kappa=kappa)


@lru_cache(maxsize=1024)
def example(method: str, data: bytes) -> tuple[Example, Transcript] | None:
    """The example that bytes stand for, and the run of the pseudo-code there; None if rounding decides it.

    Raises
    ------
    InputError : no such method, or no pseudo-code of it.
    """
    printed = pseudocode(method)
    if printed is None:
        raise InputError(f"no pseudo-code of {method} is known line by line: give a transcription as reference=")
    read = Reader(data)
    kept = method in guilt.METHODS and read.upto(3) > 0
    found = Example(*guilt.found(read.upto(255))) if kept else _drawn(read, data[decoding.POINTS :], method)
    found = Example(found.instance, found.x0, _needed(printed, found.parameters))
    found = _averaging(printed, _ending(printed, _restarting(printed, found, read), read), read)
    whole = transcribe(printed, found.oracles(), found.x0, found.parameters, watched=True)
    if whole.halted or not _steady(printed, found, whole):
        return None
    return found, whole


def _drawn(read: Reader, rest: bytes, method: str) -> Example:
    """An instance with a start and letters, as bytes have them."""
    instance = _instance(read, rest, method)
    x0 = start(read, instance.dx)
    if isinstance(instance, SimpleInstance):
        return Example(instance, *simple_letters(read, method, instance, x0))
    if instance.dy:
        return Example(instance, x0, two_levels(read, method, instance))
    return Example(instance, *one_level(read, method, instance, x0))


def _needed(printed: Printed, letters: Mapping[str, object]) -> Letters:
    """The letters that the pseudo-code reads."""
    algorithm = printed.algorithm
    families = {letter for _, formula in algorithm.families.values() for letter in _letters_of(formula)}
    drawn = "uniform_ball(" in algorithm.steps or "sigma" in algorithm.needs
    wanted = {*algorithm.needs, *families, *(("noise",) if drawn else ())}
    wanted |= {"lam"} if "grad_y_L" in algorithm.steps or "H_hat" in algorithm.steps else set()
    return {name: value for name, value in letters.items() if name in wanted}


def _letters_of(formula: Any) -> set[str]:
    from bilevel_verify.language import tree

    return tree.letters(formula.tree)


def _restarting(printed: Printed, found: Example, read: Reader) -> Example:
    """The same with a threshold that ends the first epoch at a step drawn here."""
    letters = dict(found.parameters)
    name = next((letter for letter in ("H_nu", "B") if letter in letters and letter in printed.algorithm.needs), None)
    at = read.upto(5) + (0 if "perturbed" in printed.method else 2)
    if name is None:
        return found
    probe = letters | ({"B0": 0.0} if "B0" in letters else {}) | ({"eps": 1e-12} if name == "H_nu" else {})
    free = transcribe(printed, found.oracles(), found.x0, probe, statements=1000)
    points = [free.sequences["x"][0, k] for k in range(len(free.epochs[0]))]
    moved = np.cumsum([float(np.sum((b - a) ** 2)) for a, b in itertools.pairwise(points)])
    if len(moved) < 2 or not moved[0] > 0:
        return found
    k, share = min(at, len(moved) - 1), (0.5, 0.01, 0.99)[read.upto(2)]
    if name == "B":
        between = (k * moved[k - 1]) ** (1 - share) * ((k + 1) * moved[k]) ** share if k else 0.6 * moved[0]
        letters["B"] = float(f"{math.sqrt(between):.6g}")
        if "B0" in letters:
            letters["B0"] = float(f"{(1.6, 0.7, 4.0)[read.upto(2)] * letters['B']:.6g}")
    else:
        sizes = [(j + 2) ** (4 + letters["nu_f"]) * moved[j] ** letters["nu_f"] for j in (k - 1, k)]
        letters["H_nu"] = float(f"{letters['L'] / math.sqrt(sizes[0] ** (1 - share) * sizes[1] ** share):.6g}")
        later = points[min(len(points) - 1, k + 4 + read.upto(6))]
        letters["eps"] = float(f"{np.linalg.norm(found.oracles().grad_L_star(later, letters['lam'])) + 1e-3:.3g}")
    return Example(found.instance, found.x0, letters)


def _ending(printed: Printed, found: Example, read: Reader) -> Example:
    """The same with an eps at which the test of a cubic step just ends the run, or just not, at a step drawn here."""
    at, margin = read.upto(5), (0.001, -0.001, 0.3)[read.upto(2)]
    if printed.method in INEXACT:
        return _ending_by_the_model(printed, found, at, margin)
    if printed.method not in (*LAZY, *EAGER):
        return found
    letters = dict(found.parameters)
    free = transcribe(printed, found.oracles(), found.x0, letters | {"eps": 1e-300}, statements=2000)
    steps, x = (free.sequences.get(name, {}) for name in "sx")
    t = min(at, len(steps) - 1)
    if t < 0:
        return found
    size, M = float(np.linalg.norm(steps[0, t])), letters["M"]
    critical = 4 * M * size**2
    if printed.method in LAZY:
        rho, away = letters["rho_bar"], float(np.linalg.norm(x[0, t - t % letters["m"]] - x[0, t]))
        critical = ((M + 2 * rho) / math.sqrt(2) * size + rho * away) ** 2 * (288 / 287) ** 2 / M
    letters["eps"] = float(f"{critical * (1 + margin):.9g}")
    return Example(found.instance, found.x0, letters) if letters["eps"] > 0 else found


def _ending_by_the_model(printed: Printed, found: Example, at: int, margin: float) -> Example:
    """The same for line 9 of Algorithm 3: an eps at which ``Delta_t`` is just above its threshold, or just below."""
    letters, asked = found.parameters, found.oracles()
    free = transcribe(printed, asked, found.x0, {**letters, "eps": 1e-12}, statements=4000).sequences
    t = min(at, len(free.get("s", {})) - 1)
    if t < 0:
        return found
    x, y, u, s = (free[name][0, t] for name in "xyus")
    if "w" in free:
        numbers = (letters[name] for name in ("K_p", "mu", "l1", "l2"))
        hessian = penalty_operator(asked, letters["lam"])(x, y, free["w"][0, t], *numbers)
    else:
        hessian = danskin_operator(asked)(x, y, letters["K_p"], letters["l1"], letters["kappa1"])
    eps = (letters["M"] * (128 * model_value(u, hessian, letters["M"], s)) ** 2) ** (1 / 3) * (1 + margin)
    return Example(found.instance, found.x0, {**letters, "eps": float(f"{eps:.9g}")}) if eps > 0 else found


def _averaging(printed: Printed, found: Example, read: Reader) -> Example:
    """The same with a K for which the shortest move of the last half is the first one of it, or the one before is."""
    first = (None, 0, -1)[read.upto(2)]
    if first is None or "floor(K/2)" not in printed.algorithm.steps:
        return found
    for K in range(6, 20):
        letters = {**found.parameters, "K": K}
        run = transcribe(printed, found.oracles(), found.x0, letters, statements=2000)
        moves = [float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(run.epochs[-1] if run.epochs else [])]
        if len(moves) == K and int(np.argmin(moves[K // 2 + first :])) == 0:
            return Example(found.instance, found.x0, letters)
    return found


def _steady(printed: Printed, found: Example, whole: Transcript) -> bool:
    """Whether a start that is moved a little gives the same run, and the run ended."""
    direction = np.array([1.0 if i % 2 else -1.0 for i in range(len(found.x0))])
    moved = found.x0 * (1 + NUDGE * direction)
    again = transcribe(printed, found.oracles(), moved, found.parameters)
    x, z = whole.sequences.get("x", {}), again.sequences.get("x", {})
    if again.halted or x.keys() != z.keys() or whole.output is None or again.output is None:
        return False
    pairs = [*((x[key], z[key]) for key in x), (whole.output, again.output)]
    return all(np.linalg.norm(a - b) <= STEADY * (1 + np.linalg.norm(a)) for a, b in pairs)
