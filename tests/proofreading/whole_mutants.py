"""Small errors between whole parts of a paper: totals, cases, tables, factors, hypotheses, outputs, restarts.

Operators know nothing of the finder, and make their change at every place where it is an error by its sense.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kind_mutants import ALGORITHM, PROOF, STATEMENT, Changes, Operator, _changed, _spans

ROWS = re.compile(
    r"^\|(?P<md>[^\n]*(?:ours|this paper)[^\n]*)$"
    r"|^(?P<in>[^\n&|]*(?:ours\)|this paper\)|Corollary~[^\n&)]*\))[^\n]*)\\\\$", re.M
)  # fmt: skip
TABLE = re.compile(r"(?:^\|[^\n]*\n){3,}|\\begin\{tabular\}.*?\\end\{tabular\}", re.M | re.S)
COUNTED = (
    r"(?:evaluates|uses at most|makes|needs at most|draws|and)\s+\$(?P<it>[^$]*)\$\s+"
    r"(?:gradients|values|samples|approximate hypergradients)"
)
FEWER = {"KT": "K", "2J": "J", "K": "K-1", "N": "N-1", "T(I+1)": "TI", "T": "T-1", "Km": "K"}
THINGS = r"(?:gradients|steps|samples|iterations|epochs|restarts)"
SAID = (
    rf"\$(?P<a>[^$]*?\\mathcal\{{O\}}[^$]*)\$\s+{THINGS}\b|(?:at most|within)\s+\$(?P<b>[^$]+)\$\s+{THINGS}\b"
    rf"|\btotal number of {THINGS}[^$.]*is at\s+most\s+\$(?P<c>[^$]*)\$"
)
POWER = r"\\epsilon\^\{-?(?P<it>\d(?:/\d)?)\}|(?<=\\kappa\^)(?P<plain>\d)|^(?P<number>\d+)"
OTHER_POWER = {"1": "2", "2": "3", "3": "2", "7/4": "3/2", "3/2": "7/4"}
CEILING = r"\\lceil\s*(?:\\frac\{(?P<top>\d)|\\frac\{[^{}]*\}\{(?P<low>\d)|\\sqrt\{(?P<root>\d))"
PIECE = re.compile(r"\$\$.*?\$\$|\\begin\{(?P<env>equation|align)\*?\}.*?\\end\{(?P=env)\*?\}|\$[^$]+\$|\.(?!\d)", re.S)
"""A formula, or the full stop of a sentence."""
COMPARED = r"\$(?P<it>[^$]*?(?:\\le(?!ft)|\\ge|\\preceq|=|<|>)[^$]*)\$"
NO_CONDITION = re.compile(r"[a-zA-Z]\\ge ?[01]|[^=<>]*\\in\b.*|\\?\w+>0")
CONCLUDES = (r"\b[Tt]hen\b", r"\bwe have\b", r"\bfor all\b")
LETTER = r"(?<=\\mathcal\{O\}\()(?P<it>\\Delta L|\\sigma\^2|G\^2|\\kappa|\\Delta M)(?![a-z^])"
RATES = re.compile(r"[Tt]he rate\s+\$(?P<one>[^$]*)\$\s+improves\s+the rate\s+\$(?P<two>[^$]*)\$")
LINE = re.compile(r"^(?:\d+\. +|\\State )\$(?P<left>[^$=]*?)(?:=|\\gets)[^\n]*\$\n", re.M)
BLOCK = re.compile(
    r"^\d+\. if [^\n]*then\n(?P<md>.*?)^\d+\. end if|^\\If\{[^\n]*\}\n(?P<in>.*?)^\\(?:Else|EndIf)", re.M | re.S
)


def total(text: str) -> Changes:
    """A count of calls without a factor or summand, a number of steps or epochs without the last one, another order."""
    for match in re.compile(COUNTED).finditer(text):
        shorter = FEWER.get(match["it"])
        if shorter is not None:
            yield match.start("it"), match.end("it"), shorter
    for match in re.compile(r"\+1(?=\$ (?:epochs|steps))").finditer(text):
        yield match.start(), match.end(), ""
    for match in re.compile(SAID).finditer(text):
        group = next(g for g in "abc" if match[g] is not None)
        start, end = match.span(group)
        yield from _powers(text, start, end)
    for match in re.compile(CEILING).finditer(text):
        group = next(g for g in ("top", "low", "root") if match[g] is not None)
        number = int(match[group])
        yield match.start(group), match.end(group), str(2 * number if group == "low" else number // 2 or r"\frac12")


def _powers(text: str, start: int, end: int) -> Changes:
    """The first power of a letter of an order, or the number in front of a bound, is another one."""
    for match in re.compile(POWER).finditer(text[start:end]):
        group = next(g for g in ("it", "plain", "number") if match[g] is not None)
        said = match[group]
        if said in OTHER_POWER or group == "number":
            new = str(int(said) // 2 or 1) if group == "number" else OTHER_POWER[said]
            yield start + match.start(group), start + match.end(group), new


def case(text: str) -> Changes:
    """A case is lost, of a proof, an induction or an algorithm, or its end lies elsewhere."""
    for start, end in _spans(PROOF, text):
        condition = r"\s(?:On the other hand, if|If|For) \$[^$]*(?:\\le|<|>|\\ge)[^$]*\$"
        first = r"\s(?:For \$[a-z]=0\$ this is|If (?:it|iteration)\b|In the first case let)"
        for match in re.compile(rf"{condition}|{first}").finditer(text, start, end):
            yield match.start(), _stop(text, match.end(), end), ""
        base = r"(?:\[[^\n]*?\]|\.\*)\s(?P<it>.+?)(?=(?:If \(\d+\) holds for|Let \$k\\ge 1\$ and suppose))"
        if (match := re.compile(base, re.S).match(text, start)) is not None and match.end() < end:
            yield match.start("it"), match.end("it"), ""
    for match in re.compile(r"(?<=lambda_j)(?P<it><|\\ge)(?=-\\frac)").finditer(text):
        yield match.start("it"), match.end("it"), r"\le " if match["it"] == "<" else ">"
    for match in re.compile(r"with \$[^$]*?(?P<it>\\ge)[^$]*\$ is called").finditer(text):
        yield match.start("it"), match.end("it"), ">"
    for pattern in (r"\\Else\n.*?(?=\\EndIf)", r"^\d+\. else\n.*?(?=^\d+\. end if)"):
        for match in re.compile(pattern, re.M | re.S).finditer(text):
            yield match.start(), match.end(), ""
    yield from _ends_of_cases(text)


def _stop(text: str, start: int, end: int) -> int:
    """Where the sentence ends, behind a full stop or a display that has one."""
    for piece in PIECE.finditer(text, start, end):
        shown = re.sub(r"\\tag\{\d+\}|\\label\{[^}]*\}|\\end\{[^}]*\}|\$|\s", "", piece[0])
        if shown.endswith("."):
            return piece.end()
    return end


def _ends_of_cases(text: str) -> Changes:
    """The condition of a case holds less often: without equality, or with another threshold."""
    op, fraction = r"(?P<op>\\le(?![a-z])|\\ge|>|<) ?", r"\\frac\{\d?\\epsilon\}\{8L\}"
    condition = rf"\b(?:if|If|For) \$[^$]*?{op}(?P<it>\d|\\epsilon|2\\epsilon|{fraction})\$"
    for start, end in (*_spans(PROOF, text), *_spans(STATEMENT, text)):
        for pattern in (condition, rf"\band \$[^$]*?{op}(?P<it>{fraction})\$, then"):
            for match in re.compile(pattern).finditer(text, start, end):
                strict = {r"\le": "<", r"\ge": ">"}.get(match["op"])
                if strict is not None:
                    yield match.start("op"), match.end("op"), strict
                yield match.start("it"), match.end("it"), _less_often(match["it"], match["op"] in (r"\ge", ">"))


def _less_often(end: str, lower: bool) -> str:
    if end.isdigit():
        return str(int(end) + (1 if lower else -1))
    if "frac" in end:
        return end.replace("{8L}", "{16L}")
    return {"\\epsilon": "2\\epsilon", "2\\epsilon": "4\\epsilon"}[end] if lower else "\\frac{" + end + "}{4}"


def cell(text: str) -> Changes:
    """A cell of a row of the paper's own with another exponent or value, without a letter, or of another row."""
    for start, end in _spans(ROWS, text):
        yield from _changed(r"(?<=\\epsilon\^\{-)(?P<it>[12])(?=\})", text, start, end, lambda m: "3")
        yield from _changed(
            LETTER, text, start, end, lambda m: m["it"].removesuffix("^2") + "^2" * ("^" not in m["it"])
        )
        yield from _changed(r"(?<=\\epsilon\^\{-)7/4(?=\})", text, start, end, lambda m: "3/2")
        yield from _changed(r"(?<=T\^\{1/)2(?=\})", text, start, end, lambda m: "3")
        yield from _changed(r"(?<=\^\{\\frac\{)1(?=\}\{\\nu\})", text, start, end, lambda m: "2")
        yield from _changed(r"(?<=\\kappa\^)2", text, start, end, lambda m: "3")
        first = r"(?<=\\mathcal\{O\}\()(?:\\Delta ?|\\sigma\^2|G\^2|\\kappa|L|D|\\beta )(?![a-z^])"
        yield from _changed(first, text, start, end, lambda m: "")
        yield from _changed(r"(?<=\$\\frac)1\\beta", text, start, end, lambda m: r"2\beta")
        yield from _changed(r"(?<=\$\\frac)\{D\}\{G", text, start, end, lambda m: "{G}{D")
        yield from _cells_of_others(text, start, end)


