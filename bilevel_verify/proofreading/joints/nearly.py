"""An equation between neighbours of a chain that is no identity, and would be one with an index or letter changed.

Both sides are multiplied out (inner products of sums of vectors included), with the paper's own equations for entries
of sequences put in. Nothing is said where no single change makes the sides equal: then the step rests on something
else; but where the same terms stand on both sides and the number before one of them differs, no fact can help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from math import inf

from bilevel_verify.audit.scalar.claim import POSITIVE
from bilevel_verify.language import to_text, tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import Notation
from bilevel_verify.latex.statements import EQUATES
from bilevel_verify.manuscript.opaque import kind_in
from bilevel_verify.manuscript.proofs import polynomials
from bilevel_verify.manuscript.proofs.forms import Forms
from bilevel_verify.manuscript.proofs.said import tidy
from bilevel_verify.manuscript.proofs.words import Linear, added
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import is_size, shown
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.joints.quoting import fitted, renamed, shifted
from bilevel_verify.proofreading.names.occurrences import shift_of, whole
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.rewrite import moved_limit, rebuild, substitute, with_child

MOST_REST = 12
"""Terms that may be left over: one changed symbol changes few of them."""
MOST_RULES = 5
MOST_CHANGES = 32
MOST_NODES = 70
HARD = ("integral", "prod", "Piecewise", "O", "softO", "matrix", "log")
ONE = tree.Number(Fraction(1))
Rule = tuple[tree.Index, tree.Node]


NUMBER = ("a number",)


class Step:
    """Two sides of a link, with each choice of equations of the paper put in."""

    def __init__(self, notation: Notation, rules: tuple[Rule, ...], left: tree.Node, right: tree.Node) -> None:
        self.choices: list[tuple[Forms, Mapping[tree.Index, tree.Node], Linear, Linear]] = []
        self.equal, self.names = False, ""
        letters = {name for side in (left, right, *(r for _, r in rules)) for name in tree.letters(side)}
        positive = dict.fromkeys(letters, POSITIVE)  # steps and constants: what is no identity for these is none
        names = tuple(rule for rule in rules if not runs(rule))
        for chosen in dict.fromkeys([(), names, *((*names, rule) for rule in rules), rules]):
            forms, table = Forms(partial(kind_in, notation), positive), dict(chosen)
            one, two = (_value(forms, _put_in(side, table)) for side in (left, right))
            if one is None or two is None:
                continue
            rest = _less(one, two)
            self.equal |= not rest
            if sum(len(terms) for terms in rest.values()) <= MOST_REST:
                self.choices.append((forms, table, one, two))
                self.names += f"{rest} {' '.join(to_text(node) for node in table)}"

    def closed_by(self, changed: tree.Node, left: bool) -> bool:
        """Whether the sides are equal with one of them changed."""
        for forms, table, one, two in self.choices:
            value = _value(forms, _put_in(changed, table))
            if value is not None and not _less(*((value, two) if left else (one, value))):
                return True
        return False


def _value(forms: Forms, node: tree.Node) -> Linear | None:
    """A side multiplied out; None where it has no form."""
    try:
        return forms.linear(node) if forms.kind(node) in ("vector", "matrix") else {NUMBER: forms.scalar(node)}
    except (ValueError, RecursionError):
        return None


def _less(one: Linear, other: Linear) -> Linear:
    """What is left of a difference; a number is a word of its own."""
    return added(one, other, polynomials.number(-1))


def nearly_equal_defects(paper: Paper) -> Iterator[Defect]:
    """Every equation between neighbours of the chains of displays."""
    rules = equations(paper)
    for sentence in paper.sentences:
        if sentence.read.formula.kind != "display":
            continue
        for chain in sentence.chains():
            for number, (left, relation, right) in enumerate(chain.links()):
                wide = number or len(chain.members) > 2 or isinstance(left, tree.Add)
                if relation.word == "==" and wide and _plain(left) and _plain(right):
                    yield from _judged(paper, sentence, left, right, rules)


def _judged(paper: Paper, sentence: Sentence, left: tree.Node, right: tree.Node, rules: list[Rule]) -> Iterator[Defect]:
    yield from _factor(sentence, left, right)
    step = Step(paper.notation, about(paper, (left, right), rules), left, right)
    if step.equal or not step.choices or _equal_as_entries(paper, sentence, left, right, rules):
        return
    found = [
        what
        for side, other, first in ((right, left, False), (left, right, True))
        for changed, what in _changes(side, other, step.names)
        if step.closed_by(changed, first)
    ]
    if not found or any(_said_equal(paper, a, b) or _adds_nothing(a, b) for a, b in found):
        return
    printed, meant = (to_text(n) for n in found[0])
    title = f"the two sides are not equal; with {meant} in the place of {printed} they are"
    yield Defect("index", sentence.place, title, "local slip", sentence.latex, (to_text(left), to_text(right)),
                 f"nearly {title} {sentence.unit}", sentence.unit)  # fmt: skip


def entry_names(paper: Paper, sentence: Sentence) -> dict[str, tree.Node]:
    """Letters that stand for entries or lengths where a formula stands: ``h = h_k``, ``r = ||h||``."""
    near = (c.equation for s in paper.homes.get(sentence.home, ()) for c in s.chains())
    return {
        a.name: b
        for a, b in filter(None, near)
        if isinstance(a, tree.Letter) and (isinstance(b, tree.Index) or is_size(b))
    }


def _equal_as_entries(paper: Paper, sentence: Sentence, left: tree.Node, right: tree.Node, rules: list[Rule]) -> bool:
    """Whether the sides are equal with what the letters stand for: ``h = h_k``, ``r = r_k`` and ``r_k = ||h_k||``."""
    names = entry_names(paper, sentence)
    one, other = (substitute(side, names) for side in (left, right)) if names else (left, right)
    return bool(names) and Step(paper.notation, about(paper, (one, other), rules), one, other).equal


def _factor(sentence: Sentence, left: tree.Node, right: tree.Node) -> Iterator[Defect]:
    """One term of both sides, with two numbers before it."""
    try:
        one, two = form_of(left).terms, form_of(right).terms
    except Formless:
        return
    rest = [m for m in {*one, *two} if one.get(m) != two.get(m)]
    if len(rest) == 1 and rest[0] in one and rest[0] in two:
        numbers = f"{one[rest[0]]} on the left and {two[rest[0]]} on the right"
        title = f"the factor of {shown(rest[0])} is {numbers}"
        yield Defect("total", sentence.place, title, "local slip", sentence.latex, (to_text(left), to_text(right)),
                     unit=sentence.unit)  # fmt: skip


def _plain(node: tree.Node) -> bool:
    """Whether a side is short, and no power with letters, integral or sum over sums stands in it."""
    parts = list(islice(node.walk(), MOST_NODES + 1))
    hard = any(isinstance(p, tree.Power) and not isinstance(p.exponent, tree.Number) for p in parts)
    called = [p.function for p in parts if isinstance(p, tree.Call)]
    return len(parts) <= MOST_NODES and not hard and called.count("sum") < 2 and not {*HARD} & {*called}


def equations(paper: Paper) -> list[Rule]:
    """Entries of sequences that the paper sets equal to a formula."""
    found: dict[Rule, None] = {}
    proofs = {id(s) for p in paper.passages if p.kind == "proof" for s in p.formulas}
    for sentence in paper.sentences:
        told = id(sentence) in proofs and sentence.read.formula.kind == "inline"  # "if it is accepted, then a_k = b_k"
        for chain in sentence.chains():
            if told and isinstance(chain.members[-1], tree.Index):
                continue
            words = [r.word for r in chain.relations]
            if len(words) == 1 and words[0] in EQUATES and not chain.continues:
                left, right = chain.members
                if isinstance(left, tree.Index) and not isinstance(right, tree.Number | tree.Letter):
                    found[left, right] = None
    return list(found)


def about(paper: Paper, sides: tuple[tree.Node, ...], rules: list[Rule]) -> tuple[Rule, ...]:
    """The equations of the entries of two sides, at their indices."""
    entries = list(dict.fromkeys(p for side in sides for p in side.walk() if isinstance(p, tree.Index)))
    found: dict[tree.Index, tree.Node] = {}
    before = -1
    while before < len(found):  # a step leads to the entry that another equation has brought in
        before = len(found)
        for entry in entries:  # what is put in names further entries
            for left, right in rules:
                binding = fitted(paper, left, entry) if left.base == entry.base else None
                value = right if binding is None else renamed(right, binding)
                steps = {p for p in value.walk() if isinstance(p, tree.Index) and p.base == entry.base}
                if binding is not None and entry not in found and steps <= {*entries} - {entry}:
                    found[entry] = value
                    fresh = (p for p in found[entry].walk() if isinstance(p, tree.Index) and p not in entries)
                    entries += dict.fromkeys(p for p in fresh if p.base != entry.base and len(found) < MOST_RULES)
    return tuple(found.items())[:MOST_RULES]


def runs(rule: Rule) -> bool:
    """Whether an equation is a step of a sequence, and not the name of a formula."""
    return any(isinstance(part, tree.Index) and part.base == rule[0].base for part in rule[1].walk())


def _put_in(node: tree.Node, values: Mapping[tree.Index, tree.Node], depth: int = 2) -> tree.Node:
    """A tree with entries replaced, but not inside of arguments of functions other than norms and inner products."""
    if isinstance(node, tree.Index):
        return _put_in(values[node], values, depth - 1) if node in values and depth else node
    if isinstance(node, tree.Call) and node.function not in ("norm", "dot", "sqrt", "T", "sum", "abs"):
        return node
    match node:
        case tree.Power(base=tree.Call(function="norm", arguments=(inner,)), exponent=tree.Number(value=power)):
            if power == 2:
                inner = _put_in(inner, values, depth)
                return tree.Call("dot", (inner, inner))
    return rebuild(node, lambda part: _put_in(part, values, depth))


def _changes(node: tree.Node, other: tree.Node, rest: str) -> list[tuple[tree.Node, tuple[tree.Node, tree.Node]]]:
    """The tree with one index, letter or end of a sum changed, with what stood there and what stands there now."""
    names = sorted({p.base for s in (node, other) for p in s.walk() if isinstance(p, tree.Index)})
    letters = sorted({p.name for s in (node, other) for p in s.walk() if isinstance(p, tree.Letter)})
    found = (one for one in _each(node, names, letters) if not _idle(one[1][0], rest))
    return list(islice(found, MOST_CHANGES))


def _idle(node: tree.Node, rest: str) -> bool:
    """Whether nothing of a part is among what is left over."""
    return not any(name in rest for name in (*tree.letters(node), *tree.functions(node)))


def _each(
    node: tree.Node, names: list[str], letters: list[str]
) -> Iterator[tuple[tree.Node, tuple[tree.Node, tree.Node]]]:
    for new in _variants(node, names, letters):
        yield new, (node, new)
    if isinstance(node, tree.Index):
        return
    for place, child in enumerate(node.children()):
        if not isinstance(child, tree.Tuple):
            for changed, what in _each(child, names, letters):
                yield with_child(node, place, changed), what


def _variants(node: tree.Node, names: list[str], letters: list[str]) -> Iterator[tree.Node]:
    first = isinstance(node, tree.Index) and any(whole(index) is not None for index in node.indices)
    bases = () if first else names  # first entries of two sequences are often one point
    return renamings(
        node, bases, letters, partial(neighbours, least=0)
    )  # the entry before the first is often the first


def renamings(
    node: tree.Node, bases: Iterable[str], letters: Iterable[str], near: Callable[[tree.Node], Iterable[tree.Node]]
) -> Iterator[tree.Node]:
    """A node with another index (of those ``near`` it), sequence or letter; a sum with an end moved by one."""
    match node:
        case tree.Index(base=base, indices=indices):
            for place, index in enumerate(indices):
                for new in near(index):
                    yield replace(node, indices=(*indices[:place], new, *indices[place + 1 :]))
            yield from (replace(node, base=name) for name in bases if name != base)
        case tree.Letter(name=name):
            yield from (tree.Letter(other) for other in letters if other != name)
        case tree.Call(function="sum") if binder(node) is not None:
            for place in (1, 2):
                for by in (1, -1):
                    yield moved_limit(node, place, by)


def neighbours(index: tree.Node, steps: tuple[int, ...] = (1, -1), least: float = -inf) -> Iterator[tree.Node]:
    """The index some steps on and back; a number one step, not below ``least``."""
    letters = tree.letters(index)
    if isinstance(index, tree.Number):
        yield from (tree.signed(index.value + by) for by in (1, -1) if index.value + by >= least)
    if len(letters) == 1 and (shift := shift_of(index, name := next(iter(letters)))) is not None:
        for by in steps:
            yield shifted(tree.Letter(name), Fraction(shift + by))


def _adds_nothing(printed: tree.Node, meant: tree.Node) -> bool:
    """Whether a sum with an end moved by one has one more term that is 0, so that it is the printed one."""
    if not isinstance(printed, tree.Call) or not isinstance(meant, tree.Call) or printed.function != "sum":
        return False
    one, two = binder(printed), binder(meant)
    if one is None or two is None:
        return False
    ends = [end for a, b in ((one[1], two[1]), (one[2], two[2])) if a != b for end in (a, b)]
    for end in ends:
        try:
            if not form_of(tidy(substitute(printed.arguments[0], {one[0]: end}))).terms:
                return True
        except Formless:
            continue
    return False


def _said_equal(paper: Paper, one: tree.Node, other: tree.Node) -> bool:
    """Whether the paper sets the two equal anywhere."""
    for sentence in paper.sentences:
        for chain in sentence.chains():
            members = chain.members if all(r.word in EQUATES for r in chain.relations) and chain.relations else ()
            if one in members and other in members:
                return True
    return False
