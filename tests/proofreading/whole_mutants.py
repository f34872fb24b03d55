"""Small errors between whole parts of a paper: totals, cases, tables, factors, hypotheses, outputs, restarts.

Operators know nothing of the finder, and make their change at every place where it is an error by its sense.
"""

from __future__ import annotations

import re

from kind_mutants import ALGORITHM, PROOF, STATEMENT, Changes, Operator, _changed, _spans

ROWS = re.compile(
    r"^\|(?P<md>[^\n]*(?:ours|this paper)[^\n]*)$|^(?P<in>[^\n&|]*(?:ours|this paper)\)[^\n]*)\\\\$", re.M
)
COUNTED = r"(?:evaluates|uses at most|makes|needs at most)\s+\$(?P<it>[^$]*)\$\s+(?:gradients|values)"
DROPPED = r"(?:Let|Suppose that)\s[^.]*?(?P<it>(?:,? and )?\$(?:0<)?\\(?:eta|alpha)(?:\\le|=)\\frac[^$]*\$)"
LETTER = r"(?<=\\mathcal\{O\}\()(?P<it>\\Delta L|\\sigma\^2|G\^2|\\kappa|\\Delta M)(?![a-z^])"
RATES = re.compile(r"[Tt]he rate\s+\$(?P<one>[^$]*)\$\s+improves\s+the rate\s+\$(?P<two>[^$]*)\$")
LINE = re.compile(r"^(?:\d+\. +|\\State )\$(?P<left>[^$=]*?)(?:=|\\gets)[^\n]*\$\n", re.M)
BLOCK = re.compile(
    r"^\d+\. if [^\n]*then\n(?P<md>.*?)^\d+\. end if|^\\If\{[^\n]*\}\n(?P<in>.*?)^\\(?:Else|EndIf)", re.M | re.S
)


def total(text: str) -> Changes:
    """A count of calls without a factor or summand, and a number of steps or epochs without the last one."""
    for match in re.compile(COUNTED).finditer(text):
        said = match["it"]
        shorter = {"KT": "K", "2J": "J", "K": "K-1", "N": "N-1"}.get(said)
        if shorter is not None:
            yield match.start("it"), match.end("it"), shorter
    for match in re.compile(r"\+1(?=\$ (?:epochs|steps))").finditer(text):
        yield match.start(), match.end(), ""


def case(text: str) -> Changes:
    """The second case of a proof is lost, or its end."""
    for start, end in _spans(PROOF, text):
        for match in re.compile(r"\s(?:On the other hand, if|If|For) \$[^$]*(?:\\le|<|>|\\ge)[^$]*\$[^.]*\.").finditer(
            text, start, end
        ):
            yield match.start(), match.end(), ""
    for match in re.compile(r"(?<=lambda_j)(?P<it><|\\ge)(?=-\\frac)").finditer(text):
        yield match.start("it"), match.end("it"), r"\le " if match["it"] == "<" else ">"


def cell(text: str) -> Changes:
    """A cell of a row of the paper's own with another exponent, or without a letter."""
    for start, end in _spans(ROWS, text):
        yield from _changed(r"(?<=\\epsilon\^\{-)(?P<it>[12])(?=\})", text, start, end, lambda m: "3")
        yield from _changed(
            LETTER, text, start, end, lambda m: m["it"].removesuffix("^2") + "^2" * ("^" not in m["it"])
        )


def factor(text: str) -> Changes:
    """An improvement of the wrong rate, or by another factor."""
    for match in RATES.finditer(text):
        yield match.start("one"), match.end("one"), match["two"]
        yield match.start("two"), match.end("two"), match["two"].replace("-2", "-3")
    yield from _changed(r"by a factor of\s+\$\\epsilon\^\{-(?P<it>1)\}", text, 0, len(text), lambda m: "2")


def special(text: str) -> Changes:
    """A special case at another value."""
    yield from _changed(r"(?:When|Setting|for)\s+\$\\nu=(?P<it>1|\\frac12)\$", text, 0, len(text),
                        lambda m: r"\frac13" if m["it"] == "1" else "1")  # fmt: skip


def hypothesis(text: str) -> Changes:
    """A statement without its condition on a parameter."""
    for start, end in _spans(STATEMENT, text):
        for match in re.compile(DROPPED).finditer(text, start, end):
            alone = not match["it"].lstrip(", ").startswith("and ")
            if alone:
                stop = text.index(".", match.end()) + 1
                if re.fullmatch(r"\s*\.", text[match.end() : stop]):
                    yield match.start(), stop, ""
            else:
                yield match.start("it"), match.end("it"), ""


def output(text: str) -> Changes:
    """What is put out is no name of the algorithm, or an entry that no line sets."""
    for start, end in _spans(ALGORITHM, text):
        for match in re.compile(r"(?:\\Return|Output:) \$(?P<it>[^$=]*)\$").finditer(text, start, end):
            name = match["it"]
            yield match.start("it"), match.end("it"), r"\hat{v}"
            if (index := re.search(r"(?<=_)([A-Z])$", name)) is not None:
                yield match.start("it"), match.end("it"), f"{name[: index.start()]}{{{index[1]}+1}}"


def stale(text: str) -> Changes:
    """A restart that forgets one of its lines."""
    for start, end in _spans(ALGORITHM, text):
        for block in BLOCK.finditer(text, start, end):
            group = "md" if block["md"] is not None else "in"
            for line in LINE.finditer(text, block.start(group), block.end(group)):
                yield line.start(), line.end(), ""


OPERATORS = (
    Operator(4, "a total", total),
    Operator(4, "a case", case),
    Operator(4, "a cell of a table", cell),
    Operator(4, "a factor between rates", factor),
    Operator(6, "a special case", special),
    Operator(6, "a hypothesis dropped", hypothesis),
    Operator(5, "an output that nobody assigns", output),
    Operator(5, "a restart that forgets", stale),
)  # fmt: skip
