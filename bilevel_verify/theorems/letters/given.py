"""Letters that a caller set by hand: may they stand where the theorem has a constant, or a prescription of its own?

A number for a constant of the problem is compared with what is certified about that constant; a larger upper bound
(a smaller ``mu``) is as good as the smallest. A number for a letter that the theorem prescribes must be the prescribed
one. What the theorem leaves open (no formula, or an order symbol) is free; its range is a hypothesis like any other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bilevel_verify.constants.bound.constant import Constant, safe_decimal
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.numbers import exact
from bilevel_verify.theorems.card import Card, Entry
from bilevel_verify.theorems.card_parts import LetterSpec
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.letters.resolve import resolve
from bilevel_verify.theorems.letters.resolved import ResolvedLetter, by_hand
from bilevel_verify.theorems.prescribed import formulas_of, is_order
from bilevel_verify.truth.arithmetic.enclosure import Certainty, Enclosure, is_witness

if TYPE_CHECKING:
    import flint

ROUNDING = Fraction(1, 2**50)
"""Relative difference below which a number is the float of another one."""
VISIBLE = 1e-9
"""Relative distance by which a number must lie below a sampled value of a constant to contradict it."""
ERROR_BOUND = ("alpha", "r")


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of one letter that was set by hand.

    ``answer``: True, it may stand there; False, it certainly may not; None, that is not known.
    """

    name: str
    value: Any
    answer: bool | None
    reason: str = ""
    witness: str = ""
    certainty: Certainty = "certified"
    source: str = ""

    @property
    def text(self) -> str:
        """The hypothesis in a few words."""
        kind = "what the theorem prescribes" if not self.source else f"valid for this problem ({self.source})"
        return f"{self.name} = {self.value} is {kind}"


def judge_given(
    card: Card,
    entry: Entry,
    leaves: Leaves,
    given: Mapping[str, object],
    letters: Mapping[str, ResolvedLetter],
    readings: Collection[str] | None = None,
) -> list[Given]:
    """Every letter of the card that was set by hand, against what stands there without it.

    Parameters
    ----------
    leaves : constants and truth of the problem. ``letters`` : all letters, the given ones included.
    """
    formulas = formulas_of(card, entry, readings)
    found = []
    for name, value in given.items():
        spec = card.letters.get(name)
        if name in formulas and not is_order(formulas[name][0]) and not formulas[name][1]:
            others = {n: v for n, v in given.items() if n != name}
            found.append(_prescribed(card, entry, leaves, name, value, others, readings))
        elif spec is not None and spec.source in ("constants", "truth", "problem"):
            found.append(_of_the_problem(spec, leaves, value, letters))
    return found


def _prescribed(
    card: Card,
    entry: Entry,
    leaves: Leaves,
    name: str,
    value: object,
    others: dict[str, object],
    readings: Collection[str] | None,
) -> Given:
    """A letter with a formula: the number must be the one that the formula gives."""
    known = {n: v for n, v in others.items() if n in card.letters}
    resolved = resolve(card, entry, leaves, known, readings, targets=[name])
    letter = resolved.letters.get(name)
    if letter is None:
        return Given(
            name, value, None, f"what the theorem prescribes for {name} is not known: {resolved.missing[name]}"
        )
    number = by_hand(name, value)[0]
    if _equal(number, letter):
        return Given(name, value, True, certainty=letter.certainty)
    return Given(name, value, False, f"{name} is not what the theorem prescribes: {value}, not {letter.value:.10g}")


def _equal(number: flint.arb | Fraction, letter: ResolvedLetter) -> bool:
    """Whether a number is the prescribed one, its float, one of those between the ends known, or the loop's integer."""
    low, high = exact.ends(number)
    if number == letter.run or (letter.lower <= low and high <= letter.upper):
        return True
    near, prescribed = exact.rational(number), exact.rational(letter.scalar)
    return abs(near - prescribed) <= ROUNDING * abs(prescribed)


def _of_the_problem(spec: LetterSpec, leaves: Leaves, value: Any, letters: Mapping[str, ResolvedLetter]) -> Given:
    """A constant, a truth or a size of the problem."""
    source, name = str(spec.source), spec.name
    try:
        own = leaves.of_the_problem(spec, letters)
    except (KeyError, ParameterError, MathematicalError) as error:
        why = f"there is none to compare it with ({error})" if isinstance(error, KeyError) else str(error)
        return Given(name, value, None, f"{name} = {value} could not be checked: {why}", source=source)
    low, high = exact.ends(by_hand(name, value)[0])
    if isinstance(own, Constant):
        return _constant(name, value, (low, high), own)
    if isinstance(own, Enclosure):
        if (spec.called or name) in ERROR_BOUND:
            return _error_bound(spec, value, (low, high), own)
        return _truth(name, value, (low, high), own)
    if low == high == own:
        return Given(name, value, True, source=source)
    return Given(name, value, False, f"{name} = {value} is false: this problem has {own}", source=source)


