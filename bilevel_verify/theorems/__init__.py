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
    from bilevel_verify.theorems.library import (
        CardRecord,
        StatementRecord,
        card,
        cards,
        checks_of,
        find_statement,
        load_card,
        statements,
    )
    from bilevel_verify.theorems.notation import read

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
    "read",
    "statements",
]

_LATER = dict.fromkeys(
    "CardRecord StatementRecord card cards checks_of find_statement load_card statements".split(),
    "library",
) | {"read": "notation"}


def __getattr__(name: str) -> Any:
    """What reads cards and LaTeX is loaded when it is asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"bilevel_verify.theorems.{_LATER[name]}"), name)
    globals()[name] = value
    return value


globals().pop("card")  # the module of the data classes: the public name is the function of the library
