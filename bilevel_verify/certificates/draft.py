"""A proof in the making: lines that the checker's own rules have accepted so far, and elements written as trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from bilevel_check.context import Context
from bilevel_check.ring import Atom, Exponent, Poly
from bilevel_check.rules import Proof, without_determined
from bilevel_check.terms import Refused, Tree, substituted, tree, work


class Draft:
    """Lines of a proof and what is known after them.

    Parameters
    ----------
    at : what is known before; it grows with every line.
    hypotheses : those of the statement.
    """

    def __init__(self, at: Context, hypotheses: Sequence[Any]) -> None:
        self.at, self.hypotheses = at, list(hypotheses)
        self.proof = Proof(self.hypotheses)
        self.lines: list[Any] = []
        self.claim: Any = None
        self.tried: set[tuple[Any, ...]] = set()

    def add(self, *line: object) -> bool:
        """Add a line if the checker's rule accepts it."""
        try:
            self.proof.run(self.at, [list(line)])
        except Refused:
            if work.left < 0:
                raise
            return False
        self.lines.append(list(line))
        return True

    # ---- facts that take several lines -------------------------------------------------------------------------------

    def rooted(self, relation: Sequence[object], q: Fraction) -> bool:
        """``small op large`` from what is known of their powers to q."""
        op, small, large = relation
        powers = [["^", side, number_of(q)] for side in (small, large)]
        if q.denominator == 1 and q % 2 == 0:  # of a sum, a power that is written out
            self.add("identity", ["<=", 0, powers[0]], [[1, [], [["^", small, int(q) // 2]]]])
        return self.add("raise", [op, *powers], number_of(1 / q))

    def tangent(self, y: object) -> bool:
        """``log y <= y - 1``."""
        return self.add("known", ["<=", ["log", y], ["+", y, -1]])

    def log_rises(self, small: object, large: object) -> bool:
        """``log small <= log large`` where ``small <= large`` is known: ``log(s/l) <= s/l - 1 <= 0``."""
        ratio = ["/", small, large]
        goal, rest = ["<=", ["log", small], ["log", large]], ["+", 1, ["neg", ratio]]
        return self.tangent(ratio) and self.add("identity", goal, [[1, [len(self.at.facts) - 1], []], [rest, [], []]])

    def between(self, base: object, low: object, high: object) -> bool:
        """``base**low`` against ``base**high`` for ``low <= high``: ``base**(high - low)`` is >= 1 or <= 1."""
        one, other = (["^", base, e] for e in (low, high))
        gap = ["+", high, ["neg", low]]
        for relation, ends in ((["<=", 1, base], [one, other]), (["<=", base, 1], [other, one])):
            if self.add("raise", relation, gap):
                return self.add("identity", ["<=", *ends], [[one, [len(self.at.facts) - 1], []]])
        return False

    def inner(self, sorts: dict[str, str] | None = None) -> Draft:
        """A part of the proof with its own lines."""
        found = Draft(self.at.inner(sorts), self.hypotheses)
        found.claim = self.claim
        return found


def listed(node: Tree) -> object:
    """A tree as JSON data."""
    if isinstance(node, tuple):
        return [node[0], *(listed(part) for part in node[1:])]
    return number_of(node) if isinstance(node, Fraction) else node


def replaced(data: object, values: Mapping[str, object]) -> Any:
    """Data with data for letters."""
    return listed(substituted(tree(data), {name: tree(value) for name, value in values.items()}))


def determined(statement: Mapping[str, Any], let: Sequence[int]) -> tuple[dict[str, str], list[Any], Any]:
    """Sorts, conditions and claim of a statement, as data, without the letters that the hypotheses ``let`` determine.

    Raises
    ------
    Refused, KeyError, TypeError, ValueError : a hypothesis that determines no letter.
    """
    conditions, claim = [*map(tree, statement["hypotheses"])], tree(statement["claim"])
    sorts, conditions, claim = without_determined((statement["letters"], conditions, claim), let)
    return sorts, [*map(listed, conditions)], listed(claim)


def sides(element: Poly) -> tuple[Poly, Poly]:
    """``(small, large)`` with ``element = large - small``, both with positive coefficients."""
    small = Poly({m: -c for m, c in element.terms.items() if c < 0})
    return small, Poly({m: c for m, c in element.terms.items() if c > 0})


def goal(element: Poly, op: str) -> list[object]:
    """``0 op element`` as a goal of a line."""
    return [{">=": "<=", ">": "<"}.get(op, op), 0, written(element)]


def written(p: Poly) -> Any:
    """An element as a tree of the checker's language."""
    terms = [_term(m, c) for m, c in sorted_terms(p)]
    return 0 if not terms else terms[0] if len(terms) == 1 else ["+", *terms]


def sorted_terms(p: Poly) -> list[tuple[Any, Fraction]]:
    """Monomials and coefficients, in an order that does not change from run to run."""
    return sorted(p.terms.items(), key=lambda pair: _key(pair[0]))


def _key(m: frozenset[tuple[Atom, Poly | Fraction]]) -> tuple[int, str]:
    return len(m), ";".join(sorted(f"{a!r}^{e}" for a, e in m))


def number_of(value: Fraction) -> int | str:
    """A rational number as data."""
    return int(value) if value.denominator == 1 else str(value)


def _term(m: frozenset[tuple[Atom, Poly | Fraction]], c: Fraction) -> Any:
    parts = [_power(a, e) for a, e in sorted(m, key=lambda pair: repr(pair[0]))]
    if c != 1 or not parts:
        parts.insert(0, number_of(c))
    return parts[0] if len(parts) == 1 else ["*", *parts]


def _power(a: Atom, e: Exponent) -> object:
    base = atom(a)
    if e == 1:
        return base
    return ["^", base, number_of(e) if isinstance(e, Fraction) else written(e)]


def atom(a: Atom) -> Any:
    """An atom as a tree."""
    match a.kind:
        case "letter":
            return a.args[0]
        case "pi" | "E":
            return a.kind
        case "prime":
            return a.args[0]
        case "compound":
            return written(a.args[0])
        case "sum":
            body, index, low, high = a.args
            return ["sum", _renamed(written(body), index), _plain(index), written(low), written(high)]
        case "dot":
            return ["dot", *a.args]
    return [a.kind, *(written(part) for part in a.args)]


def _plain(index: str) -> str:
    return f"i_{index[:-1]}"


def _renamed(data: object, index: str) -> object:
    if isinstance(data, list):
        return [_renamed(part, index) for part in data]
    return _plain(index) if data == index else data


def atoms_in(p: Poly) -> Iterator[Atom]:
    """Every atom of an element, inside exponents and atoms as well."""
    stack: list[Any] = [p]
    seen: set[Atom] = set()
    while stack:
        part = stack.pop()
        for a in part.atoms() if isinstance(part, Poly) else ():
            if a not in seen:
                seen.add(a)
                yield a
                stack += [inside for inside in a.args if isinstance(inside, Poly)]


ONE_FACT = ("hypothesis", "identity", "raise", "boxes", "known")
"""Rules that add one fact."""
DERIVED = ("raise", "boxes", "known")
"""Those that are written before it is seen whether what they give is used."""


def pruned(lines: list[Any], base: int = 0) -> list[Any]:
    """The proof without derived facts that no identity names; as it is where a line has a proof of its own inside.

    ``base`` facts are known before the first line.
    """
    if any(line[0] not in ONE_FACT for line in lines):
        return lines
    used = {place for line in lines if line[0] == "identity" for part in line[2] for place in part[1]}
    kept: list[Any] = []
    moved = {i: i for i in range(base)}
    for place, line in enumerate(lines, start=base):
        if line[0] not in DERIVED or place in used:
            moved[place] = base + len(kept)
            kept.append(line)
    return [_renumbered(line, moved) for line in kept]


def _renumbered(line: list[Any], moved: Mapping[int, int]) -> list[Any]:
    if line[0] != "identity":
        return line
    parts = [[cofactor, [moved[place] for place in places], squares] for cofactor, places, squares in line[2]]
    return [*line[:2], parts, *line[3:]]
