"""One certificate, or a folder of them: accepted, or refused with the line and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bilevel_check import terms
from bilevel_check.context import Context
from bilevel_check.rules import ILL_FORMED, Proof, certain, element_of, reached
from bilevel_check.terms import Refused, Tree, demand, kind, letters, read, split, substituted, tree, work

AGAINST = {"<=": (">",), "<": (">=",), ">=": ("<",), ">": ("<=",), "==": ("<", ">")}
"""Relation -> those of which one holds where it fails."""


class Verdict(NamedTuple):
    """What the checker says: ``proved`` or ``refuted`` if accepted, else why it is refused."""

    accepted: bool
    shows: str = ""
    reason: str = ""


def check(text: str) -> Verdict:
    """Check one certificate given as JSON text; never raises for bad input."""
    work.left = terms.WORK
    try:
        return Verdict(True, _checked(read(text)))
    except (Refused, RecursionError, *ILL_FORMED) as error:
        return Verdict(False, reason=str(error) if isinstance(error, Refused) else f"ill formed: {str(error)[:80]}")


def check_folder(folder: Path) -> Iterator[tuple[Path, Verdict]]:
    """Check every ``*.json`` of a folder, in the order of the names, folders inside it as well."""
    for path in sorted(folder.rglob("*.json")):
        try:
            demand(path.is_file(), "no file")
            with path.open(encoding="utf-8") as stream:
                yield path, check(stream.read(terms.TEXT + 1))
        except (OSError, UnicodeDecodeError, Refused) as error:
            yield path, Verdict(False, reason=f"cannot be read: {error}")


def _checked(data: Any) -> str:
    keys = {"statement", "proof", "counterexample", "let", "about"}
    demand(isinstance(data, dict) and data.keys() <= keys, "a certificate has a statement and a proof, nothing else")
    demand(("proof" in data) != ("counterexample" in data), "either a proof or a counterexample")
    statement = data["statement"]
    demand(statement.keys() == {"letters", "hypotheses", "claim"}, "a statement has letters, hypotheses and a claim")
    sorts, conditions, claim = statement["letters"], [*map(tree, statement["hypotheses"])], tree(statement["claim"])
    for name, sort in sorts.items():
        own = terms.NAME.match(name) is not None and name not in terms.PARTS and name not in ("pi", "E")
        demand(own and sort in ("real", "integer", "vector"), "a letter has a name and is real, integer or vector")
    demand(split(claim)[0] in terms.RELATIONS, "a claim is a relation")
    demand({kind(one, sorts) for one in (*conditions, claim)} == {"condition"}, "a hypothesis is no condition")
    if "proof" not in data:
        return _refuted(sorts, conditions, claim, {name: tree(value) for name, value in data["counterexample"].items()})
    sorts, conditions, claim = without_determined(sorts, conditions, claim, data.get("let", []))
    at = Context(sorts)
    Proof(conditions).run(at, data["proof"])
    demand(reached(at, claim) or not element_of(at, claim), "the proof does not end at the claim")
    return "proved"


def without_determined(
    sorts: Mapping[str, str], conditions: list[Tree], claim: Tree, let: list[int]
) -> tuple[dict[str, str], list[Tree], Tree]:
    """The statement with letters replaced that hypotheses ``x == formula`` determine: ``let`` lists their places."""
    kept = dict(sorts)
    for place in let:
        op, (name, formula) = split(conditions[place])
        demand(
            op == "==" and isinstance(name, str) and kept.pop(name) == "real", f"hypothesis {place} is no definition"
        )
        demand(name not in letters(formula), f"hypothesis {place} determines no letter")
        *conditions, claim = (substituted(one, {name: formula}) for one in (*conditions, claim))
    return kept, conditions, claim


def _refuted(sorts: Mapping[str, str], conditions: list[Tree], claim: Tree, point: Mapping[str, Tree]) -> str:
    """Every hypothesis holds at a point and the claim does not; a vector has one entry there: a number."""
    demand(point.keys() == sorts.keys(), "a counterexample has a number for every letter")
    for name, value in point.items():
        demand(kind(value, {}) == "number", "a counterexample has closed expressions")
        whole = sorts[name] != "integer" or (not isinstance(value, tuple | str) and value == int(value))
        demand(whole, f"{name} must be an integer")
    for condition in conditions:
        demand(_true(substituted(condition, point)), f"the hypothesis {str(condition)[:80]} is not shown to hold there")
    op, sides = split(substituted(claim, point))
    demand(any(_true((against, *sides)) for against in AGAINST[op]), "the claim is not shown to fail there")
    return "refuted"


def _true(condition: Tree) -> bool:
    """Whether a condition without letters is shown: a relation by intervals, or exactly in the ring."""
    head, parts = split(condition)
    if head in terms.LOGIC:
        return (all if head == "and" else any)(map(_true, parts))
    try:
        return certain(condition, {}) or Context({}).known(*element_of(Context({}), condition))
    except Refused:
        return False
