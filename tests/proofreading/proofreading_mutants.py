"""One small error in a right paper, as authors make them: in a name, index, shape, line of an algorithm, citation."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

LABEL = r"(?<!Proof of Lemma~)(?<!Proof of Theorem~)\\(ref|eqref)\{(lem|eq|thm|ass):(\w+)\}"
CORPUS = Path(__file__).parent / "corpus"
LATER = Path(__file__).parent / "later"
"""Right papers that were written together with the slips of ``fresh/twelve.toml`` and ``fresh/thirteen.toml``."""


@dataclass(frozen=True)
class Mutant:
    """A changed paper: which file, which operator, what was changed, the whole text, and the kinds that may tell."""

    file: str
    operator: str
    change: str
    text: str


def papers(folder: Path = CORPUS) -> dict[str, str]:
    """File name -> text of every paper of the corpus, or of another folder."""
    return {p.name: p.read_text(encoding="utf-8") for p in sorted(folder.iterdir()) if p.suffix in (".tex", ".md")}


def mutants() -> list[Mutant]:
    """Every mutant of every operator, in a fixed order."""
    found = []
    for file, text in papers().items():
        for name, operator in OPERATORS.items():
            for change, changed in operator(text):
                if changed != text:
                    found.append(Mutant(file, name, change, changed))
    return found


def sample(count: int, seed: int) -> list[Mutant]:
    """A sample in which every operator comes as often as it can."""
    table: dict[str, list[Mutant]] = {}
    for mutant in mutants():
        table.setdefault(mutant.operator, []).append(mutant)
    draw, found = random.Random(seed), []
    for group in table.values():
        draw.shuffle(group)
    while len(found) < count and any(table.values()):
        found += [group.pop() for group in table.values() if group]
    return found[:count]


def _each(pattern: str, change: Callable[[re.Match[str]], str]) -> Callable[[str], Iterator[tuple[str, str]]]:
    def operator(text: str) -> Iterator[tuple[str, str]]:
        for match in re.finditer(pattern, text, re.DOTALL):
            new = change(match)
            yield f"{match[0][:60]} -> {new[:60]}", text[: match.start()] + new + text[match.end() :]

    return operator


def _lines(text: str) -> list[tuple[int, int]]:
    """Assignments that are lines of algorithms, as places in the text."""
    found = []
    for block in re.finditer(
        r"\\begin\{algorithmic\}.*?\\end\{algorithmic\}|\*\*Algorithm.*?\n\n.*?(?=\n\n|\Z)", text, re.DOTALL
    ):
        for line in re.finditer(r"^(?:\d+\.|\\State) \$[^$]*(?:=|\\gets)[^\n]*\$\n", block[0], re.MULTILINE):
            found.append((block.start() + line.start(), block.start() + line.end()))
    return found


def drop_line(text: str) -> Iterator[tuple[str, str]]:
    """An assignment of an algorithm is lost."""
    for start, end in _lines(text):
        yield text[start:end].strip(), text[:start] + text[end:]


def swap_lines(text: str) -> Iterator[tuple[str, str]]:
    """Two neighbouring assignments, the second of which uses the first, change places."""
    for (a, b), (c, d) in zip(_lines(text), _lines(text)[1:], strict=False):
        one, two = text[a:b], text[c:d]
        name = re.search(r"\$([^=\\]*?)(?:=|\\gets)", one)
        if b == c and name and name[1] in re.split(r"=|\\gets", two, maxsplit=1)[1]:
            yield f"{one.strip()} <-> {two.strip()}", text[:a] + two + one + text[d:]


def circle(text: str) -> Iterator[tuple[str, str]]:
    """A proof that cites what is proved from it."""
    one = r"\begin{proof}[Proof of Lemma~\ref{lem:descent}]"
    if one in text:
        yield "Theorem 1", text.replace(one, f"{one}\nBy Theorem~\\ref{{thm:rate}} this is clear. ")


OPERATORS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "bound twice": _each(r"\\sum_\{([ikt])=[01]\}\^\{?\w[-+1\w]*\}?", lambda m: m[0] + m[0]),
    "own end": _each(r"\\sum_\{([ikt])=([01])\}\^\{?\w[-+1\w]*\}?", lambda m: rf"\sum_{{{m[1]}={m[2]}}}^{{{m[1]}-1}}"),
    "below the first": _each(r"(\\sum_\{k=0\}\^\{K-1\}.{0,40}?)x_\{k\+1\}", lambda m: f"{m[1]}x_{{k-2}}"),
    "stranger": _each(
        r"(?<=[xyzsrpgq])_(?:([kt])(?=[\^,)\\$ ])|\{([kt])\+1\}(?=[\^,)\\$ =]))", lambda m: "_n" if m[1] else "_{n+1}"
    ),
    "unknown letter": _each(
        r"(?<=\\frac)\{?([LMC])\}?(?=[ 2346{])|(?<=\\frac\{)(\\ell|\\rho)(?=\}\{\\mu)", lambda m: r"{Q}"
    ),
    "minimum for minimiser": _each(r"\\operatorname\*\{arg\\,min\}|\\arg\\min", lambda m: r"\min"),
    "blocks": _each(r"\\nabla_\{(xy|yx)\}\^2g(?=\(x,y(?:\^\*\(x\))?\)\[)", lambda m: rf"\nabla_{{{m[1][::-1]}}}^2g"),
    "part": _each(r"(?<=\^\{-1\})\\nabla_yf", lambda m: r"\nabla_xf"),
    "vector for number": _each(
        r"(?<=[-+])\\frac(?:M\{?\d+\}?|\{M\}\{12\}|\\eta2|\{\\eta\}\{2\}|12)\\\|([^|]{1,24}?)\\\|\^[23](?![^$]*\\State)",
        lambda m: f"({m[1]})",
    ),
    "lost line": drop_line,
    "lines changed places": swap_lines,
    "output": _each(r"(?:\\Return|Output:) \$x_([KT])\$", lambda m: m[0].replace(f"x_{m[1]}", f"x_{{{m[1]}+1}}")),
    "test": _each(
        r"if \$k\\ge K\$|\\If\{\$j\\ge m\$\}", lambda m: m[0].replace(r"k\ge K", "k<0").replace(r"j\ge m", "j<0")
    ),
    "label": _each(
        r"(?<!Proof of Lemma~)(?<!Proof of Theorem~)\\(ref|eqref)\{(lem|eq|thm|ass):(\w+)\}",
        lambda m: rf"\{m[1]}{{{m[2]}:{m[3]}x}}",
    ),
    "number": _each(r"(?<=[a-z] )Lemma (\d)(?=[. ,])", lambda m: f"Lemma {int(m[1]) + 7}"),
    "circle": circle,
    "hat": _each(r"\\hat\{y\}(?=-x_\{t,0\}\\\|\\le 2LB)", lambda m: "y"),
    "cases": _each(r"(?<=lambda_j)<(?=-)", lambda m: r"\le "),
    "threshold": _each(r"(?<=lambda_j<)-\\frac\{\\theta\}", lambda m: r"-\frac{2\theta}"),
    "count": _each(
        r"(?<=evaluates )\$(K|KT)\$(?= gradients)|(?<=uses at most )\$(K)\$(?= gradients)",
        lambda m: "$2K$" if m[1] == "K" else "$K+T$" if m[1] else "$K-1$",
    ),
    "total": _each(
        r"\\epsilon\^\{7/4\}(?=\}\$)|(?<=L\^)\{1/2\}(?=\\rho)", lambda m: r"\epsilon^{3/2}" if "7" in m[0] else "{1/4}"
    ),
}
