"""LaTeX in, statements out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bilevel_verify.errors import LatexError
from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.cursor import Context, Cursor
from bilevel_verify.latex.grammar.operands import operand
from bilevel_verify.latex.grammar.statements import statements, top_items
from bilevel_verify.latex.notation import Notation
from bilevel_verify.latex.reading import Reading
from bilevel_verify.latex.source.macros import expand
from bilevel_verify.latex.source.structure import build
from bilevel_verify.latex.source.symbols import FONTS, SWITCHES
from bilevel_verify.latex.source.tokens import LIMITS, Limits, Source, Token

FREE = Notation()


def read_latex(
    source: str | Source, notation: Notation = FREE, *, macros: Mapping[str, str] | None = None, limits: Limits = LIMITS
) -> Reading:
    """Read a display or an inline formula.

    Parameters
    ----------
    source : LaTeX mathematics, with or without dollar signs; a text that was taken apart before is not again.
    notation : what its letters are.
    macros : definitions of the document, ``{"R": r"\\mathbb{R}"}``; ``#1`` stands for an argument.

    Raises
    ------
    LatexError : with line, column and a reason of the closed list :data:`REASONS`.
    """
    place = source if isinstance(source, Source) else Source(source, limits)
    source = place.text
    if macros:
        place = Source(expand(place, macros), limits)
    try:
        items = top_items(build(place, spelt(place, list(place.tokens), notation)))
        context = Context(place, notation, operand)
        found = statements(Cursor(context, items, 0, top=True))
    except RecursionError:
        raise LatexError("nested too deeply", "too large") from None
    except LatexError as error:
        raise _hinted(error, source) from None
    return Reading(found, source, notation, dict(context.displays))


def _hinted(error: LatexError, source: str) -> LatexError:
    """For text without a command, typed perhaps in the expression language: how a power is written there."""
    if "\\" in source or "{" in source or "^" not in source:
        return error
    message = f"write '**' for '^', which is a power in LaTeX only (as LaTeX: {error.message})"
    return LatexError(message, error.reason, error.line, error.column or 1, error.readings)


def spelt(source: Source, tokens: list[Token], notation: Notation) -> list[Token]:
    """Italic letters that spell a declared name before a bracket are that name: ``Gc(f,\\epsilon)``.

    Where letters name themselves, a run such as ``lam`` or ``sqrt(`` is a word of another language as likely as a
    product: ask.
    """
    words = notation.words
    out: list[Token] = []
    place = 0
    while place < len(tokens):
        if notation.options.get("habits") and place and tokens[place - 1].text in ("_", "^"):
            out.append(tokens[place])  # of ``p_kAp`` the first letter alone is the script
            place += 1
            continue
        run = place
        while run < len(tokens) and tokens[run].kind == "letter" and tokens[run].at == tokens[place].at + run - place:
            run += 1
        text = "".join(t.text for t in tokens[place:run])
        if text in words and run < len(tokens) and tokens[run].text in ("(", "_", "left"):
            out.append(Token("word", text, tokens[place].at))
        elif (
            len(text) > 1
            and not _set_apart(tokens, place)
            and (text in notation.names or (notation.free and len(text) > 2))
        ):
            readings = ("one name, written \\mathrm{...} or as a command", "a product, written with blanks")
            raise source.error("ambiguous", f"{text[:20]!r}", tokens[place].at, readings)
        else:
            out += tokens[place : max(run, place + 1)]
        place = max(run, place + 1)
    return out


def _set_apart(tokens: list[Token], place: int) -> bool:
    """Whether letters stand in a font or a subscript of their own: ``\\mathrm{AGD}``, ``{\\rm AGD}``, ``x_{int}``."""
    before = [t.text for t in tokens[max(place - 2, 0) : place]]
    return before[-1:] != [] and (before[-1] in SWITCHES or (before[-1] == "{" and before[0] in {*FONTS, "_"}))


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
