"""Numbers that a card gives a letter must lie in the range of the letter; formulas are left to the audit."""

from __future__ import annotations

from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers.exact import Formula, Scalar, compare, rounded
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.card_parts import Expression
from bilevel_verify.theorems.reading.fields import Place


def check_ranges(card: Card, place: Place) -> None:
    """Look at definitions, settings, parameters and local definitions.

    Raises
    ------
    CardError : a number outside; names the letter, its range and the number.
    """
    for name, definition in card.definitions.items():
        if isinstance(definition.value, Expression):
            _check_range(card, name, definition.value, place.at("[definitions]", name))
    for settings in card.settings.values():
        for name, definition in settings.parameters.items():
            if isinstance(definition.value, Expression):
                _check_range(card, name, definition.value, place.at(f"[settings.{settings.name}]", name))
    for entry in card.entries.values():
        inner = [(claim.id, claim.define) for claim in entry.claims] if isinstance(entry, Statement) else []
        prescribed = {n: d.value for n, d in entry.parameters.items() if isinstance(d.value, Expression)}
        for what, values in [("", entry.define), ("", prescribed), *inner]:
            for name, value in values.items():
                if name not in entry.for_:
                    here = place.at(entry.id, *([f'claim "{what}"'] if what else []), "define", name)
                    _check_range(card, name, value, here)


def _check_range(card: Card, name: str, value: Expression, place: Place) -> None:
    spec = card.letters.get(name)
    if spec is None or spec.domain is None or spec.domain.kind not in ("interval", "integers"):
        return
    number = _number(value)
    if number is None:
        return
    domain = spec.domain
    low, high = (None if end is None else _number(end) for end in (domain.lower, domain.upper))
    outside = [
        domain.kind == "integers" and compare(number, "==", rounded(number, up=False)) is False,
        low is not None and compare(number, ">=" if domain.lower_closed else ">", low) is False,
        high is not None and compare(number, "<=" if domain.upper_closed else "<", high) is False,
    ]
    if any(outside):
        raise place.fail(f"{value.text} is not in the range {domain} of {name}")


def _number(value: Expression) -> Scalar | None:
    """The value of an expression without letters; None for every other one."""
    try:
        return Formula({}).value(value.tree)
    except (MathematicalError, KeyError):
        return None
