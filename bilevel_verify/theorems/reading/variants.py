"""A variant of an algorithm, written by the lines in which it differs.

``lines`` has pseudo-code as ``steps`` has it. Each numbered line stands in the place of the line of that number in the
algorithm that ``variant_of`` names; a line without a number belongs to the numbered one before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bilevel_verify.language import nearest
from bilevel_verify.theorems.reading.fields import Place

TAKEN = ("method", "inputs", "taken", "families", "functions", "supplied_by")
"""What a variant has of its algorithm where it does not say otherwise."""
NUMBER = re.compile(r"#\s*(\S+)\s*\Z")


def with_lines(one: object, algorithms: Mapping[str, Mapping[str, object]], place: Place) -> object:
    """The variant with all of its ``steps``; what has no ``lines`` stays as it is.

    Raises
    ------
    CardError : no such algorithm, ``steps`` beside ``lines``, a line without a number or with one that is not there.
    """
    if not isinstance(one, dict) or "lines" not in one:
        return one
    here = place.at(str(one.get("id", "")), "lines")
    name, lines = one.get("variant_of", ""), one["lines"]
    other = algorithms.get(name, {}) if isinstance(name, str) else {}
    steps = other.get("steps")
    if not isinstance(steps, str):
        raise here.fail(f"they replace lines of the algorithm that 'variant_of' names, and {name!r} has no steps")
    if "steps" in one or not isinstance(lines, str):
        raise here.fail("write the lines that differ as a text, or all of them in 'steps'")
    rest = {key: value for key, value in one.items() if key != "lines"}
    return {**{k: other[k] for k in TAKEN if k in other}, "steps": _replaced(steps, lines, here), **rest}


def _replaced(steps: str, lines: str, place: Place) -> str:
    found, changed = numbered(steps), numbered(lines)
    for number in changed:
        if number not in found or not number:
            raise place.fail(f"there is no line {number or 'without a number'} to replace{nearest(number, found)}")
    return "".join(line + "\n" for group in (found | changed).values() for line in group)


def numbered(text: str) -> dict[str, list[str]]:
    """Number -> its line and what follows it without a number; what stands before the first number is of that one."""
    found: dict[str, list[str]] = {}
    head: list[str] = []
    last = ""
    for line in text.removeprefix("\n").splitlines():
        if number := NUMBER.search(line):
            last = number[1]
            found.setdefault(last, head).append(line)
            head = []
        else:
            (found[last] if last else head).append(line)
    return found if found else {"": head}
