"""One certificate, or a folder of them: accepted, or refused with the line and the reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from bilevel_check.context import Context
from bilevel_check.intervals import Interval
from bilevel_check.rules import Proof, certain, element_of, goal_of, letters_of, reached
from bilevel_check.terms import (
    NAME,
    PARTS,
    TEXT,
    Refused,
    is_vector,
    letters,
    rational_of,
    read,
    substituted,
    tree,
    work,
)

SORTS = ("real", "integer", "vector")
KEYS = {"statement", "proof", "counterexample", "let", "about"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker says: ``proved`` or ``refuted`` if accepted, else why it is refused."""

    accepted: bool
    shows: str = ""
    reason: str = ""


def check(text: str) -> Verdict:
    """Check one certificate given as JSON text; never raises for bad input."""
    work.start()
    try:
        return Verdict(True, _checked(read(text)))
    except Refused as error:
        return Verdict(False, reason=str(error))
    except RecursionError:
        return Verdict(False, reason="nested too deep")
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
        return Verdict(False, reason=f"ill formed: {type(error).__name__}: {str(error)[:80]}")


def check_folder(folder: Path) -> Iterator[tuple[Path, Verdict]]:
    """Check every ``*.json`` of a folder, in the order of the names, folders inside it as well."""
    for path in sorted(folder.rglob("*.json")):
        try:
            with path.open(encoding="utf-8") as stream:
                text = stream.read(TEXT + 1)
        except (OSError, UnicodeDecodeError) as error:
            yield path, Verdict(False, reason=f"cannot be read: {error}")
            continue
        yield path, check(text)


def _checked(data: Any) -> str:
    if not isinstance(data, dict) or not data.keys() <= KEYS or "statement" not in data:
        raise Refused("a certificate has a statement, a proof or a counterexample, and nothing else")
    statement = data["statement"]
    if not isinstance(statement, dict) or set(statement) != {"letters", "hypotheses", "claim"}:
        raise Refused("a statement has letters, hypotheses and a claim")
    sorts, conditions, claim = statement["letters"], statement["hypotheses"], statement["claim"]
    if not all(NAME.match(n) and n not in PARTS and n not in ("pi", "E") and s in SORTS for n, s in sorts.items()):
        raise Refused("a letter has a name of its own and is real, integer or vector")
    for condition in conditions:
        _condition(condition)
    goal_of(claim)
    if not set().union(*map(letters_of, [*conditions, claim])) <= sorts.keys() | {"pi", "E"}:
        raise Refused("a letter was not declared")
    if ("proof" in data) == ("counterexample" in data):
        raise Refused("a certificate has either a proof or a counterexample")
    if "proof" not in data:
        return _refuted(sorts, conditions, claim, data["counterexample"])
    sorts, conditions, claim = without_determined(sorts, conditions, claim, data.get("let", []))
    at = Context(sorts)
    Proof(conditions).run(at, data["proof"])
    if not reached(at, claim):
        element_of(at, claim)  # says what is not defined
        raise Refused("the proof does not end at the claim")
    return "proved"


def _condition(data: Any, depth: int = 20) -> None:
    """A relation, or ``and`` and ``or`` of conditions.

    Raises
    ------
    Refused : anything else.
    """
    if isinstance(data, list) and data and data[0] in ("and", "or") and depth:
        for part in data[1:]:
            _condition(part, depth - 1)
    else:
        goal_of(data)


def without_determined(
    sorts: Mapping[str, str], conditions: Any, claim: Any, let: Any
) -> tuple[dict[str, str], list[Any], Any]:
    """The statement with letters replaced that hypotheses ``x == formula`` determine: ``let`` lists their places."""
    kept = dict(sorts)
    for place in let:
        op, name, formula = conditions[place]
        if op != "==" or kept.get(name) != "real" or name in letters(tree(formula)):
            raise Refused(f"hypothesis {place} determines no letter")
        values = {name: tree(formula)}
        del kept[name]
        conditions = [replaced(condition, values) for condition in conditions]
        claim = replaced(claim, values)
    return kept, list(conditions), claim


def replaced(data: Any, values: dict[str, Any]) -> Any:
    if data[0] in ("and", "or"):
        return [data[0], *(replaced(part, values) for part in data[1:])]
    return [data[0], *(listed(substituted(tree(side), values)) for side in data[1:])]


def listed(node: Any) -> Any:
    """A tree as JSON data."""
    if isinstance(node, tuple):
        return [node[0], *(listed(part) for part in node[1:])]
    return str(node) if isinstance(node, Fraction) else node


def _refuted(sorts: Mapping[str, str], conditions: Any, claim: Any, point: Any) -> str:
    """Every hypothesis holds at a point and the claim does not, by exact or interval arithmetic.

    The vectors of a counterexample have one entry: a number.
    """
    values = {name: tree(value) for name, value in point.items()}
    conditions, claim = [on_a_line(one, sorts) for one in conditions], on_a_line(claim, sorts)
    if set(values) != set(sorts) or any(letters(v) - {"pi", "E"} for v in values.values()):
        raise Refused("a counterexample has a number for every letter")
    for name, value in values.items():
        if sorts[name] == "integer" and rational_of(value).denominator != 1:
            raise Refused(f"{name} must be an integer")
    for condition in conditions:
        if not _true(replaced(condition, values)):
            raise Refused(f"the hypothesis {json.dumps(condition)[:80]} is not shown to hold there")
    if not any(_true([op, *replaced(claim, values)[1:]]) for op in AGAINST[claim[0]]):
        raise Refused("the claim is not shown to fail there")
    return "refuted"


def on_a_line(data: object, sorts: Mapping[str, str], vector: bool = False) -> Any:
    """A condition for vectors with one entry: a norm is an absolute value, an inner product a product.

    Raises
    ------
    Refused : a vector where a number belongs, or the other way round.
    """
    if is_vector(data, sorts) is not vector and not (vector and data == 0):
        raise Refused("a vector and a number are confused")
    if not isinstance(data, list):
        return data
    head, *parts = data
    inner = [head in ("norm", "dot") or is_vector(part, sorts) for part in parts]
    if vector and not {"+": all(inner), "neg": True, "*": sum(inner) == 1, "/": inner == [True, False]}.get(head):
        raise Refused(f"{head} gives no vector")
    return [{"norm": "abs", "dot": "*"}.get(head, head), *(on_a_line(p, sorts, v) for p, v in zip(parts, inner))]


AGAINST = {"<=": (">",), "<": (">=",), ">=": ("<",), ">": ("<=",), "==": ("<", ">")}


def _true(condition: Any) -> bool:
    """Whether a condition between numbers is shown: by intervals, an equality also in the ring."""
    if condition[0] in ("and", "or"):
        answers = (_true(part) for part in condition[1:])
        return all(answers) if condition[0] == "and" else any(answers)
    op, small, large = goal_of(condition)
    nothing: dict[str, Interval] = {}
    if certain(op, small, large, nothing):
        return True
    return op != ">" and _equal(condition)


def _equal(condition: Any) -> bool:
    try:
        return Context({}).known(element_of(Context({}), ["==", *condition[1:]])[0], "==")
    except Refused:
        return False
