"""What was promised: cards of papers as data, their parameters resolved for an instance, their algorithms read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bilevel_verify.first_use import on_first_use
from bilevel_verify.theorems.card import (
    Algorithm,
    Card,
    Claim,
    Derivation,
    Entry,
    Identity,
    Inequality,
    Statement,
    Step,
    TableRow,
)
from bilevel_verify.theorems.card_parts import (
    Definition,
    Domain,
    Expression,
    FunctionSpec,
    LetterSpec,
    Link,
    Reading,
    Refuted,
    Root,
    Settings,
)

if TYPE_CHECKING:
    from bilevel_verify.theorems.latex_reading import read
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

_LIBRARY = "CardRecord StatementRecord card cards checks_of find_statement load_card statements"


__getattr__ = on_first_use(__name__, {"library": _LIBRARY, "latex_reading": "read"})  # they read cards and LaTeX


globals().pop("card")  # the module of the data classes: the public name is the function of the library
