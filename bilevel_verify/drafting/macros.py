"""The macros of a paper: found, taken out of the text, and written out in formulas with a limit on work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from bilevel_verify.drafting.document import Macro
from bilevel_verify.drafting.positions import FILLER, Piece, Remark, Text
from bilevel_verify.errors import LatexError
from bilevel_verify.latex.source.macros import filled, joined

STEPS, LONGEST, MOST = 2_000, 40_000, 2_000
HEAD = re.compile(
    r"\\(?P<what>newcommand|renewcommand|providecommand|DeclareRobustCommand|DeclareMathOperator|DeclarePairedDelimiterX?"
    r"|(?:New|Renew|Provide|Declare)DocumentCommand|def|let|newtheorem|declaretheorem)(?P<star>\*?)(?![A-Za-z])\s*"
)
NAME = re.compile(r"\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))")
CALL = re.compile(r"\\([A-Za-z@]+)\*?")
NUMBER = re.compile(r"\s*\[\s*([0-9])\s*\]")
PARAMETERS = re.compile(r"\s*((?:#[1-9])*)\s*(?=\{)")
OPENS = re.compile(r"\\(?:begin|end)\s*\{|\$|\\\[|\\\]|\\(?:sub)*section\b")


def group(text: str, place: int) -> tuple[str, int] | None:
    """What stands in the braces that begin at a place (blanks before them aside), and the place after them."""
    while place < len(text) and (text[place].isspace() or text[place] == FILLER):
        place += 1
    if place >= len(text) or text[place] != "{":
        return None
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, place):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return text[place + 1 : found.start()], found.end()
    return None


def optional(text: str, place: int) -> tuple[str, int] | None:
    """What stands in square brackets that begin at a place."""
    while place < len(text) and text[place].isspace():
        place += 1
    if place >= len(text) or text[place] != "[":
        return None
    depth = 0
    for found in re.compile(r"\\.|[{}\[\]]", re.DOTALL).finditer(text, place):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if found[0] == "]" and depth == 0:
            return text[place + 1 : found.start()], found.end()
    return None


def definitions(text: Text) -> tuple[Text, dict[str, Macro], list[Theorem], list[Remark]]:
    """The text without definitions; macros; ``\\newtheorem``s (environment, title, within, numbered); remarks."""
    macros: dict[str, Macro] = {}
    theorems: list[Theorem] = []
    remarks: list[Remark] = []
    body, place = list(text.text), 0
    source = text.text
    while (found := HEAD.search(source, place)) is not None:
        end = found.end()
        if found["what"] in ("newtheorem", "declaretheorem"):
            read = _theorem if found["what"] == "newtheorem" else _declared_theorems
            parsed = read(source, end, found["star"] != "*")
            if parsed is not None:
                theorems += parsed[0]
                end = parsed[1]
        else:
            one = _definition(source, found["what"], end)
            if one is None:
                remarks.append(Remark(text.where(found.start()), "macro", f"a \\{found['what']} that cannot be read"))
            else:
                name, macro, end = one
                if name not in macros or found["what"] != "providecommand":
                    macros[name] = macro
        if len(macros) > MOST:
            remarks.append(Remark(text.where(found.start()), "too large", f"more than {MOST} macros"))
            break
        body[found.start() : end] = FILLER * (end - found.start())
        place = max(end, found.end())
    return replace(text, text="".join(body)), macros, theorems, remarks


def _definition(text: str, what: str, place: int) -> tuple[str, Macro, int] | None:
    named = NAME.match(text, place)
    if named is None:
        return None
    name, place = named[1] or named[2], named.end()
    if what == "let":
        other = re.compile(r"\s*=?\s*(\\[A-Za-z@]+|\S)").match(text, place)
        return None if other is None else (name, Macro(0, None, other[1] + " "), other.end())
    count, default = 0, None
    if what == "def":
        parameters = PARAMETERS.match(text, place)
        if parameters is None:
            return None
        count, place = len(parameters[1]) // 2, parameters.end()
    elif what.endswith("DocumentCommand"):
        return _document_command(text, name, place)
    elif number := NUMBER.match(text, place):
        count, place = int(number[1]), number.end()
        first = optional(text, place)
        if first is not None:
            default, place = first
    body = group(text, place)
    if body is None:
        return None
    if what == "DeclareMathOperator":
        return name, Macro(0, None, rf"\operatorname{{{body[0]}}}"), body[1]
    if what == "DeclarePairedDelimiter":
        right = group(text, body[1])
        return None if right is None else (name, _paired(1, body[0], "#1", right[0]), right[1])
    if what == "DeclarePairedDelimiterX":
        right = group(text, body[1])
        inner = None if right is None else group(text, right[1])
        return None if right is None or inner is None else (name, _paired(count, body[0], inner[0], right[0]), inner[1])
    return name, Macro(count, default, body[0].replace(FILLER, "")), body[1]


def _paired(count: int, left: str, inner: str, right: str) -> Macro:
    """Delimiters around arguments; ``\\norm[\\big]{x}`` may say how large they are, which is dropped."""
    shifted = re.sub(r"#([1-8])", lambda m: f"#{int(m[1]) + 1}", inner.replace(r"\delimsize", ""))
    return Macro(count + 1, "", rf"\left{left} {shifted} \right{right}")


def _document_command(text: str, name: str, place: int) -> tuple[str, Macro, int] | None:
    """``\\NewDocumentCommand{\\norm}{O{2} m}{...}``: mandatory arguments, the first one may have a default."""
    wanted = group(text, place)
    body = None if wanted is None else group(text, wanted[1])
    if wanted is None or body is None:
        return None
    spec = re.fullmatch(r"\s*(?:O\s*\{([^{}]*)\})?\s*((?:\+?m\s*)*)", wanted[0])
    if spec is None:
        return None
    return name, Macro(spec[2].count("m") + (spec[1] is not None), spec[1], body[0].replace(FILLER, "")), body[1]


Theorem = tuple[str, str, str, bool]
"""Environment, title, counter and whether it is numbered."""


def _declared_theorems(text: str, place: int, _starred: bool) -> tuple[list[Theorem], int] | None:
    """``\\declaretheorem[name=Claim,sibling=theorem]{claim}``."""
    options = optional(text, place)
    names = group(text, options[1] if options else place)
    if names is None:
        return None
    given: dict[str, str] = dict(re.findall(r"(\w+)\s*=\s*\{?([^,{}]*)\}?", options[0] if options else ""))
    shared = next((given[key] for key in ("sibling", "numberlike", "sharenumber", "sharecounter") if key in given), "")
    within = next((given[key] for key in ("numberwithin", "within", "parent") if key in given), "")
    counter = f"={shared.strip()}" if shared else within.strip()
    numbered = given.get("numbered", "yes").strip() != "no"
    found = [name.strip() for name in names[0].split(",")]
    titles = [given.get("name", given.get("title", name.capitalize())).strip() for name in found]
    return [(name, title, counter, numbered) for name, title in zip(found, titles, strict=True)], names[1]


def _theorem(text: str, place: int, numbered: bool) -> tuple[list[Theorem], int] | None:
    """``\\newtheorem{lemma}[theorem]{Lemma}[section]``."""
    name = group(text, place)
    if name is None:
        return None
    shared = optional(text, name[1])
    title = group(text, shared[1] if shared else name[1])
    if title is None:
        return None
    within = optional(text, title[1])
    counter = f"={shared[0].strip()}" if shared else within[0].strip() if within else ""
    return [(name[0].strip(), title[0].strip(), counter, numbered)], within[1] if within else title[1]


def written_out(latex: str, macros: Mapping[str, Macro]) -> tuple[str, bool]:
    """A formula with every macro of the paper written out, and whether there was one.

    Raises
    ------
    LatexError : macros without end, an argument that is missing, or a text beyond the limit.
    """
    text, place, changed = latex, 0, False
    for _ in range(STEPS):
        found = next((m for m in CALL.finditer(text, place) if m[1] in macros), None)
        if found is None:
            return text, changed
        body, end = _call(text, found, macros[found[1]])
        text, place, changed = joined(text[: found.start()], body, text[end:]), found.start(), True
        if len(text) > LONGEST:
            raise LatexError(f"\\{found[1]} grows beyond {LONGEST} characters", "too large")
    raise LatexError(f"more than {STEPS} macros; do they call each other?", "too large")


def _call(text: str, found: re.Match[str], macro: Macro) -> tuple[str, int]:
    """The body with its arguments, and the place after the call."""
    end, values = found.end(), []
    if macro.default is not None:
        given = optional(text, end)
        value, end = given if given else (macro.default, end)
        values.append(value)
    while len(values) < macro.arguments:
        inner = group(text, end)
        if inner is None:
            single = re.compile(r"\s*(\\[A-Za-z]+|[^\s{}])").match(text, end)
            if single is None:
                raise LatexError(f"\\{found[1]} without its argument", "missing")
            inner = single[1], single.end()
        values.append(inner[0])
        end = inner[1]
    return filled(macro.body, values), end


def opened(text: Text, macros: Mapping[str, Macro]) -> Text:
    """The text with those macros written out that open or close an environment or a formula: ``\\be ... \\ee``."""
    outer = {name: m for name, m in macros.items() if OPENS.search(m.body) and m.arguments == 0}
    if not outer:
        return text
    out: list[str] = []
    pieces: list[Piece] = []
    size = place = work = 0

    def add(part: str, at: int, fixed: bool) -> None:
        nonlocal size
        for piece in _sources(text, at, at + (1 if fixed else len(part))):
            pieces.append(replace(piece, start=size + piece.start - at, fixed=fixed or piece.fixed))
        out.append(part)
        size += len(part)

    for found in CALL.finditer(text.text):
        if found[1] in outer and found.start() >= place and work < STEPS * 10:
            add(text.text[place : found.start()], place, False)
            add(outer[found[1]].body, found.start(), True)
            place, work = found.end(), work + 1
    add(text.text[place:], place, False)
    return Text("".join(out), tuple(pieces), text.lines)


def _sources(text: Text, start: int, end: int) -> list[Piece]:
    """The pieces of a stretch, the first one cut to it."""
    found: list[Piece] = []
    for number, piece in enumerate(text.pieces):
        after = text.pieces[number + 1].start if number + 1 < len(text.pieces) else len(text.text) + 1
        if piece.start < max(end, start + 1) and after > start:
            first = max(piece.start, start)
            moved = piece.offset if piece.fixed else piece.offset + first - piece.start
            found.append(replace(piece, start=first, offset=moved))
    return found
