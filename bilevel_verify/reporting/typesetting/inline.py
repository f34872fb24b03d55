"""Formulas as running text has them: ``eta/8 |a+e|^2``, ``O(Delta sqrt(rho) chi^5 eps^(-3/2))``, ``x_{t,k}``.

A grammar for the eye alone: it decides how a piece of a sentence is set, never what it means. A word is no letter; what
does not fit the grammar stays text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bilevel_verify.reporting.typesetting.inline_grammar import NoFormula, Reader
from bilevel_verify.reporting.typesetting.inline_words import ARTICLES, Token, tokens_of

CURVATURE = re.compile(r"\|([fg]):([xyz]{1,4})\|")
ADJECTIVE = re.compile(r"-(?:[A-Z][a-z]+|strongly|smooth|stationary|th|part|block|term|update)\b")
WIDEST = 90
"""Letters of the longest formula among words: a longer one stays text, which can break."""
LABELLED = re.compile(r"(?:Lemma|Theorem|Section|Appendix|Assumption|Algorithm|Table|Figure|Part|Proof|Case)s?\s\Z")


@dataclass(frozen=True, slots=True)
class Piece:
    """A formula of a text: where it stands, and its LaTeX."""

    start: int
    end: int
    latex: str


def pieces_of(text: str) -> list[Piece]:
    """The formulas of a text from left to right, each as long as the grammar allows."""
    tokens, found, at = tokens_of(text), [], 0
    while at < len(tokens):
        piece, at = _read(text, tokens, at)
        found += [piece] if piece is not None else []
    return found


def _read(text: str, tokens: list[Token], at: int) -> tuple[Piece | None, int]:
    """The formula that starts at a token, or None, and the token from which to go on."""
    first = tokens[at]
    curvature = CURVATURE.match(text, first.start)
    if curvature is not None:
        behind = next((n for n, token in enumerate(tokens) if token.start >= curvature.end()), len(tokens))
        level, block = curvature.groups()
        latex = rf"|\nabla^{{{len(block)}}}_{{{block}}} {level}|"
        return Piece(first.start, curvature.end(), latex), behind
    named = first.kind == "number" and _labelled(text, first.start)
    if named or first.kind in ("blank", "other") or not _free_before(text, first.start):
        return None, at + 1
    reader = Reader(tokens, at)
    try:
        latex = reader.relation()
    except NoFormula:
        return None, at + 1
    end, taken = tokens[reader.at - 1].end, tokens[at : reader.at]
    if end - first.start > WIDEST:
        return None, reader.at
    if not _free_behind(text, end) or not _is_formula(text, taken, reader.signs):
        return None, at + 1
    return Piece(first.start, end, latex), reader.at


def _is_formula(text: str, tokens: list[Token], signs: int) -> bool:
    """Whether a piece is worth setting: it has a letter and a sign, or is a letter that can be no word and no label."""
    words = [token.text for token in tokens if token.kind == "word"]
    if not words or (words == ["a"] and not signs):
        return False
    first = tokens[0]
    if signs or (len(tokens) > 1 and first.text != "("):
        return True
    in_brackets = text[first.start - 1 : first.start] == "(" and text[first.end : first.end + 1] == ")"
    return len(tokens) == 1 and words[0] not in ARTICLES and not _labelled(text, first.start) and not in_brackets


def _labelled(text: str, at: int) -> bool:
    """Whether what stands there is the number or letter of a lemma, a table, a case."""
    return LABELLED.search(text[max(0, at - 12) : at]) is not None


def _free_before(text: str, at: int) -> bool:
    return at == 0 or not re.match(r"[\w.'\"`:/=<*\[\\^-]", text[at - 1])


def _free_behind(text: str, at: int) -> bool:
    """Whether no name, file, range or call goes on behind a piece; an adjective may (``ell-Lipschitz``)."""
    if ADJECTIVE.match(text, at):
        return True
    return re.match(r"['\"`\[_*^(\w-]|\.\.|[.:/=]\w", text[at : at + 2]) is None
