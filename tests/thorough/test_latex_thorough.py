"""Two thousand damaged displays of the papers, and the echoes of all displays that are read.

    python tests/thorough/test_latex_thorough.py [seed] [count]

A display is damaged as in ``tests/latex/test_latex_fuzz.py``: it is read or refused with one of the closed list of
reasons, with line and column; what is read is read the same from its echo, or its echo is refused.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from bilevel_verify.errors import LatexError
from bilevel_verify.latex import REASONS, Notation, read_latex
from bilevel_verify.manuscript import load_print
from bilevel_verify.manuscript.naming import print_notation
from bilevel_verify.theorems.library import load_card, shipped
from tests.latex.test_latex_fuzz import PIECES

COUNT = 2_000
LONGEST = 6_000


@lru_cache(maxsize=1)
def displays() -> tuple[tuple[str, Notation], ...]:
    """Every display of the shipped prints with the notation of its paper."""
    notations = {key: print_notation(load_card(key)) for key in shipped()}
    return tuple((f.latex, notation) for key, notation in notations.items() for f in load_print(key).displays())


def damaged(draw: random.Random, text: str) -> str:
    """A display with one or two stretches taken out, doubled, or with foreign pieces put in."""
    for _ in range(draw.randint(1, 2)):
        start = draw.randrange(len(text) + 1)
        stop = min(len(text), start + draw.randint(0, 4))
        choice = draw.randrange(3)
        if choice == 0:
            text = text[:start] + text[stop:]
        elif choice == 1:
            text = text[:start] + draw.choice(PIECES) + text[start:]
        else:
            text = text[:stop] + text[start:]
    return text[:LONGEST]


def outcome(text: str, notation: Notation) -> str:
    """``read``, ``read: echo refused``, ``read: echo differs``, ``named`` (a label alone), or why it is refused."""
    try:
        reading = read_latex(text, notation)
    except LatexError as error:
        proper = error.reason in REASONS and error.line >= 1 and (error.column or 0) >= 1 and "\n" not in str(error)
        return f"refused: {error.reason}" if proper else "refused without place"
    if any(s.word == "label" for s in reading.statements):
        return "named"
    try:
        again = read_latex(reading.latex(), notation)
    except LatexError:
        return "read: echo refused"
    return "read" if again.statements == reading.statements else "read: echo differs"


def run(seed: int, count: int) -> Counter[str]:
    """How often each outcome occurs among ``count`` damaged displays; the n-th follows from the seed and n."""
    found: Counter[str] = Counter()
    for number in range(count):
        draw = random.Random(f"{seed} {number}")
        latex, notation = draw.choice(displays())
        found[outcome(damaged(draw, latex), notation)] += 1
    return found


def test_damaged_displays_are_refused_with_a_place_or_read_as_their_echo() -> None:
    found = run(1, COUNT)
    assert sum(found.values()) == COUNT
    assert found["read: echo differs"] == found["refused without place"] == 0
    assert found["read"] > COUNT // 10
    assert sum(n for what, n in found.items() if what.startswith("refused")) > COUNT // 2


def test_every_display_that_is_read_is_read_the_same_from_its_echo() -> None:
    found = Counter(outcome(latex, notation) for latex, notation in displays())
    assert found["read: echo differs"] == 0
    assert found["read: echo refused"] == 0
    assert found["read"] >= 615


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    for what, times in sorted(run(*(given or [1, COUNT])[:2]).items()):
        print(f"{times:6} {what}")
