"""Damaged LaTeX: nothing but a LatexError, in bounded time; what is still read is read the same from its echo."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.errors import LatexError
from bilevel_verify.latex import REASONS, Notation, Reading, read_latex
from tests.latex.evaluation import NOTATION
from tests.seeds import SEED

SOURCES = [
    line.split(" => ")[0]
    for line in Path(__file__).with_name("formulas.txt").read_text(encoding="utf8").splitlines()
    if line and not line.startswith("#")
]
PIECES = (
    r"\frac \left( \right) \| | { } ^ _ & \\ \sum_{i=1}^k \begin{cases} \end{cases} \begin{aligned} \end{aligned} "
    r"\nabla \log \min \le = , \quad \text{if} \hat \mathbf \sqrt [ ] ( ) \{ \} x k a 1 2 0 + - / \cdot \top ' "
    r"\right. \left. $ %"
).split()


def attempt(source: str, notation: Notation) -> Reading | None:
    """The reading, or None with a proper refusal."""
    try:
        return read_latex(source, notation)
    except LatexError as caught:
        error = caught
    assert error.reason in REASONS
    assert error.line >= 1
    assert (error.column or 0) >= 1
    assert "\n" not in str(error)
    return None


def damaged(draw: random.Random) -> str:
    """A formula with a stretch taken out, doubled, swapped, or with foreign pieces put in."""
    text = draw.choice(SOURCES)
    for _ in range(draw.randint(1, 3)):
        start = draw.randrange(len(text) + 1)
        stop = min(len(text), start + draw.randint(0, 6))
        choice = draw.randrange(4)
        if choice == 0:
            text = text[:start] + text[stop:]
        elif choice == 1:
            text = text[:start] + draw.choice(PIECES) + text[start:]
        elif choice == 2:
            text = text[:stop] + text[start:]
        else:
            text = text[:start] + draw.choice(SOURCES) + text[stop:]
    return text


@pytest.mark.seeded
@pytest.mark.parametrize("notation", [NOTATION, Notation()], ids=["declared", "free"])
def test_damaged_formulas(notation: Notation) -> None:
    draw = random.Random(SEED)
    read = 0
    for _ in range(600):
        reading = attempt(damaged(draw), notation)
        if reading is not None and all(s.word != "label" for s in reading.statements):
            read += 1
            again = attempt(reading.latex(), notation)
            assert again is None or again.statements == reading.statements, (reading.source, reading.latex())
    assert read > 50


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_any_sequence_of_pieces(pieces: list[str]) -> None:
    attempt(" ".join(pieces), NOTATION)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    attempt(text, NOTATION)


@pytest.mark.parametrize(
    "source",
    [
        "a+" * 500_000,
        "{" * 500_000,
        r"\frac{" * 300,
        "(" * 3_000 + ")" * 3_000,
        "|" * 3_000,
        "-" * 3_000 + "a",
        "a^" * 3_000 + "a",
        r"\sqrt" * 3_000 + "a",
        r"\arg\min_x " * 400 + r"\varphi(x)+a",
        r"\left(" * 3_000,
        r"\hat" * 3_000 + "a",
        "a_{" * 28 + "a" + "}" * 28,
        r"\sum_{i=1}^k " * 500 + "a",
        r"a\\" * 2_000,
        "a&" * 5_000,
    ],
    ids=lambda s: s[:16],
)
def test_large_sources_end_soon(source: str) -> None:
    start = time.process_time()
    attempt(source, NOTATION)
    assert time.process_time() - start < 5
