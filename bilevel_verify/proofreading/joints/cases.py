"""Case distinctions by sets of indices: the cases cover everything, each index once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.numbers.exact import compare
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.source import Paper, Sentence

MEMBER = re.compile(r"(.+?)_?([12])\Z")


def case_defects(paper: Paper) -> Iterator[Defect]:
    """Pairs ``S_1 = {j : a >= b}``, ``S_2 = {j : a < b}`` of one statement that overlap or leave something out."""
    for sentence in paper.sentences:
        for node in sentence.nodes():
            for part in node.walk():
                if isinstance(part, tree.Call) and part.function == "Piecewise":
                    yield from _branches(part, paper.notation.indices, sentence)
    for home in paper.homes.values():
        table: dict[str, dict[str, tuple[Sentence, tree.Compare]]] = defaultdict(dict)
        for sentence in home:
            for name, test in _sets(sentence):
                if found := MEMBER.match(name):
                    table[found[1]].setdefault(found[2], (sentence, test))
        for name, pair in table.items():
            if set(pair) == {"1", "2"}:
                yield from _judged(name, *pair["1"], *pair["2"])


def _branches(node: tree.Call, indices: frozenset[str], sentence: Sentence) -> Iterator[Defect]:
    """The cases of a definition by cases: a whole number or a point of equality that none of them has."""
    tests = [branch.items[1] for branch in node.arguments if isinstance(branch, tree.Tuple) and len(branch.items) == 2]
    links = [t for t in tests if isinstance(t, tree.Compare) and len(t.operators) == 1]
    firsts = {t.operands[0] for t in links}
    if len(links) != len(node.arguments) or len(links) < 2 or len(firsts) != 1:
        return
    (subject,) = firsts
    ends = [whole(t.operands[1]) for t in links]
    missing = ""
    if isinstance(subject, tree.Letter) and subject.name in indices and None not in ends:
        numbers = [n for n in ends if n is not None]
        pairs = [(t.operators[0], n) for t, n in zip(links, numbers, strict=True)]
        span = range(min(numbers), max(numbers) + 1)
        left_out = (k for k in span if not any(compare(Fraction(k), op, Fraction(n)) for op, n in pairs))
        missing = next((f"{subject.name} = {k}" for k in left_out), "")
    elif len({t.operands[1] for t in links}) == 1 and {t.operators[0] for t in links} == {"<", ">"}:
        missing = f"{to_text(subject)} = {to_text(links[0].operands[1])}"
    if missing:
        title = f"the cases of the definition leave out {missing}"
        yield Defect("total", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)


def _sets(sentence: Sentence) -> Iterator[tuple[str, tree.Compare]]:
    """Names of sets with the one comparison that defines them."""
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            if relation.word in ("==", ":=") and isinstance(right, tree.Call) and right.function == "such_that":
                tests = [a for a in right.arguments[1:] if isinstance(a, tree.Compare) and len(a.operators) == 1]
                name = left.name if isinstance(left, tree.Letter) else _entry(left)
                if name and len(tests) == 1 and len(right.arguments) == 2:
                    yield name, tests[0]


def _entry(node: tree.Node) -> str:
    match node:
        case tree.Index(base=base, indices=(tree.Number(value=value),)):
            return f"{base}_{value}"
    return ""


def _judged(name: str, first: Sentence, one: tree.Compare, second: Sentence, other: tree.Compare) -> Iterator[Defect]:
    """The two conditions against each other, where they compare the same two things."""
    op = other.operators[0]
    if other.operands == one.operands[::-1]:
        op = tree.MIRRORED.get(op, op)
    elif other.operands != one.operands:
        if other.operands[0] == one.operands[0] and tree.NEGATED.get(one.operators[0]) == op:
            title = f"the cases {name}_1 and {name}_2 part at two different values"
            yield Defect("total", second.place, title, "local slip", second.latex, (first.latex,), unit=second.unit)
        return
    if tree.NEGATED.get(one.operators[0]) == op:
        return
    both = {one.operators[0], op}
    what = "both hold where the two sides are equal" if both == {"<=", ">="} else (
        "neither holds where the two sides are equal" if both == {"<", ">"} else "one is part of the other"
    )  # fmt: skip
    title = f"the cases {name}_1 and {name}_2 do not part everything: {what}"
    yield Defect("total", second.place, title, "local slip", second.latex, (first.latex,), unit=second.unit)
