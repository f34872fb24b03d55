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
from bilevel_verify.testing.instances.simple import SimpleInstance, nearest
from bilevel_verify.testing.printed.library import Printed
from bilevel_verify.testing.printed.library import printed as pseudocode
from bilevel_verify.testing.printed.oracles import NamedOracles
from bilevel_verify.testing.printed.running import Transcript, transcribe

FloatArray = NDArray[np.float64]
Letters = dict[str, Any]
BUDGET = 20_000
"""Calls that a run may make."""
STEADY = 1e-9
"""Largest relative change of a run when its start moves by ``NUDGE``."""
NUDGE = 1e-12
HUGE = 1e9
"""A threshold that is never met."""
SETS = {"agm-conceptual": "Ball", "cg-bio": "Ball", "p-agm-bio": "Box"}
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


def momentum(kappa: float) -> float:
    """``(sqrt(kappa) - 1)/(sqrt(kappa) + 1)``."""
    return (math.sqrt(kappa) - 1) / (math.sqrt(kappa) + 1)


def _steepness(instance: Instance) -> float:
    """A Lipschitz constant of the hypergradient, roughly; where y lags behind, of the partial gradient too."""
    if not instance.dy:
        return instance.p.L
    coupling = float(np.linalg.norm(instance.coupling, 2))
    if instance.kind == "minimax":
        return instance.p.L + coupling**2 * (instance.L if instance.displaced else 1 / instance.mu) + 0.1
    slope = coupling if instance.displaced else coupling / instance.mu
    outer = 0.0 if instance.q is None else instance.q.L
    return max(instance.p.L + outer * slope**2 + 2 * float(np.linalg.norm(instance.cross, 2)) * slope, 1.0)


def _start(read: Reader, n: int) -> FloatArray:
    """A point away from the origin in every coordinate."""
    return np.array([(-1.0) ** read.upto(1) * (1.0 + read.upto(5) / 2) for _ in range(n)])


def _inner(read: Reader, instance: Instance) -> Letters:
    """Letters of the inner solvers: few steps, so that warm starts matter; a different number for each use."""
    kappa, lam, dy = instance.kappa, (5.0, 20.0, 10.0)[read.upto(2)], instance.dy
    low, high = lam * instance.mu, lam * instance.L + 8.0
    n = 1 + read.upto(2)
    return {
        "alpha": round(1 / instance.L, 6),
        "beta": round(momentum(kappa) if kappa > 1.2 else 0.2, 6),
        "lam": lam,
        "alpha_p": round(1 / high, 7),
        "beta_p": round(momentum(high / low), 6),
        "tau": round(1 / high, 7),
        "T_m1": n + 3,
        "T_k": n + 1,
        "T_0": n + 3,
        "Tp_k": 1 if dy == 1 else 1 + read.upto(dy - 1),
        "Tp_0": dy,
        "D": n + 1,
        "N_cg": 1 + read.upto(dy - 1),
        "l1": instance.L,
        "kappa1": kappa,
        "l2": high,
        "kappa2": high / low,
        "K1": n + 2,
        "K2": n + 3,
        "y0": np.array([(-1.0) ** j * (1.0 + read.upto(2)) / 2 for j in range(dy)]),
        "v0": np.array([0.5 - read.upto(2) for _ in range(dy)]),
    }


def _noise(read: Reader, n: int, size: float) -> FloatArray:
    return size * np.array([[read.signed(4) + 0.5 for _ in range(n)] for _ in range(5)]) / 5


def _outer(read: Reader, instance: Instance) -> Letters:
    """Letters of the outer scheme."""
    eta = (0.25, 0.7, 0.4)[read.upto(2)] / _steepness(instance)
    theta = (0.3, 0.12, 0.45, 0.2, 0.07)[read.upto(4)]
    eps = (0.05, 0.2, 0.02)[read.upto(2)]
    found: Letters = {
        "eta": round(eta, 6),
        "theta": theta,
        "B": HUGE,
        "K": 6 + read.upto(13),
        "eps": eps,
        "L": round(_steepness(instance), 4),
        "rho": round(max(instance.rho, 0.5), 4),
        "B0": 2.0,
        "c": 1.7,
        "gamma": (0.2, 0.01, 1.5)[read.upto(2)],
        "s": (0.5, 0.05)[read.upto(1)],
        "H_nu": 1e-9,
        "nu_f": (1.0, 0.5)[read.upto(1)],
        "steps": 8 + read.upto(12),
        "N": 8 + read.upto(20),
        "eta_x": round(eta, 6),
        "eta_y": round(0.7 / max(instance.L, 1e-9), 6),
        "T_pert": 2 + read.upto(3),
        "M": (4.0, 20.0)[read.upto(1)],
        "m": 2 + read.upto(1),
        "rho_bar": 0.5,
        "r": 0.05,
        "noise": _noise(read, instance.dx, 0.05),
    }
    return found


