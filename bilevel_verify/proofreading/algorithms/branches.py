"""Branches of a test that scale one size alike, and tests of what is computed behind them only."""

from __future__ import annotations

from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.algorithms.reading import Algorithm
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems import algorithm as script


def branch_defects(paper: Paper, algorithms: list[Algorithm]) -> Iterator[Defect]:
    """Every test of every algorithm."""
    named = _named(paper)
    for algorithm in algorithms:
        for test in (s for s in algorithm.program.walk() if isinstance(s, script.If)):
            yield from _same(algorithm, test)
        yield from _before(algorithm, named)


def _same(algorithm: Algorithm, test: script.If) -> Iterator[Defect]:
    """A size that both branches scale alike: the test was there to tell when it grows and when it shrinks."""
    one, other = ([s for s in block if isinstance(s, script.Assign)] for block in (test.body, test.orelse))
    for first in one:
        for second in other:
            if first.targets == second.targets and first.value == second.value and _scales(first):
                target = to_text(first.targets[0])
                title = f"both branches of the test {to_text(test.test)} set {target} to {to_text(first.value)}"
                yield Defect("test", f"line {second.label} of {algorithm.name}", title, "breaks the statement",
                             unit=algorithm.id, cause=f"{algorithm.id} {title}")  # fmt: skip


def _scales(line: script.Assign) -> bool:
    """Whether a line multiplies an entry or letter by a number: ``d[k + 1] = 2 d[k]``."""
    match line.value:
        case tree.Multiply(factors=(tree.Number(), old)) | tree.Divide(numerator=old, denominator=tree.Number()):
            pass
        case _:
            return False
    return any(tree.name_of(target) == tree.name_of(old) for target in line.targets)


def _named(paper: Paper) -> dict[str, tuple[Sentence, tree.Index, tree.Node]]:
    """Sequences that the text defines by one formula of other sequences: ``r_k = ... s_k ...``."""
    found: dict[str, list[tuple[Sentence, tree.Index, tree.Node]]] = {}
    for sentence in paper.sentences:
        if sentence.read.formula.kind == "algorithm-line":
            continue
        for chain in sentence.chains():
            left, right = chain.equation or (None, None)
            if isinstance(left, tree.Index) and right is not None:
                found.setdefault(left.base, []).append((sentence, left, right))
    return {base: every[0] for base, every in found.items() if len(every) == 1}


def _before(algorithm: Algorithm, named: dict[str, tuple[Sentence, tree.Index, tree.Node]]) -> Iterator[Defect]:
    """A test of what the text defines by an entry that the same pass computes in a later line."""
    for loop in (s for s in algorithm.program.walk() if isinstance(s, script.For | script.While)):
        lines = list(script.Program(loop.body, "").walk())
        targets = [(n, t) for n, s in enumerate(lines) if isinstance(s, script.Assign) for t in s.targets]
        for place, line in enumerate(lines):
            for part in line.test.walk() if isinstance(line, script.If) else ():
                if not isinstance(part, tree.Index) or part.base not in named:
                    continue
                sentence, entry, value = named[part.base]
                if part != entry or any(part == t for _, t in targets):
                    continue
                needed = {p for p in value.walk() if isinstance(p, tree.Index)}
                for later, target in targets:
                    done = any(t == target for n, t in targets if n < place)
                    if later > place and target in needed and not done:
                        title = (f"the test of {to_text(part)} needs {to_text(target)}, which line"
                                 f" {lines[later].label} of the same pass computes")  # fmt: skip
                        yield Defect("unassigned", f"line {line.label} of {algorithm.name}", title,
                                     "breaks the statement", "", (f"{to_text(part)}: {to_text_of(sentence)}",),
                                     f"{algorithm.id} {title}", algorithm.id)  # fmt: skip
