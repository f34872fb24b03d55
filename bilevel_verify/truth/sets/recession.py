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

from bilevel_verify.truth.functions.quadratics import affine_form, ldl
from bilevel_verify.truth.functions.structure import Ridge, Structure
from bilevel_verify.truth.sets.polyhedra import Description

FloatArray = NDArray[np.float64]
INFINITE = 1e6
RELATIVE = 1e-9


@dataclass(frozen=True, slots=True)
class Recession:
    """``verdict`` is empty if the infimum is attained (or nothing was found out).

    Otherwise says what happens along ``direction``.
    """

    verdict: str = ""
    direction: FloatArray | None = None


def slopes(ridge: Ridge) -> tuple[float, float]:
    """``h^inf(1)`` and ``h^inf(-1)``: limits of ``h(t)/t`` at both ends.

    Infinity for superlinear growth or a domain's end. A constant factor of h plays no part in what counts as zero.
    """
    from bilevel_verify.numbers.floats import NUMPY
    from bilevel_verify.symbolic.differentiate import gradient
    from bilevel_verify.symbolic.program import program_of

    factor, core = ridge.profile.as_independent(ridge.symbol, as_Add=False)
    program = gradient(program_of(core, [ridge.symbol]))
    with np.errstate(all="ignore"):
        far = np.broadcast_to(program.run(NUMPY, [np.array([1e9, -1e9])])[0], (2,))
    right = float(far[0]) if np.isfinite(far[0]) else np.inf
    left = -float(far[1]) if np.isfinite(far[1]) else np.inf
    most = 0.0 if _is_power(core, ridge.symbol) else INFINITE
    right, left = (0.0 if abs(s) < 1e-6 else np.inf if s > most else s * float(factor) for s in (right, left))
    if ridge.profile.has(sympy.log) and not _defined_left(ridge):
        left = np.inf
    return right, left


def _is_power(core: sympy.Expr, t: sympy.Symbol) -> bool:
    """A power above one of an affine form: it outgrows every line, however slowly (``t^1.01``)."""
    if type(core).__name__ in ("abspow", "pluspow"):
        power, base = core.args
    else:
        base, power = core.as_base_exp()
    return bool(power.is_number and power > 1 and affine_form(base, [t]) is not None)


def _defined_left(ridge: Ridge) -> bool:
    value = ridge.profile.subs(ridge.symbol, -1000)
    return bool(value.is_real)


@dataclass(frozen=True, slots=True)
class _Directions:
    """Directions of the recession cone in the unknowns w, p, s: ``T w`` moves ridge i by ``p_i - s_i``, both >= 0.

    Attributes
    ----------
    growth : of g along the unknowns, where it is finite.
    equal : rows that vanish. inequalities : rows of the set, at most 0. box : ends of the unknowns.
    """

    T: FloatArray
    growth: FloatArray
    equal: FloatArray
    inequalities: FloatArray
    box: list[tuple[float, float]]

    def most(self, gain: FloatArray, rows: FloatArray) -> tuple[float, FloatArray] | None:
        """The largest ``gain . unknowns`` under ``rows . unknowns <= 0``, and its direction of z; None if unsolved."""
        from scipy.optimize import linprog

        found = linprog(
            -gain,
            A_ub=rows if len(rows) else None,
            b_ub=np.zeros(len(rows)) if len(rows) else None,
            A_eq=self.equal if len(self.equal) else None,
            b_eq=np.zeros(len(self.equal)) if len(self.equal) else None,
            bounds=self.box,
            method="highs",
        )
        if found.status != 0 or found.x is None:
            return None
        return float(gain @ found.x), self.T @ found.x[: self.T.shape[1]]


