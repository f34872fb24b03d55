"""A printed relation derived from what its paper assumes, defines and does, and from the lines printed before it.

Nothing else is a premise: the ranges of letters, the hypotheses of the statement, what the print defines, what the
paper says in words (``[[said]]`` of its print, each with its source), and in a proof the lines before. A line that was
derived from lines holds only if they do; :func:`grounded` says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.opaque import kind_of_node
from bilevel_verify.manuscript.proofs.question import HYPOTHESIS, LINE, Known, Question
from bilevel_verify.manuscript.proofs.said import Rule, rules_of, tidy
from bilevel_verify.manuscript.proofs.words import linear_key
from bilevel_verify.manuscript.relations import Printed, candidates, relations_of
from bilevel_verify.theorems.rewrite import free_letters, substitute

BOOKKEEPING = frozenset({"a size", "a sum", "the last summand of a sum"})
"""Sources that nobody needs to be told."""
MOST_LINES = 14


@dataclass(frozen=True)
class Derived:
    """How a relation follows: ``sources`` in words, ``uses`` the names of printed relations it was derived from."""

    sources: tuple[str, ...]
    uses: tuple[str, ...]


def derived(paper: Paper, printed: Printed, known: Known) -> Derived | None:
    """How a relation follows from what is in force and from the lines before it; None where no way was found."""
    rules = rules_of(paper, printed.formula.statement)
    lines = lines_before(paper, printed)
    for written in (False, True):
        question = _question(paper, known, rules, lines, written)
        try:
            found = question.answered(printed.relation)
        except (ValueError, RecursionError):
            found = None
        if found is not None:
            sources = tuple(s for s in found if not s.startswith(LINE))
            return Derived(sources, tuple(s.removeprefix(LINE) for s in found if s.startswith(LINE)))
        if not question.arrays and not any(kind == "abs" for kind, _ in question.forms.parts.values()):
            break
    return _by_induction(paper, printed.relation, known, rules, lines)


def difference(paper: Paper, printed: Printed, known: Known) -> str | None:
    """What is left of a relation between vectors or matrices as a sum of words, steps of algorithms written out.

    None where a side is no such sum: sets, minimisers, blocks of matrices.
    """
    question = _question(paper, known, rules_of(paper, printed.formula.statement), lines_before(paper, printed), True)
    try:
        rest = question.rest(printed.relation)
    except (ValueError, RecursionError):
        return None
    return None if rest is None else linear_key(rest).replace("{1*1} ", "").replace("{-1*1} ", "-")


def _question(
    paper: Paper,
    known: Known,
    rules: list[Rule],
    lines: list[Printed],
    written: bool,
    assumed: tuple[Relation, ...] = (),
) -> Question:
    kind = partial(kind_of_node, paper)
    return Question(
        kind, paper.notation.indices, known, rules, lines, written, assumed, euclidean=paper.source.euclidean
    )


def _by_induction(
    paper: Paper, relation: Relation, known: Known, rules: list[Rule], lines: list[Printed]
) -> Derived | None:
    """A relation at ``k = 0``, and at ``k + 1`` from itself at ``k`` and the lines before it, for a running letter."""
    tied = set().union(*(free_letters(c) for c in known.where), set())  # a condition on k may leave out a step
    for letter in sorted(_inductive(relation) & paper.notation.indices - known.domains.keys() - tied):
        zero = _at(relation, letter, tree.Number(Fraction(0)))
        after = _at(relation, letter, tree.Add((tree.Letter(letter), tree.Number(Fraction(1)))))
        try:
            first = _question(paper, known, rules, [], False).answered(zero)
            if first is None:
                continue
            step = _question(paper, known, rules, lines, False, (relation,)).answered(after)
        except (ValueError, RecursionError):
            continue
        if step is not None:
            used = tuple(dict.fromkeys(s for s in (*first, *step) if s != HYPOTHESIS))
            sources = (f"induction on {letter}", *(s for s in used if not s.startswith(LINE)))
            return Derived(sources, tuple(s.removeprefix(LINE) for s in used if s.startswith(LINE)))
    return None


def _inductive(relation: Relation) -> set[str]:
    """Letters on which an induction may tell more: ends of sums, indices beside a first entry or left of a formula."""
    parts = [part for side in (relation.left, relation.right) for part in side.walk()]
    spans = [binder(part) for part in parts if isinstance(part, tree.Call)]
    found = set().union(*(free_letters(span[2]) for span in spans if span is not None), set())
    first = any(isinstance(p, tree.Index) and tree.Number(Fraction(0)) in p.indices for p in parts)
    if first or (relation.op == "==" and isinstance(relation.left, tree.Index)):
        found = found.union(*(free_letters(i) for p in parts if isinstance(p, tree.Index) for i in p.indices))
    return found & (free_letters(relation.left) | free_letters(relation.right))


def _at(relation: Relation, letter: str, value: tree.Node) -> Relation:
    left, right = (tidy(substitute(side, {letter: value})) for side in (relation.left, relation.right))
    return Relation(left, relation.op, right)


def grounded(uses: Mapping[str, tuple[str, ...]], held: Iterable[str]) -> set[str]:
    """Names of lines that hold: those that do, and all that follow from such; what stands in a circle never does."""
    found = set(held)
    while fresh := {n for n, needs in uses.items() if n not in found and found.issuperset(needs)}:
        found |= fresh
    return found


def lines_before(paper: Paper, printed: Printed) -> list[Printed]:
    """The lines of the same proof before a relation; for a relation of a statement, those of its proof."""
    formula = printed.formula
    found = []
    for one in paper.read:
        if one.formula.kind != "display" or not formula.within:
            continue
        same = one.formula.within == formula.within and (formula.in_proof or one.formula.n == formula.n)
        proof = not formula.in_proof and one.formula.in_proof and one.formula.statement == formula.statement
        if same or proof:
            found += [r for r in relations_of(one) if not (r.definition or r.goal) and _as_wide(r, printed)]
    order = (formula.n, printed.index)
    ahead = [r for r in found if (not formula.in_proof and r.formula.in_proof) or (r.formula.n, r.index) < order]
    mine, kept = _objects(printed), dict[str, Printed]()
    for _ in range(2):  # lines about what the relation is about, then those about what these are about
        found = [r for r in reversed(ahead) if r.name not in kept and _objects(r) & mine]
        kept |= {r.name: r for r in found[: MOST_LINES - len(kept)]}
        mine = mine.union(*(_objects(r) for r in found))
    return [r for r in ahead if r.name in kept]


def _as_wide(line: Printed, printed: Printed) -> bool:
    """Whether a line is in force wherever a relation stands: its own conditions are printed beside the relation too."""
    said = candidates(line.conditions)
    return (not line.conditions or bool(said)) and all(one in candidates(printed.conditions) for one in said)


def _objects(printed: Printed) -> set[tree.Node]:
    """Norms, values of functions and entries of sequences in a relation."""
    parts = (part for side in (printed.relation.left, printed.relation.right) for part in side.walk())
    return {part for part in parts if isinstance(part, tree.Call | tree.Index)}
