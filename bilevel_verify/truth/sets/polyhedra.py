"""Convex sets as data for the solvers: linear constraints and balls, lifted where a set needs it, reduced to a
relative interior.

A :class:`Description` is ``{T w : G w <= h, E w = e, |T w - c_j| <= r_j}``. The lift ``T`` is the identity except for
l1
balls, whose facets would be too many: they are written with positive and negative parts.
:func:`reduce` finds the inequalities that hold with equality on the whole set (one linear program), so that what is
left, ``{w0 + N u : A u <= b, balls}``, has interior points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InfeasibleError, InputError, SolverFailure
from bilevel_verify.problems.feasible import (
    Ball,
    Box,
    FeasibleSet,
    HalfSpace,
    Intersection,
    Isotonic,
    L1Ball,
    Orthant,
    Simplex,
    WholeSpace,
)

FloatArray = NDArray[np.float64]
RANK_TOLERANCE = 1e-11


@dataclass(frozen=True, slots=True)
class Description:
    """``{T w : G w <= h, E w = e, |T w - c_j| <= r_j for every ball}``.

    Attributes
    ----------
    T : (n, m) lift.
    G, h : (p, m) and (p,). E, e : (q, m) and (q,).
    balls : (centre (n,), radius) pairs.
    """

    T: FloatArray
    G: FloatArray
    h: FloatArray
    E: FloatArray
    e: FloatArray
    balls: tuple[tuple[FloatArray, float], ...] = ()

    @property
    def n(self) -> int:
        return int(self.T.shape[0])

    def with_rows(
        self,
        G: FloatArray | None = None,
        h: FloatArray | None = None,
        E: FloatArray | None = None,
        e: FloatArray | None = None,
    ) -> Description:
        """The same set with further linear rows on ``z = T w``."""
        more_G = np.empty((0, self.T.shape[1])) if G is None else np.asarray(G) @ self.T
        more_E = np.empty((0, self.T.shape[1])) if E is None else np.asarray(E) @ self.T
        return Description(
            self.T,
            np.vstack([self.G, more_G]),
            np.concatenate([self.h, np.empty(0) if h is None else np.asarray(h)]),
            np.vstack([self.E, more_E]),
            np.concatenate([self.e, np.empty(0) if e is None else np.asarray(e)]),
            self.balls,
        )


@dataclass(frozen=True)
class Reduced:
    """``z = z0 + B u`` with ``A u <= b`` and balls ``|z - c_j| <= r_j``; B has full column rank (or no column).

    ``rows`` are the indices of the inequalities of the description that are left, ``equal`` those that always bind.
    """

    z0: FloatArray
    B: FloatArray
    A: FloatArray
    b: FloatArray
    balls: tuple[tuple[FloatArray, float], ...]
    rows: tuple[int, ...]
    equal: tuple[int, ...]

    @property
    def dimension(self) -> int:
        return int(self.B.shape[1])

    @cached_property
    def centre(self) -> FloatArray:
        """Reduced variables of a point deep inside the linear constraints, shape (d,): one linear program for the set.

        Raises
        ------
        InfeasibleError : no point satisfies the linear constraints.
        SolverFailure : the linear program was not solved.
        """
        if not len(self.b):
            point = self.balls[0][0] if self.balls else self.z0
            return np.asarray(np.linalg.lstsq(self.B, point - self.z0, rcond=None)[0])
        from scipy.optimize import linprog

        size = np.linalg.norm(self.A, axis=1)
        found = linprog(
            np.concatenate([np.zeros(self.dimension), [-1.0]]), A_ub=np.hstack([self.A, size[:, None]]), b_ub=self.b,
            bounds=[(None, None)] * self.dimension + [(0.0, 1.0)], method="highs",
        )  # fmt: skip
        if found.status == 2:
            raise InfeasibleError("the feasible set is empty")
        if found.status != 0 or found.x is None:
            raise SolverFailure(f"HiGHS found no interior point: {found.message}")
        return np.asarray(found.x[: self.dimension])


def bounds(feasible: Box | Orthant, n: int) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends of a box or of the orthant, shape (n,) each."""
    if isinstance(feasible, Orthant):
        return np.zeros(n), np.full(n, np.inf)
    low = np.broadcast_to(np.asarray(feasible.lo, dtype=float), (n,)).copy()
    high = np.broadcast_to(np.asarray(feasible.hi, dtype=float), (n,)).copy()
    if np.any(low > high):
        raise InfeasibleError("the box has a lower end above its upper end")
    return low, high


def describe(feasible: FeasibleSet, n: int) -> Description:
    """A feasible set in R^n as linear constraints and balls.

    Raises
    ------
    InputError : a set that is not known here.
    """
    parts = _flatten(feasible)
    balls = [p for p in parts if isinstance(p, Ball)]
    l1 = [p for p in parts if isinstance(p, L1Ball)]
    T = np.hstack([np.eye(n), -np.eye(n)]) if l1 else np.eye(n)
    G: list[FloatArray] = []
    h: list[float] = []
    E: list[FloatArray] = []
    e: list[float] = []
    for part in parts:
        _linear_rows(part, n, T, G, h, E, e)
    m = T.shape[1]
    pairs = tuple(
        (np.zeros(n) if p.center is None else np.asarray(p.center, dtype=float), float(p.radius)) for p in balls
    )
    return Description(
        T,
        np.array(G).reshape(-1, m),
        np.array(h, dtype=float),
        np.array(E).reshape(-1, m),
        np.array(e, dtype=float),
        pairs,
    )


