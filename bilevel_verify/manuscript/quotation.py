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
NUMBERED = re.compile(r"\\(?:tag|label|eqref|ref|[vh]space\*?)\s*\{[^{}]*\}")
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
SCRIPTS = frozenset({"_", "^", "'"})
JOINING = frozenset({"+", "-", r"\pm", r"\mp", r"\cdot", r"\times", "/", "*"})
"""Signs that join what stands beside them."""
RELATED = frozenset({"<", ">", "=", *("\\" + SPELLINGS.get(name, name) for name in symbols.RELATIONS)})
TUPLE = frozenset({(",", ")"), ("(", ","), (",", ",")})
STRAY = frozenset({")", "."})
PAIRS = frozenset({("(", ")"), ("{", "}"), (r"\{", r"\}"), ("[", "]")})
LABELS = frozenset({r"\overset", r"\stackrel"})
TOO_DEEP = 200
SWITCHES = {"\\" + name: "\\" + font for name, font in symbols.SWITCHES.items() if font}
TAKES = {
    **{"\\" + name: count for name, count in symbols.ARGUMENTS.items()},
    **dict.fromkeys(("\\" + name for name in symbols.FONTS), 1),
}
"""Commands that turn the font of the rest of a group; commands and how many arguments they take."""


GAP = "\0"
"""Stands where a row, a wide space or words part what is printed."""
GAPS = re.compile(r"\\\\(?![A-Za-z])|\\q?quad(?![A-Za-z])|&")
WORDS = re.compile(r"(\\(?:text|textrm|textit|textbf|mbox)\s*\{(?:[^{}]|\{[^{}]*\})*\})", re.DOTALL)


def canonical(latex: str) -> tuple[str, ...]:
    """The signs of a formula in one spelling; empty for one whose braces do not close."""
    return parted(latex)[0]


@lru_cache(maxsize=20_000)
def parted(latex: str) -> tuple[tuple[str, ...], frozenset[int]]:
    """The signs of a formula, and the places in front of which a row, a wide space or words part it."""
    signs: list[str] = []
    gaps: set[int] = set()
    for sign in _all_signs(GAPS.sub(GAP, WORDS.sub(rf"{GAP}\1{GAP}", latex))):
        if sign == GAP:
            gaps.add(len(signs))
        else:
            signs.append(sign)
    return tuple(signs), frozenset(gaps)


def _all_signs(latex: str) -> tuple[str, ...]:
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
        return tuple(formula for formula, text in self.signs if wanted in text and _stands(wanted, text))

    def whole(self, latex: str, formula: Formula) -> bool:
        """Whether a quotation is a whole part of a formula: nothing is cut off from what stands at its ends."""
        wanted = tuple(quoted(latex).split())
        signs, gaps = parted(formula.latex)
        ends = ((at, at + len(wanted)) for at in range(len(signs)) if signs[at : at + len(wanted)] == wanted)
        return any(_whole(signs, gaps, first, last) for first, last in ends)


def _stands(wanted: str, text: str) -> bool:
    """Whether the signs stand somewhere without a script, a prime or a digit that belongs to their last one."""
    last = wanted.split()[-1]
    at = text.find(wanted)
    while at >= 0:
        after = text[at + len(wanted) :].partition(" ")[0]
        before = text[:at].rpartition(" ")[2]
        cut = after in SCRIPTS or (after.isdigit() and last.isdigit()) or before in SCRIPTS
        if not cut and not (before.isdigit() and wanted.split()[0].isdigit()):
            return True
        at = text.find(wanted, at + 1)
    return False


def _whole(signs: tuple[str, ...], gaps: frozenset[int], first: int, last: int) -> bool:
    """Whether a relation, punctuation, a gap or a pair of brackets is at both ends of a part of some signs."""
    before = signs[first - 1] if first else ""
    after = signs[last] if last < len(signs) else ""
    inside = signs[first:last]
    if (before, after) in TUPLE or ((before, after) in PAIRS and any(sign in RELATED for sign in inside)):
        return True
    if all(sign in STRAY for sign in signs[last:]) and inside.count("(") == inside.count(")"):
        after = ""  # the print closes what it never opened
    begins = not before or before in RELATED | ENDS or inside[0] in RELATED or first in gaps
    ends = not after or after in RELATED | ENDS or inside[-1] in RELATED or last in gaps
    return begins and ends and after not in JOINING and (before not in JOINING or inside[0] in RELATED)


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
