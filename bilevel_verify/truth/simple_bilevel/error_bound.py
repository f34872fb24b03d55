"""Hoelderian error bounds ``alpha / r dist(z, X_g)^r <= g(z) - g*`` on Z: derived, and checked on samples.

Derivation (g a convex quadratic ``z'Qz/2 + q.z``, Z polyhedral), with M the rows of a square root of Q and with
``s`` the slacks of the constraints that press (multipliers ``m > 0``) at a solution ``z^``:
``g(z) - g* = |M (z - z^)|^2 / 2 + m . s(z)`` exactly, and Hoffman's bound ``dist <= H |(M (z - z^), s)|`` on Z with
``H = max over independent sets J of constraint normals of 1 / sigma_min(P_J M')``, P_J the projection off their span.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import BilevelVerifyError, InputError, MathematicalError
from bilevel_verify.problems.feasible import WholeSpace
from bilevel_verify.truth.arithmetic.enclosure import Certainty
from bilevel_verify.truth.functions.quadratics import ldl
from bilevel_verify.truth.lower_level.newton import evaluate
from bilevel_verify.truth.sets.polyhedra import affine_solution
from bilevel_verify.truth.sets.projections import diameter

if TYPE_CHECKING:
    from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth

FloatArray = NDArray[np.float64]
MOST_SUBSETS = 40_000


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """``alpha / r dist^r <= g - g*`` on the feasible set.

    ``alpha`` is a valid (not always the largest) constant; None where nothing could be derived, and ``why`` says why.
    """

    alpha: float | None
    r: float | None
    certainty: Certainty
    why: str


@dataclass(frozen=True, slots=True)
class ErrorBoundCheck:
    """Sampled test of a claimed pair: ``holds`` on all samples beyond the errors, else a witness.

    ``ratio`` is the smallest ``(g - g*) r / (alpha dist^r)`` seen (>= 1 where the bound holds).
    """

    holds: bool
    ratio: float
    witness: FloatArray | None
    samples: int


def derive_error_bound(simple: SimpleTruth) -> ErrorBound:
    """Constants ``(alpha, r)``: a closed form of the constants room, else Hoffman's for a quadratic on a polyhedron."""
    known = _closed_form(simple)
    if known is not None:
        return known
    above = getattr(simple, "above", None)
    if above is not None:
        linear = derive_error_bound(above)
        return ErrorBound(linear.alpha, linear.r, linear.certainty, f"polyhedral g, lifted: {linear.why}")
    if simple.structure.missing or simple.structure.ridges:
        return ErrorBound(None, None, "computed", "g is not a quadratic: no pair was derived")
    if simple.feasible.balls or simple.feasible.T.shape[0] != simple.feasible.T.shape[1]:
        return ErrorBound(
            None, None, "computed", "the feasible set is not given by few linear constraints: no pair was derived"
        )
    return _by_hoffman(simple)


def _by_hoffman(simple: SimpleTruth) -> ErrorBound:
    """A convex quadratic on a polyhedron; see the derivation above."""
    squares = ldl(simple.structure.quadratic.Q).squares
    M = np.array([[np.sqrt(float(w)) * float(v) for v in normal] for w, normal in squares]).reshape(-1, simple.n)
    S, least = _supporting(simple)
    if not len(M) and not len(S):
        return ErrorBound(None, None, "computed", "g is constant on the feasible set")
    slacks, both = _unit_rows(S), _unit_rows(np.vstack([S, M]))
    only_slacks = np.linalg.matrix_rank(both, tol=1e-9) == np.linalg.matrix_rank(slacks, tol=1e-9)
    H = hoffman(S if only_slacks else np.vstack([M, S]), simple.feasible.G, simple.feasible.E)
    if H is None:
        return ErrorBound(None, None, "computed", "too many constraints to enumerate for Hoffman's constant")
    if only_slacks:
        why = "g - g* >= m . s (multipliers times slacks) and dist <= H |s|: weak sharpness, alpha = min m / H"
        return ErrorBound(least / H, 1.0, "computed", why)
    weight = 1.0
    if len(S):
        reach = diameter(simple.problem.feasible or WholeSpace(), simple.n) * float(np.max(np.linalg.norm(S, axis=1)))
        if not np.isfinite(reach):
            return ErrorBound(None, None, "computed", "supporting constraints on an unbounded set: no pair was derived")
        weight = min(1.0, 2 * least / reach)
    why = f"quadratic growth with Hoffman's constant H = {H:.6g}, alpha = {weight:.3g} / H^2"
    return ErrorBound(weight / H**2, 2.0, "computed", why)


def _unit_rows(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))


def _supporting(simple: SimpleTruth) -> tuple[FloatArray, float]:
    """Normals of the constraints that press at the lower solution, and the least of their multipliers."""
    rows = simple.supporting_sets[0]
    multipliers = dict(zip(simple._reduced.rows, simple.lower.multipliers))
    if simple.facts is not None:
        multipliers = dict(enumerate(simple.facts.weights))
    return simple.feasible.G[rows], min((float(multipliers[j]) for j in rows), default=np.inf)


