"""``By Lemma 3, |x| <= 2 B``: the formula as it is quoted against the formula as the lemma or equation prints it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from fractions import Fraction

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import (
    LOWER,
    UPPER,
    Bounded,
    Ties,
    bounds_of,
    differs,
    is_size,
    misnamed,
    shown,
    to_text_of,
)
from bilevel_verify.proofreading.joints.clauses import Clause, clauses, named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import ORDERS, Form, Formless, Monomial, form_of, inverse, joined, product
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.shown import form_script
from bilevel_verify.proofreading.joints.ties import ties_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild

STATED = r"(?:Theorem|Lemma|Proposition|Corollary)"
CITED = rf"(?P<cited>(?:{STATED}s?\s+(?:{STATED}\s+)?[A-Z]?\.?\d[\w.]*|\(\d+[a-z]?\)|equation \(?\d+[a-z]?\)?))"
HAVE = r"we (?:have|know|get|obtain)(?: that)?|it (?:follows|holds) that|that is|i\.e\.|that|one has|says that|reads"
QUOTES = re.compile(
    r"\b(?:by|from|recall(?:ing)?|using|see|because of|due to|in view of|thanks to|that is|is)\b[^.;:\x01]{0,60}?"
    rf"{CITED}\s*(?:,?\s*(?:{HAVE}))?(?:\s+for (?:all|any|every|each)\s+\x01(?: that)?)?\s*,?:?\s*\Z",
    re.I,
)
"""The words between a citation and the formula that it is said to be; nothing else stands between them."""
SAYS = re.compile(
    rf"{CITED}\s+(?:(?:says|states|gives|shows|yields|implies|reads|is)(?: that)?"
    r"|(?:says|states|means|shows|implies)\b[^.;:\x01]{0,60}\bwe have)\s*\Z",
    re.I,
)


REASONS = re.compile(r"\bfollows? (?:directly |at once )?(?:from|by)\b[^.;:\x01]*,\s*\Z", re.I)
MORE = re.compile(r"\s*(?:,|and\b)")
"""``This follows from (5), F and G``: one reason beside the other, and no quotation."""


def quoted_joints(paper: Paper) -> Iterator[Judged]:
    """Every relation that stands right after a citation, as what is cited."""
    by_number, ties = paper.numbered, ties_of(paper)
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            said = QUOTES.search(clause.before(place)) or SAYS.search(clause.before(place))
            if said is None or (REASONS.search(clause.before(place)) and MORE.match(clause.after(place))):
                continue
            name, sources = _cited(paper, by_number, said["cited"], clause)
            if sources and sentence not in sources:
                said_here = clause.before(place)[said.start() :]
                alone = len(numbered_in(said_here)) + len(named_in(said_here)) == 1
                stated = _stated(paper, clause, place, named=alone)
                yield from _judged(paper, sentence, name, sources, stated, ties)


def _stated(paper: Paper, clause: Clause, place: int, named: bool) -> dict[str, tuple[Sentence, ...]]:
    """Numbered formulas of statements, and statements if ``named``, before a formula, but for what is proved here."""
    n = clause.formulas[place].read.formula.n
    numbers, own = _concluded(paper, clause, place)
    homes = {p.id for p in paper.passages if p.kind in PROMISES} - own
    return {
        k: held for k, held in paper.citable.items()
        if held[0].unit in homes and held[-1].read.formula.n < n and k.strip("()") not in numbers
        and (named or k.startswith("("))
    }  # fmt: skip


def _cited(
    paper: Paper, by_number: Mapping[str, Sentence], words: str, clause: Clause
) -> tuple[str, tuple[Sentence, ...]]:
    """What words cite: its name and its formulas."""
    numbers = numbered_in(words)
    if numbers and numbers[0] in by_number:
        return f"({numbers[0]})", (by_number[numbers[0]],)
    names = named_in(words)
    found = [p for p in paper.passages if names and p.name == names[0] and p.kind not in ("proof", "text")]
    return (names[0], found[0].formulas) if len(found) == 1 and found[0].name != clause.passage.name else ("", ())


def _judged(
    paper: Paper,
    sentence: Sentence,
    name: str,
    sources: tuple[Sentence, ...],
    stated: Mapping[str, tuple[Sentence, ...]],
    ties: Ties,
) -> Iterator[Judged]:
    """One quotation; ``stated`` is what statements say before it."""
    quoted = bounds_of(sentence)
    if not quoted:
        return
    quote = quoted[-1]
    if any(isinstance(p, tree.Call) and p.function in ORDERS for p in quote.right.walk()):
        return  # of orders another judge says more
    joint = f"{to_text_of(sentence)} quoted from {name}"
    same, how = _from(paper, quote, sources, ties)
    if same is None:
        same, how = rearranged(quote, sources)
    if same is None:
        others = (k for k in stated if k != name and not {*stated[k]} & {*sources})
        other = next(
            (k for k in others if _from(paper, quote, stated[k], ties)[0] or rearranged(quote, stated[k])[0]), ""
        )
        why = f"the left side is not that of {name}" + (f"; it is that of {other}" if other else "")
        alone = sentence.read.formula.kind != "display" and len(quoted) == 1
        if other and (alone or not other.startswith("(")):
            yield _wrong_place(sentence, name, other, stated[other], sources, joint)
            return
        yield Judged("citation", sentence.place, joint, "undecided", why)
    elif same:
        yield Judged("citation", sentence.place, joint, "holds", how)
    elif how.startswith("?"):
        yield Judged("citation", sentence.place, joint, "undecided", how[1:])
    else:
        yield _stronger(paper, sentence, quote, name, sources, how, joint)


def _concluded(paper: Paper, clause: Clause, place: int) -> tuple[set[str], set[str]]:
    """What is proved from what is cited: what is named behind the formula ("which is (2)"), the statement itself."""
    own = {p.id for p in paper.passages if clause.passage.kind == "proof" and p.name == clause.passage.of}
    return set(numbered_in(clause.after(place))), own


def _from(paper: Paper, quote: Bounded, sources: tuple[Sentence, ...], ties: Ties) -> tuple[bool | None, str]:
    """Whether a source has the relation: None where no left side fits, else with how it differs (``?``: not plain)."""
    best: tuple[bool | None, str] = None, ""
    for one in (b for s in sources for b in bounds_of(s)):
        binding = fitted(paper, one.left, quote.left)
        if binding is None or ({one.op, quote.op} & {*UPPER} and {one.op, quote.op} & {*LOWER}):
            continue
        right = renamed(one.right, binding)
        if right == quote.right and one.op == quote.op:
            return True, ""
        try:
            difference = differs(form_of(right), form_of(quote.right), quote.op, ties, is_size(quote.left))
        except Formless:
            best = (False, "?a side is no sum of products") if best[0] is None else best
            continue
        if difference is None:
            return True, ""
        if (one.op == "==" and quote.op != "==") or not difference[0]:
            best = (False, f"?{difference[1]}")
        elif best[0] is None:
            best = False, difference[1] if _same_letters(right, quote.right) else f"?{difference[1]}"
    return best


def rearranged(quote: Bounded, sources: tuple[Sentence, ...]) -> tuple[bool | None, str]:
    """Whether the quote is a source times a product of powers, its terms put on other sides; one term may be off."""
    best: tuple[bool | None, str] = None, ""
    for one in (b for s in sources for b in bounds_of(s)):
        try:
            want, got = dict(over(one).terms), dict(over(quote).terms)
        except Formless:
            continue
        if (one.op == "==") != (quote.op == "==") or len(want) < 3 or len(got) != len(want):
            continue
        for monomial, factor in want.items():
            for other, number in got.items():
                ratio = {_ratio(other, monomial): number / factor}
                off = [m for m, c in product(want, ratio).items() if got.get(m) != c]
                if not off and number / factor > 0:
                    return True, "rearranged"
                if len(off) == 1 and number / factor > 0 and off[0] in got and _is_norm(off[0]):
                    change = got[off[0]] - product(want, ratio)[off[0]]
                    if change < 0 and quote.op != "==":
                        best = False, f"the factor of {shown(off[0])} differs by {change}"
    return best


def over(one: Bounded) -> Form:
    """The larger side less the smaller one."""
    low, high = (one.right, one.left) if one.op in LOWER else (one.left, one.right)
    return form_of(tree.Add((high, tree.Negate(low))))


def _ratio(one: Monomial, other: Monomial) -> Monomial:
    return joined(one, inverse(other))[0]


def _is_norm(monomial: Monomial) -> bool:
    return all(n.startswith(("norm", "#")) or n.isidentifier() for n, _ in monomial)


def _same_letters(one: tree.Node, other: tree.Node) -> bool:
    return tree.letters(one) == tree.letters(other)


def fitted(paper: Paper, pattern: tree.Node, node: tree.Node) -> dict[str, tree.Node] | None:
    """Indices and points of a pattern such that it is the node; None if there are none."""
    binding: dict[str, tree.Node] = {}
    free = _running(paper, pattern)
    return binding if _fits(pattern, node, binding, free) else None


def _running(paper: Paper, pattern: tree.Node) -> frozenset[str]:
    """Letters that a statement may be used for anything with: indices of sequences, vectors without an index."""
    indices = {p.name for n in pattern.walk() if isinstance(n, tree.Index) for i in n.indices for p in i.walk()
               if isinstance(p, tree.Letter)}  # fmt: skip
    letters = (n.name for n in pattern.walk() if isinstance(n, tree.Letter))
    known = paper.notation.by_name  # a point beside a sequence of the same name is one of its kind
    entries = ((name, known.get((name, "letter")) or known.get((name, "sequence"))) for name in letters)
    vectors = {name for name, entry in entries if entry is not None and entry.kind == "vector"}
    return frozenset(indices | vectors)


def _fits(pattern: tree.Node, node: tree.Node, binding: dict[str, tree.Node], free: frozenset[str]) -> bool:
    if isinstance(pattern, tree.Letter) and pattern.name in free:
        return binding.setdefault(pattern.name, node) == node
    letter, step = _shift(pattern)
    if step and isinstance(letter, tree.Letter) and letter.name in free:
        base, number = _shift(node)
        found = shifted(base, number - step)
        return binding.setdefault(letter.name, found) == found
    if type(pattern) is not type(node):
        return False
    for item in fields(pattern):
        if not item.compare:
            continue
        one, other = getattr(pattern, item.name), getattr(node, item.name)
        parts = (one, other) if isinstance(one, tuple) else ((one,), (other,))
        if isinstance(one, tuple) and len(one) != len(other):
            return False
        for a, b in zip(*parts, strict=True):
            if isinstance(a, tree.Node) and isinstance(b, tree.Node):
                if not _fits(a, b, binding, free):
                    return False
            elif a != b:
                return False
    return True


def _shift(node: tree.Node) -> tuple[tree.Node | None, Fraction]:
    """An index as a letter (or None) and a number: ``k - 1``."""
    match node:
        case tree.Number(value=value):
            return None, value
        case tree.Add(terms=(first, tree.Number(value=value))):
            return first, value
        case tree.Add(terms=(first, tree.Negate(operand=tree.Number(value=value)))):
            return first, -value
    return node, Fraction(0)


def shifted(base: tree.Node | None, step: Fraction) -> tree.Node:
    """An index some steps on, as the parser writes it; without a letter the number alone."""
    if base is None:
        return tree.signed(step)
    return base if not step else tree.Add((base, tree.signed(step)))


def renamed(node: tree.Node, binding: Mapping[str, tree.Node]) -> tree.Node:
    """A tree with indices and points in place of the letters of a pattern."""
    if isinstance(node, tree.Letter):
        return binding.get(node.name, node)
    letter, step = _shift(node)
    if step and isinstance(letter, tree.Letter) and letter.name in binding:
        base, number = _shift(binding[letter.name])
        return shifted(base, number + step)
    return rebuild(node, lambda part: renamed(part, binding))


def _wrong_place(
    sentence: Sentence,
    name: str,
    other: str,
    there: tuple[Sentence, ...],
    sources: tuple[Sentence, ...],
    joint: str,
) -> Judged:
    how = f"{name} does not say it; {other} does"
    relations = [*((name, s) for s in sources), *((other, s) for s in there), ("here", sentence)]
    return misnamed(sentence, joint, f"{name} is cited for what {other} says", relations, how)


def _stronger(
    paper: Paper, sentence: Sentence, quote: Bounded, name: str, sources: tuple[Sentence, ...], how: str, joint: str
) -> Judged:
    title = f"the formula quoted from {name} is not what {name} says: {how}"
    evidence = (*(f"{name}: {to_text_of(s)}" for s in sources if bounds_of(s)), f"here: {to_text_of(sentence)}",
                f"the step needs {name} with {to_text(quote.left)} {quote.op} {to_text(quote.right)}")  # fmt: skip
    defect = Defect("citation", sentence.place, title, "local slip", sentence.latex, evidence, unit=sentence.unit)
    return Judged(
        "citation", sentence.place, joint, "refuted", how, defect, _script(paper, sentence, quote, sources, title, name)
    )


def _script(
    paper: Paper, sentence: Sentence, quote: Bounded, sources: tuple[Sentence, ...], title: str, name: str
) -> str:
    """Right less left of both, where the source, with the indices of the quotation, has the same quantities."""
    for one in (b for s in sources for b in bounds_of(s)):
        binding = fitted(paper, one.left, quote.left)
        here = one if binding is None else Bounded(quote.left, one.op, renamed(one.right, binding))
        try:
            want, got = over(here), over(quote)
        except Formless:
            continue
        if {n for m in want.terms for n, _ in m} == {n for m in got.terms for n, _ in m}:
            words = f"{name}, right less left", "here, right less left"
            return form_script(title, sentence.place, want, got, *words)
    return ""