def _flatten(feasible: FeasibleSet) -> list[FeasibleSet]:
    if isinstance(feasible, Intersection):
        return [leaf for part in feasible.sets for leaf in _flatten(part)]
    return [feasible]


def _linear_rows(
    part: FeasibleSet, n: int, T: FloatArray, G: list[FloatArray], h: list[float], E: list[FloatArray], e: list[float]
) -> None:
    unit = np.eye(n)
    match part:
        case WholeSpace() | Ball():
            return
        case Box() | Orthant():
            low, high = bounds(part, n)
            for i in range(n):
                if np.isfinite(low[i]):
                    G.append(-unit[i] @ T)
                    h.append(-low[i])
                if np.isfinite(high[i]):
                    G.append(unit[i] @ T)
                    h.append(high[i])
        case Simplex():
            for i in range(n):
                G.append(-unit[i] @ T)
                h.append(0.0)
            E.append(np.ones(n) @ T)
            e.append(float(part.total))
        case HalfSpace():
            G.append(np.asarray(part.normal, dtype=float) @ T)
            h.append(float(part.offset))
        case Isotonic():
            for i in range(n - 1):
                G.append((unit[i] - unit[i + 1]) @ T)
                h.append(0.0)
        case L1Ball():
            for i in range(2 * n):
                G.append(-np.eye(2 * n)[i])
                h.append(0.0)
            G.append(np.ones(2 * n))
            h.append(float(part.radius))
        case _:
            raise InputError(f"the feasible set {type(part).__name__} has no exact description here")


def reduce(description: Description) -> Reduced:
    """Parametrise the affine hull (as far as the linear constraints give it) and drop what always binds.

    Raises
    ------
    InfeasibleError : the linear constraints contradict each other.
    """
    G, h, E, e = description.G, description.h, description.E, description.e
    equal: set[int] = set()
    if len(h):
        equal = _implied_equalities(description)
    E_all = np.vstack([E, G[sorted(equal)]])
    e_all = np.concatenate([e, h[sorted(equal)]])
    w0, N = affine_solution(E_all, e_all, description.T.shape[1])
    rows = [i for i in range(len(h)) if i not in equal]
    if description.T.shape[0] != description.T.shape[1]:
        return Reduced(description.T @ w0, description.T @ N, G[rows] @ N, h[rows] - G[rows] @ w0, description.balls,
                       tuple(rows), tuple(sorted(equal)))  # fmt: skip
    A, b = G[rows] @ N, h[rows] - G[rows] @ w0
    moving = (
        np.linalg.norm(A, axis=1) > 1e-13 * (1 + np.linalg.norm(G[rows], axis=1))
        if len(rows)
        else np.empty(0, dtype=bool)
    )
    kept = [row for row, moves in zip(rows, moving) if moves]
    return Reduced(w0, N, A[moving], b[moving], description.balls, tuple(kept), tuple(sorted(equal)))


def affine_solution(E: FloatArray, e: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
    """Least-norm solution of ``E w = e`` (refined once) and an orthonormal basis of the kernel of E.

    Raises
    ------
    InfeasibleError : the equations contradict each other.
    """
    if not len(e):
        return np.zeros(m), np.eye(m)
    size = np.linalg.norm(E, axis=1)
    keep = size > 0
    if np.any(np.abs(e[~keep]) > 1e-9):
        raise InfeasibleError("an equation 0 = c with c != 0")
    E, e = E[keep] / size[keep, None], e[keep] / size[keep]
    if not len(e):
        return np.zeros(m), np.eye(m)
    U, s, Vt = np.linalg.svd(E, full_matrices=True)
    rank = int(np.count_nonzero(s > RANK_TOLERANCE * s[0]))
    inverse = Vt[:rank].T @ ((U[:, :rank] / s[:rank]).T)
    w = inverse @ e
    for _ in range(2):
        w = w + inverse @ (e - E @ w)
    if float(np.max(np.abs(E @ w - e))) > 1e-8 * (1 + float(np.max(np.abs(e)))):
        raise InfeasibleError("the linear equations of the set contradict each other")
    return w, np.ascontiguousarray(Vt[rank:].T)


def _implied_equalities(description: Description) -> set[int]:
    """Inequalities with zero slack on the whole polyhedron: one homogenised linear program.

    ``max sum u, 0 <= u <= 1, G w + u <= tau h, E w = tau e, tau >= 1``: by scaling, every inequality that can be
    slack can be slack by 1 at the same time as all others.
    """
    from scipy.optimize import linprog

    G, h, E, e = description.G, description.h, description.E, description.e
    scale = np.linalg.norm(G, axis=1)
    scale[scale == 0] = 1.0
    G, h = G / scale[:, None], h / scale
    p, m = G.shape
    cost = np.concatenate([np.zeros(m + 1), -np.ones(p)])
    A_ub = np.hstack([G, -h[:, None], np.eye(p)])
    A_eq = np.hstack([E, -e[:, None], np.zeros((len(e), p))]) if len(e) else None
    b_eq = np.zeros(len(e)) if len(e) else None
    box = [(None, None)] * m + [(1.0, None)] + [(0.0, 1.0)] * p
    found = linprog(cost, A_ub=A_ub, b_ub=np.zeros(p), A_eq=A_eq, b_eq=b_eq, bounds=box, method="highs")
    if found.status == 2:
        raise InfeasibleError("the feasible set is empty: its linear constraints contradict each other")
    if found.status != 0 or found.x is None:
        raise SolverFailure(f"HiGHS could not decide which constraints always bind: {found.message}")
    slack = found.x[m + 1 :]
    return {int(i) for i in np.flatnonzero(slack < 0.5)}