def _closed_form(simple: SimpleTruth) -> ErrorBound | None:
    """The certified pair of the constants room; None where it has none."""
    from bilevel_verify.constants import constants

    try:
        found = constants(simple.problem, only=("alpha", "r"))
        alpha, r = found["alpha"], found["r"]
    except (KeyError, BilevelVerifyError):
        return None
    if not (alpha.certified and r.certified and alpha.value > 0 and np.isfinite(r.value)):
        return None
    return ErrorBound(alpha.value, r.value, "proved", alpha.why.statement)


def hoffman(M: FloatArray, normals: FloatArray, equations: FloatArray) -> float | None:
    """Upper bound of ``dist(z, Z and {M z = M z^}) / |M (z - z^)|`` over z in the polyhedron Z.

    ``normals`` are those of the inequalities of Z; its ``equations`` only restrict the directions. None if there are
    more subsets of normals than are worth enumerating.
    """
    _, directions = affine_solution(equations, np.zeros(len(equations)), M.shape[1])
    before = np.linalg.norm(M, axis=1)
    M, normals = M @ directions, normals @ directions
    M = M[np.linalg.norm(M, axis=1) > 1e-12 * before]
    n = M.shape[1]
    sizes = np.linalg.norm(normals, axis=1)
    normals = np.unique(np.round(normals[sizes > 1e-12] / sizes[sizes > 1e-12, None], 14), axis=0).reshape(-1, n)
    total, term = 1.0, 1.0
    for k in range(1, min(n, len(normals)) + 1):
        term *= (len(normals) - k + 1) / k
        total += term
    if total > MOST_SUBSETS:
        return None
    worst = 0.0
    for k in range(min(n, len(normals)) + 1):
        for chosen in combinations(range(len(normals)), k):
            rows = normals[list(chosen)]
            if k and np.linalg.matrix_rank(rows, tol=1e-9) < k:
                continue
            least = _least_growth(M, np.linalg.qr(rows.T)[0])
            if least is None:
                return None
            worst = max(worst, 1.0 / least)
    return worst if worst > 0 else None


def _least_growth(M: FloatArray, basis: FloatArray) -> float | None:
    """Lower bound of the least nonzero singular value of M off the span of a basis; None where zero is not clear.

    Which of them are zero is read off rows of unit length, since the rows of M may be of very different size. Infinite
    where all are zero.
    """
    sizes = np.linalg.norm(M, axis=1)
    unit = (M / sizes[:, None]).T
    clear = np.linalg.svd(unit - basis @ (basis.T @ unit), compute_uv=False)
    if np.any((clear > 1e-13) & (clear <= 1e-9)):
        return None
    count = int(np.count_nonzero(clear > 1e-9))
    if not count:
        return float(np.inf)
    values = np.linalg.svd(M.T - basis @ (basis.T @ M.T), compute_uv=False)
    noise = 1e-14 * float(values[0] + np.max(sizes))
    return max(float(values[count - 1]) - noise, float(np.min(sizes) * clear[count - 1]) * (1 - 1e-12))


def check_error_bound(
    simple: SimpleTruth, alpha: float, r: float, points: ArrayLike | None = None, count: int = 200, seed: int = 0
) -> ErrorBoundCheck:
    """Test a claimed pair on points of the feasible set (random ones near and far from the solution set if none are
    given).

    Raises
    ------
    InputError : alpha or r out of range.
    MathematicalError : g* or a distance to the solutions has no error bar: nothing was tested.
    """
    if not (np.isfinite(alpha) and alpha > 0 and np.isfinite(r) and r >= 1):
        raise InputError("an error bound has alpha > 0 and r >= 1")
    sample = np.asarray(points, dtype=float) if points is not None else _sample(simple, count, seed)
    best, where = np.inf, None
    g = _values(simple)
    slack = simple.g_star.error
    for z in sample:
        distance = simple.distance(z)
        if not (np.isfinite(distance.error) and np.isfinite(slack)):
            raise MathematicalError(f"an error bound cannot be tested: no error bar is known ({distance.method})")
        far = float(distance.value) - distance.error
        if far <= 0:
            continue
        ratio = (g(z) - float(simple.g_star.value) + 2 * slack) * r / (alpha * far**r)
        if ratio < best:
            best, where = ratio, z
    holds = bool(best >= 1 - 1e-9)
    return ErrorBoundCheck(holds, float(best), None if holds else where, len(sample))


def _values(simple: SimpleTruth) -> Callable[[FloatArray], float]:
    """g as a plain function; kinks have no derivatives, so that only the program of g itself is run for them."""
    if getattr(simple, "above", None) is None:
        smooth = simple.smooth(simple._g)
        return lambda z: smooth(z)[0]
    program = simple._g.program
    return lambda z: float(evaluate(program, [np.array([v]) for v in z], 1)[0, 0])


def _sample(simple: SimpleTruth, count: int, seed: int) -> FloatArray:
    from bilevel_verify.truth.sets.projections import project

    rng = np.random.default_rng(seed)
    feasible = simple.problem.feasible or WholeSpace()
    base = simple.solutions.point
    out = []
    for k in range(count):
        size = 10.0 ** rng.uniform(-3, 0.7)
        out.append(
            project(feasible, base + size * rng.normal(size=simple.n))
            if k % 2
            else project(feasible, rng.normal(size=simple.n) * 2)
        )
    return np.array(out)
