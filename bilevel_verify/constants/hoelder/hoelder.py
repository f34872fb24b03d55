"""Hoelder pairs ``(nu, H)`` of a derivative: the exponent is found, not only the constant.

``|D^k h(z) - D^k h(z')| <= H |z - z'|^nu`` for all points of the domain. Every ridge and every other part brings an
exponent of its own, a constant, and an oscillation (largest minus smallest value); parts are combined distance by
distance, so that a smooth part with bounded oscillation never spoils a small exponent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy
from sympy import Expr, Integer, Rational

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.calculus.specials import Radial, radial_power
from bilevel_verify.constants.formula.model import Pieces
from bilevel_verify.constants.groups.closed_form import length_of
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.constants.hoelder.continuity import Setting, Step, composite_modulus, moduli_of
from bilevel_verify.constants.hoelder.hoelder_sums import Modulus, combine
from bilevel_verify.constants.hoelder.moduli import periodic_constant, scalar_modulus
from bilevel_verify.constants.hoelder.quotients import sampled_quotient
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import Derived, Trigonometric
from bilevel_verify.numbers.rounding import enclose


@dataclass(frozen=True, slots=True)
class Pair:
    """Exponent and constant with their derivation."""

    nu: Expr
    constant: Bound

    def exponent_bound(self) -> Bound:
        """The exponent as a constant of its own."""
        value = float(self.nu)
        shown = math.isfinite(self.constant.upper) or math.isinf(self.constant.lower)
        statement = f"nu = {self.nu}" if shown else f"nu = {self.nu} at most by these rules; no constant found"
        why = Reason("Hoelder exponent", statement, (self.constant.why,))
        certified = self.constant.certified and shown
        return Bound(
            value, value if shown else 0.0, certified, self.constant.route, why, self.nu, self.constant.attained
        )

    def constant_bound(self) -> Bound:
        """The constant."""
        return self.constant


def hoelder_pair(analysis: Analysis, form: str, wanted: object = None) -> Pair:
    """Pair of the derivative block ``form`` (as a function of all variables).

    Parameters
    ----------
    wanted : exponent asked for; by default the largest one with a finite constant.
    """
    with np.errstate(all="ignore"):
        return _pair(analysis, form, wanted)


def _pair(analysis: Analysis, form: str, wanted: object) -> Pair:
    target = None if wanted is None else sympy.nsimplify(wanted, rational=True)
    parts = [part for part in analysis.parts if _matters(part, form)]
    lipschitz = analysis.norm(form + "z")
    if target in (None, Integer(1)) and (math.isfinite(lipschitz.upper) or not parts):
        return Pair(Integer(1), lipschitz)
    groups = [moduli(part, form) for part in parts]
    diameter = _diameter(analysis)
    found = min((m.nu for group in groups for m in group), default=Integer(1), key=lambda v: enclose(v)[0])
    nu = found if target is None else target
    if enclose(nu)[0] > enclose(found)[1]:
        return Pair(nu, _impossible(parts, nu, found, groups))
    bounds = [_best_of(part, form, group, nu, diameter) for part, group in zip(parts, groups)]
    best = max(bounds, key=lambda b: b.upper) if bounds else replace(lipschitz, upper=0.0)
    if math.isinf(best.upper):
        return Pair(nu, lipschitz if nu == 1 else _unbounded(best, nu, groups, diameter))
    if best.lower == 0.0 and analysis.effort > 0:
        best = replace(best, lower=min(best.upper, sampled_quotient(parts, form, float(nu))))
    return Pair(nu, best)


def _best_of(part: Part, form: str, group: list[Modulus], nu: Expr, diameter: float) -> Bound:
    """The smallest valid combination: sum over distances, orthogonal maximum, sharp constants of sine and cosine."""
    candidates = [combine(group, nu, diameter)]
    if len(set(form)) == 1 and len(form) >= 2 and _orthogonal_groups(part, group):
        singles = [combine([m], nu, diameter) for m in group]
        best = max(singles, key=lambda b: b.upper)
        why = Reason(
            "orthogonal ridges",
            f"largest of {len(singles)} parts on orthogonal subspaces",
            tuple(b.why for b in singles),
        )
        candidates.append(replace(best, why=why))
    if nu != 1 and _has_waves(part):
        candidates.append(combine(moduli(part, form, nu), nu, diameter))
    return min(candidates, key=lambda b: b.upper)


def _has_waves(part: Part) -> bool:
    return any(
        isinstance(r.function.base if isinstance(r.function, Derived) else r.function, Trigonometric)
        for r in part.structure.ridges
    )


def _orthogonal_groups(part: Part, group: list[Modulus]) -> bool:
    ridges = part.structure.ridges
    if len(group) < 2 or any(not m.ridges for m in group):
        return False
    return all(
        exact.orthogonal((ridges[i], ridges[j]))
        for number, m in enumerate(group)
        for other in group[number + 1 :]
        for i in m.ridges
        for j in other.ridges
    )


def _matters(part: Part, form: str) -> bool:
    return part.touches(form) and (part.structure.rest is not None or bool(part.structure.ridges))


def _diameter(analysis: Analysis) -> float:
    sides = analysis.domain.hi - analysis.domain.lo
    return (
        float(np.nextafter(math.sqrt(float((sides * sides).sum())) * (1 + 1e-14), math.inf))
        if np.isfinite(sides).all()
        else math.inf
    )


def moduli(part: Part, form: str, waves: Expr | None = None) -> list[Modulus]:
    """Moduli of continuity of one group of variables: ridges with the same exponent together, special terms, the rest.

    ``waves``: exponent at which sines and cosines enter with their sharp constant instead of as Lipschitz functions.
    """
    k = len(form)
    model = part.model if not part.specials else part.plain
    lo, hi = part.whole()
    arguments = model.arguments(lo, hi)
    by_exponent: dict[Expr, list[tuple[int, Expr | None, float, float, str]]] = {}
    for number, ridge in enumerate(model.structure.ridges):
        span = float(arguments.lo[0, number]), float(arguments.hi[0, number])
        nu, constant, closed, oscillation, text = scalar_modulus(ridge.function, k, span)
        wave = ridge.function.base if isinstance(ridge.function, Derived) else ridge.function
        if waves is not None and isinstance(wave, Trigonometric):
            nu, constant, closed = waves, periodic_constant(float(waves)), None
            text = f"sine and cosine are ({waves}, {constant:.9g})-Hoelder"
        steps = composite_modulus(ridge.function, k, span) if math.isinf(constant) else None
        if steps is None:
            by_exponent.setdefault(nu, []).append((number, closed, constant, oscillation, text))
        for step in steps or ():
            spread = min(step.oscillation, oscillation)
            text = f"({ridge.function.name})^({k}): {_step_text(step)}"
            by_exponent.setdefault(step.nu, []).append((number, None, step.constant, spread, text))
    found = [_ridges_together(part, model, form, nu, members) for nu, members in by_exponent.items()]
    for special in part.specials:
        found += _special_moduli(part, special, form)
    if model.structure.rest is not None:
        found += _rest_moduli(part, model, form)
    return [m for m in found if m.constant > 0]


def _ridges_together(
    part: Part, model: Any, form: str, nu: Expr, members: list[tuple[int, Expr | None, float, float, str]]
) -> Modulus:
    count = len(model.structure.ridges)
    weights, spreads = np.zeros((1, count)), np.zeros((1, count))
    exponent = enclose(nu)
    for number, _, constant, oscillation, _ in members:
        row = model.rows[number]
        length = math.sqrt(float((np.maximum(np.abs(row.lo), np.abs(row.hi)) ** 2).sum())) * (1 + 1e-14)
        size = float(model.weights[number].magnitude())
        power = max(length ** exponent[0], length ** exponent[1]) * (1 + 1e-14)
        weights[0, number], spreads[0, number] = size * constant * power, size * oscillation
    exact_size = _closed_single(part, model, form, nu, members)
    constant = _form_of(model, form, weights) if exact_size is None else enclose(exact_size)[1]
    oscillation = _form_of(model, form, spreads)
    text = "; ".join(member[4] for member in members[:3])
    sharp = len(members) == 1 and part.domain.free
    return Modulus(nu, constant, oscillation, text, exact_size, sharp, tuple(member[0] for member in members))


def _form_of(model: Any, form: str, weights: Any) -> float:
    """Largest norm of ``sum c_l a_l (x) ...`` with ``|c_l| <= weights_l``."""
    if np.isinf(weights).any():
        return math.inf
    from bilevel_verify.constants.formula.model import Model

    ridges_only = Model(replace(model.structure, rest=None, quadratic={}, linear={}), model.is_x)
    pieces = Pieces(len(form), Interval(-weights, weights), _no_entries(ridges_only, len(form)))
    return float(Form(ridges_only, form, 4096).upper(pieces)[0])


def _no_entries(model: Any, order: int) -> Interval:
    count = model.n if order == 1 else 0
    return Interval(np.zeros((1, count)), np.zeros((1, count)))


def _closed_single(
    part: Part, model: Any, form: str, nu: Expr, members: list[tuple[int, Expr | None, float, float, str]]
) -> Expr | None:
    """``|w| H |a_s1| ... |a_sk| |a|^nu`` for a single ridge, and the largest of them for mutually orthogonal ones."""
    ridges = [model.structure.ridges[number] for number, *_ in members]
    if any(closed is None for _, closed, *_ in members):
        return None
    if len(ridges) > 1 and not (exact.orthogonal(tuple(ridges)) and len(set(form)) == 1 and len(form) >= 2):
        return None
    values = []
    for ridge, (_, closed, *_) in zip(ridges, members):
        square = sum((c**2 for _, c in ridge.row), Integer(0))
        values.append(
            sympy.Abs(ridge.weight) * closed * length_of(part, ridge, form) * sympy.expand(square) ** (nu / 2)
        )
    return sympy.powsimp(max(values, key=lambda v: enclose(v)[1]))


def _special_moduli(part: Part, special: Any, form: str) -> list[Modulus]:
    """Radial powers keep the one-dimensional constants; other terms go by their next derivative or node by node."""
    lo, hi = part.whole()
    blocks = {s: part.model.slots(s) for s in "xyz"}
    k = len(form)
    size = special.bound(form, blocks, lo[0], hi[0])[0]
    if isinstance(special, Radial):
        power = radial_power(special)
        if power is not None and k < power <= k + 1 and not power.is_integer:
            return [_radial_modulus(part, special, form, power, 2 * size)]
    constant = special.bound(form + "z", blocks, lo[0], hi[0])[0]
    if math.isinf(constant):
        steps = moduli_of(special.term, _setting(part, form))
        if steps is not None:
            return [_of_step(step, special.term, k) for step in steps]
    return [Modulus(Integer(1), constant, 2 * size, f"next derivative <= {constant:.9g}")]


def _radial_modulus(part: Part, special: Radial, form: str, power: Expr, oscillation: float) -> Modulus:
    k = len(form)
    nu = power - k
    constant = sympy.Abs(special.weight) * _radial_factor(special, power) * sympy.prod([power - j for j in range(k)])
    constant = sympy.Abs(constant) * (2 ** (1 - nu) if k % 2 else 1)
    # along the variables of one block through the centre it is the same power again
    sharp = len(set(form)) == 1 and bool(set(special.members) & set(part.model.slots(form[0]))) and part.domain.free
    return Modulus(nu, enclose(constant)[1], oscillation, f"|z|^{power}: ({nu}, {constant})", constant, sharp)


def _radial_factor(special: Radial, power: Expr) -> Expr:
    return sympy.simplify(special.phi.subs(special.variable, Rational(1, 2)))


def _rest_moduli(part: Part, model: Any, form: str) -> list[Modulus]:
    """What is neither ridge nor special: its next derivative if that is bounded, otherwise term by term."""
    k = len(form)
    terms = sympy.Add.make_args(model.structure.rest)
    upper = _alone(part, terms).norm(form + "z").upper
    if math.isfinite(upper):
        return [_lipschitz(model, part, k, upper)]
    known = [(term, moduli_of(term, _setting(part, form))) for term in terms]
    if any(steps is None for _, steps in known):
        unknown = next(term for term, steps in known if steps is None)
        return [Modulus(Integer(1), math.inf, math.inf, f"no rule for the continuity of {str(unknown)[:60]}")]
    smooth = [term for term, steps in known if all(step.nu == 1 for step in steps or ())]
    found = [_of_step(step, term, k) for term, steps in known if term not in smooth for step in steps or ()]
    if smooth:
        together = _alone(part, tuple(smooth))
        bound, size = together.norm(form + "z").upper, together.norm(form).upper
        found.append(Modulus(Integer(1), bound, 2 * size, f"|D^{k + 1}| <= {bound:.9g} ({len(smooth)} smooth terms)"))
    return found


def _alone(part: Part, terms: tuple[Expr, ...]) -> Part:
    """Some terms without ridges and quadratics, which count for themselves."""
    structure = replace(part.structure, linear={}, quadratic={}, ridges=(), rest=sympy.Add(*terms))
    return Part(structure, part.is_x, part.domain, part.name, part.effort)


def _lipschitz(model: Any, part: Part, k: int, upper: float) -> Modulus:
    lo, hi = part.whole()
    entries = model.evaluate(k, lo, hi).entries
    with np.errstate(invalid="ignore"):
        width = np.where(np.isfinite(entries.hi) & np.isfinite(entries.lo), entries.hi - entries.lo, np.inf)
    oscillation = float(np.nextafter(float(np.sqrt((width**2).sum()) * math.factorial(k)), math.inf))
    return Modulus(Integer(1), upper, oscillation, f"|D^{k + 1}| <= {upper:.9g} (everything that is no ridge)")


def _setting(part: Part, form: str) -> Setting:
    """One block of slots (the larger joint one for mixed forms)."""
    block = form[0] if len(set(form)) == 1 else "z"
    domain = part.domain
    return Setting(part.structure.variables, domain.lo, domain.hi, frozenset(part.model.slots(block)), len(form))


def _of_step(step: Step, term: Expr, k: int) -> Modulus:
    return Modulus(step.nu, step.constant, step.oscillation, f"D^{k} of {str(term)[:60]}: {_step_text(step)}")


def _step_text(step: Step) -> str:
    return f"({step.nu}, {step.constant:.9g})-Hoelder through its sums, products and compositions"


def _impossible(parts: list[Part], nu: Expr, found: Expr, groups: list[list[Modulus]]) -> Bound:
    """No constant at this exponent: proved if some blocking ridge is rough along a direction of its own."""
    blocking = [[m for m in group if enclose(m.nu)[0] < enclose(nu)[0]] for group in groups]
    reasons = tuple(Reason("part", m.text) for group in blocking for m in group)
    sure = any(_alone_in_direction(part, group) for part, group in zip(parts, blocking))
    if not sure:
        why = Reason("Hoelder exponent", f"no constant found at nu = {nu}: the rules give {found} at most", reasons)
        return Bound(math.inf, 0.0, False, "calculus", why)
    why = Reason("Hoelder exponent", f"no constant at nu = {nu}: the largest exponent is {found}", reasons)
    return Bound(math.inf, math.inf, True, "calculus", why, sympy.oo, True)


def _alone_in_direction(part: Part, blocking: list[Modulus]) -> bool:
    """A rough ridge that no other rough part can make good: all are ridges, and one is parallel to no other."""
    if any(not m.ridges for m in blocking):
        return False
    rows = [part.model.row_centres[number] for m in blocking for number in m.ridges]

    def parallel(a: Any, b: Any) -> bool:
        return bool(abs(a @ b) ** 2 >= (a @ a) * (b @ b) * (1 - 1e-9))

    return any(all(i == j or not parallel(a, b) for j, b in enumerate(rows)) for i, a in enumerate(rows))


def _unbounded(bound: Bound, nu: Expr, groups: list[list[Modulus]], diameter: float) -> Bound:
    growing = [m for group in groups for m in group if math.isinf(m.oscillation) or math.isinf(m.constant)]
    parts = tuple(Reason("grows", m.text) for m in growing)
    lost = [m for m in growing if m.nu == 0 and math.isinf(m.constant)]
    if lost:
        advice = f"{lost[0].text}; a domain on one side of that place, away from it, helps"
    elif math.isinf(diameter):
        advice = "a bounded domain makes it finite"
    else:
        advice = "a derivative is unbounded on the domain"
    sure = len(lost) == 1 and len(lost[0].ridges) == 1
    why = Reason("Hoelder rules", f"no finite constant at nu = {nu}: {advice}", parts)
    return replace(bound, lower=math.inf if sure else bound.lower, attained=sure, why=why)


__all__ = ["Modulus", "Pair", "combine", "hoelder_pair", "moduli", "periodic_constant", "scalar_modulus"]
