"""Certificates of truths: the least value of a closed formula on its box, and the ball that holds y*(x).

The infimum lies above what a tree of boxes shows, and below the value at one rational point. Where g(x, .) is
mu-strongly convex on a ball of radius r around a point at which ``|nabla_y g| < mu r``, its gradient points outward on
the sphere, so that the ball holds a stationary point, which is y*(x).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import sympy

from bilevel_check.terms import WORK
from bilevel_verify.certificates.finding import Certificate, proved
from bilevel_verify.certificates.numbers.boxes import certificate_on_box, certificates_on_cells, ends_of, tightest
from bilevel_verify.certificates.numbers.constants import Shown, certified_constant, ranges_of
from bilevel_verify.certificates.numbers.relations import NoTree, Relation
from bilevel_verify.certificates.statement import NotStated
from bilevel_verify.constants import constants
from bilevel_verify.constants.api import Constants
from bilevel_verify.problems.problem import Problem

if TYPE_CHECKING:
    from bilevel_verify.truth import Truth

CURVATURE = "mu"
SHORT = 40
"""Bits after the point of the coordinates that certificates speak of."""


def certified_minimum(truth: Truth) -> tuple[Shown, Shown]:
    """Certificates of both ends of the infimum of phi on its box; phi must have a closed formula.

    Returns
    -------
    The lower and the upper end, each with its certificate or the reason why there is none.
    """
    problem, least = truth.problem, truth.phi_min()
    lower, upper = Shown("inf phi", least.lower, "lower"), Shown("inf phi", least.upper, "upper")
    phi = closed_phi(problem)
    if phi is None or not np.isfinite([least.lower, least.upper]).all():
        reason = "phi has no closed formula" if phi is None else "unbounded"
        return replace(lower, reason=reason), replace(upper, reason=reason)
    point = {v: _short(value, *problem.range_of(v)) for v, value in zip(problem.x, truth.phi_argmin())}
    return _from_below(problem, phi, lower), _at(problem, phi, point, upper)


def closed_phi(problem: Problem) -> sympy.Expr | None:
    """phi as a formula in x: f itself, or f at a y* that has a closed form; else None."""
    if not problem.y:
        return problem.f if problem.kind == "single_level" else None
    from bilevel_verify.symbolic import derive

    derivation = derive(problem)
    return None if derivation.y_star is None else sympy.sympify(derivation.quantity("phi"))


def certified_ball(truth: Truth, x: Mapping[str, Fraction]) -> Shown:
    """Certificates that y*(x) lies within the error bar of the truth at a rational point x, those of mu included."""
    problem = truth.problem
    found = truth.y_star([float(x[v.name]) for v in problem.x])
    bare = Shown("|y - y*|", found.error, "upper")
    table = constants(problem)
    assert isinstance(table, Constants), "a truth is that of one problem"
    curvature = certified_constant(table, CURVATURE)
    if curvature.bound is None or curvature.bound <= 0:
        return replace(bare, reason=f"no certificate of a positive mu: {curvature.reason or curvature.bound}")
    centre = [_short(value, -sympy.oo, sympy.oo) for value in np.atleast_1d(np.asarray(found.value, dtype=float))]
    at = {v: sympy.Rational(x[v.name]) for v in problem.x} | dict(zip(problem.y, centre))
    # the centre was rounded; a short number instead of the error itself, which may be 1e-188
    ball = Fraction(ceil(Fraction(found.error) * 2**SHORT) + len(centre), 2**SHORT)
    gradient = sympy.Add(*(sympy.diff(problem.lower, v).xreplace(at) ** 2 for v in problem.y))
    for radius in (ball, 4 * ball, 1000 * ball):
        if not _inside(problem, centre, radius):
            continue
        level = sympy.Rational(curvature.bound * radius) ** 2
        about = {
            "problem": problem.name,
            "shown": f"|y - y*({_point(x)})| <= {radius}, with the files of {CURVATURE} = {curvature.bound}",
            "y": ", ".join(map(str, centre)),
        }
        try:
            one = certificate_on_box(Relation(gradient, "<", level, {}), about, 1)
        except NoTree as reason:
            bare = replace(bare, reason=str(reason))
        else:
            return replace(bare, bound=radius, certificates=(*curvature.certificates, one), reason="")
    return bare if bare.reason else replace(bare, reason="the ball leaves the declared range of y")


def _inside(problem: Problem, centre: Sequence[sympy.Rational], radius: Fraction) -> bool:
    """Whether the ball lies in the declared range of y, on which mu was bounded."""
    around = sympy.Rational(radius)
    ends = [
        (value - around - low, high - value - around)
        for v, value in zip(problem.y, centre)
        for low, high in [problem.range_of(v)]
    ]
    return all(room.is_extended_nonnegative for pair in ends for room in pair)


def _from_below(problem: Problem, phi: sympy.Expr, bare: Shown) -> Shown:
    letters, ranges = {v.name for v in phi.free_symbols}, ranges_of(problem)
    used = {name: ranges[name] for name in sorted(letters)}

    def attempt(slack: Fraction, most: int) -> Shown:
        bound = Fraction(bare.value) - slack * max(abs(Fraction(bare.value)), Fraction(1, 100))
        about = {"problem": problem.name, "shown": f"inf phi >= {bound} = {float(bound):.9g}"}
        relation = Relation(sympy.Rational(bound), "<=", phi, used)
        by_identity = None if slack else _by_identity(relation, about)  # attained inside, or letters without ends
        found = [by_identity] if by_identity else certificates_on_cells(relation, about, most)
        return replace(bare, bound=bound, certificates=tuple(found))

    best, reason = tightest(attempt)
    return best or replace(bare, reason=reason)


def _by_identity(relation: Relation, about: Mapping[str, str]) -> Certificate | None:
    """A certificate by squares and products of the ends of the letters; None where a short search finds none."""
    try:
        claim = relation.claim()
    except NotStated:
        return None
    letters = dict.fromkeys(relation.ranges, "real")
    statement = {"letters": letters, "hypotheses": ends_of(relation.ranges), "claim": claim}
    return proved({"about": dict(about), "statement": statement}, WORK)


def _at(problem: Problem, phi: sympy.Expr, point: Mapping[sympy.Symbol, sympy.Rational], bare: Shown) -> Shown:
    """The value at one point of the range is an upper bound."""
    bound = Fraction(bare.value)
    place = ", ".join(f"{v} = {value}" for v, value in point.items())
    about = {"problem": problem.name, "shown": f"inf phi <= phi({place}) <= {bound}"}
    for room in (Fraction(0), Fraction(1, 10**9)):
        try:
            value = phi.xreplace(dict(point))
            found = certificate_on_box(Relation(value, "<=", sympy.Rational(bound + room), {}), about, 1)
        except NoTree as reason:
            bare = replace(bare, reason=str(reason))
        else:
            return replace(bare, bound=bound + room, certificates=(found,), reason="")
    return bare


def _short(value: float, low: sympy.Expr, high: sympy.Expr) -> sympy.Rational:
    """A number within 2**-SHORT of the float, with a short denominator; the float where that leaves the range."""
    short = sympy.Rational(Fraction(round(Fraction(float(value)) * 2**SHORT), 2**SHORT))
    return (
        short
        if (short - low).is_extended_nonnegative and (high - short).is_extended_nonnegative
        else sympy.Rational(float(value))
    )


def _point(x: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in x.items())
