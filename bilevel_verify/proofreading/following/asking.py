"""Whether a relation follows from some premises, under what is in force where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from itertools import islice, product

from bilevel_verify.audit.scalar.claim import NONNEGATIVE, POSITIVE
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.proofs.question import Known, Question
from bilevel_verify.manuscript.proofs.said import OPERATORS, Rule, tidy
from bilevel_verify.proofreading.following.expected import falling, iterated, summed, telescopes
from bilevel_verify.proofreading.following.premises import expects, in_expectation, plain, running_letters
from bilevel_verify.proofreading.instances.scenes import Scene
from bilevel_verify.proofreading.source import PROMISES
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import free_letters, substitute

MOST_RULES, MOST_POINTS, MOST_COLUMNS = 300, 36, 300
SCENES = 64
"""Scenes of which is kept what every question in them asks for."""


def follows(
    scene: Scene, relation: Relation, rules: Iterable[Rule], seeds: Iterable[Rule] = (), first: Iterable[Rule] = ()
) -> tuple[str, ...] | None:
    """Sources of a derivation; None where none was found.

    ``seeds`` are rules that hold as they are printed, too, and the ``first`` of the rules are tried without the others.
    """
    seeds, rules, first = [*seeds], [*rules], [*first]
    for more in ([], *([first] if first else []), *_near(relation, rules, seeds), rules):
        found = _either_sign(scene, relation, [*more, *seeds], seeds)
        if found is not None:
            return found
    return None


def _near(relation: Relation, rules: list[Rule], seeds: list[Rule]) -> Iterator[list[Rule]]:
    """For a relation with a sum, where premises are many: those about nothing but what it and the seeds are about."""
    about = _heads(relation).union(*(_heads(seed.relation) for seed in seeds))
    near = [rule for rule in rules if _heads(rule.relation) <= about]
    if "sum" in about and 0 < len(near) < len(rules):
        yield near


def _heads(relation: Relation) -> set[str]:
    """Functions and sequences in a relation."""
    parts = [p for side in (relation.left, relation.right) for p in side.walk()]
    calls = {p.function for p in parts if isinstance(p, tree.Call)}
    return calls | {p.base for p in parts if isinstance(p, tree.Index)}


def _iterated(relation: Relation, rules: list[Rule]) -> Iterator[Rule]:
    """Premises that say how a value goes on, at the indices of a relation, from the first value on."""
    entries = (p for side in (relation.left, relation.right) for p in side.walk() if isinstance(p, tree.Index))
    ends = list(dict.fromkeys(i for p in entries for i in p.indices if isinstance(i, tree.Letter)))
    for rule, end in product([r for r in rules if len(r.running) == 1 and not r.least], ends[:2]):
        name = min(rule.running)
        if tree.Letter(name) != end:
            for one in iterated(rule.relation, name, end):
                yield Rule(one, rule.any - {name}, rule.source)


def _either_sign(scene: Scene, relation: Relation, rules: list[Rule], seeds: list[Rule]) -> tuple[str, ...] | None:
    """A derivation; of a bound of an absolute value two."""
    match relation.left:
        case tree.Call(function="abs", arguments=(inner,)) if relation.op in ("<=", "<"):
            ways = [_asked(scene, Relation(side, relation.op, relation.right), rules, seeds)
                    for side in (inner, tree.Negate(inner))]  # fmt: skip
            return None if None in ways else tuple(dict.fromkeys(s for way in ways for s in way or ()))
    return _asked(scene, relation, rules, seeds)


def _asked(scene: Scene, relation: Relation, rules: list[Rule], seeds: list[Rule]) -> tuple[str, ...] | None:
    given = [one for rule in rules for one in _anchored(scene, relation, rule)]
    given += _positive_entries(scene)
    if expects(relation):
        given += in_expectation(tuple(given))
    given += [*_sums(scene, relation, given), *_iterated(relation, given)]
    if len(given) > MOST_RULES:
        return None
    known = _known(scene)
    nodes = tuple(side for rule in seeds for side in (rule.relation.left, rule.relation.right))
    indices, kind = running_letters(scene.paper), kinds(scene)
    return derived_from(kind, indices, known, given, nodes, relation)


def derived_from(
    kind: Callable[[tree.Node], str],
    indices: frozenset[str],
    known: Known,
    given: list[Rule],
    nodes: tuple[tree.Node, ...],
    relation: Relation,
) -> tuple[str, ...] | None:
    """Sources of a derivation, without the print: kinds, running letters, what is known, rules, and their objects."""
    for written in (False, True):
        question = Question(kind, indices, known, given, [], written, seeds=nodes, most=MOST_COLUMNS)
        try:
            found = question.answered(relation)
        except (ValueError, RecursionError, OverflowError, ZeroDivisionError):
            found = None
        if found is not None or not (question.arrays or any(k == "abs" for k, _ in question.forms.parts.values())):
            return found
    return None


def _anchored(scene: Scene, relation: Relation, rule: Rule) -> Iterator[Rule]:
    """A rule whose points all stand in a function or sequence; else with the points of the relation in their place."""
    sides = (rule.relation.left, rule.relation.right)
    held = {n for side in sides for p in side.walk() if isinstance(p, tree.Index) or _is_value(p)
            for n in tree.letters(p)}  # fmt: skip
    loose = sorted(rule.any - rule.running - held)
    if not loose:
        yield rule
        return
    parts = (p for side in (relation.left, relation.right) for p in side.walk())
    points = [p for p in dict.fromkeys(parts) if isinstance(p, tree.Letter | tree.Index) and scene.kind(p) == "vector"]
    for chosen in islice(product(points[:6], repeat=len(loose)), MOST_POINTS):
        bound = dict(zip(loose, chosen, strict=True))
        left, right = (tidy(substitute(side, bound)) for side in sides)
        yield Rule(Relation(left, rule.relation.op, right), rule.any - {*loose}, rule.source, running=rule.running)


def _is_value(node: tree.Node) -> bool:
    return isinstance(node, tree.Call) and node.function not in OPERATORS and binder(node) is None


@lru_cache(maxsize=SCENES)
def kinds(scene: Scene) -> Callable[[tree.Node], str]:
    """Kinds of formulas; what was guessed to be a matrix, and stands in no norm, is a number: ``D(x, y)``."""
    inner = [q for p in scene.paper.parts if isinstance(p, tree.Call) and p.function in ("norm", "dot", "T", "inv")
             for a in p.arguments for q in a.walk()]  # fmt: skip
    arrays = {q.function for q in inner if isinstance(q, tree.Call)}

    @cache
    def kind(node: tree.Node) -> str:
        found = scene.kind(node)
        if found != "matrix":
            return found
        held = [
            p for p in node.walk() if isinstance(p, tree.Call | tree.Letter | tree.Index) and scene.kind(p) == found
        ]
        names = {p.function if isinstance(p, tree.Call) else "" for p in held}
        return "scalar" if names and names <= scene.paper.doubtful - arrays else found

    return kind


@lru_cache(maxsize=SCENES)
def _known(scene: Scene) -> Known:
    """Definitions, hypotheses and ranges of the letters of a passage."""
    domains: dict[str, Domain] = {}
    where: list[tree.Node] = []
    for one in scene.where:
        signed = one.operators in ((">",), (">=",)) and tree.is_zero(one.operands[1])
        if signed and isinstance(one.operands[0], tree.Letter):
            name, strict = one.operands[0].name, one.operators == (">",)
            domains[name] = POSITIVE if strict or domains.get(name) is POSITIVE else NONNEGATIVE
        else:
            where += one.pairs()
    for one in scene.where:  # 0 < a <= b: b is positive, too; K >= 1
        for pair in one.pairs():
            low, high = pair.operands if pair.operators[0] in ("<", "<=") else pair.operands[::-1]
            if isinstance(high, tree.Letter) and isinstance(low, tree.Number) and low.value >= 0:
                positive = low.value > 0 or pair.operators[0] in ("<", ">")
                domains[high.name] = POSITIVE if positive else domains.get(high.name, NONNEGATIVE)
    named = {**_text_equations(scene), **scene.define}
    functions = {e.name for e in scene.paper.notation.entries if e.role == "function"}
    define = {
        n: v for n, v in named.items()
        if n not in free_letters(v) | functions and scene.kind(tree.Letter(n)) == scene.kind(v) == "scalar"
    }  # fmt: skip
    for name in _positive(scene):
        domains.setdefault(name, POSITIVE)
    for _ in range(2):
        for name, value in define.items():
            if _is_positive(value, domains):
                domains[name] = POSITIVE
    for name, value in [*define.items()]:
        match value:
            case tree.Call(function="ceil", arguments=(inner,)):
                where.append(tree.Compare((tree.Letter(name), inner), (">=",)))
                del define[name]
    return Known(define, domains, tuple(where))


def _text_equations(scene: Scene) -> dict[str, tree.Node]:
    """Letters that plain text or an assumption sets to a formula, each once: ``kappa = L/mu``."""
    found: dict[str, set[tree.Node]] = {}
    for passage in scene.paper.passages:
        for chain in (c for s in passage.formulas for c in s.chains() if passage.kind not in ("proof", *PROMISES)):
            left, right = chain.equation or (None, None)
            if isinstance(left, tree.Letter) and right is not None and plain(right) and scene.kind(left) == "scalar":
                found.setdefault(left.name, set()).add(right)
    return {n: next(iter(v)) for n, v in found.items() if len(v) == 1}


def _positive(scene: Scene) -> Iterator[str]:
    """Letters that the paper says to be positive, in its text, an assumption or an algorithm."""
    for passage in scene.paper.passages:
        for chain in (c for s in passage.formulas for c in s.chains() if passage.kind not in ("proof", *PROMISES)):
            for left, relation, right in chain.links():
                low, high = (left, right) if relation.word in ("<", "<=") else (right, left)
                if relation.word not in ("<", ">", "<=", ">=") or not isinstance(low, tree.Number):
                    continue
                above = low.value > 0 or (not low.value and len(relation.word) == 1)
                if above and isinstance(high, tree.Letter):
                    yield high.name
    zero = _with_zero(scene)
    for inner in _divisors(scene):
        if not (isinstance(inner, tree.Index) and inner.base in zero):
            yield tree.name_of(inner)


def _divisors(scene: Scene) -> Iterator[tree.Letter | tree.Index]:
    """Letters and entries in denominators: what a paper divides by, and takes roots of, is positive."""
    for part in scene.paper.parts:
        under = part.denominator if isinstance(part, tree.Divide) else None
        for inner in under.walk() if under is not None else ():
            if isinstance(inner, tree.Letter | tree.Index) and scene.kind(inner) == "scalar":
                yield inner


def _with_zero(scene: Scene) -> set[str]:
    """Sequences of which an entry is 0: of these the entries alone that are divided by are positive."""
    links = (link for s in scene.paper.sentences for c in s.chains() for link in c.links())
    return {tree.name_of(left) for left, _, right in links if isinstance(left, tree.Index) and tree.is_zero(right)}


@lru_cache(maxsize=SCENES)
def _positive_entries(scene: Scene) -> tuple[Rule, ...]:
    """The entries that are divided by, of sequences that begin with 0."""
    zero, running = _with_zero(scene), running_letters(scene.paper)
    found = []
    for inner in dict.fromkeys(_divisors(scene)) if zero else ():
        if isinstance(inner, tree.Index) and inner.base in zero:
            mine = frozenset(free_letters(inner)) & running
            found.append(Rule(Relation(inner, ">", tree.Number(Fraction(0))), mine, "a size", running=mine))
    return tuple(found)


def _is_positive(node: tree.Node, domains: Mapping[str, Domain]) -> bool:
    """Whether a formula is positive, being made of what is."""
    match node:
        case tree.Number(value=value):
            return value > 0
        case tree.Letter(name=name):
            return domains.get(name) is POSITIVE
        case tree.Add(terms=parts) | tree.Multiply(factors=parts):
            return all(_is_positive(part, domains) for part in parts)
        case tree.Divide(numerator=top, denominator=bottom):
            return _is_positive(top, domains) and _is_positive(bottom, domains)
        case tree.Power(base=inner) | tree.Call(function="sqrt" | "ceil", arguments=(inner,)):
            return _is_positive(inner, domains)
        case tree.Call(function="min" | "max", arguments=arguments) if binder(node) is None:
            return all(_is_positive(part, domains) for part in arguments)
    return False


def _sums(scene: Scene, relation: Relation, rules: list[Rule]) -> list[Rule]:
    """The premises with a running letter, summed over the range of a sum of the relation or of a premise."""
    spans: dict[str, tuple[str, tree.Node, tree.Node]] = {}
    sides = [s for one in (relation, *(r.relation for r in rules if not r.any)) for s in (one.left, one.right)]
    for part in (p for side in sides for p in side.walk()):
        span = binder(part) if isinstance(part, tree.Call) and part.function == "sum" else None
        if span is not None:
            spans.setdefault(to_text(tree.Tuple((span[1], span[2]))), span)
    found = []
    for span in list(spans.values())[:1]:
        bodies = [p.arguments[0] for side in sides for p in side.walk()
                  if isinstance(p, tree.Call) and p.function == "sum" and binder(p) == span]  # fmt: skip
        for body in bodies:
            own = telescopes(Relation(body, "==", body), span[0], span, scene.kind)
            found += [Rule(one, frozenset(), "a sum") for one in own]
        for rule in rules:
            for name in sorted(rule.running)[:2]:
                source, rest = rule.source, rule.any - {name}
                found.append(Rule(summed(rule.relation, name, span), rest, source, running=rule.running - {name}))
                found += [Rule(one, rest, source) for one in falling(rule.relation, name, span)]
                found += [
                    Rule(one, rest, "a sum", running=rule.running - {name})
                    for one in telescopes(rule.relation, name, span, scene.kind)
                ]
    return list(dict.fromkeys(found))
