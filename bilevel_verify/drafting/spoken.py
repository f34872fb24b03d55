"""Ranges that a text gives a letter in words: ``$L$-Lipschitz``, ``positive constants $a$ and $b$``.

Taken is no more than the words say: a Lipschitz constant or an accuracy is not negative, a modulus of strong convexity
is positive, a condition number is at least 1. Words count only for a formula that is the letter alone, and where a
relation prints a range of the letter, its words do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.drafting.sentences import HOLE, Context
from bilevel_verify.language import tree
from bilevel_verify.latex import Statement
from bilevel_verify.theorems.vocabulary import NUMBERS


@dataclass(frozen=True, slots=True)
class Spoken:
    """The lower end of the range of a letter: ``name op end``, in a unit; ``words`` say so, or a chain where empty."""

    name: str
    op: str
    end: Fraction
    unit: int
    words: str = ""


SMOOTH = r"(?:Lipschitz|H(?:ö|o|\\\"o|oe)lder|smooth(?:ness)?)"
ACCURATE = r"(?:approximate|accurate|optimal|stationary|suboptimal|(?:first|second)-order)"
AFTER = (
    (">", 0, r"-?\s*(?:strongly|strong)[- ](?:convex|concave|monotone)(?:ity)?\b"),
    (">", 0, r"\s+(?:is|are)\s+(?:a\s+|an\s+|some\s+)?(?:given\s+|fixed\s+|small\s+|universal\s+)?positive\b"),
    (">=", 0, r"\s+(?:is|are)\s+(?:a\s+|an\s+|some\s+)?non-?negative\b"),
    (">=", 1, r"\s+(?:is|denotes)\s+the\s+condition\s+number\b"),
    (">=", 0, rf"-(?!th\b)(?:\w+[- ]){{0,2}}{SMOOTH}\b"),
    (">=", 0, rf"-(?:\w+[- ])?{ACCURATE}\b"),
)
"""What stands right after a letter, with the range that it gives: relation and end."""
NOUN = r"(?:constants?|parameters?|numbers?|scalars?|reals?|integers?|step-?\s?sizes?|coefficients?|moduli|modulus)"
BEFORE = (
    (">", 0, rf"(?<!non-)(?<!non)\bpositive\s+(?:\w+\s+)?{NOUN}"),
    (">", 0, r"(?<!non-)(?<!non)\bpositive"),
    (">", 0, r"\bstrong(?:ly)?[- ](?:convex|concav)(?:ity|e)?\s+(?:\w+\s+)?" + NOUN),
    (">=", 0, rf"\bnon-?negative\s+(?:\w+\s+)?{NOUN}"),
    (">=", 0, rf"\b{SMOOTH}(?:\s+continu\w+)?(?:\s+gradients?|\s+Hessians?)?\s+(?:with\s+)?{NOUN}"),
    (">=", 0, rf"\b{SMOOTH}(?:\s+continu\w+)?\s+with\s+(?:a\s+|the\s+)?(?:\w+\s+)?{NOUN}"),
    (">=", 1, r"\bcondition\s+number"),
    (">=", 0, r"\b(?:diameter|radius|accuracy|tolerance|precision)"),
    (">=", 0, r"\bnumber\s+of\s+(?:\w+\s+){0,2}(?:iterations|steps|epochs|rounds|calls|evaluations)"),
)
"""What stands right before a letter."""
LIST = re.compile(rf"(?:{HOLE}\s*(?:,\s*and|,|and|or)\s*)+\Z")
DOUBT = re.compile(r"\b(?:not|no|nor|neither|never|whether|without|if)\b[^.;,]{0,60}\Z|\bnon-?\Z", re.IGNORECASE)
AFTER_WORDS = tuple((op, end, re.compile(rf"\A{words}", re.IGNORECASE)) for op, end, words in AFTER)
BEFORE_WORDS = tuple((op, end, re.compile(rf"{words}\s*\Z", re.IGNORECASE)) for op, end, words in BEFORE)


def spoken(context: Context, statement: Statement, unit: int) -> Iterator[Spoken]:
    """What the words around a formula that is one letter, or a list of them, say of its range.

    Nothing is taken from a clause with a condition or a negation before the letter.
    """
    names = [name for member in statement.members for name in _letters(member)]
    found = _said(context) if names and not context.formula.display else None
    if found is None:
        return
    op, end, words = found
    for name in names:
        yield Spoken(name, op, Fraction(end), unit, words)


def _letters(member: tree.Node) -> Iterator[str]:
    if isinstance(member, tree.Letter) and member.name not in NUMBERS:
        yield member.name
    elif isinstance(member, tree.Call) and member.function == "list":
        for item in member.arguments:
            yield from _letters(item)


def _said(context: Context) -> tuple[str, int, str] | None:
    """Relation, end, and the words that say so."""
    before = LIST.sub("", context.before)
    if DOUBT.search(before):
        return None
    for op, end, pattern in AFTER_WORDS:
        if (match := pattern.search(context.after)) is not None:
            return op, end, f"... {' '.join(match[0].split())}"
    for op, end, pattern in BEFORE_WORDS:
        if (match := pattern.search(before)) is not None:
            return op, end, f"{' '.join(match[0].split())} ..."
    return None


def of_chain(statement: Statement, unit: int) -> Iterator[Spoken]:
    """``\\kappa = \\ell/\\mu \\ge 1`` where it gives a name: the end is one of the letter that is named."""
    if statement.continues or not statement.relations or not isinstance(statement.members[0], tree.Letter):
        return
    named, (first, *rest) = statement.members[0].name, statement.relations
    if first.word not in ("==", ":="):
        return
    for relation, member in zip(rest, statement.members[2:]):
        if relation.word in (">", ">=") and isinstance(member, tree.Number):
            yield Spoken(named, relation.word, member.value, unit)
        if relation.word not in ("==", ":="):
            return
