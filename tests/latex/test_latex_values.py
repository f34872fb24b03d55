"""What the reader reads has the value that the same formula has when it is written by hand.

Dimension 3, matrices that do not commute, sequences that differ at every index: an order of factors, a transpose or an
index that is read wrongly changes the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from bilevel_verify.errors import LatexError
from bilevel_verify.latex import read_latex
from tests.latex.evaluation import FIELDS, NOTATION, PAPERS, environment, papers, value


def pairs(*names: str) -> list[tuple[str, str]]:
    """LaTeX and what it is by hand."""
    lines = [line for name in names for line in Path(__file__).with_name(name).read_text("utf8").splitlines()]
    parts = [line.split(" => ") for line in lines if line and not line.startswith("#")]
    return [(latex, hand) for latex, hand in parts]


LINES = pairs("formulas.txt", "formulas_other.txt")
VALUED = [(latex, hand) for latex, hand in LINES if hand != "None"]
POINTS = [environment(seed) for seed in (1, 2, 3)]
ATTACKED = pairs("formulas_fields.txt")
PRINTED = pairs("formulas_papers.txt")
PRINTED_POINTS = [papers(seed) for seed in (1, 2, 3)]

pytestmark = pytest.mark.fast

Pair = tuple[str, str]


def in_blocks(rows: Sequence[Pair], size: int = 25) -> pytest.MarkDecorator:
    """One test for so many formulas: a formula takes less time than the frame of a test."""
    blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
    return pytest.mark.parametrize("block", blocks, ids=[block[0][0] for block in blocks])


def each(block: Sequence[Pair], check: Callable[[str, str], None]) -> None:
    """Every formula of a block is checked; those that fail are named."""
    failed = []
    for latex, hand in block:
        try:
            check(latex, hand)
        except (AssertionError, LatexError, pytest.fail.Exception) as error:
            failed.append(f"{latex} => {hand}: {error}")
    assert not failed, "\n".join(failed)


def test_the_set_is_large_enough() -> None:
    assert len(VALUED) >= 500
    assert len({latex for latex, _ in LINES}) == len(LINES)


@pytest.mark.slow
@in_blocks(VALUED)
def test_value_is_that_of_the_formula_written_by_hand(block: Sequence[Pair]) -> None:
    each(block, _has_its_value)


def _has_its_value(latex: str, hand: str) -> None:
    node = read_latex(latex, NOTATION).tree
    for names in POINTS:
        expected = eval(hand, dict(names))
        assert np.shape(value(node, names)) == np.shape(expected) or np.size(expected) == 1
        np.testing.assert_allclose(value(node, names), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@in_blocks(VALUED)
def test_reading_the_echo_gives_the_same_tree(block: Sequence[Pair]) -> None:
    each(block, _reads_its_echo)


def _reads_its_echo(latex: str, _: str) -> None:
    reading = read_latex(latex, NOTATION)
    assert read_latex(reading.latex(), NOTATION).statements == reading.statements, reading.latex()


@pytest.mark.parametrize("latex", [latex for latex, hand in LINES if hand == "None"])
def test_open_formulas_are_refused(latex: str) -> None:
    with pytest.raises(LatexError):
        read_latex(latex, NOTATION)


def test_the_attack_is_large_enough() -> None:
    assert len({latex for latex, _ in ATTACKED}) == len(ATTACKED) >= 900
    assert sum(hand[0] not in "?N" for _, hand in ATTACKED) >= 550


@pytest.mark.slow
@in_blocks(ATTACKED)
def test_a_formula_of_another_field_is_read_as_it_is_meant_or_refused(block: Sequence[Pair]) -> None:
    each(block, _is_meant_or_refused)


def _is_meant_or_refused(latex: str, hand: str) -> None:
    if hand == "None":
        with pytest.raises(LatexError):
            _ = read_latex(latex, FIELDS).tree
        return
    try:
        reading = read_latex(latex, FIELDS)
        node = reading.tree
    except LatexError:
        assert hand.startswith("? ")
        return
    for names in POINTS:
        expected, found = eval(hand.removeprefix("? "), dict(names)), value(node, names)
        assert np.shape(found) == np.shape(expected) or np.size(expected) == 1
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert read_latex(reading.latex(), FIELDS).statements == reading.statements, reading.latex()


def test_the_set_of_printed_formulas_is_large_enough() -> None:
    assert len({latex for latex, _ in PRINTED}) == len(PRINTED)
    assert sum(hand != "None" and hand[0] != "?" for _, hand in PRINTED) >= 750


@pytest.mark.slow
@in_blocks(PRINTED)
def test_every_member_of_a_printed_chain_is_read_as_it_is_meant_or_the_chain_is_refused(block: Sequence[Pair]) -> None:
    each(block, _is_meant_in_every_member)


def _is_meant_in_every_member(latex: str, hand: str) -> None:
    if hand == "None" or hand[0] == "?":
        with pytest.raises(LatexError):
            _ = read_latex(latex, PAPERS).tree
        return
    reading = read_latex(latex, PAPERS)
    (statement,) = reading.statements
    hands = hand.split(" ~ ")
    assert len(hands) == len(statement.members)
    for names in PRINTED_POINTS:
        for written, member in zip(hands, statement.members, strict=True):
            expected, found = eval(written, dict(names)), value(member, names)
            assert np.shape(found) == np.shape(expected) or np.size(expected) == 1
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    assert read_latex(reading.latex(), PAPERS).statements == reading.statements, reading.latex()
