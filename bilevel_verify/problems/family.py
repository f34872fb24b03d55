"""Families of problems: knobs that depend on letters such as eps, kappa, d and nu."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bilevel_verify import language
from bilevel_verify.errors import ProblemError
from bilevel_verify.problems.numbers import number, read_knobs
from bilevel_verify.problems.problem import Kind, Problem

LETTERS = ("eps", "kappa", "d", "nu")
"""Letters that knobs of a family may depend on."""


@dataclass(frozen=True, slots=True)
class ProblemFamily:
    """A problem whose knobs are formulas of ``eps``, ``kappa``, ``d``, ``nu``.

    Attributes
    ----------
    name, kind, title : of the problem.
    knobs : knob -> number or text; a text may use letters and other knobs (its own name means the letter).
    letters : the letters that :meth:`at` needs.
    build : numbers of all knobs -> problem.
    """

    name: str
    kind: Kind
    knobs: Mapping[str, Any]
    letters: tuple[str, ...]
    build: Callable[[Mapping[str, Any]], Problem] = field(repr=False, compare=False)
    title: str = ""

    def at(self, **letters: object) -> Problem:
        """The member with these letters; letters that the family does not need are allowed and ignored.

        Raises
        ------
        ProblemError : a letter is missing, unknown, or not a number.
        """
        for name in letters:
            if name not in LETTERS:
                raise ProblemError(f"unknown letter {name!r}; families depend on {', '.join(LETTERS)}")
        missing = [n for n in self.letters if n not in letters]
        if missing:
            raise ProblemError(f"family {self.name!r} needs {', '.join(f'{n}=' for n in missing)} in at(...)")
        values = {n: number(v, n) for n, v in letters.items() if v is not None}
        return self.build(resolve_knobs(self.knobs, values))

    def __str__(self) -> str:
        knobs = ", ".join(f"{k} = {v}" for k, v in self.knobs.items())
        return f"family {self.name} ({self.kind}) with {knobs}; at({', '.join(self.letters)})"


def free_letters(knobs: Mapping[str, object]) -> tuple[str, ...]:
    """Letters of :data:`LETTERS` that knob texts need from outside."""
    found: set[str] = set()
    for name, value in knobs.items():
        if isinstance(value, str):
            used = language.letters(language.parse(value))
            found |= {n for n in used & set(LETTERS) if n not in knobs or n == name}
    return tuple(n for n in LETTERS if n in found)


def resolve_knobs(knobs: Mapping[str, Any], letters: Mapping[str, object]) -> dict[str, object]:
    """Numbers of all knobs; a knob's text that uses its own name means the letter of that name."""
    renamed: dict[str, Any] = {}
    for name, value in knobs.items():
        own = isinstance(value, str) and name in LETTERS and name in language.letters(language.parse(value))
        if own and value.strip() != name:
            raise ProblemError(f"knob {name!r} = {value!r} uses its own name; write the letter {name!r} alone")
        if own and name not in letters:
            raise ProblemError(f"knob {name!r} needs the letter {name}=")
        renamed[name] = letters[name] if own else value
    outside = {n: v for n, v in letters.items() if n not in knobs}
    return read_knobs(MappingProxyType(renamed), outside)