def _cells_of_others(text: str, start: int, end: int) -> Changes:
    """The first order of the row copied from another row, and two orders of the row that change their places."""
    mine = list(re.compile(r"\$[^$]*mathcal\{O\}[^$]*\$").finditer(text, start, end))
    table = next(t for t in TABLE.finditer(text) if t.start() <= start < t.end())
    theirs = [m for m in re.compile(r"\$[^$]*mathcal\{O\}[^$]*\$").finditer(text, *table.span()) if m.start() < start]
    if theirs and mine and theirs[-1][0] != mine[0][0]:
        yield mine[0].start(), mine[0].end(), theirs[-1][0]
    if len(mine) > 1 and mine[0][0] != mine[1][0]:
        between = text[mine[0].end() : mine[1].start()]
        yield mine[0].start(), mine[1].end(), mine[1][0] + between + mine[0][0]


def factor(text: str) -> Changes:
    """An improvement of the wrong rate, or by another factor."""
    for match in RATES.finditer(text):
        yield match.start("one"), match.end("one"), match["two"]
        yield match.start("two"), match.end("two"), match["two"].replace("-2", "-3")
    yield from _changed(r"by a factor of\s+\$\\epsilon\^\{-(?P<it>1)\}", text, 0, len(text), lambda m: "2")


