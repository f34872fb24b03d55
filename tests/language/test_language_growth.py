"""Reading a text costs in proportion to its length: counted in steps of the interpreter, not in seconds."""

from __future__ import annotations

import sys

from bilevel_verify.language import parse
from bilevel_verify.language.parser import PROBLEM


def _steps(text: str) -> int:
    """Function calls made while a text is read, those of the standard library included."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        parse(text, limits=PROBLEM)
    finally:
        sys.setprofile(None)
    return count


def test_the_cost_of_reading_is_linear_in_the_text() -> None:
    def dense(terms: int) -> str:
        return " + ".join(f"{i + 2}/7*x{i % 5}*x{i % 3} + 0.5*sin(3*x{i % 4})" for i in range(terms))

    short, long = _steps(dense(100)), _steps(dense(800))
    assert long < 8.2 * short
