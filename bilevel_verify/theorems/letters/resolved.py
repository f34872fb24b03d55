"""Letters with numbers: what a run gets, what a check may know, and the hypotheses of the statement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.errors import ParameterError
from bilevel_verify.language import parse, tree
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.exact import Formula, Scalar
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card import Card, Entry
from bilevel_verify.theorems.card_parts import Expression
from bilevel_verify.truth.arithmetic.enclosure import Certainty, weakest

if TYPE_CHECKING:
    from bilevel_verify.constants.bound.constant import Constant

NEEDS = "needs "
NARROW = 1e-9
"""Relative width below which the enclosure of a chosen parameter is its rounding, not ignorance."""


@dataclass(frozen=True, slots=True)
class ResolvedLetter:
    """One letter with its number and its enclosure.

    Attributes
    ----------
    value : float nearest to the middle (the safe end where the card names one).
    run : what a solver gets: ``value``, or the integer that a loop really produces.
    lower, upper : floats around the true value of the printed formula.
    scalar : the same enclosure, exact (Fraction) or as a ball of 200 bits.
    chosen : prescribed by settings or given explicitly; the run used exactly ``run``.
    """

    name: str
    value: float
    run: float | int
    lower: float
    upper: float
    scalar: Scalar
    source: str
    certainty: Certainty = "proved"
    readings: tuple[str, ...] = ()
    formula: str = ""
    printed: str = ""
    chosen: bool = False
    note: str = ""

    @property
    def reading(self) -> str:
        """Labels of the named readings behind this number, as one text."""
        return "; ".join(self.readings)

    @property
    def for_check(self) -> Scalar:
        """What a checker puts in: the formula's enclosure together with the float of the run.

        A chosen letter whose enclosure is wide (it depends on a truth known only between two ends) is the float of the
        run, exactly: any number that the choice allows is a legitimate choice.
        """
        if not self.chosen:
            return self.scalar
        used = Fraction(self.value)
        width = self.upper - self.lower
        if self.source == "explicit" or not width <= NARROW * max(abs(self.value), 1e-300):
            return used
        if isinstance(self.scalar, Fraction):
            return self.scalar
        return exact.hull(self.scalar, used)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One ``where`` line on the instance: its text and whether it holds (None: not decided, see ``reason``)."""

    text: str
    source: str
    answer: bool | None
    reason: str = ""
    margin: float | None = None
    certainty: Certainty = "certified"


@dataclass(frozen=True, slots=True)
class Resolved:
    """All letters of a statement. ``missing`` says of every letter without a value why."""

    card: Card
    entry: Entry
    letters: Mapping[str, ResolvedLetter]
    missing: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    hypotheses: tuple[Hypothesis, ...] = ()

    @property
    def readings(self) -> tuple[str, ...]:
        """Labels of the named readings that any letter leans on; every verdict row carries them."""
        return tuple(dict.fromkeys(label for letter in self.letters.values() for label in letter.readings))

    @property
    def reading(self) -> str | None:
        """The labels as one text, None if the print itself was enough."""
        return "; ".join(self.readings) or None

    @property
    def parameters(self) -> dict[str, float | int]:
        """Letter -> number, as a solver takes them."""
        return {name: letter.run for name, letter in self.letters.items()}

    def precise_parameters(self) -> dict[str, Fraction]:
        """Chosen letters that are no integers, as rationals with all bits of their formula: for runs in many digits."""
        found: dict[str, Any] = {}
        for name, letter in self.letters.items():
            if letter.chosen and not isinstance(letter.run, int):
                used = letter.for_check
                found[name] = used if isinstance(used, Fraction) else exact.rational(letter.scalar)
        return found

    def scalars(self) -> dict[str, Scalar]:
        """Letter -> enclosure for a check."""
        return {name: letter.for_check for name, letter in self.letters.items()}

    def value(self, node: tree.Node | Expression) -> Scalar:
        """Enclosure of a formula in these letters."""
        with precision(exact.BITS):
            return Formula(self.scalars()).value(_tree(node))

    def answer(self, node: tree.Node | Expression) -> bool | None:
        """Whether a condition in these letters holds."""
        with precision(exact.BITS):
            return Formula(self.scalars()).answer(_tree(node))

    def need(self, names: Iterable[str]) -> None:
        """Insist on letters.

        Raises
        ------
        ParameterError : names every missing letter and what would supply it.
        """
        absent = [name for name in names if name not in self.letters]
        if absent:
            raise ParameterError(f"{self.card.key}/{self.entry.id}: {self.why_missing(absent)}")

    def why_missing(self, names: Iterable[str]) -> str:
        """Why letters have no number: the first causes alone, not everything that rests on them."""
        given = {name: self.missing.get(name, "no formula, no value") for name in names}
        everything = " ".join(given.values())
        roots = {name: why for name, why in given.items() if NEEDS not in why}
        roots |= {n: why for n, why in self.missing.items() if NEEDS not in why and f"{NEEDS}{n} (" in everything}
        causes = "; ".join(f"{name}: {why}" for name, why in sorted((roots or given).items()))
        resting = ", ".join(name for name in given if name not in roots)
        zero = ", ".join(
            f"{name} = 0"
            for name, letter in self.letters.items()
            if letter.value == 0 and not letter.formula and not self._is_curvature(name)
        )
        hint = (
            f" ({zero}; a larger bound is valid too, give it in values=)"
            if zero and ("zero" in causes or "may be 0" in causes)
            else ""
        )
        return causes + hint + (f"; without it no {resting}" if roots and resting else "")

    def _is_curvature(self, name: str) -> bool:
        """A constant that bounds from below: nothing larger is a valid bound of it."""
        spec = self.card.letters.get(name)
        if spec is None or spec.definition is None:
            return (spec.called or name if spec else name) == "mu"
        return spec.definition.names[name].measure in ("strong convexity", "Polyak-Lojasiewicz")


