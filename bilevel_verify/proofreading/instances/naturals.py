"""Letters that count something, so that they are drawn as natural numbers: dimensions, numbers of points, of steps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.proofreading.source import Paper

LETTER = r"([A-Za-z])(?![A-Za-z])"
SPACE = re.compile(r"\\(?:(?:mathbb|mathbf|Bbb|mathcal)\s*\{?\s*[RCSBZ]\s*\}?|R)\s*\^\s*(?:\{([^{}]*)\}|([A-Za-z]))")
"""``\\mathbb R^d``, ``\\mathbb{R}^{m\\times n}``: every letter up there."""
LISTED = re.compile(
    rf"\\[lc]?dots\s*,\s*(?:\\?[A-Za-z]+\s*(?:\([^()]*\))?\s*[_^]\s*(?:\{{\(?\s*)?{LETTER}\s*(?:\)?\s*\}}|$|[^-+]))"
)
"""The last of what is listed: ``x_1,\\dots,x_n``."""
RANGE = re.compile(rf"(?:=|\\\{{|\\in\s*\[|\A)\s*(?:0|1)\s*,(?:\s*[12]\s*,)*\s*\\[lc]?dots\s*,\s*{LETTER}")
"""``i=1,\\dots,n``, ``\\{1,\\dots,n\\}``, ``k=0,\\dots,K-1``."""
COUNTS = re.compile(rf"(?:\A|[^A-Za-z\\]){LETTER}\s*=\s*[1-9]\d*\s*,(?:\s*\d+\s*,)*\s*\\[lc]?dots\s*\Z")
"""``n=1,2,\\dots``."""
NATURAL = re.compile(r"(?:\A|[^A-Za-z\\])((?:[A-Za-z]\s*,\s*)*[A-Za-z])\s*\\in\s*\\(?:mathbb|mathbf)\s*\{?\s*N")
SUM = re.compile(rf"\\(?:sum|prod)(?:\\limits)?\s*_\s*\{{[^{{}}]*=\s*[01]\s*\}}\s*\^\s*\{{?\s*{LETTER}")
NUMBER_OF = re.compile(
    r"\b(?:number of (?:[\w-]+ ){1,3}"
    r"|(?:dimension|(?:batch|sample) ?size|horizon|degree|rank) (?:of [\w-]+ )?(?:is )?)\Z",
    re.I,
)
IS_NUMBER = re.compile(
    r"\A\s*(?:is|are|be|denotes?|for)\s+the\s+(?:[\w-]+ )?(?:number of|dimension|(?:batch|sample)[ -]size"
    r"|batchsize|horizon|rank|degree)\b"
    r"|\A\s*(?:(?:random|data|sample|training|independent|i\.i\.d\.) )?(?:points|samples|components|observations|agents"
    r"|workers|clients|machines|nodes|iterations|steps|epochs|functions|summands|copies|dimensions|coordinates|arms)\b",
    re.I,
)


def natural_letters(paper: Paper) -> frozenset[str]:
    """Letters of which the paper says somewhere, in a formula or in words, that they are numbers of something."""
    printed = {letter for letter in _printed(paper) if letter}
    found: set[str] = set()
    for letter in printed:
        entries = paper.notation.by_symbol.get(letter, ())
        found |= {e.name for e in entries if e.role == "letter" and e.atom.sub is None and e.kind == "scalar"}
    return frozenset(found)


def _printed(paper: Paper) -> Iterator[str]:
    for sentence in paper.sentences:
        for space in SPACE.finditer(sentence.latex):
            yield from re.findall(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])", " ".join(filter(None, space.groups())))
        for pattern in (LISTED, RANGE, COUNTS, NATURAL, SUM):
            yield from (one for found in pattern.finditer(sentence.latex) for one in re.split(r"\s*,\s*", found[1]))
        alone = re.fullmatch(rf"\s*{LETTER}\s*(?:(?:\\geq?|>|=).*)?", sentence.latex)
        if alone and (NUMBER_OF.search(sentence.before) or IS_NUMBER.match(sentence.after)):
            yield alone[1]
