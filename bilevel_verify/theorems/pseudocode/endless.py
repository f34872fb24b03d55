"""Loops of a pseudo-code that certain numbers never leave.

Of a loop only what decides its end is followed, exactly: the tests in front of its exits, and the lines that assign the
letters in them. Where those lines are affine in what they assign, a pass that takes the same branches as the one before
moves the letters by the same vector times a fixed number r (A d = r d), and so do all later passes, as long as they
take these branches. The gap between the sides of every test then runs monotonically, so that two passes tell whether
it ever changes its sign: the counter that steps over the number it is compared with never meets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import tree
from bilevel_verify.numbers.exact import Formula, compare
from bilevel_verify.numbers.logic import Answer, logical
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import free_letters

MOST_PASSES = 500
"""Passes that are followed."""
LARGEST = 10**60
"""Numerators and denominators beyond which nothing is followed."""
End = Literal["endless", "not reached", "not followed"]
Numbers = Mapping[str, Fraction]


class _Lost(Exception):
    """What decides the end of the loop is not followed."""


@dataclass(slots=True)
class _Pass:
    """The letters behind a pass, the comparisons that it made (node, answer) and the gaps between their sides."""

    values: dict[str, Fraction]
    answers: list[tuple[int, Answer]] = field(default_factory=list)
    gaps: list[Fraction] = field(default_factory=list)
    nodes: list[tree.Node] = field(default_factory=list)
    """What was evaluated to a number on the way."""
    left: bool = False


def end_of(loop: script.While, values: Numbers) -> End:
    """Whether a loop that is entered with these numbers ends.

    Returns
    -------
    ``endless`` is proved; ``not reached``: every test had its answer and none of the passes that were followed left the
    loop; ``not followed``: a pass leaves the loop, or its end depends on what is no number here.
    """
    deciding = _deciding(loop)
    if deciding is None:
        return "not followed"
    changed = _assigned(loop.body) & deciding
    passes: list[_Pass] = []
    now = {name: value for name, value in values.items() if name in deciding}
    try:
        while len(passes) < MOST_PASSES:
            passes.append(_one_pass(loop, deciding, now))
            if passes[-1].left:
                return "not followed"
            now = passes[-1].values
            if len(passes) >= 3 and _repeats(passes[-3:]) and all(_affine(n, changed) for n in passes[-1].nodes):
                return "endless"
    except _Lost:
        return "not followed"
    return "not reached"


def _deciding(loop: script.While) -> set[str] | None:
    """Letters that decide whether the loop is left; None where an inner loop decides."""
    found = set(free_letters(loop.test))
    while True:
        before = set(found)
        for statement in script.Program(loop.body, "").walk():
            inner = statement.body if isinstance(statement, script.While | script.For) else ()
            if inner and (_returns(inner) or _assigned((statement,)) & found):
                return None
            if isinstance(statement, script.If) and _matters(statement, found):
                found |= free_letters(statement.test)
            if isinstance(statement, script.Assign) and _assigned((statement,)) & found:
                found |= free_letters(statement.value)
        if found == before:
            return found


def _matters(statement: script.Statement, deciding: set[str]) -> bool:
    """Whether a statement can leave the loop or assigns a letter that decides."""
    return _leaves((statement,)) or bool(_assigned((statement,)) & deciding)


def _leaves(body: Sequence[script.Statement]) -> bool:
    """Whether a block holds an exit of the loop that it stands in; a ``break`` of an inner loop is none."""
    for statement in body:
        match statement:
            case script.Break() | script.Return():
                return True
            case script.If(body=yes, orelse=no) if _leaves(yes) or _leaves(no):
                return True
    return False


def _returns(body: Sequence[script.Statement]) -> bool:
    return any(isinstance(s, script.Return) for s in script.Program(tuple(body), "").walk())


def _assigned(body: Sequence[script.Statement]) -> set[str]:
    """Letters and sequences that a block assigns, indices of its loops too."""
    found: set[str] = set()
    for statement in script.Program(tuple(body), "").walk():
        if isinstance(statement, script.Assign):
            found |= {t.name if isinstance(t, tree.Letter) else t.base for t in statement.targets}
        elif isinstance(statement, script.For):
            found.add(statement.index)
    return found


def _one_pass(loop: script.While, deciding: set[str], values: Numbers) -> _Pass:
    """One pass from these numbers; its test is asked first."""
    done = _Pass(dict(values))
    done.left = not _answer(loop.test, done) or _block(loop.body, deciding, done)
    return done


def _block(body: Sequence[script.Statement], deciding: set[str], done: _Pass) -> bool:
    """Whether a block leaves the loop."""
    for statement in body:
        match statement:
            case script.Break() | script.Return():
                return True
            case script.If(test=test, body=yes, orelse=no) if _matters(statement, deciding):
                if _block(yes if _answer(test, done) else no, deciding, done):
                    return True
            case script.Assign(targets=targets, value=node) if _assigned((statement,)) & deciding:
                number = _number(node, done)
                for target in targets:
                    if number is None:
                        done.values.pop(target.name if isinstance(target, tree.Letter) else target.base, None)
                    elif isinstance(target, tree.Letter):
                        done.values[target.name] = number
    return False


def _answer(test: tree.Node, done: _Pass) -> bool:
    found = _asked(test, done)
    if found is None:
        raise _Lost
    return found


def _asked(test: tree.Node, done: _Pass) -> Answer:
    """A test by numbers: every comparison in it is noted, also behind an answer that decides."""
    match test:
        case tree.Truth(value=value):
            return value
        case tree.Not(operand=inner):
            answer = _asked(inner, done)
            return None if answer is None else not answer
        case tree.Logical(operator=word, operands=parts):
            return logical(word, [_asked(part, done) for part in parts])
        case tree.Compare(operands=sides, operators=signs):
            return logical("and", [_compared(a, sign, b, done) for a, sign, b in zip(sides, signs, sides[1:])])
    return None


def _compared(one: tree.Node, sign: str, other: tree.Node, done: _Pass) -> Answer:
    left, right = _number(one, done), _number(other, done)
    answer = None if left is None or right is None else compare(left, sign, right)
    done.answers.append((id(one), answer))
    done.gaps.append(Fraction(0) if left is None or right is None else left - right)
    return answer


def _number(node: tree.Node, done: _Pass) -> Fraction | None:
    """The value of an expression, where it is a rational number of moderate size."""
    try:
        found = Formula(done.values).value(node)
    except (KeyError, ValueError, MathematicalError, OverflowError):
        return None
    if not isinstance(found, Fraction) or max(abs(found.numerator), found.denominator) > LARGEST:
        return None
    done.nodes.append(node)
    return found


def _repeats(passes: Sequence[_Pass]) -> bool:
    """Whether two passes took the same branches, moved in proportion, and keep every answer for good."""
    first, second, third = passes
    if second.answers != third.answers or not first.values.keys() == second.values.keys() == third.values.keys():
        return False
    moves = [[new - a.values[n] for n, new in b.values.items()] for a, b in ((first, second), (second, third))]
    ratio = next((new / old for old, new in zip(*moves) if old), Fraction(0))
    if ratio < 0 or any(new != ratio * old for old, new in zip(*moves)):
        return False
    return all(_keeps(old, new, ratio) for old, new in zip(second.gaps, third.gaps))


def _keeps(old: Fraction, new: Fraction, ratio: Fraction) -> bool:
    """Whether the gap after ``old`` and ``new``, whose steps grow by the ratio, keeps the sign of ``new``."""
    step = new - old
    if ratio >= 1 or step == 0:
        return step * new > 0 or step == 0
    limit = old + step / (1 - ratio)  # the gap runs towards it and never comes there
    return new * limit > 0 or (limit == 0 and new != 0 and ratio > 0)


def _affine(node: tree.Node, changed: set[str]) -> bool:
    """Whether a number is an affine function of the letters that the loop changes."""
    if not free_letters(node) & changed:
        return True
    parts = list(node.children())
    match node:
        case tree.Letter():
            return True
        case tree.Add() | tree.Negate():
            pass
        case tree.Multiply():
            if sum(bool(free_letters(part) & changed) for part in parts) > 1:
                return False
        case tree.Divide(denominator=bottom):
            if free_letters(bottom) & changed:
                return False
        case _:
            return False
    return all(_affine(part, changed) for part in parts)
