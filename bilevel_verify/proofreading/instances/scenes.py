"""What an instance must respect where a formula stands: definitions, hypotheses, ranges of numbers, steps of runs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.drafting.letters import definitions, plain, unique
from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.proofreading.instances.convexity import convexity_orders
from bilevel_verify.proofreading.instances.drawing import KEPT, Instance, Unknown
from bilevel_verify.proofreading.instances.entries import lettered
from bilevel_verify.proofreading.instances.naturals import natural_letters
from bilevel_verify.proofreading.joints.parameters import frame_of
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.promises.conclusions import same_entries
from bilevel_verify.proofreading.source import Paper, Passage
from bilevel_verify.theorems.rewrite import free_letters, has_order

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

TRIES, ROUNDS, LEAST_VOTES = 6, 4, 3
CLOSE = 1e-9
UPPER, LOWER = ("<", "<="), (">", ">=")
POINTS = ("point_a", "point_b", "point_c")
"""Names for points that a paper does not name."""
Rules = Mapping[tree.Node, tree.Node]
NOWHERE = Passage("", "text", "", "")


@dataclass(eq=False)
class Scene:
    """What is in force in one passage, and instances that meet it. Two scenes are the same if they are one object.

    ``orders`` are bounds between constants that the words imply; instances need not meet them.
    """

    paper: Paper
    define: Mapping[str, tree.Node]
    where: tuple[tree.Compare, ...]
    same: Mapping[str, str]
    whole: frozenset[str] = frozenset()
    bounds: tuple[tuple[int, tree.Compare], ...] = ()
    vectors: frozenset[str] = frozenset()
    passage: Passage = NOWHERE
    natural: frozenset[str] = frozenset()
    orders: tuple[tree.Compare, ...] = ()

    def kind(self, node: tree.Node) -> str:
        """Kind of a letter, entry or value of a function."""
        match node:
            case tree.Index(base=name) | tree.Letter(name=name) | tree.Call(function=name) if name in self.vectors:
                return "vector"
        return kind_in(self.paper.notation, node)

    def draws(self, sides: tuple[tree.Node, ...], rules: Rules, place: int = 0) -> Iterator[Instance]:
        """Instances that meet the conditions on the letters of some formulas, as long as some are found.

        ``place`` is the number of the formula that is judged: bounds of entries that are printed before it hold.
        """
        parts = {part for side in sides for part in side.walk() if isinstance(part, tree.Index | tree.Letter)}
        bounds = [c for n, c in self.bounds if n < place and any(side in parts for side in c.operands)]
        nodes = (*sides, *rules, *rules.values(), *bounds)
        numbers, running = self.numbers(nodes), self.whole | _whole(nodes)
        define = {n: v for n, v in self.define.items() if n in numbers and (n not in running or _is_rounded(v))}
        natural = (self.natural & numbers) - define.keys()
        where = [*(c for c in self.where if free_letters(c) & numbers), *bounds, *map(_at_least_one, sorted(natural))]
        for seed in count():
            for turn in range(TRIES):
                one = Instance(
                    seed + 1000 * turn, self.kind, rules=rules, same=self.same, whole=running, natural=natural
                )
                if _met(one, define, where):
                    yield one
                    break
            else:
                return

    def numbers(self, nodes: tuple[tree.Node, ...]) -> set[str]:
        """Letters of formulas, and all that their definitions and conditions mention."""
        found: set[str] = set().union(*(free_letters(node) for node in nodes))
        while True:
            wider = set(found)
            for name in found & self.define.keys():
                wider |= free_letters(self.define[name])
            for condition in self.where:
                names = free_letters(condition)
                wider |= names if names & found else set()
            if wider == found:
                return found
            found = wider


def _is_rounded(node: tree.Node) -> bool:
    """``ceil(x)``, ``max(1, floor(x))``: a whole number by its formula."""
    match node:
        case tree.Call(function="ceil" | "floor"):
            return True
        case tree.Call(function="max" | "min", arguments=parts):
            return all(_is_rounded(p) or isinstance(p, tree.Number) for p in parts)
    return False


def _at_least_one(name: str) -> tree.Compare:
    return tree.Compare((tree.Letter(name), tree.Number(Fraction(1))), (">=",))


def _met(one: Instance, define: Mapping[str, tree.Node], where: list[tree.Compare]) -> bool:
    """Draw letters such that definitions and conditions hold."""
    try:
        for turn in range(ROUNDS):
            for name, formula in define.items():
                one.known.clear()
                one.values[name] = one.value(formula, {})
            if not turn and one.seed % 3 == 0:  # at the ends of all ranges: there inequalities are sharp
                for condition in where:
                    _forced(one, condition, random.Random(one.seed), define, sharp=True)
                continue
            open_ = [c for c in where if not _holds(one, c)]
            if not open_:
                return all(_is_value(one, name, formula) for name, formula in define.items())
            for condition in open_:
                _forced(one, condition, random.Random(one.seed), define)
        return False
    except Unknown:
        return False
    finally:
        one.known.clear()
        one.held.clear()


def _is_value(one: Instance, name: str, formula: tree.Node) -> bool:
    """Whether a letter has the value of its definition still: numbers up to rounding, arrays as they are."""
    if isinstance(one.values[name], float):
        return _link(one, tree.Letter(name), "==", formula)
    one.known.clear()
    return np.array_equal(one.values[name], one.value(formula, {}))


def _fresh(one: Instance, node: tree.Node) -> float:
    one.known.clear()
    return one.scalar(node)


def _forced(
    one: Instance, condition: tree.Compare, source: random.Random, define: Mapping[str, tree.Node], sharp: bool = False
) -> None:
    """A letter moved to where a condition that bounds it holds; ``sharp`` to the end of a range that takes it in."""
    for left, op, right in condition.links():
        for letter, other, up in ((left, right, op in UPPER), (right, left, op in LOWER)):
            if isinstance(letter, tree.Letter):
                fixed = letter.name in define or letter.name in one.whole
            else:
                fixed = not isinstance(letter, tree.Index) or letter in one.rules
            if fixed:
                continue
            if sharp and (op not in ("<=", ">=") or tree.is_zero(other)):
                continue
            if op in (*UPPER, *LOWER, "==") and (sharp or not _link(one, left, op, right)):
                end = _fresh(one, other)
                part = 1.0 if op in ("<=", ">=") and one.seed % 3 == 0 else source.uniform(0.05, 0.95)
                if end > 0:
                    moved = end * part if up else end / part
                else:
                    moved = end - part * (1 + abs(end)) if up else end + part * (1 + abs(end))
                one.set(letter, end if op == "==" else moved)


def _holds(one: Instance, condition: tree.Compare) -> bool:
    return all(_link(one, *link) for link in condition.links())


def _link(one: Instance, left: tree.Node, op: str, right: tree.Node) -> bool:
    low, high = _fresh(one, left), _fresh(one, right)
    if op in LOWER:
        low, high = high, low
    slack = CLOSE * max(abs(low), abs(high), 1e-12)
    return abs(high - low) <= slack if op == "==" else low <= high + slack


def _whole(nodes: tuple[tree.Node, ...]) -> set[str]:
    """Letters of indices, of ends of sums, and of what is rounded."""
    found: set[str] = set()
    for part in (p for node in nodes for p in node.walk()):
        if isinstance(part, tree.Index):
            found = found.union(*(free_letters(i) for i in part.indices))
        elif isinstance(part, tree.Call) and (span := binder(part)) is not None:
            found |= free_letters(span[1]) | free_letters(span[2])
        elif isinstance(part, tree.Call) and part.function in ("floor", "ceil"):
            found |= {name for a in part.arguments for name in free_letters(a) if not isinstance(a, tree.Power)}
    return found


def scenes(paper: Paper, draft: Draft) -> Iterator[tuple[Passage, Scene]]:
    """Every passage with what is in force in it."""
    same = {_named(a): _named(b) for a, b in same_entries(paper).items()}
    vectors = _vectors(paper)
    natural = natural_letters(paper)
    orders = convexity_orders(paper)
    named = _named_in_text(draft)
    for number, passage in enumerate(paper.passages):
        frame = frame_of(draft, number)
        scope = draft.scopes.of(number)
        ends = {**draft.scopes.standing, **scope.ranges}
        conditions = [c for c in frame.where if isinstance(c, tree.Compare)]
        for name, one in ends.items():
            for end, ops in ((one.lower, (">", ">=")), (one.upper, ("<", "<="))):
                if end is not None:
                    conditions.append(tree.Compare((tree.Letter(name), end[0]), (ops[end[1]],)))
        found, cases = _one_case([*_inline(paper, passage)])
        conditions += found
        home = paper.stated.get(passage.of) if passage.kind == "proof" else None
        conditions += [c for _, c in _inline(paper, home)] if home is not None else []
        define = {
            n: v for n, v in {**named, **_chosen(passage), **frame.define}.items() if plain(v) and not has_order(v)
        }
        kept = [
            c
            for c in dict.fromkeys(conditions)
            if all((plain(m) or isinstance(m, tree.Index)) and not has_order(m) for m in c.operands)
        ]
        nodes = tuple(node for sentence in passage.formulas for node in sentence.nodes())
        yield (
            passage,
            Scene(
                paper,
                define,
                tuple(kept),
                same,
                frozenset(_whole(nodes)),
                (*_bounds(paper, passage), *cases),
                vectors,
                passage,
                natural,
                orders,
            ),
        )


def _named_in_text(draft: Draft) -> dict[str, tree.Node]:
    """Letters that plain text defines with ``:=``, each once, or gives a name, ``we write kappa = L/mu``."""
    printed = (p for n, u in enumerate(draft.document.units) if u.kind == "text" for p in draft.scopes.by_unit[n])
    found = unique(d for one in printed if one.op == ":=" for d in definitions(one, draft.scopes.scalars))
    return {name: one.value for name, one in (draft.scopes.general | found).items()}


def _vectors(paper: Paper) -> frozenset[str]:
    """What is guessed to be a matrix or a number, and is added to vectors again and again: ``w`` of another section."""
    return frozenset(POINTS) | _sequences(paper) | _letters(paper) | _named_with_letters(paper) | _functions(paper)


def _named_with_letters(paper: Paper) -> frozenset[str]:
    """Sequences of which most entries are read as letters that are vectors: ``s_t`` beside ``s_{t+1}``."""
    return frozenset(
        entry.base for name, entry in lettered(paper).items() if kind_in(paper.notation, tree.Letter(name)) == "vector"
    )


def _functions(paper: Paper) -> frozenset[str]:
    """Functions without a known kind that are added to vectors again and again: an operator ``T``."""
    votes: Counter[str] = Counter()
    for part in (p for s in paper.sentences for node in s.nodes() for p in node.walk() if isinstance(p, tree.Add)):
        terms = [t.operand if isinstance(t, tree.Negate) else t for t in part.terms]
        kinds = {kind_in(paper.notation, t) for t in terms if not isinstance(t, tree.Call)}
        if kinds == {"vector"}:
            unknown = (t.function for t in terms if isinstance(t, tree.Call) and t.function not in KEPT)
            votes.update({name for name in unknown if not name.startswith(("grad_", "hess_"))})
    return frozenset(name for name, times in votes.items() if times >= LEAST_VOTES)


def _letters(paper: Paper) -> frozenset[str]:
    """What stands in norms and beside vectors and never beside numbers: ``s_n``, of which no other entry is printed."""
    votes: Counter[str] = Counter()
    numbers: set[str] = set()
    for part in (p for s in paper.sentences for node in s.nodes() for p in node.walk()):
        if isinstance(part, tree.Call) and part.function in ("norm", "dot"):
            votes.update(_guessed(paper, part.arguments))
        elif isinstance(part, tree.Add):
            terms = [t.operand if isinstance(t, tree.Negate) else t for t in part.terms]
            doubtful = _guessed(paper, terms)
            sure = {kind_in(paper.notation, t) for t in terms if not _guessed(paper, (t,))}
            votes.update(doubtful if "vector" in sure else ())
            numbers |= {*doubtful} if "scalar" in sure else set()
        elif isinstance(part, tree.Power | tree.Divide):
            numbers |= {*_guessed(paper, tuple(part.children()))}
    return frozenset(name for name, times in votes.items() if times >= LEAST_VOTES and name not in numbers)


def _guessed(paper: Paper, parts: Sequence[tree.Node]) -> list[str]:
    """Names of the letters and sequences among some parts that are guessed to be numbers."""
    named = [p for p in parts if isinstance(p, tree.Letter | tree.Index) and kind_in(paper.notation, p) == "scalar"]
    return [p.name if isinstance(p, tree.Letter) else p.base for p in named]


def _sequences(paper: Paper) -> frozenset[str]:
    votes: Counter[str] = Counter()
    for part in (p for s in paper.sentences for node in s.nodes() for p in node.walk() if isinstance(p, tree.Add)):
        plain_terms = [t.operand if isinstance(t, tree.Negate) else t for t in part.terms]
        kinds = {t.base: kind_in(paper.notation, t) for t in plain_terms if isinstance(t, tree.Index)}
        if "vector" in kinds.values():
            votes.update(name for name, kind in kinds.items() if kind == "matrix")
    return frozenset(name for name, times in votes.items() if times >= LEAST_VOTES)


def _chosen(passage: Passage) -> dict[str, tree.Node]:
    """Letters that the words of a proof set to a formula, each once: ``if we select lambda = T**-a``."""
    found: dict[str, set[tree.Node]] = {}
    for sentence in passage.formulas:
        for chain in sentence.chains() if sentence.read.formula.kind == "inline" and passage.kind == "proof" else ():
            if (
                chain.relations
                and chain.relations[0].word in ("==", ":=")
                and isinstance(chain.members[0], tree.Letter)
            ):
                found.setdefault(chain.members[0].name, set()).add(chain.members[1])
    return {n: v for n, values in found.items() if len(values) == 1 for v in values if n not in free_letters(v)}


def _bounds(paper: Paper, passage: Passage) -> Iterator[tuple[int, tree.Compare]]:
    """Displays that bound an entry of a sequence of numbers, with their place in the paper."""
    for sentence in passage.formulas:
        for chain in sentence.chains() if sentence.read.formula.kind == "display" else ():
            if len(chain.members) != 2 or not chain.relations or chain.relations[0].word not in (*UPPER, *LOWER):
                continue
            left, right = chain.members
            entry = isinstance(left, tree.Index) and kind_in(paper.notation, left) == "scalar"
            if entry and left not in set(right.walk()) and not has_order(right):
                yield sentence.read.formula.n, tree.Compare((left, right), (chain.relations[0].word,))


def _one_case(
    found: list[tuple[int, tree.Compare]],
) -> tuple[list[tree.Compare], list[tuple[int, tree.Compare]]]:
    """Conditions that may hold together, and those of another case, in force behind their place: ``for k <= 2``."""
    ends: dict[tuple[str, bool], Fraction] = {}
    together: list[tree.Compare] = []
    others = []
    for n, one in found:
        match one.operands:
            case (tree.Letter(name=name), tree.Number(value=value)):
                up, sign = one.operators[0] in UPPER, 1 if one.operators[0] in UPPER else -1
                other = ends.get((name, not up))
                if other is not None and sign * (value - other) < 0:
                    others.append((n, one))
                    continue
                ends[name, up] = value
        together.append(one)
    return together, others


def _inline(paper: Paper, passage: Passage) -> Iterator[tuple[int, tree.Compare]]:
    """Conditions on letters and entries that the words of a passage mention: ``where we use L <= 1/(4 eta)``."""
    for sentence in passage.formulas:
        for chain in sentence.chains() if sentence.read.formula.kind == "inline" else ():
            for left, relation, right in chain.links():
                entry = isinstance(left, tree.Index) and kind_in(paper.notation, left) == "scalar"
                if relation.word in (*UPPER, *LOWER) and (plain(left) or entry) and plain(right):
                    yield sentence.read.formula.n, tree.Compare((left, right), (relation.word,))


def _named(node: tree.Node) -> str:
    """An entry with fixed indices as instances name it."""
    assert isinstance(node, tree.Index)
    places = [whole(index) for index in node.indices]
    return f"{node.base}[{','.join(f'{float(p if p is not None else 0):.9g}' for p in places)}]"
