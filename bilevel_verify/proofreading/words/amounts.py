"""``By (16) there are at most Q epochs``: an amount that is said to come from a citation, and stands in another one.

The amount is a side or a term of a relation, with the values of the sentence put in (``By Lemma 4 and eta = 1/(4 M)``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import bounds_of, to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, cited_in, clauses, named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import Form, Formless, Monomial, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.joints.quoting import STATED
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence
from bilevel_verify.theorems.rewrite import substitute

BY = re.compile(rf"(?:(?:\A|[,;]\s*)\s*(?:by|from)\s+|\A\s*(?={STATED} \S+ (?:says|shows|states|tells|means)\b))", re.I)
AMOUNT = re.compile(
    r"\b(?:at most|at least|no more than|(?:lowers|raises|decreases|increases)\s+(?:the )?(?:\w+ )?by)\s*\Z", re.I
)


def amount_joints(paper: Paper) -> Iterator[Judged]:
    """Sentences of proofs that begin with ``By``, ``From`` or ``Lemma 2 says``, with an amount behind it."""
    for clause in clauses(paper):
        lead = BY.search(clause.words)
        for place, formula in enumerate(clause.formulas if lead and clause.passage.kind == "proof" else ()):
            before = clause.before(place)
            said = before[lead.end() :] if lead else ""
            amount = _amount(formula)
            if amount is not None and AMOUNT.search(before) and (numbered_in(said) or named_in(said)):
                yield from _judged(paper, clause, said, formula, amount)


def _amount(formula: Sentence) -> tree.Node | None:
    """The formula of a sentence that is no relation."""
    chains = list(formula.chains())
    if formula.read.formula.kind != "inline" or len(chains) != 1 or chains[0].relations:
        return None
    node = chains[0].members[0]
    return node if len(tree.letters(node)) > 1 else None


def _judged(paper: Paper, clause: Clause, said: str, formula: Sentence, amount: tree.Node) -> Iterator[Judged]:
    values = _values(clause)
    cited = cited_in(paper, said)
    ahead = {f"({k})": (s,) for k, s in paper.before(formula).items()}
    stated = {p.name: p.formulas for p in paper.stated.values() if p.formulas and p.kind in PROMISES
              and p.formulas[0].read.formula.n < formula.read.formula.n}  # fmt: skip
    joint = f"{to_text_of(formula)} by {', '.join(cited)}"
    try:
        want = form_of(substitute(amount, values))
    except Formless:
        return
    if not cited:
        return
    if any(_has(sources, want, values) for sources in cited.values()):
        yield Judged("citation", formula.place, joint, "holds")
        return
    homes = {s.read.formula.statement for sources in cited.values() for s in sources}
    homes.add(formula.read.formula.statement)  # what is being proved has it, as it should
    others = [
        n for n, sources in (ahead | stated).items()
        if n not in cited and sources[0].read.formula.statement not in homes and _has(sources, want, values)
    ]  # fmt: skip
    if not others or any(tree.letters(amount) <= _letters(sources, values) for sources in cited.values()):
        yield Judged("citation", formula.place, joint, "undecided", "no other relation has it")
        return
    title = f"{', '.join(cited)} is cited for {to_text_of(formula)}, which it does not have; {others[-1]} has"
    evidence = tuple(f"{n}: {to_text_of(s)}" for n in (*cited, others[-1]) for s in (cited | ahead | stated)[n])
    defect = Defect("citation", formula.place, title, "wording", formula.latex, evidence, unit=formula.unit)
    yield Judged("citation", formula.place, joint, "refuted", title, defect)


def _values(clause: Clause) -> dict[str, tree.Node]:
    """Letters that the sentence sets to a formula."""
    found: dict[str, tree.Node] = {}
    for formula in clause.formulas:
        for chain in formula.chains():
            if [r.word for r in chain.relations] == ["=="] and isinstance(chain.members[0], tree.Letter):
                found[chain.members[0].name] = chain.members[1]
    return found


def _has(sources: tuple[Sentence, ...], want: Form, values: Mapping[str, tree.Node]) -> bool:
    """Whether a right side, or one term of it, or a formula that is no relation, is an amount up to its sign."""
    rights = [b.right for s in sources for b in bounds_of(s)]
    rights += [c.members[0] for s in sources for c in s.chains() if not c.relations]
    for right in rights:
        try:
            form = form_of(substitute(right, values))
        except Formless:
            continue
        got = form.terms
        if form.order != want.order:
            continue
        if got == want.terms or (want.single is not None and _term(got, *want.single)):
            return True
    return False


def _term(got: Mapping[Monomial, Fraction], monomial: Monomial, number: Fraction) -> bool:
    return got.get(monomial) in (number, -number)


def _letters(sources: tuple[Sentence, ...], values: Mapping[str, tree.Node]) -> set[str]:
    found = set().union(*(tree.letters(node) for s in sources for node in s.nodes()))
    return found.union(*(tree.letters(v) for v in values.values()))
