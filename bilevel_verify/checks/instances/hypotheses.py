"""Are the hypotheses of a statement true on this instance? Each answer is a row of its own.

A hypothesis that is false for certain makes every claim ``not applicable``; one that could not be verified makes it
``undecided: hypothesis``. Constants certified on a box are valid while every point that the run used stays inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import isfinite, isinf

import numpy as np
from flint import arb

from bilevel_verify.checks.claims.decide import reason_of
from bilevel_verify.checks.claims.linear import lambda_min
from bilevel_verify.checks.claims.recorded import RecordedRun
from bilevel_verify.checks.claims.values import Vector, vector
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.verdicts.verdict import Verdict
from bilevel_verify.constants.bound.constant import Constant, safe_decimal
from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.rounding import inward
from bilevel_verify.theorems.card import Statement
from bilevel_verify.theorems.letters.given import Given
from bilevel_verify.theorems.letters.resolve import Resolved
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure, is_witness

POINTS = {"x": "x", "w": "x", "wbar": "x", "y": "y", "z": "y"}
"""Sequences that are points, and the block they live in where there are two levels."""


def of_constant(name: str, constant: Constant) -> Premise:
    """Is the constant finite (positive, for ``mu``) and certified?"""
    text = f"{name}: {constant.meaning or 'constant'} exists on {constant.domain}"
    witness = ", ".join(f"{k} = {v:.6g}" for k, v in constant.witness.items())
    source, remedies = f"constants, {constant.route}", constant.why.remedies()
    if constant.side == "lower":
        if constant.upper <= 0:
            reason = "; ".join([f"{name} <= {constant.upper:.6g}", *remedies])
            if constant.certified and (constant.attained or constant.exact is not None):
                return Premise(text, "not applicable", reason, "certified", source, witness=witness)
            # an end from floats at a point shows nothing: `flat_at_witness` asks again, in balls
            reason = f"hypothesis: {name} <= {constant.upper:.6g}, in floats at a point"
            return Premise(text, "undecided", reason, "computed", source, witness=witness)
        if not constant.value > 0:
            reason = "; ".join([f"hypothesis: no positive lower bound of {name} was found", *remedies])
            return Premise(text, "undecided", reason, source=source)
    elif isinf(constant.value):
        why = constant.why.cause() or "unbounded"
        if isinf(constant.lower):
            return Premise(text, "not applicable", f"{name} is infinite: {why}", "certified", source, witness=witness)
        reason = f"hypothesis: no finite bound of {name} ({why})"
        return Premise(text, "undecided", reason, source=source, witness=witness)
    if not constant.certified:
        kind: Certainty = "sampled" if constant.route == "sampling" else "computed"
        return Premise(text, "undecided", f"hypothesis: {name} is {kind}, not certified", kind, source)
    return Premise(text, "holds", "", "certified", source)


def of_convexity(instance: Instance) -> list[Premise]:
    """Is the lower level strongly convex in y?"""
    convexity = instance.strong_convexity()
    if convexity is None:
        return []
    return [of_constant("mu", convexity), *flat_at_witness(instance, convexity)]


def flat_at_witness(instance: Instance, convexity: Constant) -> list[Premise]:
    """A premise that is false if the lower level has no positive curvature at the witness point of ``mu``."""
    names = [symbol.name for symbol in instance.problem.variables]
    if convexity.value > 0 or not set(names) <= set(convexity.witness):
        return []
    point = vector([convexity.witness[name] for name in names])
    dx = instance.problem.dx
    functions = ProblemFunctions(instance.problem, instance.truth)
    try:
        hessian, _ = functions.call("hess_yy_g", [Vector(point.entries[:dx]), Vector(point.entries[dx:])])
        least = lambda_min(hessian)
    except (KeyError, ArithmeticError):
        return []
    if not bool(least <= 0):
        return []
    where = ", ".join(f"{name} = {convexity.witness[name]:.6g}" for name in names)
    text = "the lower level is strongly convex in y"
    if not bool(least < 0):
        return [Premise(text, "not applicable", f"mu <= 0: no curvature at {where}", "certified")]
    shown = safe_decimal(exact.ends(least)[1], 6, False).normalize()
    reason = f"mu <= {shown:.6g}: the lower level is not convex in y at {where}"
    return [Premise(text, "not applicable", reason, "certified")]


def of_truth(name: str, enclosure: Enclosure) -> Premise:
    """Is a truth of the instance (``Delta`` ...) finite?"""
    text, value = f"{name} is finite", np.asarray(enclosure.value, dtype=float)
    if bool(np.any(np.isinf(value))):
        if is_witness(enclosure.certainty):
            return Premise(text, "not applicable", f"{name} is infinite: {enclosure.method}", enclosure.certainty)
        return Premise(text, "undecided", f"hypothesis: {name} may be infinite", enclosure.certainty)
    if not isfinite(enclosure.error):
        return Premise(text, "undecided", f"hypothesis: {name} has no finite enclosure", enclosure.certainty)
    return Premise(text, "holds", "", enclosure.certainty, enclosure.method)


def of_statement(resolved: Resolved) -> list[Premise]:
    """The ``where`` lines of the statement and of its settings, and the ranges of the letters that were chosen."""
    found = []
    for line in resolved.hypotheses:
        certainty = line.certainty
        if line.answer is False and not is_witness(certainty):
            reason = f"hypothesis: {line.text} is false in {certainty} numbers, which is no witness ({line.source})"
            found.append(Premise(line.text, "undecided", reason, certainty, line.source, line.margin))
        elif line.answer is True:
            found.append(Premise(line.text, "holds", "", certainty, line.source, line.margin))
        elif line.answer is False:
            reason = f"{line.text} is false ({line.source})"
            found.append(Premise(line.text, "not applicable", reason, certainty, line.source, line.margin))
        else:
            why = line.reason or "the enclosures do not decide it"
            found.append(Premise(line.text, "undecided", f"hypothesis: {line.text}: {why}", certainty, line.source))
    return found


def surely_false(resolved: Resolved, between: Callable[[], Resolved]) -> Resolved:
    """The letters; lines that are false for the certified bounds, and not for all that the constants may be, are open.

    ``between`` : resolves the letters once more from :meth:`Instance.between`; asked only where a line is false.
    """
    if all(line.answer is not False for line in resolved.hypotheses):
        return resolved
    wide = {(line.text, line.source): line.answer for line in between().hypotheses}
    lines = tuple(
        replace(line, answer=None, reason="the bounds of the constants are too loose to say that it is false")
        if line.answer is False and wide.get((line.text, line.source)) is not False
        else line
        for line in resolved.hypotheses
    )
    return replace(resolved, hypotheses=lines)


def of_given(given: Given) -> Premise:
    """May a letter that was set by hand stand where it stands?"""
    verdicts: dict[bool | None, Verdict] = {True: "holds", False: "not applicable", None: "undecided"}
    reason = f"hypothesis: {given.reason}" if given.answer is None else given.reason
    return Premise(
        given.text,
        verdicts[given.answer],
        reason,
        given.certainty,
        given.source or "set by hand",
        witness=given.witness,
    )


def premises(instance: Instance, resolved: Resolved, statement: Statement) -> list[Premise]:
    """All hypotheses that need no run."""
    found = [of_constant(name, constant) for name, constant in instance.used.items()]
    found += [of_truth(name, enclosure) for name, enclosure in instance.asked.items()]
    found += [p for p in of_convexity(instance) if p not in found]
    if instance.problem.kind == "simple_bilevel":
        from bilevel_verify.checks.instances.simple_hypotheses import of_levels, of_parts

        found += [*of_parts(instance, statement), *of_levels(instance)]
    for name, why in instance.failures.items():
        if name not in instance.used and name not in instance.asked:
            found.append(Premise(f"{name} exists", "undecided", f"hypothesis: {name}: {why}", "computed"))
    found += of_statement(resolved)
    return found


def combine(found: Iterable[Premise]) -> Premise | None:
    """The premise that decides for all: a false one, else one that is open, else None."""
    worst: Premise | None = None
    for premise in found:
        if premise.verdict == "not applicable":
            return premise
        if premise.verdict == "undecided" and worst is None:
            worst = premise
    return worst


# --- containment ------------------------------------------------------------------------------------------------------


def containment(instance: Instance, trajectory: RecordedRun, functions: ProblemFunctions) -> Premise | None:
    """Do all points of the run stay in the box on which constants are certified? None where they hold everywhere.

    Points are the recorded iterates, extrapolated points and averages, the lower-level iterates, y* and y*_lam at all
    upper-level points. The box is convex, so segments between points inside stay inside.
    """
    local = instance.local
    if not local:
        return None
    text = f"the points of the run stay in the box where {', '.join(local)} hold"
    try:
        for label, block, point in _points(instance, trajectory):
            if beyond := _beyond(instance, block, point):
                where = f"{label} lies outside the certified box ({beyond}): widen the range of {block} under [domain]"
                return Premise(text, "undecided", f"local: {where}", "certified")
            if block == "x" and instance.problem.y:
                outside = _lower_points(functions, point, label)
                if outside:
                    return Premise(text, "undecided", f"local: {outside}", "certified")
    except MathematicalError as error:
        return Premise(text, "undecided", f"local: containment was not decided ({reason_of(error)})", "computed")
    return Premise(text, "holds", "local constants", "certified")


def _points(instance: Instance, trajectory: RecordedRun) -> Iterable[tuple[str, str, Vector]]:
    one_level = not instance.problem.y
    trace = trajectory.trace
    for name, rows in trace.sequences.items():
        block = "x" if one_level and name in ("x", "w", "y", "z", "wbar") else POINTS.get(name)
        if block is None:
            continue
        for place, row in enumerate(rows):
            if not any(number != number for number in row):
                yield f"{name}[{trace.epoch[place]}, {trace.k[place]}]", block, vector(row)
    for name, rows in trace.epoch_start.items():
        block = "x" if one_level and name in ("x", "w", "y", "z") else POINTS.get(name)
        for epoch, row in enumerate(rows):
            if block is not None and not any(number != number for number in row):
                yield f"{name}[{epoch}, -1]", block, vector(row)
    yield "the output", "x", vector(trajectory.run.x)


def _beyond(instance: Instance, block: str, point: Vector) -> str:
    """The first coordinate of a point that is not inside its range for certain, with its value; empty if all are."""
    symbols: Sequence[object] = instance.problem.x if block == "x" else instance.problem.y
    for symbol, a in zip(symbols, point.entries):
        low, high = inward(*instance.problem.range_of(symbol))
        if not (bool(arb(low) <= a) and bool(a <= arb(high))):
            return f"{symbol} = {float(a.mid()):.4g}"
    return ""


def _lower_points(functions: ProblemFunctions, point: Vector, label: str) -> str:
    """What is wrong with y* (and y*_lam) at an upper-level point; empty if they are inside for certain."""
    for name in ("y_star", "y_star_lam"):
        if name == "y_star_lam" and functions.lam is None:
            continue
        if functions.call(name, [point])[1] != "certified":
            return f"{name} at {label} is not inside the certified box for certain"
    return ""
