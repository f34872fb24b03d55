"""Letters with which a named method shows itself on an example: lengths, steps, momenta, starts, perturbations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.decoding import Reader
from bilevel_verify.testing.instances.families import Instance
from bilevel_verify.testing.instances.simple import SimpleInstance, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

FloatArray = NDArray[np.float64]
Letters = dict[str, Any]
HUGE = 1e9
"""A threshold that is never met."""
SADDLES = {"agd-jin": (0.1, 0.03, 0.3, 3.0, 4.0), "convex-until-guilty": (0.003, 0.01, 0.006, 0.02, 0.1)}
"""Methods that exploit negative curvature: how far from a saddle they begin, relative to other starts."""
INEXACT = ("ifsba", "imcn")
"""Cubic methods that end by the value of the model, and then solve the model once more."""


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


def start(read: Reader, n: int) -> FloatArray:
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
        "Tp_0": max(1, dy - (n == 2)),  # else the system is solved exactly, and its warm start never matters
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


def two_levels(read: Reader, method: str, instance: Instance) -> Letters:
    """Letters of a method for two levels."""
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
    if method in INEXACT:
        found |= _inexact(read, instance, found)
    return found | own.get(method, {})


def _inexact(read: Reader, instance: Instance, found: Mapping[str, object]) -> Letters:
    """Letters of Algorithms 3, 6 and 7: few steps and products; a large M for line 3 of Algorithm 6, else a small one.

    With a small M and few steps the last model is solved to less than its first gradient, so that Algorithm 7 moves.
    """
    L, sigma = _steepness(instance), 0.01
    rows = _noise(read, instance.dx, 1.0)
    return {
        "T": 4 + read.upto(4),
        "K": found["K1"],
        "M": (0.02, 3.0, 0.1)[read.upto(2)] * L,
        "L": round(L, 4),
        "mu": instance.mu,
        "K_c": 1 + read.upto(2),
        "K_p": 1 + read.upto(3),
        "sigma": sigma,
        "noise": sigma * rows / np.linalg.norm(rows, axis=1, keepdims=True),
    }


def simple_letters(read: Reader, method: str, instance: SimpleInstance, x0: FloatArray) -> tuple[FloatArray, Letters]:
    """Start and letters of a method for two objectives of x."""
    letters = _simple(read, instance)
    free = instance.f.inverse_gradient(np.zeros(instance.dx))
    x0 = free if method == "mng" else nearest(instance, x0)  # the method begins where f is least
    if method == "bisec-bio":
        letters["l"] = instance.f.value(_least(instance, free))
    return x0, letters | _own_of_simple(method, letters)


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
        "n_lower": 12 + read.upto(12),
        "n_level": 3 + read.upto(4),
        "steps": (30, 5)[read.upto(1)],
    }


def _least(instance: SimpleInstance, free: FloatArray) -> FloatArray:
    """Where f is least on the feasible set: projected gradient steps."""
    z = nearest(instance, free)
    for _ in range(300):
        z = nearest(instance, z - instance.f.gradient(z) / instance.f.L)
    return z


def _own_of_simple(method: str, found: Letters) -> Letters:
    """Letters whose meaning differs from method to method."""
    total = found["L_f"] + found["L_g"]
    return {
        "bisec-bio": {"eps_f": found["eps_f"] / 5, "eps_g": found["eps_g"] / 50},
        "r-apm": {"gamma": 0.9 / total},
        "bi-sg": {"c": 0.5 / found["L_f"]},
        "dbgd": {"b": 0.6, "s": 0.3 / total},
        "big-sam": {"c": 1.5},
        "cg-bio": {"c": 1.0},
    }.get(method, {})


PAIRS = ((0.01, 6.0), (0.2, 0.2), (0.1, 0.6), (0.2, 0.3), (0.002, 20.0), (0.002, 0.02), (0.02, 0.1))
"""eps and rho: alpha = 2 sqrt(rho eps) so small that AGD is promised to be done before it has left a saddle, or as
large as a curvature."""


def one_level(read: Reader, method: str, instance: Instance, x0: FloatArray) -> tuple[FloatArray, Letters]:
    """Start and letters of a method for one level."""
    saddle = method in SADDLES and not instance.p.mu > 0
    scale = SADDLES[method][read.upto(4)] if saddle else 1.0
    found = _outer(read, instance)
    if method == "convex-until-guilty":
        found |= dict(zip(("eps", "rho"), PAIRS[read.upto(len(PAIRS) - 1)]))
    if "practical" in method:  # either part of the threshold counts, and epochs are dropped and kept
        found["eps"] = (0.05, 1.0, 3.0, 0.5)[read.upto(3)]
        found["L"] = (found["L"], round(0.3 * math.sqrt(found["eps"] * found["rho"]), 4))[read.upto(1)]
    if method.endswith(("newton", "newton-step")):
        found |= {"T": 5 + read.upto(6), "M": _steepness(instance) * found["M"] / 4, "eps": 1e-3}
    if scale > 1:  # beyond the valleys, where momentum carries uphill: the better side is the one it came from
        found |= {"gamma": 0.01, "s": 1.5}
    return x0 * scale, found
