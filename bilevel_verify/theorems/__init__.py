"""What was promised: cards of papers as data, their parameters resolved for an instance, their algorithms read."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bilevel_verify.theorems.card import (
    Algorithm,
    Card,
    Claim,
    Definition,
    Derivation,
    Domain,
    Entry,
    Expression,
    FunctionSpec,
    Identity,
    Inequality,
    LetterSpec,
    Link,
    Reading,
    Refuted,
    Root,
    Settings,
    Statement,
    Step,
    TableRow,
)

if TYPE_CHECKING:
    from bilevel_verify.theorems.shelf import (
        CardRecord,
        StatementRecord,
        card,
        cards,
        checks_of,
        find_statement,
        load_card,
        statements,
        theory_directory,
    )

__all__ = [
    "Algorithm",
    "Card",
    "CardRecord",
    "Claim",
    "Definition",
    "Derivation",
    "Domain",
    "Entry",
    "Expression",
    "FunctionSpec",
    "Identity",
    "Inequality",
    "LetterSpec",
    "Link",
    "Reading",
    "Refuted",
    "Root",
    "Settings",
    "Statement",
    "StatementRecord",
    "Step",
    "TableRow",
    "card",
    "cards",
    "checks_of",
    "find_statement",
    "load_card",
    "statements",
    "theory_directory",
]

_SHELF = frozenset(
    "CardRecord StatementRecord card cards checks_of find_statement load_card statements theory_directory".split()
)


def __getattr__(name: str) -> Any:
    """The shelf reads cards: it is loaded when one is asked for."""
    if name not in _SHELF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module("bilevel_verify.theorems.shelf"), name)
    globals()[name] = value
    return value


globals().pop("card")  # the module of the data classes: the public name is the function of the shelf
