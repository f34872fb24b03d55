"""Letters of a statement for one instance: constants, truth, the user's numbers, then formulas in dependency order.

Every letter ends as a number for the run and an enclosure for the check. Letters that a statement's settings prescribe
are *chosen*: the run uses one float, and the check may know that it is exactly this float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.language import parse, tree
from bilevel_verify.theorems import exact
from bilevel_verify.theorems.card import ORDER_SYMBOLS, Card, Definition, Entry, Expression, LetterSpec, Root, Statement
from bilevel_verify.theorems.desk import letters_of
from bilevel_verify.theorems.exact import Formula, Scalar
from bilevel_verify.theorems.rewrite import free_letters, order_of
from bilevel_verify.truth.enclosure import Certainty, weakest

NARROW = 1e-9
"""Relative width below which the enclosure of a chosen parameter is its rounding, not ignorance."""
INTEGER_SLACK = Fraction(1, 10**9)
"""A loop limit this close (relatively) to an integer is that integer."""

Provider = Callable[[LetterSpec, Mapping[str, "ResolvedLetter"]], Any]
"""Value of a leaf letter (constants, truth, user, problem); KeyError or None where there is none."""


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

    def precise_parameters(self) -> dict[str, Any]:
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
        with exact.precision():
            return Formula(self.scalars()).value(_tree(node))

    def answer(self, node: tree.Node | Expression) -> bool | None:
        """Whether a condition in these letters holds."""
        with exact.precision():
            return Formula(self.scalars()).answer(_tree(node))

    def need(self, names: Iterable[str]) -> None:
        """Insist on letters.

        Raises
        ------
        ParameterError : names every missing letter and what would supply it.
        """
        absent = [name for name in names if name not in self.letters]
        if absent:
            why = "; ".join(f"{name}: {self.missing.get(name, 'no formula, no value')}" for name in absent)
            raise ParameterError(f"{self.card.key}/{self.entry.id}: {why}")


def _tree(node: tree.Node | Expression) -> tree.Node:
    return node.tree if isinstance(node, Expression) else node


def scalar_of(value: Any) -> tuple[Scalar, Certainty]:
    """A number of any kind as an enclosure: int, Fraction, float (its decimal), text, (lo, hi), Enclosure, Constant.

    A float stands for the shortest decimal that prints as it, so that ``1e-4`` is one ten-thousandth.

    Raises
    ------
    ParameterError : not a number, or NaN.
    """
    if isinstance(value, str):
        return Formula({}).value(parse(value)), "proved"
    if hasattr(value, "certainty") and hasattr(value, "error"):
        return exact.hull(_decimal_free(value.lower), _decimal_free(value.upper)), value.certainty
    if hasattr(value, "certified") and hasattr(value, "side"):
        return _of_constant(value)
    if isinstance(value, tuple) and len(value) == 2:
        return exact.hull(scalar_of(value[0])[0], scalar_of(value[1])[0]), "certified"
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


def _of_constant(value: Any) -> tuple[Scalar, Certainty]:
    """A constant enters with its safe end: any valid bound is a legitimate value of the letter."""
    number = value.exact if value.exact is not None and getattr(value.exact, "is_Rational", False) else None
    certainty: Certainty = "certified" if value.certified else ("sampled" if value.route == "sampling" else "computed")
    if number is not None and value.attained:
        return Fraction(int(number.p), int(number.q)), "proved" if value.certified else certainty
    if not math.isfinite(value.value):
        raise ParameterError(f"infinite on this domain ({value.domain})")
    return Fraction(float(value.value)), certainty


def formulas_of(
    card: Card, entry: Entry, readings: Collection[str] | None = None
) -> dict[str, tuple[Definition, str, bool]]:
    """Letter -> (definition in force, label of its reading, prescribed by settings) for a statement.

    Order of precedence: the statement's own parameters, its settings, the definitions of the card; a formula with an
    order symbol gives way to a reading.
    """
    layers: list[tuple[Mapping[str, Definition], str, bool]] = [(card.definitions, "", False)]
    for name in _included(card, entry.settings):
        layers.append((card.settings[name].parameters, "", True))
    layers.append((entry.parameters, "", True))
    found: dict[str, tuple[Definition, str, bool]] = {}
    for parameters, label, chosen in layers:
        found |= {name: (definition, label, chosen) for name, definition in parameters.items()}
    names = entry.readings if readings is None and isinstance(entry, Statement) else tuple(readings or ())
    for name in names:
        reading = card.readings[name]
        for letter, definition in reading.parameters.items():
            present = found.get(letter)
            if present is None or _is_order(present[0]) or reading.literal:
                found[letter] = (definition, reading.label, present[2] if present else False)
    return found


def _included(card: Card, names: Iterable[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        for inner in (*_included(card, card.settings[name].includes), name):
            if inner not in found:
                found.append(inner)
    return found


def _is_order(definition: Definition) -> bool:
    return any(
        isinstance(part, tree.Call) and part.function in ORDER_SYMBOLS for part in definition.expression.tree.walk()
    )


def leaves_of(
    card: Card,
    entry: Entry,
    targets: Iterable[str],
    explicit: Collection[str] = (),
    readings: Collection[str] | None = None,
) -> set[str]:
    """Letters that must come from the instance (constants, truth, user ...) so that the targets get numbers."""
    formulas = formulas_of(card, entry, readings)
    found: set[str] = set()
    stack, seen = list(targets), set()
    while stack:
        name = stack.pop()
        if name in seen or name in explicit:
            continue
        seen.add(name)
        if name in formulas and not _is_order(formulas[name][0]):
            stack.extend(letters_of(formulas[name][0]))
        else:
            found.add(name)
            spec = card.letters.get(name)
            stack.extend(spec.needs if spec else ())
    return found & card.letters.keys()


def resolve(
    card: Card,
    entry: Entry | str,
    values: Mapping[str, Any] | Provider,
    explicit: Mapping[str, Any] | None = None,
    readings: Collection[str] | None = None,
    targets: Iterable[str] | None = None,
) -> Resolved:
    """Give every letter of a statement a number and an enclosure.

    Parameters
    ----------
    values : leaf letters (constants, truth, user): a mapping, or a function asked only for what is needed.
    explicit : letters given by the user; they win over formulas.
    readings : names of readings to use; those of the statement by default.
    targets : letters that matter (with what they need); all letters that have a value by default.
    """
    if isinstance(entry, str):
        entry = card.entries[entry]
    with exact.precision():
        return _Resolver(card, entry, values, dict(explicit or {}), readings).run(targets)


class _Resolver:
    def __init__(
        self,
        card: Card,
        entry: Entry,
        values: Mapping[str, Any] | Provider,
        explicit: dict[str, Any],
        readings: Collection[str] | None,
    ) -> None:
        self.card, self.entry, self.explicit = card, entry, explicit
        self.formulas = formulas_of(card, entry, readings)
        self.provider: Provider = values if callable(values) else _from_mapping(values)
        self.letters: dict[str, ResolvedLetter] = {}
        self.missing: dict[str, str] = {}

    def run(self, targets: Iterable[str] | None) -> Resolved:
        for name in self.explicit:
            self.give_explicit(name)
        wanted = set(self.card.letters) if targets is None else set(targets)
        for name in self.order(wanted):
            if name not in self.letters:
                self.one(name)
        return Resolved(self.card, self.entry, self.letters, self.missing, self.hypotheses())

    def order(self, wanted: set[str]) -> list[str]:
        depends: dict[str, set[str]] = {}
        stack = sorted(wanted)
        while stack:
            name = stack.pop()
            if name in depends or name in self.explicit:
                continue
            depends[name] = self.needs(name)
            stack.extend(sorted(depends[name]))
        return order_of(depends)

    def needs(self, name: str) -> set[str]:
        formula = self.formulas.get(name)
        if formula is not None and not _is_order(formula[0]):
            return letters_of(formula[0]) - {"pi", "E", "oo"}
        spec = self.card.letters.get(name)
        if spec is None:
            return set()
        return set(spec.needs) | (free_letters(spec.default.tree) if spec.default else set())

    def give_explicit(self, name: str) -> None:
        scalar, certainty = scalar_of(self.explicit[name])
        self.put(name, scalar, "explicit", certainty, chosen=True)

    def one(self, name: str) -> None:
        formula = self.formulas.get(name)
        if formula is None or _is_order(formula[0]):
            self.leaf(name, order=formula is not None)
            return
        definition, label, chosen = formula
        absent = sorted(n for n in self.needs(name) if n not in self.letters)
        if absent:
            self.missing[name] = "; ".join(f"needs {n} ({self.missing.get(n, 'no value')})" for n in absent)
            return
        used = [self.letters[n] for n in self.needs(name)]
        labels = dict.fromkeys([part for letter in used for part in letter.readings] + ([label] if label else []))
        try:
            scalar = self.evaluate(definition)
        except MathematicalError as error:
            self.missing[name] = f"{definition.expression.text}: {error}"
            return
        self.put(
            name,
            scalar,
            "reading" if label else ("settings" if chosen else "definition"),
            weakest("proved" if isinstance(scalar, Fraction) else "certified", *(u.certainty for u in used)),
            chosen=chosen,
            readings=tuple(labels),
            definition=definition,
        )

    def leaf(self, name: str, order: bool) -> None:
        spec = self.card.letters.get(name)
        if spec is not None and spec.source == "settings" and spec.default is not None:
            self.default(name, spec.default)
            return
        if spec is None or spec.source in ("settings", "run"):
            self.missing[name] = (
                "the print has an order symbol; no reading gives a number" if order else "no formula, no value"
            )
            return
        absent = [n for n in spec.needs if n not in self.letters]
        if absent:
            self.missing[name] = f"needs {', '.join(absent)}"
            return
        try:
            value = self.provider(spec, self.letters)
            if value is None:
                raise KeyError(name)
            scalar, certainty = scalar_of(value)
        except KeyError:
            if spec.default is not None:
                self.default(name, spec.default)
                return
            self.missing[name] = f"no value from {spec.source}"
            return
        except (ParameterError, MathematicalError) as error:
            self.missing[name] = str(error)
            return
        self.put(name, scalar, spec.source, certainty)

    def default(self, name: str, default: Expression) -> None:
        """The value a card names for a letter that nobody gave."""
        absent = sorted(free_letters(default.tree) - self.letters.keys() - {"pi", "E"})
        if absent:
            self.missing[name] = f"needs {', '.join(absent)}"
            return
        used = [self.letters[n].certainty for n in free_letters(default.tree) & self.letters.keys()]
        try:
            self.put(name, self.formula().value(default.tree), "default", weakest(*used), chosen=True)
        except MathematicalError as error:
            self.missing[name] = f"{default.text}: {error}"

    def formula(self, more: Mapping[str, Scalar] | None = None) -> Formula:
        return Formula({**{n: letter.for_check for n, letter in self.letters.items()}, **(more or {})})

    def evaluate(self, definition: Definition) -> Scalar:
        if isinstance(definition.value, Root):
            return solve_root(definition.name, definition.value, self.formula().letters)
        return self.formula().value(definition.value.tree)

    def put(
        self,
        name: str,
        scalar: Scalar,
        source: str,
        certainty: Certainty,
        chosen: bool = False,
        readings: tuple[str, ...] = (),
        definition: Definition | None = None,
    ) -> None:
        lower, upper = exact.ends(scalar)
        if not (math.isfinite(lower) and math.isfinite(upper)):
            self.missing[name] = "not finite"
            return
        side = definition.side if definition else "middle"
        value = {"lower": lower, "upper": upper}.get(side, exact.middle(scalar))
        spec = self.card.letters.get(name)
        run, note = run_value(scalar, value, spec)
        self.letters[name] = ResolvedLetter(
            name=name,
            value=value,
            run=run,
            lower=lower,
            upper=upper,
            scalar=scalar,
            source=source,
            certainty=certainty,
            readings=readings,
            formula=definition.expression.text if definition else "",
            printed=definition.printed if definition else "",
            chosen=chosen,
            note=note,
        )

    def hypotheses(self) -> tuple[Hypothesis, ...]:
        places = [(f"settings {n}", self.card.settings[n].where) for n in _included(self.card, self.entry.settings)]
        places.append((self.entry.id, self.entry.where))
        found = [self.hypothesis(condition, source) for source, where in places for condition in where]
        for name, letter in self.letters.items():
            spec = self.card.letters.get(name)
            if letter.source in ("explicit", "user", "settings", "reading") and spec is not None:
                found.extend(self.domain(spec))
        return tuple(found)

    def hypothesis(self, condition: Expression, source: str) -> Hypothesis:
        absent = sorted(free_letters(condition.tree) - self.letters.keys() - {"pi", "E"})
        if absent:
            return Hypothesis(condition.text, source, None, f"no value for {', '.join(absent)}")
        try:
            formula = self.formula()
            return Hypothesis(
                condition.text, source, formula.answer(condition.tree), "", _margin(formula, condition.tree)
            )
        except MathematicalError as error:
            return Hypothesis(condition.text, source, None, str(error))

    def domain(self, spec: LetterSpec) -> list[Hypothesis]:
        domain = spec.domain
        if domain is None or domain.kind not in ("interval", "integers"):
            return []
        conditions = []
        for end, sign in (
            (domain.lower, ">=" if domain.lower_closed else ">"),
            (domain.upper, "<=" if domain.upper_closed else "<"),
        ):
            if end is not None and "oo" not in free_letters(end.tree):
                node = tree.Compare((tree.Letter(spec.name), end.tree), (sign,))
                conditions.append(
                    self.hypothesis(Expression(node, f"{spec.name} {sign} {end.text}"), "range of the letter")
                )
        return conditions


def _from_mapping(values: Mapping[str, Any]) -> Provider:
    return lambda spec, known: values[spec.name]


def _margin(formula: Formula, node: tree.Node) -> float | None:
    """Relative slack of a simple comparison (positive where it holds)."""
    if not isinstance(node, tree.Compare) or len(node.operators) != 1 or node.operators[0] == "==":
        return None
    left, right = (exact.middle(formula.value(part)) for part in node.operands)
    size = max(abs(left), abs(right))
    gap = right - left if node.operators[0] in ("<", "<=") else left - right
    return gap / size if size > 0 and math.isfinite(size) else 0.0


def run_value(scalar: Scalar, value: float, spec: LetterSpec | None) -> tuple[float | int, str]:
    """What a solver gets for a letter: a float, or the integer that a loop really produces."""
    if spec is None:
        return value, ""
    if spec.rounding == "up":
        return loop_length(scalar, spec.name)
    if spec.domain is not None and spec.domain.kind == "integers":
        top = scalar if isinstance(scalar, Fraction) else Fraction(value)
        return round(top), ""
    return value, ""


def loop_length(scalar: Scalar, name: str = "K") -> tuple[int, str]:
    """How often ``while k < K`` runs for a real K: ceil(K), and K itself if it is an integer up to rounding."""
    middle = scalar if isinstance(scalar, Fraction) else Fraction(exact.middle(scalar))
    near = round(middle)
    if abs(middle - near) <= INTEGER_SLACK * max(1, abs(near)) and near >= 1:
        exactly = isinstance(scalar, Fraction) and scalar == near
        return near, "" if exactly else f"{name} is {near} up to rounding"
    up = math.ceil(middle)
    return up, f"{name} = {float(middle):.6g} is no integer; the loop runs {up} times"


def solve_root(name: str, root: Root, letters: Mapping[str, Scalar]) -> Scalar:
    """Enclosure of the only zero of an increasing function in its bracket, by bisection with certified signs.

    Raises
    ------
    MathematicalError : the bracket does not show a change of sign.
    """

    def sign(at: Fraction) -> int:
        local = {**letters, name: at}
        for key in order_of({k: free_letters(e.tree) for k, e in root.define.items()}):
            local[key] = Formula(local).value(root.define[key].tree)
        value = Formula(local).value(root.equation.tree)
        return 1 if exact.compare(value, ">", Fraction(0)) else -1 if exact.compare(value, "<", Fraction(0)) else 0

    formula = Formula(letters)
    low = Fraction(exact.ends(formula.value(root.between[0].tree))[0])
    high = Fraction(exact.ends(formula.value(root.between[1].tree))[1])
    if sign(low) > 0 or sign(high) < 0:
        raise MathematicalError(f"no change of sign between {float(low):.6g} and {float(high):.6g}")
    return _bisect(sign, low, high)


def _bisect(sign: Callable[[Fraction], int], low: Fraction, high: Fraction) -> Scalar:
    """Shrink until the width is below 2**-90 of the root or the signs are no longer certain."""
    if sign(low) == 0 and low == high:
        return low
    for _ in range(400):
        if high - low <= abs(high) / 2**90:
            break
        at = _simple_middle(low, high)
        found = sign(at)
        if found == 0:
            quarter = (high - low) / 4
            if sign(low + quarter) < 0 and sign(high - quarter) > 0:
                low, high = low + quarter, high - quarter
                continue
            break
        low, high = (at, high) if found < 0 else (low, at)
    return exact.hull(low, high)


def _simple_middle(low: Fraction, high: Fraction) -> Fraction:
    """A dyadic number near the middle, so that bisection does not grow denominators."""
    width = high - low
    bits = max(0, width.denominator.bit_length() - width.numerator.bit_length() + 3)
    scale = 2**bits
    return Fraction(round((low + high) / 2 * scale), scale)
