"""The table of coverage as Markdown: one line a paper, the reasons, and what is left undecided by classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from bilevel_verify.manuscript.coverage import BY, Line, Walk

CLASSES = (
    ("follows from", "it follows from lines that are undecided themselves"),
    ("does not follow from the hypotheses", "false for some numbers in the place of its objects; no derivation found"),
    ("no identity by itself", "equations between vectors that nothing said closes"),
    ("no engine reads it", "no engine reads it"),
    ("survived", "relations of matrices that survived instances"),
    ("does not hold for all matrices", "not for all matrices"),
)
"""How the reason of an undecided relation of the print layer begins, and what the table calls it."""


def coverage_table(walks: Sequence[Walk], seconds: Mapping[str, float]) -> str:
    """The page: ``seconds`` are of processor, by paper."""
    lines = [
        "# Coverage by the print",
        "",
        "Every relation of every display of the papers: what judges it, or why nothing does"
        " (written by `bilevel-verify coverage --out DIR`; docs/print.md says what the words mean).",
        "",
        *_papers(walks, seconds),
        "",
        "## Why nothing judges it",
        "",
        *_counted(walks, lambda walk: walk.reasons()),
        "",
        "## What is left undecided",
        "",
        *_counted(walks, lambda walk: Counter(_class(line) for line in walk.lines if _is_open(line))),
    ]
    return "\n".join(lines) + "\n"


def _papers(walks: Sequence[Walk], seconds: Mapping[str, float]) -> Iterator[str]:
    yield f"| paper | relations | {' | '.join(BY)} | judged | decided | processor |"
    yield "|" + "---|" * (len(BY) + 5)
    for walk in walks:
        spent = f"{seconds[walk.paper]:.0f} s" if walk.paper in seconds else ""
        yield _paper(walk.paper, walk.relations, spent)
    if len(walks) > 1:
        every = [line for walk in walks for line in walk.relations]
        yield _paper("together", every, f"{sum(seconds.values()):.0f} s")


def _paper(name: str, lines: Sequence[Line], spent: str) -> str:
    by, total = Counter(line.by for line in lines), len(lines)
    judged, decided = total - by["reason"], sum(line.decided for line in lines)
    cells = [name, total, *(by[word] for word in BY), f"{judged} ({judged / max(total, 1):.1%})", decided, spent]
    return f"| {' | '.join(map(str, cells))} |"


def _counted(walks: Sequence[Walk], count: Callable[[Walk], Mapping[str, int]]) -> Iterator[str]:
    found = {walk.paper: Counter(count(walk)) for walk in walks}
    names = sorted({name for one in found.values() for name in one}, key=lambda n: -sum(c[n] for c in found.values()))
    yield f"| | {' | '.join(found)} |"
    yield "|" + "---|" * (len(found) + 1)
    for name in names:
        yield f"| {name} | {' | '.join(str(one[name]) for one in found.values())} |"


def _is_open(line: Line) -> bool:
    return line.by != "reason" and not line.decided


def _class(line: Line) -> str:
    if line.by == "with verify":
        return "judged on problems, by `verify`"
    if line.by != "print layer":
        return "undecided in the card"
    return next((name for start, name in CLASSES if line.reason.startswith(start)), "the engines came to no end")
