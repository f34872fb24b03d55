"""Oracle calls of an algorithm, line by line and summed over its loops, against the number that the text gives.

Counts are polynomials in the lengths of loops. A line under a condition, a loop that is left by a break or whose test
no counter ends gives no count, and nothing is said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.grammar.derivatives import split_name
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import LABEL, Paper, Sentence
from bilevel_verify.theorems import algorithm as script

if TYPE_CHECKING:
    from bilevel_verify.proofreading.algorithms.reading import Algorithm

Polynomial: TypeAlias = dict[tuple[str, ...], Fraction]
"""Sorted letters of a monomial -> coefficient, none of them 0."""
CALLS = r"evaluates|uses|needs|computes|takes|makes|calls"
SAID = re.compile(
    r"\b(?:Algorithm (?P<name>[\w:-]+)|[Tt]he (?:method|algorithm))\b[^.]*"
    rf"\b(?:{CALLS})(?P<most> at most)?\s*\Z"
)
IN_ONE_PASS = re.compile(
    r"\b(?:[Ee]ach|[Ee]very|[Oo]ne) (?P<which>(?:outer )?(?:iteration|epoch|stage|pass))"
    r"(?: of Algorithm (?P<name>[\w:-]+))?"
    rf"\s+(?:{CALLS}|costs)(?:(?P<most> at most)?| [^.;]*\band)\s*\Z"
)
OF_A_PART = re.compile(
    r"\b(?:each|every|one|per|an?)\s+(?:\w+ )?(?:iteration|epoch|stage|pass|step|round|call)\b[^.]*\Z", re.I
)
"""What is counted is no whole run."""
OF = re.compile(
    r"\s*(?:evaluations? of |values? of )?(?:the )?(?P<what>gradients?|Hessians?|values?)(?: of)?\s*(?P<named>\x01)?",
    re.I,
)
ORDERS = {"gradient": 1, "hessian": 2, "value": 0}


class NoCount(Exception):
    """Calls whose number cannot be told."""


def count_defects(paper: Paper, algorithms: Sequence[Algorithm]) -> Iterator[Defect]:
    """Sentences such as "Algorithm 1 evaluates K gradients of f" that the lines of the algorithm contradict."""
    known = {a.name.removeprefix("Algorithm "): a for a in algorithms}
    for listing in paper.listings:
        text = " ".join(part for part in listing.parts if isinstance(part, str))
        known |= {label: a for label in LABEL.findall(text) for a in algorithms if a.id == listing.id}
    for one, after in zip(paper.sentences, [*paper.sentences[1:], None], strict=True):
        said, of, claimed = SAID.search(one.before), OF.match(one.after), _claimed(one)
        inside = IN_ONE_PASS.search(one.before)
        said = inside or (None if OF_A_PART.search(one.before) else said)
        algorithm = (known.get(said["name"]) if said["name"] else _only(algorithms)) if said else None
        if said is None or of is None or algorithm is None or claimed is None:
            continue
        order = ORDERS[of["what"].lower().rstrip("s")]
        wanted = _named(after, paper) if of["named"] is not None and after is not None else None
        if (of["named"] is not None and wanted is None) or (wanted is None and order != 1):
            continue
        try:
            program = one_pass(algorithm.program, inside["which"]) if inside else algorithm.program
            counts = calls(program, paper, frozenset({wanted} if order == 0 and wanted else ()))
        except NoCount:
            continue
        found = _summed(counts, wanted, order, paper)
        more = plus(found, claimed, -1)
        if more and (not said["most"] or all(value > 0 for value in more.values())):
            title = f"the lines of {algorithm.name} make {shown(found)} of these calls, and not {shown(claimed)}"
            lines = tuple(f"{name}: {shown(count)}" for name, count in counts.items())
            yield Defect("total", one.place, title, "changes a constant or a rate", one.latex, lines, unit=one.unit)


def one_pass(program: script.Program, which: str) -> script.Program:
    """The lines of the only loop that is in no other; where loops are in it, an iteration may be one of theirs.

    Raises
    ------
    NoCount : there is no such loop, or it is not clear which one is meant.
    """
    loops = [s for s in program.statements if isinstance(s, script.For | script.While)]
    inner = any(isinstance(s, script.For | script.While) for one in loops for s in script.Program(one.body, "").walk())
    if len(loops) != 1 or (inner and which == "iteration"):
        raise NoCount("which loop is meant")
    return script.Program(loops[0].body, "")


def _only(algorithms: Sequence[Algorithm]) -> Algorithm | None:
    """The algorithm of a paper that has one: "the method"."""
    return algorithms[0] if len(algorithms) == 1 else None


def _summed(counts: Mapping[str, Polynomial], wanted: str | None, order: int, paper: Paper) -> Polynomial:
    """The calls of a function or derivative; of all derivatives of the order where none is named."""
    found: Polynomial = {}
    for name, count in counts.items():
        split = split_name(name, paper.notation.functions)
        if name == wanted or (split is not None and split[0].order == order and wanted in (None, split[1])):
            found = plus(found, count)
    return found


def calls(program: script.Program, paper: Paper, values: frozenset[str] = frozenset()) -> dict[str, Polynomial]:
    """Name of a derivative -> how often the lines evaluate it, the same place in one pass of a loop once.

    ``values`` are functions of which the values are counted too.

    Raises
    ------
    NoCount : a call under a condition, or in a loop whose length cannot be told.
    """
    return dict(_block(program.statements, paper, {}, values))


def _block(
    statements: Iterable[script.Statement], paper: Paper, values: dict[str, int], counted: frozenset[str]
) -> defaultdict[str, Polynomial]:
    found: defaultdict[str, Polynomial] = defaultdict(dict)
    seen: set[str] = set()
    for statement in statements:
        if isinstance(statement, script.Assign):
            for target in statement.targets:
                values.pop(target.name, None) if isinstance(target, tree.Letter) else None
                if isinstance(target, tree.Letter) and (number := whole(statement.value)) is not None:
                    values[target.name] = number
        inner: dict[str, Polynomial] = {}
        if isinstance(statement, script.For | script.While):
            inner = _block(statement.body, paper, dict(values), counted)
            inner = {n: times(c, _length(statement, values)) for n, c in inner.items()}
        elif isinstance(statement, script.If) and any(
            _block(block, paper, {}, counted) for block in (statement.body, statement.orelse)
        ):
            raise NoCount("a call under a condition")
        loop_test = isinstance(statement, script.While)
        for part in (p for node in script.expressions_of(statement) for p in node.walk()):
            if not isinstance(part, tree.Call) or to_text(part) in seen:
                continue
            if part.function not in counted and not _is_derivative(part, paper):
                continue
            if loop_test:
                raise NoCount("a call in the test of a loop")
            seen.add(to_text(part))
            found[part.function] = plus(found[part.function], {(): Fraction(1)})
        for name, count in inner.items():
            found[name] = plus(found[name], count)
    return found


def _is_derivative(node: tree.Call, paper: Paper) -> bool:
    split = split_name(node.function, paper.notation.functions)
    return split is not None and split[0].order > 0


def _length(loop: script.For | script.While, values: dict[str, int]) -> Polynomial:
    """How many passes a loop makes.

    Raises
    ------
    NoCount : it may be left, or no counter ends it.
    """
    inside = list(script.Program(loop.body, "").walk())
    if any(isinstance(s, script.Break | script.Return) for s in inside):
        raise NoCount("a loop that is left")
    if isinstance(loop, script.For):
        return plus(polynomial(loop.stop), polynomial(loop.start), -1)
    match loop.test:
        case tree.Compare(operands=(tree.Letter(name=name), stop), operators=("<",)) if name in values:
            moves = [s for s in inside if isinstance(s, script.Assign) and tree.Letter(name) in s.targets]
            if len(moves) == 1 and moves[0] in loop.body and shift_of(moves[0].value, name) == 1:
                return plus(polynomial(stop), {(): Fraction(values[name])}, -1)
    raise NoCount("a loop that no counter ends")


def polynomial(node: tree.Node) -> Polynomial:
    """A sum of products of letters and numbers.

    Raises
    ------
    NoCount : it is none.
    """
    match node:
        case tree.Number(value=value):
            return {(): value} if value else {}
        case tree.Letter(name=name) if name != "oo":
            return {(name,): Fraction(1)}
        case tree.Negate(operand=inner):
            return plus({}, polynomial(inner), -1)
        case tree.Add(terms=terms):
            total: Polynomial = {}
            for term in terms:
                total = plus(total, polynomial(term))
            return total
        case tree.Multiply(factors=factors):
            product: Polynomial = {(): Fraction(1)}
            for factor in factors:
                product = times(product, polynomial(factor))
            return product
        case tree.Power(base=base, exponent=tree.Number(value=value)) if value in (2, 3):
            return polynomial(tree.Multiply((base,) * int(value)))
    raise NoCount(to_text(node))


def plus(one: Polynomial, other: Polynomial, factor: int = 1) -> Polynomial:
    """``one + factor*other``."""
    total = dict(one)
    for key, value in other.items():
        total[key] = total.get(key, Fraction(0)) + factor * value
    return {key: value for key, value in total.items() if value}


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    """The product."""
    total: Polynomial = {}
    for a, x in one.items():
        total = plus(total, {tuple(sorted((*a, *b))): x * y for b, y in other.items()})
    return total


def shown(count: Polynomial) -> str:
    """``K*T + 1``."""
    parts = []
    for letters, value in sorted(count.items(), key=lambda pair: (-len(pair[0]), pair[0])):
        text = "*".join([*([] if value == 1 and letters else [str(value)]), *letters])
        parts.append(text)
    return " + ".join(parts) or "0"


def _claimed(sentence: Sentence) -> Polynomial | None:
    """The number that a formula gives: a polynomial alone."""
    chains = list(sentence.chains())
    if len(chains) != 1 or len(chains[0].members) != 1:
        return None
    try:
        return polynomial(chains[0].members[0])
    except NoCount:
        return None


def _named(sentence: Sentence, paper: Paper) -> str | None:
    """The function or derivative that a formula names: ``f`` or ``\\nabla_yg``."""
    chains = list(sentence.chains())
    if len(chains) != 1 or len(chains[0].members) != 1:
        return None
    match chains[0].members[0]:
        case tree.Letter(name=name) | tree.Call(function=name):
            return name if name in paper.notation.functions or split_name(name, paper.notation.functions) else None
    return None
