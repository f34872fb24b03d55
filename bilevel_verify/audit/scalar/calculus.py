"""Differences of two sides on boxes: letters that run to infinity inverted, ends reached by monotonicity.

``k = a/t`` brings ``[a, oo)`` to ``(0, 1]``; the difference is multiplied by the dominating power of ``t``. Where the
sides meet at an end of a range no box decides; if the derivative in one letter has one sign on the whole box, the end
point of that letter decides (and so on for the letters that are left).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import sympy

from bilevel_verify.audit.scalar import boxes
from bilevel_verify.audit.scalar.algebra import Algebraic, NotAlgebraic, moderate
from bilevel_verify.audit.scalar.back import to_tree
from bilevel_verify.audit.scalar.boxes import Box, NoEnclosure
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, end_conditions
from bilevel_verify.audit.scalar.integers import signed_powers
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.needs import defined_everywhere
from bilevel_verify.audit.scalar.numeric import NEAR, evaluate
from bilevel_verify.audit.scalar.signs import nonnegative
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ANALYTIC
from bilevel_verify.theorems.rewrite import free_letters

Decide = Callable[[ScalarClaim], Decision]
ZERO = tree.Number(Fraction(0))
ENGINE = "boxes"
DEPTH = 3
LETTER_LIMIT = 4
OPERATION_LIMIT = 400
SECOND = 500
BOXES = 20_000
"""Boxes of one proof, all its branch and bounds together."""


def by_boxes(claim: ScalarClaim) -> Decision:
    """Branch and bound on a claim as it stands: every letter has a finite range, any function of the table."""
    low, high = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
    box = _finite_box(claim)
    if claim.op == "==" or box is None or len(box) > LETTER_LIMIT:
        return _undecided("a letter without finite ends, or an equality")
    difference = tree.Add((high, tree.Negate(low)))
    try:
        found = boxes.nonnegative(difference, box, claim.conditions(), claim.op in ("<", ">"), domains=claim.domains)
    except NoEnclosure as reason:
        return _undecided(f"no enclosure: {reason}")
    if found.proved:
        return Decision("proved", ENGINE, f"{found.boxes} boxes, outward rounded")
    return _undecided(f"worst box {found.worst}")


def by_calculus(claim: ScalarClaim) -> Decision:
    """Letters inverted, the dominating power divided out, ends reached by monotonicity."""
    if claim.op == "==" or len(claim.letters) > LETTER_LIMIT or _of_either_sign(claim):
        return _undecided("an equality, too many letters, or an integer power of what may be negative")
    low, high = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
    try:
        reader = Analytic(claim)
        difference = reader.of(high) - reader.of(low)
        difference, box = _on_a_box(difference, claim, reader)
        proof = _Proof()
        if proof.holds(difference, box, claim.op in ("<", ">"), DEPTH):
            return Decision("proved", ENGINE, f"{proof.boxes} boxes, {proof.describe()}")
        return _undecided(f"worst box {proof.worst}")
    except (NotAlgebraic, NoEnclosure, ValueError, RecursionError, OverflowError) as reason:
        return _undecided(f"no enclosure: {reason}")


def by_derivative(claim: ScalarClaim, decide: Decide) -> Decision:
    """Monotone in one letter for all the others (any engine may show it), and true at its end."""
    if claim.op == "==" or _of_either_sign(claim):
        return _undecided("an equality, or an integer power of what may be negative")
    low, high = (claim.left, claim.right) if claim.op in ("<=", "<") else (claim.right, claim.left)
    try:
        reader = Analytic(claim)
        difference = reader.of(high) - reader.of(low)
        for name in claim.letters:
            if any(name in free_letters(c) for c in _others(claim, name)):
                continue
            at_end = _decided_at_end(claim, difference, reader.symbols[name], decide)
            if at_end and defined_everywhere(claim, decide):  # no pole between the end and the point
                return Decision("proved", "monotone", f"monotone in {name}, true at its end")
    except (NotAlgebraic, ValueError, RecursionError, OverflowError) as reason:
        return _undecided(str(reason))
    return _undecided("monotone in no letter with an end")


def _of_either_sign(claim: ScalarClaim) -> bool:
    """Whether a letter stands in an integer exponent of what may be negative: not differentiable in that letter."""
    powers = (p for side in (claim.left, claim.right) for p in signed_powers(side, claim.domains))
    return any(not nonnegative(power.base, claim.domains) and not _shown(power.base, claim) for power in powers)


def _shown(base: tree.Node, claim: ScalarClaim) -> bool:
    return by_smt(replace(claim, left=ZERO, op="<=", right=base), SECOND).outcome == "proved"


def _others(claim: ScalarClaim, name: str) -> tuple[tree.Node, ...]:
    """Hypotheses, and the ends of the other letters."""
    ends = [c for n in claim.letters if n != name for c in end_conditions(n, claim.domains[n])]
    return (*claim.where, *ends)


def _decided_at_end(claim: ScalarClaim, difference: sympy.Expr, symbol: sympy.Symbol, decide: Decide) -> bool:
    slope = sympy.factor(sympy.diff(difference, symbol))
    domain = claim.domains[symbol.name]
    rest = {n: d for n, d in claim.domains.items() if n != symbol.name}
    for sign, end in ((1, domain.lower), (-1, domain.upper)):
        form = None if end is None else linear_form(end.tree)
        if form is None or form[1] or sympy.count_ops(slope) > OPERATION_LIMIT:
            continue
        there = difference.subs(symbol, sympy.Rational(form[0].numerator, form[0].denominator))
        if not _is_finite(there):
            continue
        op = "<" if claim.op in ("<", ">") else "<="
        at_end = replace(claim, left=ZERO, op=op, right=to_tree(sympy.expand(there)), domains=rest)
        growing = replace(claim, left=ZERO, op="<=", right=to_tree(sign * slope))
        shown = decide(at_end).outcome in ("proved", "vacuous") and decide(growing).outcome == "proved"
        if shown and defined_everywhere(claim.at(symbol.name, form[0]), decide):  # an open end may be a pole
            return True
    return False


def _undecided(reason: str) -> Decision:
    return Decision("undecided", ENGINE, reason)


@dataclass
class _Proof:
    """One recursive proof with its budget."""

    boxes: int = 0
    worst: str = ""
    steps: tuple[str, ...] = ()

    def describe(self) -> str:
        """The reductions that were used."""
        return "; ".join(self.steps) or "directly"

    def holds(self, value: sympy.Expr, box: Box, strict: bool, depth: int) -> bool:
        """Whether ``value >= 0`` (``> 0``) on the whole box, proved."""
        if self.boxes > BOXES or sympy.count_ops(value) > OPERATION_LIMIT:
            return False
        used = {n: ends for n, ends in box.items() if any(s.name == n for s in value.free_symbols)}
        if _fails_somewhere(to_tree(value), used):
            return False
        found = boxes.nonnegative(to_tree(value), used, (), strict)
        self.boxes += found.boxes
        self.worst = found.worst or self.worst
        if found.proved:
            return True
        if depth > 0 and any(self.monotone(value, used, name, strict, depth - 1) for name in used):
            return True
        return not strict and depth > 1 and self.from_the_ends(value, used, depth - 1)

    def from_the_ends(self, value: sympy.Expr, box: Box, depth: int) -> bool:
        """Boxes once more, with the slopes at the ends where the expression is nonnegative."""
        slopes = []
        for name, ends in box.items():
            symbol = next(s for s in value.free_symbols if s.name == name)
            rest = {n: e for n, e in box.items() if n != name}
            for sign, end in ((1, ends[0]), (-1, ends[1])):
                there = _at_end(value, symbol, end, rest)
                if _is_finite(there) and self.holds(there, rest, False, depth - 1):
                    slopes.append(boxes.Slope(name, end, to_tree(sign * _slope(value, symbol))))
        if not slopes:
            return False
        found = boxes.nonnegative(to_tree(value), box, (), False, tuple(slopes))
        self.boxes += found.boxes
        self.worst = found.worst or self.worst
        if found.proved:
            self.steps += (f"slopes at the ends of {', '.join(s.name for s in slopes)}",)
        return found.proved

    def monotone(self, value: sympy.Expr, box: Box, name: str, strict: bool, depth: int) -> bool:
        """Monotone in one letter, and true at the end where it is smallest."""
        symbol = next(s for s in value.free_symbols if s.name == name)
        slope = _slope(value, symbol)
        rest = {n: ends for n, ends in box.items() if n != name}
        for sign, end, word in ((1, box[name][0], "increasing"), (-1, box[name][1], "decreasing")):
            there = _at_end(value, symbol, end, rest)
            if not _is_finite(there):
                continue
            if self.holds(sign * slope, box, False, depth) and self.holds(there, rest, strict, depth):
                self.steps += (f"{word} in {name}, its end {end}",)
                return True
        return False


def _is_finite(value: sympy.Expr) -> bool:
    return not value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.AccumBounds)


def _slope(value: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr:
    """Derivative, powers of one base joined: ``t**(a+1)/t`` would hide that it is bounded at 0."""
    return sympy.powsimp(sympy.expand(sympy.diff(value, symbol)), combine="exp")


def _at_end(value: sympy.Expr, symbol: sympy.Symbol, end: Fraction, box: Box) -> sympy.Expr:
    """The expression at an end of a letter; powers of 0 with exponents that stay positive vanish.

    NaN where a power may have a pole there, for whatever values of the other letters.
    """
    if any(part.base.has(symbol) and _has_pole(part, symbol, end, box) for part in value.atoms(sympy.Pow)):
        return sympy.nan
    if end:
        return sympy.expand(value.subs(symbol, sympy.Rational(end.numerator, end.denominator)))

    def vanishes(part: sympy.Expr) -> bool:
        if not (isinstance(part, sympy.Pow) and part.base == symbol):
            return False
        least = _corner_least(part.exp, box)
        return least is not None and least > 0

    return sympy.expand(value.replace(vanishes, lambda part: sympy.S.Zero).subs(symbol, 0))


def _has_pole(part: sympy.Pow, symbol: sympy.Symbol, end: Fraction, box: Box) -> bool:
    """Whether a power with an exponent that may be negative has a base that may be 0 at an end of a letter."""
    least = _corner_least(part.exp, {symbol.name: (end, end), **box})
    if least is not None and least >= 0:
        return False
    base = sympy.expand(part.base.subs(symbol, sympy.Rational(end.numerator, end.denominator)))
    return not boxes.away_from_zero(to_tree(base), box)


def _fails_somewhere(node: tree.Node, box: Box) -> bool:
    """Whether a few hundred points (corners among them) show a negative value: no time for what is false."""
    random = np.random.default_rng(0)
    corner, inside = random.integers(0, 3, (len(box), 400)), random.random((len(box), 400))
    points = {}
    for place, (name, (low, high)) in enumerate(box.items()):
        share = np.where(corner[place] == 0, 1e-6, np.where(corner[place] == 1, 1 - 1e-6, inside[place]))
        points[name] = float(low) + (float(high) - float(low)) * share
    values = np.asarray(evaluate(node, points), float)
    return bool(np.any(values < -NEAR * (1.0 + np.abs(values))))


class Analytic(Algebraic):
    """Trees to SymPy with logarithms, exponentials and their kin, and any exponent."""

    def of(self, node: tree.Node) -> sympy.Expr:
        """The expression.

        Raises
        ------
        NotAlgebraic : another function, or too large an expression.
        """
        if isinstance(node, tree.Call) and node.function in ANALYTIC and len(node.arguments) == 1:
            return getattr(sympy, node.function)(self.of(node.arguments[0]))
        return super().of(node)

    def power(self, base: tree.Node, exponent: tree.Node) -> sympy.Expr:
        form = linear_form(exponent)
        if form is not None:
            moderate(form)
        return self.of(base) ** self.of(exponent)


def numeric_ends(claim: ScalarClaim, name: str) -> tuple[Fraction | None, Fraction | None]:
    """Ends of a letter as numbers, from its range and from hypotheses that are plain bounds on it."""
    lows: list[Fraction] = []
    highs: list[Fraction] = []
    for condition in claim.conditions():
        if not isinstance(condition, tree.Compare) or len(condition.operators) != 1:
            continue
        a, b = (linear_form(o) for o in condition.operands)
        op = condition.operators[0]
        if a is None or b is None or op == "==":
            continue
        slope = a[1].get(name, Fraction(0)) - b[1].get(name, Fraction(0))
        if not slope or (a[1].keys() | b[1].keys()) - {name}:
            continue
        end = (b[0] - a[0]) / slope
        (highs if (slope > 0) == (op in ("<", "<=")) else lows).append(end)
    return max(lows, default=None), min(highs, default=None)


def _finite_box(claim: ScalarClaim) -> Box | None:
    box: Box = {}
    for name in claim.letters:
        low, high = numeric_ends(claim, name)
        if low is None or high is None:
            return None
        box[name] = (low, high)
    return box


def _on_a_box(difference: sympy.Expr, claim: ScalarClaim, reader: Analytic) -> tuple[sympy.Expr, Box]:
    """Letters that run to infinity inverted, one after the other, and the dominating power divided out.

    Raises
    ------
    NotAlgebraic : a letter without a lower end.
    """
    box: Box = {}
    unbounded = []
    for symbol in sorted(difference.free_symbols, key=str):
        low, high = numeric_ends(claim, symbol.name)
        if low is None:
            raise NotAlgebraic(f"{symbol.name} has no lower end")
        if high is None:
            unbounded.append((symbol, low))
        else:
            box[symbol.name] = (low, high)
    for symbol, low in unbounded:
        t = sympy.Symbol(f"{symbol.name}_inverse", positive=True)
        end = sympy.Rational(low.numerator, low.denominator)
        put = end / t if low > 0 else end + (1 - t) / t
        difference = _scaled(_inverted(difference.subs(symbol, put)), t, box)
        box[t.name] = (Fraction(0), Fraction(1))
    return difference, box


def _inverted(value: sympy.Expr) -> sympy.Expr:
    """Powers of quotients taken apart, so that every power of the inverted letter stands by itself."""

    def apart(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        joined = sympy.factor(sympy.together(base)) if base.is_Add else base
        top, bottom = sympy.fraction(joined)
        if bottom == 1 or not bottom.is_positive:
            return joined**exponent
        return top**exponent * sympy.expand_power_base(sympy.expand_power_exp(bottom**-exponent))

    return sympy.expand(value.replace(lambda e: isinstance(e, sympy.Pow), lambda e: apart(*e.as_base_exp())))


def _scaled(value: sympy.Expr, t: sympy.Symbol, box: Box) -> sympy.Expr:
    """The difference times the power of ``t`` that makes every exponent nonnegative and the least one small."""
    parts = []
    for term in sympy.Add.make_args(value):
        rest, power = term.as_independent(t, as_Add=False)
        exponent, other = sympy.S.Zero, rest
        for factor in sympy.Mul.make_args(power):
            base, height = factor.as_base_exp()
            if base == t:
                exponent += height
            else:
                other *= factor
        parts.append((sympy.expand(exponent), other))
    least = _least([e for e, _ in parts], box)
    if least is None:
        raise NotAlgebraic("no power dominates")
    return sympy.Add(*[other * t ** sympy.expand(e - least) for e, other in parts])


def _least(exponents: list[sympy.Expr], box: Box) -> sympy.Expr | None:
    """An exponent that is nowhere larger than any other: one of them, or the least number that they reach."""
    for candidate in exponents:
        gaps = [_corner_least(e - candidate, box) for e in exponents]
        if all(g is not None and g >= 0 for g in gaps):
            return candidate
    corners = [_corner_least(e, box) for e in exponents]
    return None if any(c is None for c in corners) else min(c for c in corners if c is not None)


def _corner_least(exponent: sympy.Expr, box: Box) -> sympy.Expr | None:
    """Least value of an affine exponent on the box; None if it is not affine there."""
    exponent = sympy.expand(exponent)
    total = exponent
    for symbol in sorted(exponent.free_symbols, key=str):
        slope = sympy.diff(exponent, symbol)
        if symbol.name not in box or not slope.is_Rational:
            return None
        end = box[symbol.name][0 if slope > 0 else 1]
        total = total.subs(symbol, sympy.Rational(end.numerator, end.denominator))
    return total if total.is_Rational else None


__all__ = ["Analytic", "by_boxes", "by_calculus", "by_derivative", "numeric_ends"]
