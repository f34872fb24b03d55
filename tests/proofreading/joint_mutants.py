"""One small error at a joint of a right paper: in a citation, a quotation, a total, a case, a cell, a hypothesis."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from proofreading_mutants import Mutant, papers

Change = Callable[[re.Match[str]], str]
SWAP = {"2": "3", "3": "2", "4": "3", "5": "4", "7/4": "3/2", "1/2": "3/4", "1/4": "1/2", "3/2": "1"}


def _each(pattern: str, change: Change) -> Callable[[str], Iterator[tuple[str, str]]]:
    def operator(text: str) -> Iterator[tuple[str, str]]:
        for match in re.finditer(pattern, text, re.DOTALL):
            new = change(match)
            shown = " ".join(f"{match[0][-50:]} -> {new[-50:]}".split())
            yield shown, text[: match.start()] + new + text[match.end() :]

    return operator


def _within(outer: str, inner: str, change: Change) -> Callable[[str], Iterator[tuple[str, str]]]:
    """Every place of ``inner`` inside a place of ``outer``."""

    def operator(text: str) -> Iterator[tuple[str, str]]:
        for frame in re.finditer(outer, text, re.DOTALL):
            for match in re.finditer(inner, frame[0]):
                new = change(match)
                start = frame.start() + match.start()
                yield f"{match[0]} -> {new} in {frame[0][:40]!r}", text[:start] + new + text[start + len(match[0]) :]

    return operator


RESULT = (
    r"(?:Substituting|Plugging)[^.]*?, we (?:obtain|have|get)\s*"
    r"(?:\$\$|\\begin\{equation\}).*?(?:\\tag|\\end\{equation\})"
)
QUOTE = r"(?:By Lemma 1, we have|that is|says that)\s*\$[^$]*\$"
VALUE = r"(?:With|Since|Substituting|large\} and) \$\\eta=\\frac(?:1L|\{1\}\{4M\})\$"
SUMMED = r"calling\s*their number \$T\$, we have\s*\$\$.*?\\tag"
CELLS = r"\| Descent[^\n]*|HGD \(ours\)[^\n]*"
SIMILARLY = r"(?:Similarly|Analogously|In the same way as|By the same argument)[^.]*?, we have.*?(?:\\tag|\)\)\$)"
ORDER = r"shows that \$\\mathcal\{O\}[^$]*\$|of Corollary 1"

OPERATORS: dict[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "a factor of what comes out": _within(
        RESULT,
        r"(?<=\\le\\frac\{)2(?=L)|(?<=\\frac\{)5(?=L\})|(?<=\+)2(?=\\\|)|(?<=\{)2(?=M\}\.)|(?<=\+)3(?=\\epsilon)",
        lambda m: "1" if m[0] in "25" else "2",
    ),
    "an exponent of what comes out": _within(
        RESULT, r"(?<=\\kappa\^)3|(?<=\\epsilon\^)2(?=\}\.|\}\{2M)|(?<=\\epsilon\^\{-)2", lambda m: SWAP[m[0]]
    ),
    "a quoted formula": _within(
        QUOTE, r"(?<=\\frac\{\\eta\}\{)2(?=\})|(?<=\\le )2(?=\\eta\()|(?<=\\le )2(?=\\eta\\epsilon)",
        lambda m: "1",
    ),
    "a quoted value": _within(VALUE, r"(?<=\\frac)1L|(?<=\{1\}\{)4(?=M)", lambda m: "{2}{L}" if m[0] == "1L" else "3"),
    "a lemma that needs more": _within(
        r"Lemma [124]\.\*\* Let \$0<\\eta\\le\\frac1L\$|\\label\{lem:(?:small|large)\}\nLet .*?\$\.",
        r"(?<=\\eta\\le\\frac)1L|(?<=\\eta\\le\\frac\{1\}\{)2(?=M)", lambda m: "{1}{2L}" if m[0] == "1L" else "8",
    ),
    "a hypothesis too many": _within(
        r"Theorem \d\.\*\* Let \$\\eta=\\frac1L\$"
        r"|\\label\{(?:thm|cor):\w+\}\nLet \$\\nu=1\$(?: and|,) \$\\eta=\\frac\{1\}\{4M\}\$",
        r"\$\\eta=\\frac(?:1L|\{1\}\{4M\})\$",
        lambda m: m[0] + (r" and $\eta\ge\frac2L$" if "1L" in m[0] else r" and $\eta\le\frac{1}{8M}$"),
    ),
    "a hypothesis dropped": _each(
        r"(?<=Lemma 2\.\*\* )Let \$0<\\eta\\le\\frac1L\$\. ", lambda m: ""
    ),
    "the last epoch": _each(r"\+1\$ epochs|\$(?= restarts|\nrestarts)|restarts(?=\.\n\n\*Proof)", lambda m: {
        "+1$ epochs": "$ epochs", "restarts": "epochs"}.get(m[0], m[0])),
    "the sum over the epochs": _within(
        SUMMED, r"(?<=\\rho\^\{)1/2|(?<=\\epsilon\^\{-)3/2|50", lambda m: SWAP.get(m[0], "20")
    ),
    "a cell": _within(
        CELLS,
        r"(?<=\\epsilon\^\{-)(?:2|7/4)(?=\})|(?<=L\^\{)1/2|(?<=\\rho\^\{)1/4|(?<=\\epsilon\^\{-\\frac\{)1(?=\+)"
        r"|(?<=M\^\{\\frac\{)1",
        lambda m: SWAP.get(m[0], "2"),
    ),
    "an order that is quoted": _within(
        ORDER, r"(?<=\\epsilon\^\{-)(?:2|7/4)(?=\})|(?<=\\Delta )M", lambda m: SWAP.get(m[0], "M^3")
    ),
    "a case": _within(
        r"\bIf \$\\\|\\nabla f\(x_k\)\\\|.{0,40}?\$, then", r"\\le(?=\\epsilon| 2)|(?<=>)2?(?=\\epsilon)",
        lambda m: "<" if m[0] == r"\le" else "3",
    ),
    "the cases of a proof": _each(r"On the other hand, if \$\\\|\\nabla f\(x_k\)\\\|\\le", lambda m: m[0][:-3] + "<"),
    "another equation summed": _each(r"(?<=We sum \()4(?=\))", lambda m: "5"),
    "a similarly that fails": _within(SIMILARLY, r"L_g|(?<=\\le )2(?=L_)", lambda m: "L_f" if m[0] == "L_g" else ""),
    "a similarly with another factor": _within(SIMILARLY, r"(?<=\{)2(?=k\})", lambda m: "4"),
    "a sum of two": _within(r"Adding \(7\) and \(8\), we obtain.*?tag", r"L_f\+L_g", lambda m: r"L_f+\frac{L_g}{3}"),
    "what is replaced": _within(r"\$2\\Delta\$ to obtain.*?tag", r"(?<=\{)2(?=\}\.)", lambda m: "4"),
    "independent of what stands in it": _each(
        r"(?<=independent of )\$\\epsilon\$|(?<=depend on )\$\\lambda\$",
        lambda m: r"$\lambda$" if "eps" in m[0] else r"$\epsilon$",
    ),
    "a special case": _within(
        r"(?:When \$\\nu=1\$, equation|Setting \$).*?(?:\.\n|tag)", r"(?<=epsilon\^\{-)[23]|4(?=\\Delta)",
        lambda m: {"2": "1", "3": "2", "4": "3"}[m[0]],
    ),
    "a value that is excluded": _each(r"(?<=Theorem 2 with )\$\\nu=1\$", lambda m: r"$\nu=0$"),
    "a factor between rates": _each(r"(?<=by a factor of\n)\$\\epsilon\^\{-1\}", lambda m: r"$\epsilon^{-2}"),
    "a promise": _each(r"(?<=terminates within \$)2(?=\\Delta)", lambda m: ""),
    "another lemma quoted": _each(
        r"By Lemma 1, we have|Lemma~\\ref\{lem:small\} says that",
        lambda m: m[0].replace("Lemma 1", "Lemma 3").replace("small", "large"),
    ),
}  # fmt: skip


def mutants() -> list[Mutant]:
    """Every mutant of every operator, in a fixed order."""
    return [
        Mutant(file, name, change, changed)
        for file, text in papers().items()
        for name, operator in OPERATORS.items()
        for change, changed in operator(text)
        if changed != text
    ]
