"""What a card prescribes for the letters of a statement: the definitions in force, readings included."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bilevel_verify.theorems.card import Card, Entry, Statement
from bilevel_verify.theorems.card_parts import Definition
from bilevel_verify.theorems.rewrite import has_order


def formulas_of(
    card: Card, entry: Entry, readings: Collection[str] | None = None
) -> dict[str, tuple[Definition, str, bool]]:
    """Letter -> (definition in force, label of its reading, prescribed by settings) for a statement.

    Order of precedence: the statement's own parameters, its settings, the definitions of the card; a formula with an
    order symbol gives way to a reading.
    """
    layers: list[tuple[Mapping[str, Definition], str, bool]] = [(card.definitions, "", False)]
    for name in included(card, entry.settings):
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
            if present is None or is_order(present[0]) or reading.literal:
                found[letter] = (definition, reading.label, present[2] if present else False)
    return found


def included(card: Card, names: Iterable[str]) -> list[str]:
    """Settings with those that they include, included ones first."""
    found: list[str] = []
    for name in names:
        for inner in (*included(card, card.settings[name].includes), name):
            if inner not in found:
                found.append(inner)
    return found


def is_order(definition: Definition) -> bool:
    """Whether a definition says how a letter grows and not what it is."""
    return has_order(definition.expression.tree)
