"""Oracle calls of an algorithm, line by line and summed over its loops, against the number that the text gives.

Counts are polynomials in the lengths of loops. A line under a condition, a loop that is left by a break or whose test
no counter ends gives no count, and nothing is said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from bilevel_verify.language import to_text, tree
from bilevel_verify.latex.grammar.derivatives import split_name
from bilevel_verify.proofreading.algorithms.finite_sums import base_of, number_of_components, sizes_of_sets
from bilevel_verify.proofreading.algorithms.polynomials import NoCount, Polynomial, plus, polynomial, shown, times
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import LABEL, Paper, Sentence
from bilevel_verify.theorems import algorithm as script

if TYPE_CHECKING:
    from bilevel_verify.proofreading.algorithms.reading import Algorithm

Ranges: TypeAlias = tuple[tuple[str, tree.Tuple], ...]
"""Letters of the sums around an expression, each with its range."""
CALLS = r"evaluates|uses|needs|computes|takes|makes|calls"
SAID = re.compile(
    r"\b(?:Algorithm (?P<name>[\w:-]+)|[Tt]he (?:method|algorithm))\b(?:(?!\bAlgorithm\b)[^.])*"
    rf"\b(?:{CALLS})(?P<most> at most)?\s*\Z"
)
IN_ONE_PASS = re.compile(
    r"\b(?:[Ee]ach|[Ee]very|[Oo]ne) (?P<which>(?:outer )?(?:iteration|epoch|stage|pass))"
    r"(?: of Algorithm (?P<name>[\w:-]+))?"
    rf"\s+(?:{CALLS}|costs)(?:(?P<most> at most)?| [^.;]*\band)\s*\Z"
)
A_PART = r"\b(?:each|every|one|per|an?)\s+(?:\w+ )?(?:iteration|epoch|stage|pass|step|round|call)\b"
OF_A_PART = re.compile(rf"{A_PART}[^.]*\Z", re.I)
"""What is counted is no whole run."""
OF = re.compile(
    r"\s*(?:evaluations? of |values? of )?(?:the )?(?P<what>gradients?|Hessians?|values?)(?: of)?\s*(?P<named>\x01)?"
    r"(?P<rest>[^.;]*)",
    re.I,
)
IN_A_VARIABLE = re.compile(
    r"\b(?:with respect to|w\.?\s?r\.?\s?t\b|partial)|\bin\s*\x01(?!\s*(?:iterations|steps|passes|epochs|stages))"
    r"|\bin the (?:\w+[ -])?(?:variable|argument|block)",
    re.I,
)
"""Only derivatives in some of the variables are counted."""
SOMETIMES = re.compile(
    r"\b(?:in expectation|expected|on average|amorti[sz]ed|with (?:high )?probability|only (?:when|if|once))\b", re.I
)
"""What is counted is no sure number of a run of the lines as they are printed."""
DIRECTLY = re.compile(r"\A\s*\(?\s*(?:with respect to|w\.?\s?r\.?\s?t\.?|in)\s*\x01", re.I)
COMPONENTS = re.compile(r"\A[^.;\x01]*\b(?:components?|individual|single|summands?|terms|samples?|stochastic)\b", re.I)
FOR_ONE_END = re.compile(r"\bfor\s+(?:\x01|the\b|each\b)|\band (?:one|two|three|\x01) (?:more|in|for|at)\b", re.I)
"""What is counted serves one line, or more is counted besides."""
ORDERS = {"gradient": 1, "hessian": 2, "value": 0}


def count_defects(paper: Paper, algorithms: Sequence[Algorithm]) -> Iterator[Defect]:
    """Sentences such as "Algorithm 1 evaluates K gradients of f" that the lines of the algorithm contradict."""
    known = {a.name.removeprefix("Algorithm "): a for a in algorithms}
    for listing in paper.listings:
        text = " ".join(part for part in listing.parts if isinstance(part, str))
        known |= {label: a for label in LABEL.findall(text) for a in algorithms if a.id == listing.id}
    sums = _Sums(number_of_components(paper), sizes_of_sets(paper))
    for n, one in enumerate(paper.sentences):
        said, of, claimed = SAID.search(one.before), OF.match(one.after), _claimed(one)
        inside = IN_ONE_PASS.search(one.before)
        said = inside or (None if OF_A_PART.search(one.before) else said)
        algorithm = (known.get(said["name"]) if said["name"] else _only(algorithms)) if said else None
        if said is None or of is None or algorithm is None or claimed is None:
            continue
        if inside and FOR_ONE_END.search(re.sub(r"\([^()]*\)", "", of["rest"])):
            continue
        try:
            asked = _asked(paper, n, of)
            program = one_pass(algorithm.program, inside["which"]) if inside else algorithm.program
            found = _readings(program, paper, asked, sums)
        except NoCount:
            continue
        more = [plus(count, claimed, -1) for count, _ in found]
        if all(more) and not (said["most"] and any(v <= 0 for one in more for v in one.values())):
            title = f"the lines of {algorithm.name} make {shown(found[0][0])} of these calls, and not {shown(claimed)}"
            lines = tuple(f"{name}: {shown(count)}" for name, count in found[0][1].items())
            yield Defect("total", one.place, title, "changes a constant or a rate", one.latex, lines, unit=one.unit)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Function -> of how many components it is the sum; set -> how many elements it has."""

    components: Mapping[str, tree.Node]
    sizes: Mapping[str, tree.Node]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a sentence counts: derivatives of an order, of one function or derivative (None: of all), in one variable
    (empty: in every one), of components."""

    order: int
    name: str | None
    variable: str
    components: bool


def _asked(paper: Paper, place: int, of: re.Match[str]) -> _Asked:
    """What the words around a number count.

    Raises
    ------
    NoCount : it cannot be told.
    """
    order = ORDERS[of["what"].lower().rstrip("s")]
    following = paper.sentences[place + 1 :]
    name = None
    if of["named"] is not None:
        name = _named(following[0], paper) if following else None
        following = following[1:]
    if name is None and (order != 1 or of["named"] is not None):
        raise NoCount("of what")
    variable = ""
    if DIRECTLY.match(of["rest"]) and following:
        letters = [m for chain in following[0].chains() for m in chain.members]
        variable = letters[0].name if len(letters) == 1 and isinstance(letters[0], tree.Letter) else ""
    sentence = re.split(r"[.;]\s", paper.sentences[place].before)[-1] + of["rest"]
    if SOMETIMES.search(sentence):
        raise NoCount("not in every run")
    if not variable and IN_A_VARIABLE.search(re.sub(r"\([^()]*\)", "", sentence)):
        raise NoCount("in what")
    return _Asked(order, name, variable, COMPONENTS.match(of["rest"]) is not None)


def _readings(
    program: script.Program, paper: Paper, asked: _Asked, sums: _Sums
) -> list[tuple[Polynomial, dict[str, Polynomial]]]:
    """The calls that are asked for, with those of every name, in each way in which they may be meant.

    A gradient of a sum is one, or one of each component; a printed sum of gradients is the gradient of a sum, or one of
    each term. Words or a name that say "of components" leave one way.

    Raises
    ------
    NoCount : the number cannot be told in one of them.
    """
    values = frozenset({asked.name} if asked.order == 0 and asked.name else ())
    once, each = calls(program, paper, values), calls(program, paper, values, sums.sizes)
    full = {name: polynomial(size) for name, size in sums.components.items()}
    ways: list[tuple[dict[str, Polynomial], dict[str, Polynomial]]] = [(once, {}), (each, {}), (each, full)]
    return [(_summed(counts, asked, paper, way), counts) for counts, way in ways[2 if asked.components else 0 :]]


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


def _summed(
    counts: Mapping[str, Polynomial], asked: _Asked, paper: Paper, components: Mapping[str, Polynomial]
) -> Polynomial:
    """The calls of what is asked for, those of functions with components as often as they have some.

    Raises
    ------
    NoCount : the variable of a derivative is not told, or the lines name no such call.
    """
    found: Polynomial = {}
    for name, count in counts.items():
        split = split_name(name, paper.notation.functions)
        if name != asked.name and (
            split is None or split[0].order != asked.order or asked.name not in (None, split[1])
        ):
            continue
        if asked.variable and split is not None and not split[0].blocks:
            raise NoCount("in which variable")
        if split is None or asked.variable in ("", split[0].blocks):
            times_each = components.get(split[1]) if split is not None else None
            found = plus(found, count if times_each is None else times(count, times_each))
    if not found and asked.name is not None:
        raise NoCount("the lines call it by another name")
    return found


def calls(
    program: script.Program,
    paper: Paper,
    values: frozenset[str] = frozenset(),
    sizes: Mapping[str, tree.Node] | None = None,
) -> dict[str, Polynomial]:
    """Name of a derivative -> how often the lines evaluate it, the same place in one pass of a loop once.

    ``values`` are functions of which the values are counted too. With ``sizes`` of sets the terms of a sum are counted
    one by one, without them it is one call.

    Raises
    ------
    NoCount : a call under a condition, or in a loop whose length cannot be told.
    """
    return dict(_Lines(paper, values, sizes).block(program.statements, {}))


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of an algorithm, counted block by block."""

    paper: Paper
    counted: frozenset[str]
    sizes: Mapping[str, tree.Node] | None

    def block(self, statements: Iterable[script.Statement], values: dict[str, int]) -> defaultdict[str, Polynomial]:
        """Name of a derivative -> how often these lines evaluate it; ``values`` are those of counters before them."""
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
                inner = self.block(statement.body, dict(values))
                inner = {n: times(c, _length(statement, values)) for n, c in inner.items()}
            elif isinstance(statement, script.If) and any(
                self.block(block, {}) for block in (statement.body, statement.orelse)
            ):
                raise NoCount("a call under a condition")
            for part, terms in (p for node in script.expressions_of(statement) for p in self._calls(node, ())):
                if isinstance(statement, script.While):
                    raise NoCount("a call in the test of a loop")
                if to_text(part) not in seen:
                    found[part.function] = plus(found[part.function], terms)
                seen.add(to_text(part))
            for name, count in inner.items():
                found[name] = plus(found[name], count)
        return found

    def _calls(self, node: tree.Node, sums: Ranges) -> Iterator[tuple[tree.Call, Polynomial]]:
        """The calls of an expression, each with how often it is made; ``sums`` are the letters and ranges around it."""
        if isinstance(node, tree.Call):
            if node.function in self.counted or _is_derivative(node, self.paper):
                terms: Polynomial = {(): Fraction(1)}
                for letter, span in sums:
                    if letter in tree.letters(node):
                        terms = times(terms, self._terms(span))
                yield node, terms
            last = node.arguments[-1] if node.arguments else None
            if node.function == "sum" and isinstance(last, tree.Tuple) and self.sizes is not None:
                match last.items:
                    case (tree.Letter(name=letter), *_):
                        sums = (*sums, (letter, last))
        for part in node.children():
            yield from self._calls(part, sums)

    def _terms(self, span: tree.Tuple) -> Polynomial:
        """How many terms a sum has.

        Raises
        ------
        NoCount : nothing says how many elements a set has.
        """
        match span.items:
            case (_, low, high):
                return plus(plus(polynomial(high), polynomial(low), -1), {(): Fraction(1)})
            case (_, tree.Call(function="set", arguments=(first, tree.Letter(name="dots"), last))):
                return plus(plus(polynomial(last), polynomial(first), -1), {(): Fraction(1)})
            case (_, family) if self.sizes is not None and base_of(family) in self.sizes:
                return polynomial(self.sizes[base_of(family)])
        raise NoCount("how many terms a sum has")


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
