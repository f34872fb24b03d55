"""Reading a certificate: JSON text into trees, with every limit checked on the way; nothing of it is executed.

A tree is an ``int``, a ``Fraction``, the name of a letter (``str``) or a tuple ``(operator, part, ...)``; relations and
conditions are trees as well. ``work`` counts what a certificate costs, so that a hostile one ends.
"""

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

Tree: TypeAlias = "int | Fraction | str | tuple[Tree, ...]"
TEXT, DEPTH, DIGITS, WORK, BITS = 1_000_000, 60, 400, 200_000, 20_000
"""Characters of a certificate, nesting, digits of a number, counted steps, bits of a coefficient."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")
NUMBER, LONG = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?\Z"), re.compile(rf"[0-9]{{{DIGITS + 1}}}")
RELATIONS, LOGIC, SUMS, MOST = ("<=", "<", ">=", ">", "=="), ("and", "or"), ("sum", "prod"), 4000
PARTS = dict.fromkeys("+ * max min and or".split(), MOST) | dict.fromkeys(["/", "^", "mod", "dot", *RELATIONS], 2)
PARTS |= dict.fromkeys("neg sqrt log exp sin cos tan sinh cosh tanh abs plus sign floor ceil norm".split(), 1)
PARTS |= dict.fromkeys(SUMS, 4)
"""Operator -> how many parts it has; ``MOST`` is any number from 1 on."""
KINDS = dict.fromkeys(RELATIONS, ("number", "condition")) | dict.fromkeys(LOGIC, ("condition", "condition"))
KINDS |= {"dot": ("vector", "number"), "norm": ("vector", "number")}
"""Operator -> kind of its parts and its own kind; the others make numbers of numbers."""
DEFINED: dict[str, Callable[..., Tree]] = {
    "sqrt": lambda a: ("^", a, Fraction(1, 2)),
    "plus": lambda a: ("max", a, 0),
    "abs": lambda a: ("max", a, ("neg", a), 0),
    "min": lambda *parts: ("neg", ("max", *(("neg", part) for part in parts))),
    "ceil": lambda a: ("neg", ("floor", ("neg", a))),
    "mod": lambda a, b: ("+", a, ("neg", ("*", b, ("floor", ("/", a, b))))),
    "tan": lambda a: ("/", ("sin", a), ("cos", a)),
    "sinh": lambda a: ("/", ("+", ("exp", a), ("neg", ("exp", ("neg", a)))), 2),
    "cosh": lambda a: ("sqrt", ("+", 1, ("^", ("sinh", a), 2))),
    "tanh": lambda a: ("+", 1, ("neg", ("/", 2, ("+", 1, ("exp", ("*", 2, a)))))),
}
"""Functions that others express; the intervals of these forms are as narrow as those of the functions."""


class Refused(Exception):
    """The certificate proves nothing; the message says in which line and why."""


def demand(answer: bool, why: str) -> None:
    """Refuse with a reason unless the answer is yes."""
    if not answer:
        raise Refused(why)


class Work:
    """Counts the steps that are left to a certificate."""

    left = WORK

    def spend(self, steps: int) -> None:
        self.left -= steps
        demand(self.left >= 0, f"more than {WORK} steps of work")


work = Work()


def read(text: str) -> Any:
    """The JSON value of a certificate; floats, long numbers and keys that occur twice are refused."""
    demand(len(text) <= TEXT and not LONG.search(text), f"more than {TEXT} characters, or {DIGITS} digits in a row")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=_inexact, parse_constant=_inexact)
    except (ValueError, RecursionError) as error:
        raise Refused(f"no JSON that is read here: {str(error)[:80]}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    demand(len(dict(pairs)) == len(pairs), "a key occurs twice")
    return dict(pairs)


def _inexact(text: str) -> NoReturn:
    raise Refused(f"{text[:20]} is no exact number")


def tree(data: object, depth: int = DEPTH) -> Tree:
    """A JSON value as a tree; a tree stays what it is."""
    work.spend(1)
    if isinstance(data, Fraction | tuple) or type(data) is int or (isinstance(data, str) and NAME.match(data)):
        return data
    if isinstance(data, str):
        demand(NUMBER.match(data) is not None, f"{data[:40]!r} is neither a letter nor a number")
        return Fraction(data)
    head, *parts = data if isinstance(data, list) and data else [""]
    demand(isinstance(head, str) and head in PARTS, "this is no expression")
    fits = len(parts) == PARTS[head] or 0 < len(parts) < PARTS[head] == MOST
    demand(fits and depth > 0, f"{head} with {len(parts)} parts, or nested deeper than {DEPTH}")
    demand(head not in SUMS or isinstance(tree(parts[1]), str), "the index of a sum must be a letter")
    return (head, *(tree(part, depth - 1) for part in parts))


def split(node: Tree) -> tuple[str, tuple[Any, ...]]:
    """Operator and parts of a tree; a letter or a number has none."""
    return (str(node[0]), node[1:]) if isinstance(node, tuple) else ("", ())


def substituted(node: Tree, values: Mapping[str, Tree]) -> Tree:
    """Letters replaced by trees; the index of a sum hides a letter of its name, and must not capture one."""
    work.spend(1)
    head, parts = split(node)
    if head in SUMS:
        body, index, *ends = parts
        inner = {name: value for name, value in values.items() if name != index and name in letters(body)}
        demand(not any(index in letters(value) for value in inner.values()), f"{index} would capture a letter")
        return (head, substituted(body, inner), index, *(substituted(end, values) for end in ends))
    if head:
        return (head, *(substituted(part, values) for part in parts))
    return values.get(node, node) if isinstance(node, str) else node


def letters(node: Tree) -> set[str]:
    """Free letters of a tree."""
    work.spend(1)
    head, parts = split(node)
    if head in SUMS:
        return (letters(parts[0]) - {parts[1]}) | letters(parts[2]) | letters(parts[3])
    return {node} if isinstance(node, str) else set().union(*map(letters, parts))


def kind(node: Tree, sorts: Mapping[str, str]) -> str:
    """``number``, ``vector`` or ``condition``; letters that were not declared and parts that do not fit are refused."""
    work.spend(1)
    if isinstance(node, str):
        demand(node in sorts or node in ("pi", "E"), f"the letter {node} was not declared")
        return "vector" if sorts.get(node) == "vector" else "number"
    head, parts = split(node)
    inner = {**sorts, parts[1]: "integer"} if head in SUMS else sorts
    counted = (parts[0], *parts[2:]) if head in SUMS else parts  # all but the index
    kinds = [kind(part, sorts if place else inner) for place, part in enumerate(counted)]
    wanted, found = KINDS.get(head, ("number", "number"))
    if head in ("+", "neg") and "vector" in kinds:
        wanted = found = "vector"
    if head in ("*", "/") and "vector" in kinds[: 1 if head == "/" else None]:
        kinds.remove("vector")  # one factor, or what is divided
        found = "vector"
    demand(set(kinds) <= {wanted}, f"{head} of parts that do not fit: {', '.join(kinds)[:80]}")
    return found