def _constant(name: str, value: str | float | tuple[float, float], ends: tuple[float, float], own: Constant) -> Given:
    """A bound of a constant: on the safe side of what is certified, beyond what is attained, or neither."""
    witness = ", ".join(f"{k} = {v:.6g}" for k, v in own.witness.items())
    at = f" at {witness}" if witness else f" ({own.why.statement})"
    if own.side == "lower":
        safe, false = ends[1] <= own.value, _clearly_less(own.upper, ends[0])
        word, relation, limit = "large", "<=", own.upper
    else:
        safe, false = ends[0] >= own.value, _clearly_less(ends[1], own.lower)
        word, relation, limit = "small", ">=", own.lower
    if own.name.startswith("nu_"):
        return _exponent(name, value, ends, own)
    if own.certified and safe:
        return Given(name, value, True, source="constants")
    certainty: Certainty = "computed"  # the other end is a float at a point, until it is attained
    if own.certified and own.attained:
        false, limit, certainty = _beyond(own, ends), own.value, "certified"
    if false:
        bound = _bound(limit, relation == ">=")
        reason = f"{name} = {value} is too {word} for this problem: {name} {relation} {bound}{at}"
        return Given(name, value, False, reason, witness, certainty, "constants")
    down = word == "large"
    known = f"{name} {'>=' if down else '<='} {_bound(own.value, down)}"
    reason = f"{name} = {value} is not certain: certified is {known}"
    return Given(name, value, None, reason, witness, source="constants")


def _bound(value: float, down: bool) -> str:
    """A bound in ten digits that is one still: rounded down from below, up from above."""
    return f"{value:.10g}" if math.isinf(value) else f"{safe_decimal(value, 10, down).normalize():.10g}"


def _clearly_less(a: float, b: float) -> bool:
    """Whether a lies below b by more than the rounding of a sampled value."""
    return a < b and (math.isinf(a) or math.isinf(b) or b - a > VISIBLE * max(abs(a), abs(b)))


def _beyond(own: Constant, ends: tuple[float, float]) -> bool:
    """Whether a number lies beyond an attained constant by more than the rounding of its own end."""
    room = float(ROUNDING) * abs(own.value)
    return ends[0] > own.value + room if own.side == "lower" else ends[1] < own.value - room


def _exponent(name: str, value: object, ends: tuple[float, float], own: Constant) -> Given:
    """An exponent belongs to its constant: another one needs another constant."""
    if own.certified and ends[0] == ends[1] == own.value:
        return Given(name, value, True, source="constants")
    reason = f"{name} = {value} is not the exponent {own.value:.6g} for which its constant is certified"
    return Given(name, value, None, reason, source="constants")


def _truth(name: str, value: str | float | tuple[float, float], ends: tuple[float, float], own: Enclosure) -> Given:
    """An upper bound of a truth."""
    lower, upper = float(own.lower), float(own.upper)
    if ends[0] >= upper:
        return Given(name, value, True, certainty=own.certainty, source="truth")
    if ends[1] < lower and is_witness(own.certainty):
        reason = f"{name} = {value} is too small for this problem: {name} >= {_bound(lower, True)} ({own.method})"
        return Given(name, value, False, reason, certainty=own.certainty, source="truth")
    reason = f"{name} = {value} is not certain: {name} <= {_bound(upper, False)}"
    return Given(name, value, None, reason, source="truth")


def _error_bound(spec: LetterSpec, value: object, ends: tuple[float, float], own: Enclosure) -> Given:
    """The pair (alpha, r) of an error bound: a smaller alpha for the same r is as good."""
    number = float(own.value)
    if (ends[1] <= number) if (spec.called or spec.name) == "alpha" else ends[0] == ends[1] == number:
        return Given(spec.name, value, True, certainty=own.certainty, source="truth")
    reason = f"{spec.name} = {value} is not certain: derived is {spec.name} = {number:.10g}"
    return Given(spec.name, value, None, reason, source="truth")
