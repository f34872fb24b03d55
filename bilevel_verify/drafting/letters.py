"""The letters of a paper: where each is introduced and used, its range as far as the text gives one, definitions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bilevel_verify.drafting.document import Formula, Unit
from bilevel_verify.drafting.relations import Printed, comparisons
from bilevel_verify.drafting.spoken import Spoken
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.grammar.binding import free_letters as all_free
from bilevel_verify.theorems.rewrite import free_letters, has_order, infinite
from bilevel_verify.theorems.vocabulary import NUMBERS, SCALAR_FUNCTIONS


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range: ``name op number``, printed in a unit."""

    name: str
    op: str
    value: tree.Node
    unit: int
    universal: bool


@dataclass
class Range:
    """The range of a letter in one scope, put together from its printed ends, or as ``words`` say it."""

    lower: tuple[tree.Node, bool] | None = None
    upper: tuple[tree.Node, bool] | None = None
    clash: bool = False
    units: list[int] = field(default_factory=list)
    words: str = ""

    def add(self, bound: Bound) -> None:
        """Take in one more end."""
        end = (bound.value, bound.op in (">=", "<="))
        if bound.op in (">", ">="):
            self.clash = self.clash or (self.lower is not None and self.lower != end)
            self.lower = end
        else:
            self.clash = self.clash or (self.upper is not None and self.upper != end)
            self.upper = end
        self.units.append(bound.unit)

    def origin(self, place: str) -> str:
        """Where it stands; of one in words, the words."""
        return f"{place}, in words: {self.words}" if self.words else place

    def text(self, integer: bool) -> str:
        """The range in the words of a card."""
        low = to_text(self.lower[0]) if self.lower else ""
        high = to_text(self.upper[0]) if self.upper else ""
        if integer and self.lower and self.lower[1] and (self.upper is None or self.upper[1]):
            return f"integers {low}..{high}"
        left = "[" if self.lower and self.lower[1] else "("
        right = "]" if self.upper and self.upper[1] else ")"
        return f"{left}{low or '-oo'}, {high or 'oo'}{right}"


def bounds(printed: Printed) -> list[Bound]:
    """Ends of ranges that a hypothesis or a quantifier prints; ``a = 0`` is none."""
    found = []
    nodes = list(comparisons(printed.left, printed.op, printed.right)) if printed.role in ("given", "for all") else []
    universal = printed.role == "for all"
    for node in nodes:
        found += _bound(node, printed.unit, universal)
    return found


def own_bounds(printed: Printed) -> list[Bound]:
    """Ends that stand in the formula itself: ``for all k >= 1``."""
    return [b for node in printed.where for b in _bound(node, printed.unit, True)]


def _bound(node: tree.Node, unit: int, universal: bool) -> list[Bound]:
    if not isinstance(node, tree.Compare) or len(node.operators) != 1:
        return []
    (one, other), op = node.operands, node.operators[0]
    if isinstance(other, tree.Letter) and other.name not in NUMBERS:
        one, other, op = other, one, tree.MIRRORED.get(op, "")
    numeric = not (all_free(other) - NUMBERS)
    if not isinstance(one, tree.Letter) or one.name in NUMBERS or not numeric or op not in ("<", ">", "<=", ">="):
        return []
    if infinite(other) or not plain(other):
        return []
    return [Bound(one.name, op, other, unit, universal)]


def plain(node: tree.Node) -> bool:
    """Whether a tree is made of numbers, letters and scalar functions alone."""
    for part in node.walk():
        if isinstance(part, tree.Call) and (
            part.function not in SCALAR_FUNCTIONS or any(isinstance(a, tree.Tuple) for a in part.arguments)
        ):
            return False
        if isinstance(part, tree.Letter) and part.name == "dots":
            return False
        if not isinstance(part, tree.Number | tree.Letter | tree.Add | tree.Multiply | tree.Divide | tree.Power
                          | tree.Negate | tree.Call):  # fmt: skip
            return False
    return True


def ranges(found: Iterable[Bound], said: Iterable[Spoken] = ()) -> dict[str, Range]:
    """Letter -> range; ends that contradict each other are a clash, and no range.

    What is ``said`` in words counts where no end is printed, and of it the least that is said.
    """
    table: dict[str, Range] = defaultdict(Range)
    for bound in found:
        table[bound.name].add(bound)
    least: dict[str, Spoken] = {}
    for one in said:
        known = least.get(one.name)
        if one.name not in table and (known is None or (one.end, one.op == ">") < (known.end, known.op == ">")):
            least[one.name] = one
    for one in least.values():
        table[one.name] = Range((tree.Number(one.end), one.op == ">="), units=[one.unit], words=one.words)
    return {name: r for name, r in table.items() if not r.clash}


