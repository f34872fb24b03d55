"""Formulas inside running text: ``H_nu**(-1/(2+2 nu_f))`` in a reason is set as a formula, all else is escaped."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import parse, to_latex
from bilevel_verify.reporting.typesetting.inline import pieces_of
from bilevel_verify.reporting.typesetting.inline_grammar import SIGNS
from bilevel_verify.reporting.typesetting.mathml import mixed_to_html, to_mathml

_SIGN = re.compile(r"(<=|>=|==|<|>|=)?\s*(.*)", re.S)
LONGEST = 4000


@lru_cache(maxsize=4096)
def expression(text: str) -> str:
    """A formula of the card language as MathML; as escaped code where it is not understood."""
    found = _set(text)
    return f"<code>{escape(text)}</code>" if found is None else found


@lru_cache(maxsize=4096)
def prose(text: str) -> str:
    """Running text with its formulas set: those between dollar signs, or else all that :mod:`.inline` takes for one."""
    if "$" in text:
        return mixed_to_html(text)
    return "".join(to_mathml(part) if formula else escape(_signed(part)) for formula, part in _pieces(text))


def prose_markdown(text: str) -> str:
    """The same text for Markdown, formulas between dollar signs."""
    if "$" in text:
        return text
    return "".join(f"${part}$" if formula else part for formula, part in _pieces(text))


def capital(sentence: str) -> str:
    """A sentence with a capital letter, unless it begins with a formula: ``theta_i < 1`` is no ``Theta_i < 1``."""
    formula = any(piece.start == 0 for piece in pieces_of(sentence[:LONGEST]))
    word = re.match(r"[a-z]+(?![\w^(*])", sentence)
    return sentence if formula or word is None else sentence[:1].upper() + sentence[1:]


def _signed(words: str) -> str:
    """Words with the signs of relations as they are printed."""
    return re.sub(r"(?<=\s)([<>])=(?=[\s;,.:)]|$)", lambda m: "≤" if m[1] == "<" else "≥", words)


def _pieces(text: str) -> list[tuple[bool, str]]:
    """The text cut into formulas, as LaTeX, and words."""
    out: list[tuple[bool, str]] = []
    done = 0
    for piece in pieces_of(text) if len(text) <= LONGEST else ():
        out += [(False, text[done : piece.start]), (True, piece.latex)]
        done = piece.end
    return [*out, (False, text[done:])]


def _set(text: str) -> str | None:
    """A formula, or the right side of a relation with its sign, as MathML."""
    sign, rest = _SIGN.fullmatch(text.strip()).groups()  # type: ignore[union-attr]  # it matches every text
    found = latex_of(rest)
    return None if found is None else to_mathml(f"{SIGNS[sign]} {found}" if sign else found)


def latex_of(text: str) -> str | None:
    """A formula of the card language as LaTeX; None where it is not understood."""
    try:
        return to_latex(parse(text))
    except (BilevelVerifyError, RecursionError, ValueError, TypeError, KeyError):
        return None
