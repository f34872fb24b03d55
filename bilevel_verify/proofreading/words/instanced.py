"""``By (3), D``: a citation of which nothing stands in D, where another relation is a step of D letter for letter.

Told only where both are plain: neither side of what is cited stands in the step, at any indices, and the other relation
is a step of it at some indices and points (on either side of the sign, times a factor), or bounds the same quantity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import EQUAL, UPPER, Bounded, bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses, numbered_in
from bilevel_verify.proofreading.joints.forms import Formless, inverse, joined, product
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.parameters import frame_of
from bilevel_verify.proofreading.joints.quoting import fitted, over, renamed
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import substitute
from bilevel_verify.theorems.vocabulary import SCALAR_FUNCTIONS, VECTOR_FUNCTIONS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

LEANS = re.compile(r"\b(?:by|with|from|using|and)\s+(?:equations?\s+|inequalit(?:y|ies)\s+)?\((\d+[a-z]?)\)", re.I)
THEOREM = re.compile(r"\((\d+[a-z]?)\)\s+gives? the (?:theorem|lemma|corollary|proposition|claim|result)\b", re.I)
SPEAKS = re.compile(r"\b(?:similar\w*|analog\w*|same way|argument|as in|like|proof of|instead|replac\w+)\b", re.I)
MOST_PARTS = 400
KNOWN = (
    SCALAR_FUNCTIONS
    | VECTOR_FUNCTIONS
    | {"sum", "prod", "min", "max", "norm", "norm_2", "dual_norm", "component", "dot", "T"}
)


def instanced_joints(paper: Paper, draft: Draft) -> Iterator[Judged]:
    """Every sentence of a proof that rests on numbered relations and prints a relation behind them."""
    numbers = {id(p): n for n, p in enumerate(paper.passages)}
    for clause in clauses(paper):
        if clause.passage.kind != "proof" or SPEAKS.search(clause.words):
            continue
        yield from _gives_all(paper, clause)
        found = list(LEANS.finditer(clause.words))
        printed = _printed(clause, found[-1].end()) if found else None
        if printed is None:
            continue
        define = frame_of(draft, numbers[id(clause.passage)]).define
        for said in found:
            cited = paper.numbered.get(said[1])
            if cited is not None and cited is not printed and cited.read.statements:
                yield from _judged(paper, clause, printed, cited, define)


def _gives_all(paper: Paper, clause: Clause) -> Iterator[Judged]:
    """``(6) gives the theorem``: what the theorem is about stands in (6), or in the proof before it."""
    said = THEOREM.search(clause.words)
    home = paper.stated.get(clause.passage.of)
    cited = paper.numbered.get(said[1]) if said is not None else None
    if home is None or cited is None:
        return
    results = [b for s in home.formulas if s.read.formula.kind == "display" for b in bounds_of(s)]
    if not results or not cited.read.statements:
        return
    about = _functions(results[-1].left)
    ahead = [s for s in clause.passage.formulas if s.read.formula.kind == "display"]
    have = set().union(*(_functions(node) for s in (cited, *ahead) for node in s.nodes()))
    others = [(k, s) for k, s in paper.before(ahead[-1] if ahead else cited).items()
              if about and s is not cited and s not in home.formulas
              and about <= set().union(*(_functions(b.left) for b in bounds_of(s)), set())]  # fmt: skip
    if about & have or not others:
        return
    number, (meant, other) = cited.read.formula.number, others[-1]
    title = f"({number}) is said to give {clause.passage.of}, and has nothing of what it is about; ({meant}) has"
    evidence = (f"({number}): {to_text_of(cited)}", f"({meant}): {to_text_of(other)}")
    defect = Defect("citation", cited.place, title, "wording", cited.latex, evidence, unit=clause.passage.id)
    yield Judged("citation", cited.place, f"({number}) gives {clause.passage.of}", "refuted", title, defect)


def _functions(node: tree.Node) -> set[str]:
    return {name for name in tree.functions(node) if name not in KNOWN}


def _printed(clause: Clause, at: int) -> Sentence | None:
    """The first relation behind the citation: a display, or the only formula."""
    after = clause.formulas[clause.words[:at].count(HOLE) :]
    shown = [f for f in after if f.read.formula.kind == "display"]
    related = shown[:1] or [f for f in after if len(after) == 1]
    return next((f for f in related if bounds_of(f)), None)


def _judged(
    paper: Paper, clause: Clause, printed: Sentence, cited: Sentence, define: Mapping[str, tree.Node]
) -> Iterator[Judged]:
    number = cited.read.formula.number
    joint = f"({number}) in {to_text_of(printed)}"
    pool = _pool(clause, printed)
    sides = [s for b in _all(cited) for s in (b.left, b.right)]
    if _brings(cited, printed) or any(_stands(paper, side, pool) for side in sides):
        yield Judged("citation", printed.place, joint, "holds", "a side of it stands in the step")
        return
    named = {*numbered_in(clause.words)}
    home = [s for s in paper.homes[printed.home] if s.read.formula.number and s.unit == printed.read.formula.statement]
    others = [
        (k, s)
        for k, s in paper.before(printed).items()
        if k not in named and s.unit != printed.unit and s not in home[-1:]
        and (_is_step(paper, printed, s, define) or _is_about(paper, printed, s))
    ]  # fmt: skip
    if not others:
        yield Judged("citation", printed.place, joint, "undecided", "no other relation is a step of it")
        return
    meant, other = others[-1]
    title = f"({number}) is cited for a step in which nothing of it stands; ({meant}) is what the step says"
    evidence = (
        f"({number}): {to_text_of(cited)}",
        f"({meant}): {to_text_of(other)}",
        f"the step: {to_text_of(printed)}",
    )
    defect = Defect("citation", printed.place, title, "wording", printed.latex, evidence, unit=printed.unit)
    yield Judged("citation", printed.place, joint, "refuted", title, defect)


def _brings(cited: Sentence, printed: Sentence) -> bool:
    """Whether a letter that the step begins without is one of the citation: it may define what stands there."""
    first = next(iter(printed.nodes()))
    new = set().union(*(tree.letters(node) for node in printed.nodes())) - tree.letters(first)
    return bool(new & set().union(*(tree.letters(node) for node in cited.nodes())))


def _all(sentence: Sentence) -> list[Bounded]:
    """Neighbours of the chains of a relation, and first with last members."""
    links = [Bounded(a, r.word, b) for c in sentence.chains() for a, r, b in c.links()]
    return [*links, *bounds_of(sentence)]


def _pool(clause: Clause, printed: Sentence) -> list[tree.Node]:
    """Everything that stands in the step, in the sentence, and in the displays of the passage before it."""
    near = [s for s in clause.passage.formulas if s.read.formula.n <= printed.read.formula.n]
    nodes = [*(n for s in (*near, *clause.formulas) for n in s.nodes())]
    return list(dict.fromkeys(part for node in nodes for part in node.walk()))[:MOST_PARTS]


def _stands(paper: Paper, side: tree.Node, pool: list[tree.Node]) -> bool:
    """Whether a term of a side stands anywhere, at any indices and points."""
    return any(
        (fitted(paper, pattern, node) is not None) or _anywhere(paper, pattern, node)
        for pattern in (*_patterns(side), *_values(side))
        for node in pool
        if type(node) is type(pattern)
    )


def _anywhere(paper: Paper, pattern: tree.Node, node: tree.Node) -> bool:
    """Whether two trees are values of one function, the first at a point that is free: ``f(x + s)``."""
    if not isinstance(pattern, tree.Call) or not isinstance(node, tree.Call) or pattern.function != node.function:
        return False
    letters = (p for a in pattern.arguments for p in a.walk() if isinstance(p, tree.Letter))
    return pattern.function not in KNOWN and any(kind_in(paper.notation, one) == "vector" for one in letters)


def _values(side: tree.Node) -> Iterator[tree.Node]:
    """Values of functions that stand in norms and inner products."""
    return (p for p in side.walk() if isinstance(p, tree.Call) and p.function not in KNOWN)


def _patterns(side: tree.Node) -> Iterator[tree.Node]:
    """Values of functions, norms, inner products and entries in a side, the outermost; without any the side itself."""
    inner: list[tree.Node] = [
        p for p in side.walk() if isinstance(p, tree.Index) or (isinstance(p, tree.Call) and binder(p) is None)
    ]
    outermost = [p for p in inner if not any(p is not q and p in set(q.walk()) for q in inner)]
    yield from outermost or [side]


def _is_step(paper: Paper, printed: Sentence, other: Sentence, define: Mapping[str, tree.Node]) -> bool:
    """Whether a pair of the chain is the other relation at some indices, its terms moved, times a factor."""
    for link in _all(printed):
        for bound in bounds_of(other):
            for one in _at_points(paper, bound, link):
                if _same(one, link, define):
                    return True
    return False


def _at_points(paper: Paper, bound: Bounded, link: Bounded) -> Iterator[Bounded]:
    """A relation with its indices and points as they stand in a step: from values of functions and norms of both."""
    for pattern in dict.fromkeys(_patterns(bound.left)):
        for node in (p for side in (link.left, link.right) for p in side.walk()):
            if type(node) is type(pattern) and (binding := fitted(paper, pattern, node)):
                yield Bounded(renamed(bound.left, binding), bound.op, renamed(bound.right, binding))


def _same(one: Bounded, link: Bounded, define: Mapping[str, tree.Node]) -> bool:
    if (one.op in EQUAL) != (link.op in EQUAL):
        return False
    try:
        want, got = (over(_written(b, define)).terms for b in (one, link))
    except Formless:
        return False
    if len(want) < 2 or len(want) != len(got):
        return False
    first = next(iter(want))
    for monomial, number in got.items():
        ratio = joined(monomial, inverse(first))[0]
        factor = number / want[first]
        plain = factor > 0 and all(a.isidentifier() or "[" in a for a, _ in ratio)
        if plain and dict(product(want, {ratio: factor})) == dict(got):
            return True
    return False


def _written(bound: Bounded, define: Mapping[str, tree.Node]) -> Bounded:
    left, right = (substitute(side, dict(define), caught=True) for side in (bound.left, bound.right))
    return Bounded(left, bound.op, right)


def _is_about(paper: Paper, printed: Sentence, other: Sentence) -> bool:
    """Whether the other relation bounds what the step begins with, from the same side."""
    result = bounds_of(printed)[-1]
    if not any(isinstance(p, tree.Call | tree.Index) for p in result.left.walk()):
        return False
    return any(
        type(b.left) is type(result.left)
        and (b.op in UPPER) == (result.op in UPPER)
        and b.op not in EQUAL
        and fitted(paper, b.left, result.left) is not None
        for b in bounds_of(other)[-1:]
    )