@dataclass(frozen=True, slots=True)
class Defined:
    """``letter = formula`` as a unit prints it; ``always`` where the sign itself says that it defines (``:=``)."""

    name: str
    value: tree.Node
    unit: int
    named: bool
    latex: str
    always: bool = False


def definitions(printed: Printed, scalars: frozenset[str]) -> list[Defined]:
    """Letters that a relation says to be a formula of numbers and letters; a minimum or an order is none."""
    if printed.role != "definition" or printed.op not in ("==", ":="):
        return []
    if not isinstance(printed.left, tree.Letter) or not plain(printed.right) or has_order(printed.right):
        return []
    name = printed.left.name
    letters = free_letters(printed.right) - NUMBERS
    if name in letters or name not in scalars or not letters <= scalars:
        return []
    named = printed.op == ":=" or printed.context.names
    return [Defined(name, printed.right, printed.unit, named, printed.latex, printed.op == ":=")]


def unique(found: Iterable[Defined]) -> dict[str, Defined]:
    """Definitions of letters that are defined in one way only."""
    table: dict[str, list[Defined]] = defaultdict(list)
    for one in found:
        table[one.name].append(one)
    return {name: many[0] for name, many in table.items() if len({to_text(d.value) for d in many}) == 1}


def without_circles(table: Mapping[str, Defined]) -> dict[str, Defined]:
    """Definitions of which none comes back to itself."""
    kept = dict(table)

    def reaches(name: str, target: str, seen: frozenset[str]) -> bool:
        inner = free_letters(kept[name].value) & kept.keys()
        return target in inner or any(reaches(n, target, seen | {n}) for n in inner - seen)

    for name in list(kept):
        if name in kept and reaches(name, name, frozenset({name})):
            del kept[name]
    return kept


def used_in(printed: Iterable[Printed]) -> Counter[str]:
    """How often each name occurs on a side of a relation."""
    count: Counter[str] = Counter()
    for one in printed:
        for side in (one.left, one.right):
            for part in side.walk():
                if isinstance(part, tree.Letter):
                    count[part.name] += 1
                elif isinstance(part, tree.Index):
                    count[part.base] += 1
                elif isinstance(part, tree.Call):
                    count[part.function] += 1
    return count


def introduced(printed: Iterable[Printed], first: Mapping[str, Formula]) -> dict[str, Printed]:
    """Letter -> the first relation that introduces it: a hypothesis, a definition (its left side), a quantifier."""
    found: dict[str, Printed] = {}
    for one in printed:
        if one.role in ("given", "for all"):
            names = all_free(one.left) | all_free(one.right)
        elif one.role == "definition":
            names = all_free(one.left)
        else:
            names = frozenset()
        for name in names:
            found.setdefault(name.removesuffix("[]"), one)
    return found


class Mentions:
    """Numbers of the units that a text mentions by name: ``Assumption 1``, ``the settings of Theorem 2``.

    A paper may have thousands: a text is asked for the labels that stand in it, not for all that there are.
    """

    def __init__(self, units: Iterable[Unit]) -> None:
        self.plain: dict[str, dict[str, list[int]]] = {}
        self.odd: list[tuple[str, str, int]] = []
        for number, unit in enumerate(units):
            word, _, label = unit.name.rpartition(" ")
            if not word or unit.kind in ("proof", "text", "algorithm"):
                continue
            if LABEL.fullmatch(label):
                self.plain.setdefault(word, {}).setdefault(label, []).append(number)
            else:
                self.odd.append((word, label, number))

    def __call__(self, text: str) -> list[int]:
        """In the order of the paper."""
        found = [number for word, label, number in self.odd if word in text and _names(text, word, label)]
        labels = {part for whole in LABEL.findall(text) for part in _ends_of(whole)}
        for word, known in self.plain.items():
            for label in labels & known.keys() if word in text else ():
                found += known[label] if _names(text, word, label) else []
        return sorted(found)


LABEL = re.compile(r"[\w.]+")


def _ends_of(whole: str) -> list[str]:
    """The labels that may end where words and points stop, or before a point: ``A.1.`` may say ``A.1`` and ``A``."""
    cuts = [i for i, sign in enumerate(whole) if sign == "." or (i and whole[i - 1] == ".")] + [len(whole)]
    joined = whole.split("and") if "and" in whole else []
    return [*joined, *(whole[a:b] for a in (0, *cuts) for b in cuts if a < b)]


def _names(text: str, word: str, label: str) -> bool:
    listed = rf"\b{re.escape(word)}s?\s+(?:[A-Z]?[\d.]+\s*(?:,|and)\s*)*{re.escape(label)}(?![\w])"
    return label in text and re.search(listed, text) is not None
