"""Letters of a statement for one instance: constants, truth, the user's numbers, then formulas in dependency order.

Every letter ends as a number for the run and an enclosure for the check. Letters that a statement's settings prescribe
are *chosen*: the run uses one float, and the check may know that it is exactly this float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any

from bilevel_verify.errors import MathematicalError, ParameterError, UnboundError
from bilevel_verify.language import tree
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.exact import Formula, Scalar
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card import Card, Entry
from bilevel_verify.theorems.card_parts import Definition, Expression, LetterSpec, Root
from bilevel_verify.theorems.letters.resolved import Hypothesis, Resolved, ResolvedLetter, by_hand, scalar_of
from bilevel_verify.theorems.letters.roots import loop_length, run_value, solve_root
from bilevel_verify.theorems.prescribed import formulas_of, included, is_order
from bilevel_verify.theorems.reading.declarations import letters_of
from bilevel_verify.theorems.rewrite import free_letters, order_of
from bilevel_verify.truth.arithmetic.enclosure import Certainty, weakest

Provider = Callable[[LetterSpec, Mapping[str, "ResolvedLetter"]], Any]
"""Value of a leaf letter (constants, truth, user, problem); KeyError or None where there is none."""


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
        if name in formulas and not is_order(formulas[name][0]):
            stack.extend(letters_of(formulas[name][0]))
        else:
            found.add(name)
            spec = card.letters.get(name)
            stack.extend(spec.needs if spec else ())
    return found & card.letters.keys()


def resolve(
    card: Card,
    entry: Entry | str,
    values: Mapping[str, object] | Provider,
    explicit: Mapping[str, object] | None = None,
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
    with precision(exact.BITS):
        return _Resolver(card, entry, values, dict(explicit or {}), readings).run(targets)


def needed_letters(card: Card, entry: Entry, explicit: Mapping[str, object], targets: Iterable[str]) -> list[str]:
    """The letters that :func:`resolve` would look at for these targets, each after what it needs."""
    return _Resolver(card, entry, {}, dict(explicit), None).order(set(targets))


class _Resolver:
    def __init__(
        self,
        card: Card,
        entry: Entry,
        values: Mapping[str, object] | Provider,
        explicit: dict[str, object],
        readings: Collection[str] | None,
    ) -> None:
        self.card, self.entry, self.explicit = card, entry, explicit
        self.formulas = formulas_of(card, entry, readings)
        self.provider: Provider = values if callable(values) else _from_mapping(values)
        self.letters: dict[str, ResolvedLetter] = {}
        self.missing: dict[str, str] = {}
        self.known_needs: dict[str, frozenset[str]] = {}

    def run(self, targets: Iterable[str] | None) -> Resolved:
        for name in self.explicit:
            self.give_explicit(name)
        wanted = set(self.card.letters) if targets is None else set(targets)
        for name in self.order(wanted):
            self.one(name)
        return Resolved(self.card, self.entry, self.letters, self.missing, self.hypotheses())

    def order(self, wanted: set[str]) -> list[str]:
        depends: dict[str, frozenset[str]] = {}
        stack = sorted(wanted)
        while stack:
            name = stack.pop()
            if name in depends or name in self.explicit:
                continue
            depends[name] = self.needs(name)
            stack.extend(sorted(depends[name]))
        return order_of(depends)

    def needs(self, name: str) -> frozenset[str]:
        """What a letter rests on; asked three times for each, and every answer walks through its formula."""
        if name not in self.known_needs:
            self.known_needs[name] = frozenset(self._needs(name))
        return self.known_needs[name]

    def _needs(self, name: str) -> set[str]:
        formula = self.formulas.get(name)
        if formula is not None and not is_order(formula[0]):
            return letters_of(formula[0]) - {"pi", "E", "oo"}
        spec = self.card.letters.get(name)
        if spec is None:
            return set()
        return set(spec.needs) | (free_letters(spec.default.tree) if spec.default else set())

    def give_explicit(self, name: str) -> None:
        scalar, certainty = by_hand(name, self.explicit[name])
        self.put(name, scalar, "explicit", certainty, chosen=True)

    def one(self, name: str) -> None:
        formula = self.formulas.get(name)
        if formula is None or is_order(formula[0]):
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
        except UnboundError as error:
            if error.args != ("oo",):  # every other letter has been looked for
                raise
            self.missing[name] = f"{definition.expression.text}: oo is no number"
            return
        except MathematicalError as error:
            self.missing[name] = f"{definition.expression.text}: {error}"
            return
        self.put(
            name,
            scalar,
            "reading" if label else ("settings" if chosen else "definition"),
            _certainty(scalar, used),
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
        used = [self.letters[n] for n in free_letters(default.tree) & self.letters.keys()]
        try:
            scalar = self.formula().value(default.tree)
        except MathematicalError as error:
            self.missing[name] = f"{default.text}: {error}"
            return
        self.put(name, scalar, "default", _certainty(scalar, used), chosen=True)

    def formula(self) -> Formula:
        return Formula({n: letter.for_check for n, letter in self.letters.items()})

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
        if isinstance(run, int) and run < 0 and source != "explicit":
            run, note = 0, f"{name} = {run}: no iteration is needed"
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
        places = [(f"settings {n}", self.card.settings[n].where) for n in included(self.card, self.entry.settings)]
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
            why = Resolved(self.card, self.entry, self.letters, self.missing, ()).why_missing(absent)
            return Hypothesis(condition.text, source, None, f"no value for {', '.join(absent)}: {why}")
        used = (self.letters[n].certainty for n in free_letters(condition.tree) & self.letters.keys())
        certainty = weakest("certified", *used)
        try:
            formula = self.formula()
            answer, margin = formula.answer(condition.tree), _margin(formula, condition.tree)
            return Hypothesis(condition.text, source, answer, "", margin, certainty)
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


def _certainty(scalar: Scalar, used: Iterable[ResolvedLetter]) -> Certainty:
    """Certainty of a formula: that of its letters, and of its own rounding."""
    return weakest("proved" if isinstance(scalar, Fraction) else "certified", *(letter.certainty for letter in used))


def _from_mapping(values: Mapping[str, object]) -> Provider:
    return lambda spec, known: values[spec.name]


def _margin(formula: Formula, node: tree.Node) -> float | None:
    """Relative slack of a simple comparison (positive where it holds)."""
    if not isinstance(node, tree.Compare) or len(node.operators) != 1 or node.operators[0] == "==":
        return None
    left, right = (exact.middle(formula.value(part)) for part in node.operands)
    size = max(abs(left), abs(right))
    gap = right - left if node.operators[0] in ("<", "<=") else left - right
    return gap / size if size > 0 and math.isfinite(size) else 0.0


__all__ = [
    "Hypothesis",
    "Resolved",
    "ResolvedLetter",
    "formulas_of",
    "leaves_of",
    "loop_length",
    "resolve",
    "scalar_of",
]
