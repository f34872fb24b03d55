"""LaTeX mathematics to the card language: what a paper prints, read with its declared notation."""

from typing import TYPE_CHECKING

from bilevel_verify.first_use import on_first_use
from bilevel_verify.latex.typed import is_latex, parse_any

if TYPE_CHECKING:
    from bilevel_verify.latex.notation import Entry, Notation
    from bilevel_verify.latex.read import read_formula, read_latex
    from bilevel_verify.latex.reading import Reading
    from bilevel_verify.latex.source.symbols import REASONS
    from bilevel_verify.latex.statements import Goal, Relation, Statement

__all__ = [
    "REASONS",
    "Entry",
    "Goal",
    "Notation",
    "Reading",
    "Relation",
    "Statement",
    "is_latex",
    "parse_any",
    "read_formula",
    "read_latex",
]

_HOMES = {
    "notation": "Entry Notation",
    "read": "read_formula read_latex",
    "reading": "Reading",
    "source.symbols": "REASONS",
    "statements": "Goal Relation Statement",
}

__getattr__ = on_first_use(__name__, _HOMES)
