"""Damaged quotations and damaged prints: none is called the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import bilevel_verify as bv
from bilevel_verify.manuscript import load_print, read_print
from bilevel_verify.manuscript.fidelity import Paper, _row
from bilevel_verify.manuscript.quotation import Indexed, canonical
from bilevel_verify.manuscript.quoted import Quoted, quotations

KEY = "ragd-gs"
SAME = ("same tree", "same values")
LETTER = r"(?<![A-Za-z\\])[a-zA-Z](?![A-Za-z])"


def dropped_index(text: str, dice: random.Random) -> str:
    return _one(r"_(?:\{[^{}]*\}|[A-Za-z0-9])", text, dice, lambda m: "")


def script_appended(text: str, dice: random.Random) -> str:
    return _one(LETTER + r"(?![_^'])", text, dice, lambda m: m[0] + "_{7}")


def sign_turned(text: str, dice: random.Random) -> str:
    return _one(r"[+-]", text, dice, lambda m: "-" if m[0] == "+" else "+")


def factor_changed(text: str, dice: random.Random) -> str:
    return _one(r"[1-9]", text, dice, lambda m: str(int(m[0]) % 9 + 1))


def end_cut_off(text: str, dice: random.Random) -> str:
    """The last or the first operand of a sum is lost."""
    places = [
        m.start() for m in re.finditer(r"[+-]", text) if text[: m.start()].count("{") == text[: m.start()].count("}")
    ]
    if not places:
        return text
    at = dice.choice((places[0], places[-1]))
    return text[:at] if dice.random() < 0.5 else text[at + 1 :]


def last_sign_cut_off(text: str, dice: random.Random) -> str:
    return text.rstrip(" ,.")[:-1]


def bound_changed(text: str, dice: random.Random) -> str:
    return _one(r"\\sum_\{[a-z]=[01]\}", text, dice, lambda m: m[0][:-2] + ("1}" if m[0][-2] == "0" else "0}"))


DAMAGES = (
    dropped_index, script_appended, sign_turned, factor_changed, end_cut_off, last_sign_cut_off, bound_changed,
)  # fmt: skip


def _one(pattern: str, text: str, dice: random.Random, change: Callable[[re.Match[str]], str]) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = dice.choice(found)
    return text[: match.start()] + change(match) + text[match.end() :]


def damaged(key: str, count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """(what was damaged, the damaged text, the outcome) of quotations that are the same before."""
    card, source, dice = bv.card(key), load_print(key), random.Random(seed)
    index = Indexed(source)
    all_of_them = [q for q in quotations(card) if (q.relations or q.sides) and not q.marks and index.places(q.latex)]
    done = 0
    while done < count:
        quoted = dice.choice(all_of_them)
        formulas = tuple(f for f in index.places(quoted.latex) if index.whole(quoted.latex, f))[:1]
        damage, of_print = dice.choice(DAMAGES), dice.random() < 0.5
        text = formulas[0].latex if of_print else quoted.latex
        changed = damage(text, dice)
        if not canonical(changed) or canonical(changed) == canonical(text):
            continue
        if of_print and not inside(quoted.latex, text, changed):
            continue
        done += 1
        shown: Quoted = quoted if of_print else replace(quoted, latex=changed)
        formulas = (replace(formulas[0], latex=changed),) if of_print else formulas
        paper = Paper(card, replace(source, formulas=formulas, said=()))
        yield (
            f"{damage.__name__}, {'print' if of_print else 'card'}: {quoted.latex}",
            changed,
            _row(paper, shown).outcome,
        )


def inside(quotation: str, text: str, changed: str) -> bool:
    """Whether the damage is in what is quoted: the formula is not much longer than the quotation."""
    return len(canonical(text)) <= len(canonical(quotation)) + 2


@pytest.mark.parametrize("seed", [0, 1])
def test_no_damage_is_called_the_same(seed: int) -> None:
    found = [one for one in damaged(KEY, 20, seed) if one[2] in SAME]
    assert found == []


@pytest.mark.parametrize(
    ("printed", "whole"),
    [
        (r"z\le z_{2}", False),
        (r"z\le z^{2}", False),
        (r"z\le z'", False),
        (r"z\le z(x)", False),
        (r"z\le zw", False),
        (r"z\le z+w", False),
        (r"z\le z\frac12", False),
        (r"\tilde z\le z", False),
        (r"2z\le z", False),
        (r"w+z\le z", False),
        (r"z\le z\cdot2", False),
        (r"z\le z", True),
        (r"z\le z\le 2", True),
        (r"z\le z,\quad w\ge 0", True),
        (r"z\le z\quad\text{for all }w", True),
        (r"\begin{aligned}z&\le z\\&\le 2\end{aligned}", True),
        (r"\begin{aligned}z&\le z\\&\quad+w\end{aligned}", False),
        (r"\frac{w}{z\le z}", True),
    ],
)
def test_a_quotation_is_a_whole_part_of_a_formula(printed: str, whole: bool) -> None:
    index = Indexed(read_print({"paper": "mine", "formula": [{"n": 1, "latex": printed}]}))
    assert any(index.whole(r"z\le z", formula) for formula in index.places(r"z\le z")) is whole