def recession(structure: Structure, description: Description) -> Recession:
    """Look for a direction of the recession cone of the set along which the function does not grow."""
    if structure.missing or description.balls:
        return Recession()
    directions = _directions(structure, description)
    falling = directions.most(-directions.growth, directions.inequalities)
    if falling is not None and falling[0] > 1e-7 and _growth(structure, falling[1])[0] < -RELATIVE:
        along = np.round(falling[1], 6).tolist()
        text = f"g is not bounded below: it falls without end along {along}"
        return Recession() if _bounded(description) else Recession(text, falling[1])
    strict = np.array([float(ridge.kind == "strict") for ridge in structure.ridges])
    if not np.any(strict):
        return Recession()
    moves = np.concatenate([np.zeros(description.T.shape[1]), strict, strict])
    moving = directions.most(moves, np.vstack([directions.inequalities, directions.growth[None]]))
    if moving is None or not moving[0] > 1e-6:
        return Recession()
    growth, moved = _growth(structure, moving[1])
    if not moved or growth > RELATIVE or _bounded(description):
        return Recession()
    along = np.round(moving[1], 6).tolist()
    return Recession(f"its infimum is not attained: g falls towards a limit along {along}", moving[1])


def _bounded(description: Description) -> bool:
    """Whether the recession cone of the linear constraints is {0}: a continuous function attains its infimum then."""
    from scipy.optimize import linprog

    G, E, m = description.G, description.E, description.T.shape[1]
    size = np.linalg.norm(G, axis=1, keepdims=True)
    G = G / np.where(size > 0, size, 1.0)
    for j in range(m):
        for sign in (1.0, -1.0):
            gain = np.zeros(m)
            gain[j] = -sign
            found = linprog(
                gain, A_ub=G if len(G) else None, b_ub=np.zeros(len(G)) if len(G) else None,
                A_eq=E if len(E) else None, b_eq=np.zeros(len(E)) if len(E) else None, bounds=[(-1.0, 1.0)] * m,
                method="highs",
            )  # fmt: skip
            if found.status != 0 or found.fun is None or found.fun < -1e-7:
                return False
    return True


def _growth(structure: Structure, along: FloatArray) -> tuple[float, bool]:
    """Growth along a direction beside the sizes of its terms, and whether a strictly convex ridge moves.

    Linear programs only see what is large: the weights of terms may differ by many orders of magnitude.
    """
    terms, moved = [float(np.dot([float(v) for v in structure.quadratic.q], along))], False
    for ridge in structure.ridges:
        row = ridge.row()[0]
        t = float(row @ along)
        if abs(t) <= RELATIVE * float(np.linalg.norm(row) * np.linalg.norm(along)):
            continue
        right, left = slopes(ridge)
        terms.append(t * right if t > 0 else -t * left)
        moved = moved or ridge.kind == "strict"
    size = sum(map(abs, terms))
    return (sum(terms) / size if np.isfinite(size) and size > 0 else size), moved


def _directions(structure: Structure, description: Description) -> _Directions:
    T, G, E = description.T, description.G, description.E
    n, m = T.shape
    k = len(structure.ridges)
    flat = np.array([[float(v) for v in normal] for _, normal in ldl(structure.quadratic.Q).squares]).reshape(-1, n)
    rows = np.array([ridge.row()[0] for ridge in structure.ridges]).reshape(k, n)
    ends = np.array([slopes(ridge) for ridge in structure.ridges]).reshape(k, 2).T
    equal = [np.hstack([E, np.zeros((len(E), 2 * k))]), np.hstack([flat @ T, np.zeros((len(flat), 2 * k))]),
             np.hstack([rows @ T, -np.eye(k), np.eye(k)])]  # fmt: skip
    _, q, _ = structure.quadratic.floats()
    growth = np.concatenate([q @ T, *(np.where(np.isfinite(v), v, 0.0) for v in ends)])
    growth = growth / max(float(np.max(np.abs(growth), initial=0.0)), 1e-300)
    box = [(-1.0, 1.0)] * m + [(0.0, 0.0 if np.isinf(v) else 1e3) for side in ends for v in side]
    return _Directions(T, growth, np.vstack(equal), np.hstack([G, np.zeros((len(G), 2 * k))]), box)
