"""LaTeX mathematics to the card language: what a paper prints, read with its declared notation."""

from bilevel_verify.latex.notation import Entry, Notation
from bilevel_verify.latex.read import is_latex, parse_any, read_formula, read_latex
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