def special(text: str) -> Changes:
    """A special case at another value, or with something else coming out of it."""
    yield from _changed(r"(?:When|Setting|for|Let)\s+\$\\nu=(?P<it>1|\\frac12)\$", text, 0, len(text),
                        lambda m: r"\frac13" if m["it"] == "1" else "1")  # fmt: skip
    yield from _changed(r"When\s+\$(?P<it>h)=0\$", text, 0, len(text), lambda m: "f")
    shown = r"(?:When|Setting)\s+\$\\nu=[^$]*\$[^.$]*\${1,2}[^$]*?(?:\\epsilon\^\{-(?P<it>[23])\}|(?P<square>L_f\^2))"
    for match in re.compile(shown).finditer(text):
        group = "it" if match["it"] else "square"
        yield match.start(group), match.end(group), {"2": "1", "3": "2"}.get(match[group], "L_f")
    for start, end in _spans(PROOF, text):
        yield from _values(text, start, end)


def _values(text: str, start: int, end: int) -> Changes:
    """``with y = x_k and z = x_{k+1}``: the values in the other order, of another index or sign, another number."""
    given = r"\$(?P<{0}>[a-z]'?)=(?P<{1}>[^$=]*)\$"
    pair = rf"\bwith {given.format('a', 'one')} and (?:by )?{given.format('b', 'two')}"
    for match in re.compile(pair).finditer(text, start, end):
        between = text[match.end("one") : match.start("two")]
        yield match.start("one"), match.end("two"), match["two"] + between + match["one"]
    for match in re.compile(r"\b(?:with|[Tt]ake) \$(?:[a-z]=)+(?P<it>[^$=]*)\$").finditer(text, start, end):
        said = match["it"]
        other = (
            re.sub(r"_([kj])$", r"_{\1+1}", said) if re.search(r"_[kj]$", said)
            else re.sub(r"_\{([kj])\+1\}$", r"_\1", said) if re.search(r"_\{[kj]\+1\}$", said)
            else re.sub(r"(?:_\\star|\^\*|\^\\star)$", "_0", said) if re.search(r"(?:_\\star|\^\*|\^\\star)$", said)
            else said[1:] if said.startswith("-") else said.replace("-", "+", 1)
        )  # fmt: skip
        if other != said:
            yield match.start("it"), match.end("it"), other
    yield from _changed(r"with \$\\\w+_0=(?P<it>1|\\frac2)", text, start, end,
                        lambda m: "2" if m["it"] == "1" else r"\frac1")  # fmt: skip


def hypothesis(text: str) -> Changes:
    """A statement without one of its conditions on parameters and points."""
    for start, end in _spans(STATEMENT, text):
        yield from sorted(set(_conditions(text, start, end)))


def _conditions(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    said = text[start:end]
    stop = start + next((m.start() for p in CONCLUDES if (m := re.search(p, said)) is not None), end - start)
    shapes = (
        (rf"(?P<all>,?\s+and\s+(?:with\s+|let\s+)?{COMPARED})", ""),
        (rf"(?P<all>,\s+(?:let\s+)?{COMPARED}(?:\s+for all \$\w\$)?)(?=,|\s+and\b)", ""),
        (rf"\b(?:Let|Suppose that|With|If|let|with)\s+(?P<all>{COMPARED}(?:,|\s+and)\s+)(?=\$|let)", ""),
        (rf"(?P<all>\b(?:Let|Suppose that)\s+{COMPARED}\.\s)", ""),
        (rf"(?P<all>\bIf\s+{COMPARED},\s+then)", "Then"),
        (rf"(?P<all>\s+with\s+{COMPARED})(?=[.,]|\s+and)", ""),
    )
    for pattern, new in shapes:
        for match in re.compile(pattern).finditer(text, start, stop + 4):
            if NO_CONDITION.fullmatch(match["it"]) is None:
                yield match.start("all"), match.end("all"), new
    for match in re.compile(rf"(?P<all>\bIf\s+{COMPARED},)\s+(?!then)").finditer(text, start, end):
        yield match.start("all"), match.end("all"), "Further,"


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
