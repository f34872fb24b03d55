"""What may be written: the expression tree, its whitelist parser and its limits."""

from bilevel_verify.language.latex import letter_latex, to_latex
from bilevel_verify.language.parser import (
    CARD,
    PROBLEM,
    Limits,
    check_names,
    convert,
    instead_of,
    nearest,
    nearest_of,
    parse,
    some_of,
)
from bilevel_verify.language.text import to_text
from bilevel_verify.language.tree import Node, functions, letters

__all__ = [
    "CARD",
    "PROBLEM",
    "Limits",
    "Node",
    "check_names",
    "convert",
    "functions",
    "instead_of",
    "letter_latex",
    "letters",
    "nearest",
    "nearest_of",
    "parse",
    "some_of",
    "to_latex",
    "to_text",
]
