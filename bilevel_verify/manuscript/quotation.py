"""Whether a text is a quotation: LaTeX up to spacing, sizes of brackets, spelling of commands and order of scripts.

A text is taken apart into signs and groups and written down again in one spelling (``\\tfrac12`` and ``\\frac{1}{2}``,
``x_k^2`` and ``x^2_k``, ``\\leq`` and ``\\le`` become the same). What is quoted must then stand, sign for sign and
without a gap, in a formula of the print. No mathematics is done here: a + b is no quotation of b + a.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

from bilevel_verify.latex.source import symbols
from bilevel_verify.manuscript.formulas import Formula, Print

Group: TypeAlias = "list[str | Group]"
SIGN = re.compile(r"\\[A-Za-z]+\*?|\\.|[0-9]|\s+|.", re.DOTALL)
TEXT = re.compile(
    r"\\(?:text|textrm|textit|textbf|mbox|operatorname\*?|mathrm|rm)\s*\{((?:[^{}]|\{[^{}]*\})*)\}", re.DOTALL
)
ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{(?:aligned|align\*?|split|gathered|equation\*?|array)\}(?:\{[lcr]*\})?")
NUMBERED = re.compile(r"\\(?:tag|label|eqref|ref)\s*\{[^{}]*\}")
SPELLINGS = {
    **dict.fromkeys(("dfrac", "tfrac", "cfrac", "nicefrac"), "frac"),
    "leq": "le",
    "leqslant": "le",
    "geq": "ge",
    "geqslant": "ge",
    "neq": "ne",
    "to": "rightarrow",
    **dict.fromkeys(("Vert", "lVert", "rVert"), "|"),
    "boldsymbol": "mathbf",
    "bm": "mathbf",
    "lbrace": "{",
    "rbrace": "}",
    "gets": "leftarrow",
    "dots": "ldots",
    "cdots": "ldots",
    "dotsc": "ldots",
    "widehat": "hat",
    "widetilde": "tilde",
    "overline": "bar",
    "land": "wedge",
    "triangleq": ":=",
    "coloneqq": ":=",
    "coloneq": ":=",
    "lbrack": "[",
    "rbrack": "]",
    "middle": "",
    "left": "",
    "right": "",
    "displaystyle": "",
    "textstyle": "",
}
"""Command -> the spelling that stands for it; empty: it only sets the type."""
DROPPED = symbols.SPACES | symbols.GAPS | symbols.SIZES | {"nonumber", "notag", "limits", "nolimits", " ", "\\"}
ENDS = frozenset({",", ".", ";", ":", r"\wedge", "`"})
LABELS = frozenset({r"\overset", r"\stackrel"})
TOO_DEEP = 200
SWITCHES = {"\\" + name: "\\" + font for name, font in symbols.SWITCHES.items() if font}
TAKES = {
    **{"\\" + name: count for name, count in symbols.ARGUMENTS.items()},
    **dict.fromkeys(("\\" + name for name in symbols.FONTS), 1),
}
"""Commands that turn the font of the rest of a group; commands and how many arguments they take."""


@lru_cache(maxsize=20_000)
def canonical(latex: str) -> tuple[str, ...]:
    """The signs of a formula in one spelling; empty for one whose braces do not close."""
    text = NUMBERED.sub(" ", ENVIRONMENT.sub(" ", latex))
    text = TEXT.sub(lambda m: "{\\mathrm{" + " ".join(re.sub(r"[\\$~]", " ", m[1]).split()) + "}}", text)
    try:
        group, _ = _group(list(_signs(text)), 0, 0)
    except ValueError:
        return ()
    return tuple(_written(group))


def _signs(text: str) -> Iterable[str]:
    """Signs of a text; what only sets the type is left out."""
    for sign in SIGN.findall(text):
        if sign.isspace() or sign in ("&", "~", "$"):
            continue
        name = sign[1:] if sign.startswith("\\") else ""
        if name:
            name = SPELLINGS.get(name, name)
            if not name or name in DROPPED:
                continue
            if name == "prime":
                yield "'"
            elif name in (":=", "[", "]"):
                yield from ([name] if name != ":=" else [":", "="])
            elif sign in (r"\vert", r"\lvert", r"\rvert", r"\mid"):
                yield "|"
            else:
                yield "\\" + name
        else:
            yield sign


def _group(signs: list[str], place: int, depth: int) -> tuple[Group, int]:
    """Nested lists up to the closing brace.

    Raises
    ------
    ValueError : braces that do not close, or that are too deep.
    """
    found: Group = []
    while place < len(signs):
        sign = signs[place]
        if sign == "{":
            if depth > TOO_DEEP:
                raise ValueError("too deep")
            inner, place = _group(signs, place + 1, depth + 1)
            found.append(inner)
            continue
        if sign == "}":
            if not depth:
                raise ValueError("a brace too many")
            return found, place + 1
        found.append(sign)
        place += 1
    if depth:
        raise ValueError("a brace is not closed")
    return found, place


def _written(group: Group) -> list[str]:
    """A group in one spelling: scripts in order, braces only where they say what belongs together."""
    out: list[str] = []
    place = 0
    while place < len(group):
        item = group[place]
        place += 1
        if isinstance(item, list):
            out += _written(item)
        elif item in SWITCHES:
            out += [SWITCHES[item], *_enclosed(_written(group[place:]))]
            place = len(group)
        elif item in LABELS and place + 1 < len(group):
            out += _written(group[place + 1 : place + 2])
            place += 2
        elif item in ("^", "_", "'"):
            place = _scripts(group, place - 1, out)
        else:
            out.append(item)
            for _ in range(TAKES.get(item, 0)):
                if place < len(group) and group[place] != "[":
                    out += _enclosed(_written(group[place : place + 1]))
                    place += 1
    return out


def _scripts(group: Group, place: int, out: list[str]) -> int:
    """Scripts of one base, the lower before the upper, primes and a star first in the upper one."""
    lower: list[str] = []
    upper: list[str] = []
    while place < len(group) and group[place] in ("^", "_", "'"):
        sign = group[place]
        if sign == "'":
            upper.append("'")
            place += 1
            continue
        if place + 1 >= len(group):
            place += 1
            break
        inner = group[place + 1]
        inside: Group = inner if isinstance(inner, list) else [inner]
        text = ["'"] * len(inside) if inside and all(i == "'" for i in inside) else _written(inside)
        if sign == "_":
            lower += text
        else:
            upper += text
        place += 2
    for sign, text in (("_", lower), ("^", upper)):
        if text:
            out += [sign, *_enclosed(text)]
    return place


def _enclosed(text: list[str]) -> list[str]:
    return text if len(text) == 1 else ["{", *text, "}"]


@dataclass(frozen=True)
class Indexed:
    """A print whose formulas can be searched for quotations."""

    source: Print

    @cached_property
    def signs(self) -> tuple[tuple[Formula, str], ...]:
        """Each formula with its signs, joined by blanks."""
        return tuple((formula, _joined(canonical(formula.latex))) for formula in self.source)

    def places(self, latex: str) -> tuple[Formula, ...]:
        """The formulas in which a text stands as it is quoted, in the order of the paper."""
        wanted = quoted(latex)
        if wanted == "  ":
            return ()
        return tuple(formula for formula, text in self.signs if wanted in text)


def quoted(latex: str) -> str:
    """The signs of a quotation, without the punctuation at its ends."""
    signs = list(canonical(latex))
    while signs and signs[-1] in ENDS:
        signs.pop()
    while signs and signs[0] in ENDS and signs[:2] != [":", "="]:
        signs.pop(0)
    return _joined(tuple(signs))


def _joined(signs: tuple[str, ...]) -> str:
    return f" {' '.join(signs)} "
