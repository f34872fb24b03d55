"""LaTeX read with the letters of a card: ``bv.read``."""

from __future__ import annotations

from collections.abc import Mapping

from bilevel_verify.errors import InputError
from bilevel_verify.latex import Notation, Reading, read_latex
from bilevel_verify.theorems.card import Card
from bilevel_verify.theorems.library import load_card


def read(
    latex: str,
    letters: Card | Notation | Mapping[str, str] | str | None = None,
    *,
    macros: Mapping[str, str] | None = None,
) -> Reading:
    """Read LaTeX mathematics: a display or a formula, to the card language.

    Parameters
    ----------
    latex : the source, with or without dollar signs.
    letters : what its letters are: a card or the key of one, a :class:`Notation`, a mapping from name to LaTeX
        (``{"lam": r"\\lambda"}``); None: single letters are letters, scalars, and nothing is a function.
    macros : ``{"R": r"\\mathbb{R}"}``, the document's own commands; ``#1`` stands for an argument.

    Raises
    ------
    LatexError : with line, column and reason; an ambiguity with both readings.
    """
    return read_latex(latex, _notation(letters), macros=macros)


def _notation(letters: Card | Notation | Mapping[str, str] | str | None) -> Notation:
    if letters is None:
        return Notation()
    if isinstance(letters, Notation):
        return letters
    if isinstance(letters, Card):
        return letters.notation
    if isinstance(letters, str):
        return load_card(letters).notation
    if isinstance(letters, Mapping):
        return Notation.from_table({}).extended(letters)
    raise InputError(f"read: letters must be a card, a notation or a mapping, not {type(letters).__name__}")