def _two_levels(read: Reader, method: str, instance: Instance) -> Letters:
    found = {**_outer(read, instance), **_inner(read, instance)}
    eta = found["eta"]
    own: dict[str, Letters] = {
        "aid-bio": {"beta": eta},
        "itd-bio": {"beta": eta},
        "ba": {"beta": found["alpha"], "alpha": eta, "c": (1.0, 2.0, 0.5)[read.upto(2)]},
        "f2ba": {"T": found["steps"], "K": 1 + read.upto(3)},
        "accf2ba": {"T": found["T_k"], "Tp": found["T_k"] + 1},
        "ragd-gs": {"Tp_0": found["T_0"] + 1, "Tp_k": found["T_k"] + 1, "L": 1 / eta},
        "paid": {"eps": 40 * found["eps"]},
    }
    if method in ("fsba", "lfsba", "mcn", "lmcn"):
        found |= {"T": 5 + read.upto(6), "K": found["K1"], "M": _steepness(instance) * found["M"]}
    return found | own.get(method, {})


def _simple(read: Reader, instance: SimpleInstance) -> Letters:
    L_f, L_g = instance.L_f, max(instance.L_g, 0.5)
    K, gap = 8 + read.upto(15), 1.0 + read.upto(3)
    least = instance.g.value(nearest(instance, np.array(instance.g.centre, dtype=float)))  # some feasible value
    return {
        "K": K,
        "gamma": (0.5, 1.0, 0.2)[read.upto(2)],
        "L_f": L_f,
        "L_g": L_g,
        "g_k": [least + gap / (k + 1) for k in range(K + 1)],
        "gamma0": 0.5 / (L_f + L_g),
        "eta0": 1.0,
        "b": 0.25,
        "rho": 0.5,
        "t": 1 / L_g,
        "s": 0.7 / L_f,
        "c": 0.6,
        "alpha": 0.75,
        "eta": 0.2,
        "penalty": 3.0,
        "a": 0.8,
        "g_hat": instance.g_star - 0.1,
        "eps_f": (0.1, 0.5, 0.02)[read.upto(2)],
        "eps_g": (0.5, 2.0, 0.1)[read.upto(2)],
        "M": 1.5 * L_g,
    }


def _own_of_simple(method: str, found: Letters) -> Letters:
    """Letters whose meaning differs from method to method."""
    total = found["L_f"] + found["L_g"]
    return {
        "r-apm": {"gamma": 0.9 / total},
        "bi-sg": {"c": 0.5 / found["L_f"]},
        "dbgd": {"b": 0.6, "s": 0.3 / total},
        "big-sam": {"c": 1.5},
        "cg-bio": {"c": 1.0},
    }.get(method, {})


def _near_a_saddle(read: Reader, method: str) -> bool:
    """Whether the example begins where the curvature is negative: two of three for methods that exploit it."""
    return method == "agd-jin" and read.upto(2) > 0


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
    read = Reader(data[: decoding.POINTS * 2])
    instance = _instance(read, data[decoding.POINTS :], method)
    x0 = _start(read, instance.dx)
    saddle = method == "agd-jin" and not instance.p.mu > 0  # type: ignore[union-attr]
    scale = (0.1, 0.03, 0.3, 3.0, 4.0)[read.upto(4)] if saddle else 1.0
    x0 = x0 * scale
    if isinstance(instance, SimpleInstance):
        letters = _simple(read, instance)
        least = method == "mng"  # it begins where f is least
        x0 = instance.f.inverse_gradient(np.zeros(instance.dx)) if least else nearest(instance, x0)
        found = Example(instance, x0, letters | _own_of_simple(method, letters))
    else:
        letters = _two_levels(read, method, instance) if instance.dy else _one_level(read, method, instance)
        if scale > 1:  # beyond the valleys, where momentum carries uphill: the better side is the one it came from
            letters |= {"gamma": 0.01, "s": 1.5}
        found = Example(instance, x0, letters)
    found = Example(found.instance, found.x0, _needed(printed, found.parameters))
    found = _averaging(printed, _ending(printed, _restarting(printed, found, read), read), read)
    whole = transcribe(printed, found.oracles(), found.x0, found.parameters, watched=True)
    if whole.halted or not _steady(printed, found, whole):
        return None
    return found, whole


def _one_level(read: Reader, method: str, instance: Instance) -> Letters:
    found = _outer(read, instance)
    if "practical" in method:  # either part of the threshold counts, and epochs are dropped and kept
        found["eps"] = (0.05, 1.0, 3.0, 0.5)[read.upto(3)]
        found["L"] = (found["L"], round(0.3 * math.sqrt(found["eps"] * found["rho"]), 4))[read.upto(1)]
    if method.endswith(("newton", "newton-step")):
        found |= {"T": 5 + read.upto(6), "M": _steepness(instance) * found["M"] / 4, "eps": 1e-3}
    return found


def _needed(printed: Printed, letters: Mapping[str, object]) -> Letters:
    """The letters that the pseudo-code reads."""
    algorithm = printed.algorithm
    families = {letter for _, formula in algorithm.families.values() for letter in _letters_of(formula)}
    wanted = {*algorithm.needs, *families, *(("noise",) if "uniform_ball(" in algorithm.steps else ())}
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
