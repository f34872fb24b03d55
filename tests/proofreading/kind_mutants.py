"""One small error of each kind that lives between the formulas, at every place of a source where it can be made.

Operators know nothing of the finder. They damage where the damage is an error by its sense: a term of an equation of a
chain with another number, sign, exponent, index or end of a sum; a bound of Taylor's remainder with a smaller factor; a
citation of another relation; a promise that is not what the proof ends with; a line of an algorithm that goes the
other way;
a range that is wider than what was proved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proofreading_mutants import Mutant, papers

Change = Callable[[re.Match[str]], str]
Changes = Iterator[tuple[int, int, str]]
"""Start and end of what is replaced, and by what."""
DISPLAY = re.compile(
    r"\$\$(?P<md>.*?)\$\$|\\\[(?P<br>.*?)\\\]|\\begin\{(?P<env>equation|align)\*?\}(?P<in>.*?)\\end\{(?P=env)\*?\}",
    re.S,
)
RELATION = re.compile(
    r"(?P<eq>=)|\\leq?(?![a-z])|\\geq?(?![a-z])|[<>]|\\iff|\\Leftrightarrow|\\(?:qquad|quad)|\\tag|\\label|\\text"
)
STATEMENT = re.compile(
    r"\*\*(?:Lemma|Theorem|Corollary|Proposition)[^*]*\*\*(?P<md>.*?)(?=\n\*Proof|\n\*\*|\n#|\Z)"
    r"|\\begin\{(?P<env>lemma|theorem|corollary|proposition)\}(?P<in>.*?)\\end\{(?P=env)\}", re.S
)  # fmt: skip
PROOF = re.compile(r"\n\*Proof(?P<md>.*?)(?=\n\*\*|\n#|\Z)|\\begin\{proof\}(?P<in>.*?)\\end\{proof\}", re.S)
ALGORITHM = re.compile(
    r"\*\*Algorithm \d+\*\*.*?\n\n(?P<md>.*?)(?=\n\n|\Z)|\\begin\{algorithmic\}(?P<in>.*?)\\end\{algorithmic\}", re.S
)


@dataclass(frozen=True, slots=True)
class Operator:
    """A slip: the item of the list of kinds to which it belongs, its name and its places."""

    item: int
    name: str
    places: Callable[[str], Changes]


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text):
        group = next(g for g in ("md", "in", "br") if g in pattern.groupindex and match[g] is not None)
        yield match.start(group), match.end(group)


def _members(text: str) -> Iterator[tuple[int, int]]:
    """Members behind an equality sign of the chains of displays, but for definitions: a chain has three members."""
    for start, end in _spans(DISPLAY, text):
        depth, marks = 0, []
        at = start
        while at < end:
            here = RELATION.match(text, at, end)
            if here and depth == 0:
                marks.append((here.start(), here.end(), here["eq"] is not None, here[0]))
                at = here.end()
                continue
            if text.startswith((r"\{", r"\}"), at):
                at += 2
                continue
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        cut = [
            i
            for i, m in enumerate(marks)
            if m[3] in (r"\qquad", r"\quad", r"\tag", r"\label", r"\text", r"\iff", r"\Leftrightarrow")
        ]
        stops = [*marks, (end, end, False, "")]
        relations = [i for i in range(len(marks)) if i not in cut]
        for order, i in enumerate(relations):
            if marks[i][2] and len(relations) > 1 and (order or _sum_before(text[start : marks[i][0]])):
                yield marks[i][1], stops[i + 1][0]


def _sum_before(side: str) -> bool:
    return bool(re.search(r"[-+]", re.sub(r"[_^]\{[^{}]*\}", "", side)))


def _flat(text: str, start: int, end: int) -> Iterator[int]:
    """Places of a member outside of brackets, braces and sums in norms."""
    depth, bars = 0, False
    at = start
    while at < end:
        if text.startswith((r"\|",), at):
            bars = not bars
            at += 2
            continue
        if text.startswith((r"\langle", r"\left(", r"\left\{", r"\left["), at):
            depth += 1
            at += 5
        elif text.startswith((r"\rangle", r"\right)", r"\right\}", r"\right]"), at):
            depth -= 1
            at += 7
            continue
        else:
            depth += (text[at] in "{([") - (text[at] in "})]")
            if not depth and not bars:
                yield at
        at += 1


def step_sign(text: str) -> Changes:
    """A term of an equation with the other sign."""
    for start, end in _members(text):
        for at in _flat(text, start, end):
            if text[at] in "+-" and text[start:at].strip(" &\n"):
                yield at, at + 1, "-" if text[at] == "+" else "+"


def _in_members(pattern: str, change: Change) -> Callable[[str], Changes]:
    def places(text: str) -> Changes:
        for start, end in _members(text):
            yield from _changed(pattern, text, start, end, change)

    return places


def _changed(pattern: str, text: str, start: int, end: int, change: Change) -> Changes:
    """Every match, or the part of it that is called ``it``."""
    for match in re.compile(pattern, re.S).finditer(text, start, end):
        part = "it" if "it" in match.re.groupindex else 0
        yield match.start(part), match.end(part), change(match)


def _everywhere(frame: re.Pattern[str], pattern: str, change: Change) -> Callable[[str], Changes]:
    def places(text: str) -> Changes:
        for start, end in _spans(frame, text):
            yield from _changed(pattern, text, start, end, change)

    return places


def _doubled(digit: str) -> str:
    return {"1": "2", "2": "4", "3": "6", "4": "8"}.get(digit, "1")


def _twice(match: re.Match[str]) -> str:
    return match[1] + _doubled(match[2]) if match[1] else "{" + _doubled(match[2]) + "}"


def _moved(match: re.Match[str]) -> str:
    """``_k`` -> ``_{k+1}``, ``_{k+1}`` -> ``_k``."""
    return f"{match['base']}_{{{match['one']}+1}}" if match["one"] else f"{match['base']}_{match['next']}"


NAMED = r"(?P<base>(?<![a-zA-Z\\])[a-zA-Z]|\\mathbf\{[a-z]\}|\\bm\{[a-z]\})"
ENTRY = NAMED + r"_(?:(?P<one>[ktjn])(?![a-z_^])|\{(?P<next>[ktjn])\+1\})"


def remainder(text: str) -> Changes:
    """A quadratic upper bound with half its factor."""
    for start, end in _spans(DISPLAY, text):
        if r"\langle\nabla" in text[start:end] and text[start:end].count("=") <= 1:
            for match in re.compile(
                r"\\rangle\s*\+\s*\\frac\{?(?:L_?\{?[fg]?\}?|\\beta|M)\}?\{?(2)\}?\s*\\\|"
            ).finditer(text, start, end):
                if match.end() < end and re.match(r"[^|]*\\\|\^\{?2", text[match.end() : end]):
                    yield match.start(1), match.end(1), "4"


def _turn(match: re.Match[str]) -> int:
    return 2 if match.start() % 2 else -2


def another_label(text: str) -> Changes:
    """Another relation of the same paper is cited: two further on, two back, in turn."""
    labels = re.findall(r"\\label\{(eq:\w+)\}", text)
    for start, end in _spans(PROOF, text):
        for match in re.compile(r"(?<=\\eqref\{)eq:\w+(?=\})").finditer(text, start, end):
            if match[0] in labels and len(labels) > 2:
                yield match.start(), match.end(), labels[(labels.index(match[0]) + _turn(match)) % len(labels)]
    numbers = re.findall(r"\\tag\{(\d+)\}", text)
    for start, end in _spans(PROOF, text):
        for match in re.compile(r"(?<=[ (])\((\d+)\)(?=[ .,:]|\n|$)").finditer(text, start, end):
            if match[1] in numbers and len(numbers) > 2:
                yield (
                    match.start(),
                    match.end(),
                    f"({numbers[(numbers.index(match[1]) + _turn(match)) % len(numbers)]})",
                )


def another_lemma(text: str) -> Changes:
    """Another lemma of the same paper is cited."""
    labels = re.findall(r"\\label\{(lem:\w+)\}", text)
    names = re.findall(r"\*\*Lemma ([A-Z]?\.?\d+)", text)
    for start, end in _spans(PROOF, text):
        for match in re.compile(r"(?<=\\ref\{)lem:\w+(?=\})").finditer(text, start, end):
            if len(labels) > 2 and not text[: match.start()].endswith(r"Proof of Lemma~\ref{"):
                yield match.start(), match.end(), labels[(labels.index(match[0]) + 1) % len(labels)]
        for match in re.compile(r"(?<=\bLemma )([A-Z]?\.?\d+)").finditer(text, start, end):
            if match[1] in names and len(names) > 2:
                yield match.start(), match.end(), names[(names.index(match[1]) + 1) % len(names)]


def promise(text: str) -> Changes:
    """The displayed bound of a statement with half its factor, where the proof ends with the printed one."""
    spans, proofs = list(_spans(STATEMENT, text)), list(_spans(PROOF, text))
    for start, end in spans:
        proof = next((text[a:b] for a, b in proofs if 0 <= a - end < 200), "")
        for shown in DISPLAY.finditer(text, start, end):
            for match in re.compile(r"(?<=\\le)\s*(?P<f>\\frac\{(?P<n>\d)(?P<rest>[^{}]*)\})").finditer(
                text, shown.start(), shown.end()
            ):
                if match["f"] in proof or match["rest"] in proof:
                    yield (
                        match.start("n"),
                        match.end("n"),
                        {"1": r"\frac12", "2": "1", "4": "2", "8": "4"}.get(match["n"], "1"),
                    )


def closed_end(text: str) -> Changes:
    """A count from 0 on, where the statement divides by it or takes a minimum up to one less."""
    for start, end in _spans(STATEMENT, text):
        for match in re.compile(r"[ $](?P<name>[KTNJnk])\\ge (?P<it>1)\$").finditer(text, start, end):
            name, said = match["name"], text[start:end]
            if re.search(rf"\}}\{{[^{{}}]*{name}(?![-+^])", said) or re.search(rf"\\min_\{{[^{{}}]*{name}-1", said):
                yield match.start("it"), match.end("it"), "0"


def closed_constant(text: str) -> Changes:
    """A constant that may be 0, by which the text divides."""
    for match in re.compile(r"\$(?P<name>\\mu|\\sigma|[LMcQ])(?P<it>>)0\$").finditer(text):
        others = text.count(match[0]) > 1 or f"{match['name']}>0" in text.replace(match[0], "")
        if not others and re.search(
            rf"\\frac(?:\w|\{{[^{{}}]*\}})\s*\{{?\d?{re.escape(match['name'])}(?![a-z_])", text
        ):
            yield match.start("it"), match.end("it"), r"\ge "


def widened(text: str) -> Changes:
    """A step four times as long as what was proved, in a statement with a proof that leans on something."""
    proofs = list(_spans(PROOF, text))
    for start, end in _spans(STATEMENT, text):
        proof = next((text[a:b] for a, b in proofs if 0 <= a - end < 200), "")
        cites = re.search(r"\\(?:eq)?ref|Lemma \d|\(\d+\)|[Ll]emma at", proof.partition("]")[2] or proof)
        if cites and (r"\eta" in proof or r"\eta" in text[start:end].partition(r"\eta\le")[2]):
            yield from _changed(r"\\eta\\le\\frac(?P<it>\{\d\}|\d)(?=[\w{])", text, start, end, lambda m: "{4}")


def turned_test(text: str) -> Changes:
    """A test of an algorithm the other way."""
    for start, end in _spans(ALGORITHM, text):
        for line in re.compile(r"\b[iI]f[ {][^\n]*?(?P<op>\\leq?(?![a-z])|\\geq?(?![a-z])|>|<)[^\n]*").finditer(
            text, start, end
        ):
            turned = {"<": ">", ">": "<"}.get(line["op"], r"\ge " if line["op"].startswith(r"\le") else r"\le ")
            yield line.start("op"), line.end("op"), turned


NUMBER = r"(?<=\\frac)(\{?)([1-4])(?=[\\A-Za-z\d{}])"
DIRECTION = r"(?<=[a-z}\d])[-+](?=(?:\\eta|\\alpha|a_|\\gamma|\\frac)[^\n]*(?:nabla|g_k|Ap|A p|r_t|s_n))"
TARGET = rf"(?:\n\d+\. +\$|\\State \$)(?P<it>{ENTRY})(?=[^\n]*(?:=|\\gets))"
VALUE = r"(?:\\eta|\\alpha)=\\frac(?P<it>\{1\}|1)(?=[\w{])"
OPERATORS = (
    Operator(1, "number of a term of a step", _in_members(NUMBER, _twice)),
    Operator(1, "sign of a term of a step", step_sign),
    Operator(1, "square of a norm in a step", _in_members(r"(?<=\\\|)\^2(?!\d)", lambda m: "")),
    Operator(1, "factor of a remainder", remainder),
    Operator(2, "index in a step", _in_members(ENTRY, _moved)),
    Operator(2, "end of a sum in a step", _in_members(r"(?<=\}\^)\{([A-Zkn])-1\}", lambda m: m[1])),
    Operator(2, "a closed end", closed_end),
    Operator(2, "a positive constant that may be 0", closed_constant),
    Operator(2, "a mark in a step", _in_members(r"\\(?:hat|bar|tilde)\{(\w)\}|\\bar w", lambda m: m[1] or "w")),
    Operator(3, "another relation cited", another_label),
    Operator(3, "another lemma cited", another_lemma),
    Operator(4, "promise of a statement", promise),
    Operator(5, "step with the other sign", _everywhere(ALGORITHM, DIRECTION, lambda m: "+" if m[0] == "-" else "-")),
    Operator(5, "test turned", turned_test),
    Operator(5, "index of a line", _everywhere(ALGORITHM, TARGET, _moved)),
    Operator(6, "range of a step widened", widened),
    Operator(6, "value of a step, four times as large", _everywhere(STATEMENT, VALUE, lambda m: "{4}")),
)  # fmt: skip


def mutants(
    texts: dict[str, str] | None = None, operators: tuple[Operator, ...] = OPERATORS
) -> Iterator[tuple[Operator, Mutant]]:
    """Every mutant of every operator, in a fixed order: of the corpus, or of other sources (name of file -> text)."""
    for file, text in (texts or papers()).items():
        for operator in operators:
            for start, end, new in operator.places(text):
                shown = " ".join(f"{text[max(start - 40, 0) : end + 20]} : {text[start:end]} -> {new}".split())
                changed = text[:start] + new + text[end:]
                yield operator, Mutant(file, operator.name, shown, changed)
