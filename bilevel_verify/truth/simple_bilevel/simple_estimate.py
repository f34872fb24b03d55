"""f* of a simple bilevel problem whose argmin has no exact description: extrapolated from ``min_Z g + eps f``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InfeasibleError, MathematicalError
from bilevel_verify.truth.arithmetic.enclosure import Enclosure
from bilevel_verify.truth.sets.convex import minimise_convex
from bilevel_verify.truth.simple_bilevel.posed import Posed

FloatArray = NDArray[np.float64]


def extrapolated(simple: Posed) -> tuple[Enclosure, Enclosure]:
    """Estimates of f* and x*, whose error is the last change: never a certificate.

    Raises
    ------
    MathematicalError
        Fewer than three of the mixed problems could be solved.
    """
    values, z = _mixed_values(simple)
    if len(values) < 3:
        raise MathematicalError(
            f"f* could not be estimated, and no exact description is known: {simple.solutions.missing}"
        )
    limit, error = _limit(*values[-3:])
    pace = "" if np.isfinite(error) else ", which converge too slowly for an error bar"
    why = f"extrapolated estimate from values of min g + eps f{pace}; no certificate ({simple.solutions.missing})"
    return Enclosure(limit, error, "sampled", why), Enclosure(z, float(np.inf), "sampled", why)


def _mixed_values(simple: Posed) -> tuple[list[float], FloatArray]:
    """f at the minimisers of ``g + eps f`` for falling eps, and the last minimiser."""
    f, g = simple.smooth(simple._f), simple.smooth(simple._g)
    values: list[float] = []
    z = simple.lower.z
    for weight in 10.0 ** -np.arange(1, 7):

        def mixed(p: FloatArray, weight: float = weight) -> tuple[float, FloatArray, FloatArray]:
            a, b = g(p), f(p)
            return a[0] / weight + b[0], a[1] / weight + b[1], a[2] / weight + b[2]

        try:
            found = minimise_convex(mixed, simple._reduced)
        except (MathematicalError, InfeasibleError, RuntimeError):
            break
        values.append(f(found.z)[0])
        z = found.z
    return values, z


def _limit(a: float, b: float, c: float) -> tuple[float, float]:
    """Aitken's limit of three values, if it is no wild jump, and an error: infinite where they converge slowly."""
    bend = (c - b) - (b - a)
    tame = abs(bend) > 1e-14 * (1 + abs(c)) and abs((c - b) ** 2 / bend) < 10 * abs(c - b)
    limit = c - (c - b) ** 2 / bend if tame else c
    if abs(c - b) > 0.4 * abs(b - a) + 1e-9 * (1 + abs(c)):
        return limit, float(np.inf)
    return limit, 2 * abs(limit - c) + abs(c - b) + 1e-9 * (1 + abs(c))