def _tree(node: tree.Node | Expression) -> tree.Node:
    return node.tree if isinstance(node, Expression) else node


def by_hand(name: str, value: object) -> tuple[Scalar, Certainty]:
    """The number that a letter was given; an error names the letter."""
    try:
        return scalar_of(value)
    except ParameterError as error:
        raise ParameterError(f"{name}, given by hand: {error}") from None


def scalar_of(value: Any) -> tuple[Scalar, Certainty]:
    """A number of any kind as an enclosure: int, Fraction, float (its decimal), text, (lo, hi), Enclosure, Constant.

    A float stands for the shortest decimal that prints as it, so that ``1e-4`` is one ten-thousandth.

    Raises
    ------
    ParameterError : not a number, or NaN.
    """
    if isinstance(value, str):
        try:
            scalar = Formula({}).value(parse(value))
        except KeyError as error:
            raise ParameterError(f"{value!r} is not a number: {error.args[0]} has no value") from None
        return scalar, "proved" if isinstance(scalar, Fraction) else "certified"
    if hasattr(value, "certainty") and hasattr(value, "error"):
        return exact.hull(_decimal_free(value.lower), _decimal_free(value.upper)), value.certainty
    if hasattr(value, "certified") and hasattr(value, "side"):
        return _of_constant(value)
    if isinstance(value, tuple) and len(value) == 2:
        (low, first), (high, second) = scalar_of(value[0]), scalar_of(value[1])
        return exact.hull(low, high), weakest("certified", first, second)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        rational = getattr(value, "p", None), getattr(value, "q", None)
        if all(isinstance(part, int) for part in rational):
            return Fraction(*rational), "proved"  # type: ignore[arg-type]
        raise ParameterError(f"{value!r} is not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ParameterError(f"{value!r} is not a finite number")
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value), "proved"


def _decimal_free(value: float) -> Fraction:
    if not math.isfinite(value):
        raise ParameterError("infinite, so nothing can be derived from it")
    return Fraction(value)


def _of_constant(value: Constant) -> tuple[Scalar, Certainty]:
    """A constant enters with its safe end: any valid bound is a legitimate value of the letter."""
    number = value.exact if value.exact is not None and getattr(value.exact, "is_Rational", False) else None
    certainty: Certainty = "certified" if value.certified else ("sampled" if value.route == "sampling" else "computed")
    if number is not None and value.attained:
        return Fraction(int(number.p), int(number.q)), "proved" if value.certified else certainty
    if not math.isfinite(value.value):
        raise ParameterError(f"infinite on this domain ({value.domain})")
    return Fraction(float(value.value)), certainty
