"""LaTeX in, statements out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex.cursor import Context, Cursor
from bilevel_verify.latex.macros import expand
from bilevel_verify.latex.notation import Notation
from bilevel_verify.latex.reading import Reading
from bilevel_verify.latex.statements import statements, top_items
from bilevel_verify.latex.structure import build
from bilevel_verify.latex.tokens import LIMITS, Limits, Source, Token, tokenize

FREE = Notation()
LOOKS_LIKE = re.compile(r"\\[A-Za-z|{]|[{}^]")


def is_latex(text: str) -> bool:
    """Whether a formula is typed in LaTeX: a command, a brace or a ``^`` is in it."""
    return isinstance(text, str) and LOOKS_LIKE.search(text) is not None


def read_latex(
    source: str, notation: Notation = FREE, *, macros: Mapping[str, str] | None = None, limits: Limits = LIMITS
) -> Reading:
    """Read a display or an inline formula.

    Parameters
    ----------
    source : LaTeX mathematics, with or without dollar signs.
    notation : what its letters are.
    macros : definitions of the document, ``{"R": r"\\mathbb{R}"}``; ``#1`` stands for an argument.

    Raises
    ------
    LatexError : with line, column and a reason of the closed list :data:`REASONS`.
    """
    place = Source(source, limits)
    if macros:
        place = Source(expand(place, macros), limits)
    try:
        items = top_items(build(place, _spelt(tokenize(place), notation.words)))
        context = Context(place, notation)
        found = statements(Cursor(context, items, 0, top=True))
    except RecursionError:
        raise LatexError("nested too deeply", "too large") from None
    return Reading(found, source, notation, dict(context.displays))


def _spelt(tokens: list[Token], words: tuple[str, ...]) -> list[Token]:
    """Italic letters that spell a declared name before a bracket are that name: ``Gc(f,\\epsilon)``."""
    if not words:
        return tokens
    out: list[Token] = []
    place = 0
    while place < len(tokens):
        run = place
        while run < len(tokens) and tokens[run].kind == "letter" and tokens[run].at == tokens[place].at + run - place:
            run += 1
        text = "".join(t.text for t in tokens[place:run])
        follows = run < len(tokens) and tokens[run].text in ("(", "_", "left")
        if follows and text in words:
            out.append(Token("word", text, tokens[place].at))
            place = run
        else:
            out += tokens[place : max(run, place + 1)]
            place = max(run, place + 1)
    return out


def read_formula(
    source: str, names: Iterable[str] = (), *, closed: bool = False, notation: Notation = FREE
) -> tuple[tree.Node, Reading]:
    """Read one formula of the expression language, with the names that its letters may have.

    Conditions after it are refused: a formula stands alone here.

    Raises
    ------
    LatexError : it cannot be read, is more than one formula, or has a relation that the language does not have.
    """
    reading = read_latex(source, notation.with_names(names, closed=closed))
    if reading.statements[0].conditions:
        raise LatexError("a condition after the formula; give it apart", "syntax")
    return reading.tree, reading
