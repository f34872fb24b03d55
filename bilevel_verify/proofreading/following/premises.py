"""What a step may be derived from: relations of a paper, each for all values of the letters that it is meant for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.latex.grammar.names import EXPECTATION
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.proofs.said import OPERATORS, Rule, tidy
from bilevel_verify.proofreading.following.expected import expectation_of, has_expectation, spread
from bilevel_verify.proofreading.instances.entries import as_entries, lettered
from bilevel_verify.proofreading.instances.scenes import POINTS, Scene
from bilevel_verify.proofreading.source import Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters, has_order, rebuild, substitute

HARD = ("matrix", "Piecewise", "integral", "argmin", "argmax", "set", "list", "O", "softO", "log", "tensor")
"""Functions of which nothing is derived."""
TWO = tree.Number(Fraction(2))
BELOW = re.compile(r"\x01[^\x01.]{0,40}\bbounded (?:from )?below by\s*\x01")
CONVEX = re.compile(r"\x01[^\x01.]{0,40}\b(?:is|are|be)(?: both)? convex\b|\bconvex function \x01")


@dataclass(frozen=True, slots=True)
class Premise:
    """One relation of the paper: its name for a reader, the formula that prints it, what it says."""

    name: str
    sentence: Sentence
    rules: tuple[Rule, ...]


def relations_in(sentence: Sentence, paper: Paper) -> Iterator[Relation]:
    """Neighbours of the chains of a formula, entries that are read as letters as entries."""
    entries = lettered(paper)
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            op = "==" if relation.word in (":=", "<-") else relation.word
            one, other = (tidy(spread(as_entries(side, entries))) for side in (left, right))
            if op in tree.MIRRORED and plain(one) and plain(other):
                yield Relation(one, op, other)


def plain(node: tree.Node) -> bool:
    """Whether a side is made of what is derived from: numbers, vectors, functions, sums."""
    if has_order(node):
        return False
    for part in node.walk():
        if isinstance(part, tree.Call) and part.function in HARD:
            return False
        if isinstance(part, tree.Letter) and part.name in ("dots", "_"):
            return False
    return True


def premise_of(paper: Paper, scene: Scene, sentence: Sentence, name: str) -> Premise:
    """What a formula says, for all points and indices; a bound of a norm squared, a Lipschitz gradient as a bound."""
    rules = []
    for one in relations_in(sentence, paper):
        forms = (*_squared(one), *_smooth(one), *_solved(one, scene), *_balanced(one), *_ending(one, scene))
        rules += [rule_of(paper, scene, relation, name) for relation in (one, *forms)]
    return Premise(name, sentence, tuple(rules))


def rule_of(paper: Paper, scene: Scene, relation: Relation, name: str) -> Rule:
    """A relation for all points and indices in it."""
    sides = (relation.left, relation.right)
    free = free_letters(relation.left) | free_letters(relation.right)
    letters = {p.name for side in sides for p in side.walk() if isinstance(p, tree.Letter)} & free
    running = letters & running_letters(paper)
    points = {n for n in letters if _is_point(scene, n)}
    return Rule(relation, frozenset(running | points), name, running=frozenset(running))


def _squared(one: Relation) -> Iterator[Relation]:
    """``norm(v) <= B`` squared."""
    for relation in (one, one.flipped()):
        if relation.op in ("<=", "<") and isinstance(relation.left, tree.Call) and relation.left.function == "norm":
            yield Relation(tree.Power(relation.left, TWO), relation.op, tree.Power(relation.right, TWO))


def _solved(one: Relation, scene: Scene) -> Iterator[Relation]:
    """``x[k + 1] - y[k] == v`` as what the first vector is."""
    match one.left:
        case tree.Add(terms=(tree.Index() as first, other)) if one.op == "==" and scene.kind(first) == "vector":
            if first not in {*other.walk(), *one.right.walk()}:
                yield Relation(first, "==", tree.Add((one.right, tree.Negate(other))))


def _is_zero(node: tree.Node) -> bool:
    return tree.is_zero(node) or node == tree.Letter("zero")


def _balanced(one: Relation) -> Iterator[Relation]:
    """Of vectors that add up to zero each is as long as the sum of the others."""
    if one.op == "==" and _is_zero(one.right) and isinstance(one.left, tree.Add):
        terms = one.left.terms
        for place, term in enumerate(terms if len(terms) > 2 else ()):
            rest = tree.Add((*terms[:place], *terms[place + 1 :]))
            yield Relation(tree.Call("norm", (rest,)), "==", tree.Call("norm", (term,)))


def _ending(one: Relation, scene: Scene) -> Iterator[Relation]:
    """A relation for all ``x`` and ``s`` about ``f(x + s)``, with the end of the step as the point: ``s = y - x``."""
    end = tree.Letter(POINTS[-1])
    calls = (p for side in (one.left, one.right) for p in side.walk() if isinstance(p, tree.Call))
    for sum_ in dict.fromkeys(p.arguments[0] for p in calls if len(p.arguments) == 1 and p.function not in OPERATORS):
        match sum_:
            case tree.Add(terms=(tree.Letter(name=x), tree.Letter(name=s))) if all(_is_point(scene, n) for n in (x, s)):
                step = tree.Add((end, tree.Negate(tree.Letter(x))))
                left, right = (substitute(_put_in(side, sum_, end), {s: step}) for side in (one.left, one.right))
                yield Relation(left, one.op, right)


def _put_in(node: tree.Node, old: tree.Node, new: tree.Node) -> tree.Node:
    return new if node == old else rebuild(node, lambda part: _put_in(part, old, new))


def _smooth(one: Relation) -> Iterator[Relation]:
    """The bounds of a function by its tangent, from a Lipschitz gradient."""
    match one.left:
        case tree.Call(function="norm", arguments=(tree.Add(terms=(tree.Call(function=a, arguments=(x,)), tree.Negate(
            operand=tree.Call(function=b, arguments=(y,))))),)) if a == b and a.startswith("grad_"):  # fmt: skip
            pass
        case _:
            return
    distance = tree.Call("norm", (tree.Add((x, tree.Negate(y))),))
    if one.op not in ("<=", "<") or not isinstance(one.right, tree.Multiply) or one.right.factors[-1] != distance:
        return
    step = tree.Add((y, tree.Negate(x)))
    f = a.removeprefix("grad_")
    half = tree.Multiply((tree.Number(Fraction(1, 2)), *one.right.factors[:-1],
                          tree.Power(tree.Call("norm", (step,)), TWO)))  # fmt: skip
    line = tree.Add((tree.Call(f, (x,)), tree.Call("dot", (tree.Call(a, (x,)), step))))
    yield Relation(tree.Call(f, (y,)), "<=", tree.Add((line, half)))
    yield Relation(tree.Call(f, (y,)), ">=", tree.Add((line, tree.Negate(half))))


def spoken(paper: Paper, scene: Scene) -> Iterator[Rule]:
    """What words say: a function is convex, or bounded below by a number."""
    points = sorted(
        e.name for e in paper.notation.entries if e.role == "letter" and len(e.name) == 1 and _is_point(scene, e.name)
    )
    if len(points) < 2:
        points = [*POINTS]
    x, y = (tree.Letter(n) for n in points[:2])
    for passage in paper.passages:
        for said in BELOW.finditer(passage.words):
            f, bound = _formulas(passage, said)[:2]
            if isinstance(f, tree.Letter) and isinstance(bound, tree.Letter):
                yield rule_of(paper, scene, Relation(tree.Call(f.name, (x,)), ">=", bound), f"a bound of {f.name}")
        for said in CONVEX.finditer(passage.words):
            for f in _formulas(passage, said)[:1]:
                if isinstance(f, tree.Letter):
                    value, slope = tree.Call(f.name, (x,)), tree.Call(f"grad_{f.name}", (x,))
                    line = tree.Add((value, tree.Call("dot", (slope, tree.Add((y, tree.Negate(x)))))))
                    tangent = Relation(tree.Call(f.name, (y,)), ">=", line)
                    yield rule_of(paper, scene, tangent, f"{f.name} is convex")


def _formulas(passage: Passage, said: re.Match[str]) -> list[tree.Node | None]:
    """The formulas in some words, as far as each is one side or begins with what it is about: ``f: R^d -> R``."""
    first = passage.words[: said.start()].count("\x01")
    found: list[tree.Node | None] = []
    for sentence in passage.formulas[first : first + said[0].count("\x01")]:
        chains = list(sentence.chains())
        name = re.match(r"\s*([A-Za-z])\s*(?:\Z|:|\(\\cdot\))", sentence.latex)
        found.append(chains[0].members[0] if chains and len(chains[0].members) == 1 else
                     tree.Letter(name[1]) if name else None)  # fmt: skip
    return found


def in_expectation(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The same relations in expectation."""
    return tuple(Rule(expectation_of(r.relation), r.any, r.source, r.least, r.line, r.running) for r in rules)


def expects(relation: Relation) -> bool:
    """Whether a relation is one of expectations."""
    return has_expectation(relation.left, relation.right)


def running_letters(paper: Paper) -> frozenset[str]:
    """Letters that stand in an index with a shift or alone, small ones: ``k`` in ``x[k + 1]``."""
    found: set[str] = set()
    for part in paper.parts:
        if isinstance(part, tree.Index):
            found = found.union(*(free_letters(i) for i in part.indices))
    return frozenset(n for n in found if n[:1].islower() and n in paper.notation.indices)


def _is_point(scene: Scene, name: str) -> bool:
    """Whether a letter stands for any vector: no solution, and nothing that the paper defines."""
    fixed = name.endswith(("_star", "zero")) or name in ("I", EXPECTATION)
    return not fixed and scene.kind(tree.Letter(name)) == "vector"
