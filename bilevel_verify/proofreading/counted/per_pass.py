"""``Each iteration costs two evaluations of F and two projections``: numbers in words, against the lines of the loop.

A call counts between once for all entries of a sequence and once for each of them: ``F(w_{k-1})`` may have been kept.
A right text says a number in this range. Loops in the loop and calls under a condition give no count, and nothing is
said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.algorithms.counting import one_pass
from bilevel_verify.proofreading.algorithms.polynomials import NoCount
from bilevel_verify.proofreading.algorithms.reading import Algorithm
from bilevel_verify.proofreading.counted.numerals import NUMERAL, WORDS
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems import algorithm as script
from bilevel_verify.theorems.rewrite import rebuild

PASS = re.compile(
    r"\A(?:[Ee]ach|[Ee]very|[Oo]ne) (?P<which>(?:outer )?(?:iteration|pass|step))(?: of (?:Algorithm \S+|the \w+))?"
    r" (?:costs|needs|uses|takes|requires|makes|evaluates) "
)
ITEM = re.compile(
    rf"\b(?P<number>{NUMERAL}) (?:(?P<of>evaluations?|values?|calls?) (?:of|to) (?P<hole>{HOLE})"
    r"|(?P<proj>projections?)\b)"
)
MAYBE = re.compile(
    r"\b(?:at (?:most|least)|if|unless|more|less|except|only|additional|extra|first|reus\w+|stored)\b", re.I
)
IS_PROJECTION = re.compile(r"\s*(?:is|denotes|be|means) the (?:\w+ )?projection\b")
PROJECTION_IS = re.compile(r"\bprojection (?:onto|on|to) (?:\x01 )?is denoted by\s*\Z")


def pass_defects(paper: Paper, algorithms: Sequence[Algorithm]) -> Iterator[Defect]:
    """Sentences that say in words what one pass of the only loop of the only algorithm calls."""
    if len(algorithms) != 1 or sum(p.kind == "algorithm" for p in paper.passages) != 1:
        return
    (algorithm,) = algorithms
    for clause in clauses(paper):
        said = PASS.search(clause.words)
        if said is None or MAYBE.search(clause.words):
            continue
        for item in ITEM.finditer(clause.words, said.end()):
            names = _projections(paper) if item["proj"] else {_named(paper, clause, item.start("hole"))} - {""}
            found = _calls(algorithm, said["which"], names) if names else None
            number = WORDS[item["number"]]
            if found is not None and not found[0] <= number <= found[1]:
                what = " or ".join(sorted(names))
                title = f"a pass of the loop of {algorithm.name} calls {what} {found[1]} times, and not {number}"
                at = clause.formulas[0] if clause.formulas else None
                place = at.place if at is not None else clause.passage.name or "text"
                yield Defect("total", place, title, "changes a constant or a rate", "",
                             (clause.words.replace(HOLE, "..."),), unit=clause.passage.id)  # fmt: skip


def _named(paper: Paper, clause: Clause, at: int) -> str:
    """The function that a formula of a sentence is."""
    return _function(paper, clause.formulas[clause.words[:at].count(HOLE)])


def _function(paper: Paper, sentence: Sentence) -> str:
    match list(sentence.nodes()):
        case [tree.Letter(name=name)] if name in paper.notation.functions:
            return name
    return ""


def _projections(paper: Paper) -> set[str]:
    """The functions that the text calls a projection."""
    every = ((c, i, s) for c in clauses(paper) for i, s in enumerate(c.formulas))
    said = {_function(paper, s) for c, i, s in every
            if IS_PROJECTION.match(c.after(i)) or PROJECTION_IS.search(c.before(i))}  # fmt: skip
    return said - {""}


def _calls(algorithm: Algorithm, which: str, names: set[str]) -> tuple[int, int] | None:
    """How often one pass calls the functions: entries of a sequence as one, and each for itself."""
    try:
        program = one_pass(algorithm.program, which)
    except NoCount:
        return None
    if any(isinstance(s, script.If | script.For | script.While) for s in program.statements):
        return None
    parts = {p for s in program.statements for node in script.expressions_of(s) for p in node.walk()
             if isinstance(p, tree.Call) and p.function in names}  # fmt: skip
    alike = {to_text(_unshifted(p)) for p in parts}
    return (len(alike), len({to_text(p) for p in parts})) if parts else None


def _unshifted(node: tree.Node) -> tree.Node:
    """A call with every entry of a sequence as the sequence."""
    return tree.Letter(node.base) if isinstance(node, tree.Index) else rebuild(node, _unshifted)
