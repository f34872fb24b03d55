"""Formulas that are typed in the card language or in LaTeX; the reader of LaTeX is loaded when it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bilevel_verify.language import CARD, Limits, parse, tree

if TYPE_CHECKING:
    from bilevel_verify.latex.notation import Notation

LOOKS_LIKE = re.compile(r"\\[A-Za-z|{]|[{}^]")


def is_latex(text: str) -> bool:
    """Whether a formula is typed in LaTeX: a command, a brace or a ``^`` is in it."""
    return isinstance(text, str) and LOOKS_LIKE.search(text) is not None


def parse_any(
    text: str, names: Iterable[str] = (), *, notation: Notation | None = None, limits: Limits = CARD
) -> tree.Node:
    """A formula in the expression language or in LaTeX, whichever it is typed in.

    Raises
    ------
    ExpressionError : it cannot be read; for LaTeX its kind :class:`LatexError`.
    """
    if not is_latex(text):
        return parse(text, limits=limits)
    from bilevel_verify.latex.read import FREE, read_formula

    return read_formula(text, names, notation=FREE if notation is None else notation)[0]
