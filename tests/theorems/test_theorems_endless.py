"""Loops that are never left: shown with the numbers of a path, and nothing said of loops that end."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from seeds import SEED

from bilevel_verify.language import tree
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.algorithm import read_program
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.pseudocode.assignment import path_defects, undecided_loops
from bilevel_verify.theorems.pseudocode.endless import end_of

pytestmark = pytest.mark.fast

ONE = Expression(tree.Number(Fraction(1)), "1")
RANGES = {"K": Domain("integers 1..", "integers", ONE, None, True, False)}
INPUTS = {"K", "eps", "x0", "c"}


def endless(steps: str) -> list[str]:
    found = path_defects(read_program(steps), INPUTS, RANGES)
    return [one.message for one in found if one.kind == "unreachable exit"]


ENDLESS = [
    "k = 0\nwhile True:\n    x = grad_f(x0)\n    if k == K:\n        break\n    k = k + 2\nreturn x",
    "k = 0\nwhile not k == K:\n    k = k + 2\nreturn k",
    "k = 0\nwhile k < K:\n    k = k - 1\nreturn k",
    "k = 1\nwhile True:\n    k = 2*k\n    if k == 3*K:\n        return k",
    "s = 1\nwhile s > 0:\n    s = s/2\nreturn s",
    "k = 0\nx = x0\nwhile True:\n    if k == K and norm(grad_f(x)) <= eps:\n        break\n"
    "    x = x - grad_f(x)\n    k = k + 3\nreturn x",
    "k = K + 1\nwhile True:\n    k = k + 1\n    if k == K:\n        return k",
    "j = 0\nk = 0\nwhile not k == K:\n    j = j + 1\n    k = 2*j\nreturn k",
    "t = 0\nwhile t < 2:\n    k = 0\n    while not k == K:\n        k = k + 2\n    t = t + 1\nreturn t",
    "k = 0\nwhile k < K:\n    if k > 1:\n        k = 0\n    else:\n        k = k\nreturn k",
]
ENDING = [
    "k = 0\nwhile True:\n    if k == K:\n        break\n    k = k + 1\nreturn k",
    "k = 0\nwhile True:\n    if k >= K:\n        break\n    k = k + 2\nreturn k",
    "k = 0\nwhile not k == 2*K:\n    k = k + 2\nreturn k",
    "k = K\nwhile k > 0:\n    k = k - 1\nreturn k",
    "s = 1\nwhile s > eps:\n    s = s/2\nreturn s",
    "x = x0\nwhile norm(grad_f(x)) > eps:\n    x = x - grad_f(x)\nreturn x",
    "k = 0\nx = x0\nwhile True:\n    if k == K or norm(grad_f(x)) <= eps:\n        break\n"
    "    x = x - grad_f(x)\n    k = k + 3\nreturn x",
    "k = 0\nwhile k < K:\n    k = k + c(k)\nreturn k",
    "k = 0\nwhile k < 90 + K:\n    k = k + 1\nreturn k",
    "k = -40\nd = 0\nwhile k < K:\n    d = d + 1/10\n    k = k + d\nreturn k",
    "k = 0\nwhile True:\n    k = k + 2\n    while True:\n        break\n    if k > K:\n        break\nreturn k",
    "k = 0\nwhile not k == K:\n    k = k + 2\n    if k > K:\n        k = K\nreturn k",
]


@pytest.mark.parametrize("steps", ENDLESS)
def test_loops_that_no_pass_leaves_are_shown(steps: str) -> None:
    assert endless(steps)


def test_the_message_names_the_numbers() -> None:
    assert endless(ENDLESS[0]) == ["no pass fulfils an exit test (K = 1)"]


@pytest.mark.parametrize("steps", ENDING)
def test_nothing_is_said_of_loops_that_end(steps: str) -> None:
    assert endless(steps) == []
    assert undecided_loops(read_program(steps), INPUTS, RANGES) == ()


def test_a_loop_that_is_not_seen_to_end_is_undecided() -> None:
    quadratic = read_program("k = 2\nwhile not k == K:\n    k = k*k - k + 1\nreturn k")
    slow = read_program("k = 0\nwhile k < 900*K:\n    k = k + 1\nreturn k")
    assert undecided_loops(slow, INPUTS, RANGES)
    assert not path_defects(quadratic, INPUTS, RANGES)


@pytest.mark.slow
@pytest.mark.seeded
def test_no_loop_that_ends_is_called_endless() -> None:
    """Random counters: brute force over many passes never leaves a loop that is called endless."""
    dice, called = random.Random(SEED), 0
    for _ in range(120):
        add, times, start = dice.choice((-2, -1, 1, 2, 3)), dice.choice((1, 1, 1, -1, 2)), dice.randint(-5, 5)
        goal, sign = dice.randint(-9, 20), dice.choice(("<", "<=", ">", ">=", "=="))
        turn = dice.randint(-3, 9)
        one, two = f"k = {times}*k + {add}", "k = k + 2"
        steps = f"while k {sign} {goal}:\n    if k > {turn}:\n        {one}\n    else:\n        {two}"
        loop = read_program(steps).statements[0]
        assert isinstance(loop, script.While)
        said = end_of(loop, {"k": Fraction(start)})
        if said == "endless":
            called += 1
            k, tests = start, {"<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__}
            for _ in range(300):
                assert tests[sign](k, goal)
                k = times * k + add if k > turn else k + 2
    assert called > 2
