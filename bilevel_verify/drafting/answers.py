"""Questions to the author, from a closed list, and the answers that a card keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bilevel_verify.errors import CardError, InputError
from bilevel_verify.files import read_toml
from bilevel_verify.language import nearest
from bilevel_verify.theorems.algorithm import read_program
from bilevel_verify.theorems.reading.fields import Names, Place
from bilevel_verify.theorems.reading.written import domain_of

KINDS = ("number", "vector", "matrix", "function", "set")


@dataclass(frozen=True, slots=True)
class Question:
    """A question to the author; ``weight`` is the number of links that wait for the answer."""

    sort: str
    about: str
    text: str
    where: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class Answers:
    """What the author says: LaTeX -> kind, name -> range, name -> unit, base unit -> meaning, algorithm -> steps."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    base: Mapping[str, str] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)

    def table(self) -> dict[str, dict[str, str]]:
        """As the card keeps them."""
        return {name: dict(found) for name in TABLES if (found := getattr(self, name))}

    def with_answer(self, sort: str, about: str, text: str) -> Answers:
        """The same with one more answer.

        Raises
        ------
        InputError : the answer is none of those that the question allows.
        """
        if sort == "kind":
            return replace(self, kinds={**self.kinds, about: _kind(about, text)})
        if sort == "range":
            return replace(self, ranges={**self.ranges, about: _range(about, text)})
        if sort == "unit":
            return replace(self, units={**self.units, about: text})
        if sort == "steps":
            return replace(self, steps={**self.steps, about: _steps(about, text)})
        raise InputError(f"a question about the {sort} of {about} is answered in the paper or in the card")


TABLES = ("kinds", "ranges", "units", "base", "steps")


def read_answers(path: Path | None) -> Answers:
    """The answers in a TOML file, or in the ``[draft.answers]`` of a card; none without a file.

    Raises
    ------
    InputError : missing, not TOML, an unknown table, an answer that is none.
    """
    if path is None:
        return Answers()
    data = read_toml(path)
    if isinstance(data.get("draft"), dict):
        data = data["draft"].get("answers", {})
    return answers_of(data, str(path))


def answers_of(data: Mapping[str, object], label: str) -> Answers:
    """Answers from a table.

    Raises
    ------
    InputError : an unknown table, or an answer that is none.
    """
    found: dict[str, dict[str, str]] = {}
    for name, table in data.items():
        if name not in TABLES or not isinstance(table, dict):
            raise InputError(f"{label}: unknown table [{name}]{nearest(name, TABLES)}; known are {', '.join(TABLES)}")
        for about, text in table.items():
            if not isinstance(text, str):
                raise InputError(f"{label}: [{name}] {about}: a string is expected")
        found[name] = dict(table)
    answers = Answers()
    for sort, name in (("kind", "kinds"), ("range", "ranges"), ("steps", "steps")):
        for about, text in found.get(name, {}).items():
            answers = answers.with_answer(sort, about, text)
    if found.get("units") and not found.get("base"):
        raise InputError(f'{label}: [units] without [base]; name the base units: [base] F = "values of f"')
    return replace(answers, units=found.get("units", {}), base=found.get("base", {}))


def _kind(about: str, text: str) -> str:
    if text not in KINDS:
        raise InputError(f"kind of {about}: {text!r} is not one of {', '.join(KINDS)}{nearest(text, KINDS)}")
    return text


def _steps(about: str, text: str) -> str:
    try:
        read_program(text)
    except CardError as error:
        raise InputError(f"steps of {about}: {error}") from None
    return text


def _range(about: str, text: str) -> str:
    try:
        domain = domain_of(text, Place(f"range of {about}"), Names(frozenset({"oo", "pi"})))
    except CardError as error:
        raise InputError(str(error)) from None
    if domain.kind not in ("interval", "integers"):
        raise InputError(f"range of {about}: {text!r}; write '(0, oo)', '[0, 1]' or 'integers 1..'")
    return text
