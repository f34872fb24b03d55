"""Does a convex function attain its infimum on a set? Directions of recession, by linear programming.

For ``g = sum h_i(a_i . z) + z'Qz/2 + q . z`` the growth along d is ``sum h_i^inf(a_i . d) + q . d``, infinite unless
``Q d = 0`` (Rockafellar, section 27). If a direction of the set's recession cone has growth < 0, g is not bounded
below; if one has growth 0 along which some strictly convex ridge moves, the infimum is not attained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.truth.polyhedra import Description
from bilevel_verify.truth.quadratics import ldl
from bilevel_verify.truth.structure import Ridge, Structure

FloatArray = NDArray[np.float64]
INFINITE = 1e6


@dataclass(frozen=True, slots=True)
class Recession:
    """``verdict`` is empty if the infimum is attained (or nothing was found out).

    Otherwise says what happens along ``direction``.
    """

    verdict: str = ""
    direction: FloatArray | None = None


def slopes(ridge: Ridge) -> tuple[float, float]:
    """``h^inf(1)`` and ``h^inf(-1)``: limits of ``h(t)/t`` at both ends.

    Infinity for superlinear growth or a domain's end.
    """
    from bilevel_verify.symbolic.arithmetics import NUMPY
    from bilevel_verify.symbolic.differentiate import gradient
    from bilevel_verify.symbolic.program import program_of

    program = gradient(program_of(ridge.profile, [ridge.symbol]))
    with np.errstate(all="ignore"):
        far = np.broadcast_to(program.run(NUMPY, [np.array([1e9, -1e9])])[0], (2,))
    right = float(far[0]) if np.isfinite(far[0]) else np.inf
    left = -float(far[1]) if np.isfinite(far[1]) else np.inf
    right, left = (np.inf if s > INFINITE else 0.0 if abs(s) < 1e-6 else s for s in (right, left))
    if ridge.profile.has(sympy.log) and not _defined_left(ridge):
        left = np.inf
    return right, left


def _defined_left(ridge: Ridge) -> bool:
    value = ridge.profile.subs(ridge.symbol, -1000)
    return bool(value.is_real)


def recession(structure: Structure, description: Description) -> Recession:
    """Look for a direction of the recession cone of the set along which the function does not grow."""
    from scipy.optimize import linprog

    if structure.missing or description.balls:
        return Recession()
    T, G, E = description.T, description.G, description.E
    n, m = T.shape
    _, q, _ = structure.quadratic.floats()
    flat = np.array([[float(v) for v in normal] for _, normal in ldl(structure.quadratic.Q).squares]).reshape(-1, n)
    ridges = [(*ridge.row(), *slopes(ridge), ridge.kind) for ridge in structure.ridges]
    k = len(ridges)
    rows = np.array([r[0] for r in ridges]).reshape(k, n)
    # unknowns: w (m), p (k), s (k) with rows T w = p - s
    equal = [np.hstack([E, np.zeros((len(E), 2 * k))]), np.hstack([flat @ T, np.zeros((len(flat), 2 * k))]),
             np.hstack([rows @ T, -np.eye(k), np.eye(k)])]  # fmt: skip
    right = np.array([r[2] for r in ridges]).reshape(k)
    left = np.array([r[3] for r in ridges]).reshape(k)
    growth = np.concatenate([q @ T, np.where(np.isfinite(right), right, 0.0), np.where(np.isfinite(left), left, 0.0)])
    box = [(-1.0, 1.0)] * m
    box += [(0.0, 0.0 if np.isinf(v) else 1e3) for v in right] + [(0.0, 0.0 if np.isinf(v) else 1e3) for v in left]
    A_eq, G_all = np.vstack(equal), np.hstack([G, np.zeros((len(G), 2 * k))])
    options = (
        {"A_eq": A_eq, "b_eq": np.zeros(len(A_eq)), "bounds": box, "method": "highs"}
        if len(A_eq)
        else {"bounds": box, "method": "highs"}
    )
    falling = linprog(growth, A_ub=G_all if len(G) else None, b_ub=np.zeros(len(G)) if len(G) else None, **options)
    if falling.status == 0 and falling.x is not None and float(growth @ falling.x) < -1e-7:
        direction = T @ falling.x[:m]
        return Recession(
            f"g is not bounded below: it falls without end along {np.round(direction, 6).tolist()}", direction
        )
    strict = np.array([float(r[4] == "strict") for r in ridges]).reshape(k)
    if not np.any(strict):
        return Recession()
    along = np.concatenate([np.zeros(m), strict, strict])
    moving = linprog(
        -along, A_ub=np.vstack([G_all, growth[None]]), b_ub=np.append(np.zeros(len(G)), 0.0), **options
    )  # fmt: skip
    if moving.status == 0 and moving.x is not None and float(along @ moving.x) > 1e-6:
        direction = T @ moving.x[:m]
        return Recession(
            f"its infimum is not attained: g falls towards a limit along {np.round(direction, 6).tolist()}", direction
        )
    return Recession()
