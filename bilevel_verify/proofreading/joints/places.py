"""``H defined in (6)``: the equation that a text names for a symbol has the symbol."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.source import Paper, Sentence

NAMED = r"(?:equation|eq\.?|\(|equation \()\s*(\d+[a-z]?)\)?"
DEFINED = re.compile(
    rf"\s*,?\s*(?:is|are|be|as)?\s*(?:defined|given|introduced|specified)\s+(?:in|by|as in|via|below in)\s+{NAMED}"
    rf"(?!\s*(?:of|in|from|by)\s+[A-Z\[])|\s+in\s+\((\d+[a-z]?)\)\s+(?:has|is|are|was|can|contains)\b",
    re.I,
)
"""After a symbol: where its definition stands."""

STATED = re.compile(
    r"\s*,?\s*(?:is |be )?as (?:defined |given |set |chosen )?in "
    r"(?P<home>(?:Theorem|Lemma|Proposition|Corollary) [A-Z]?\.?\d+(?:\.\d+)*)",
    re.I,
)


def named_place_defects(paper: Paper) -> Iterator[Defect]:
    """Symbols said to be defined in an equation that does not have them, while another one defines them."""
    yield from _values(paper)
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            said = DEFINED.match(clause.after(place))
            number = next((n for n in said.groups() if n), "") if said else ""
            there = paper.numbered.get(number)
            if there is not None and there.read.statements and there is not sentence:
                yield from _judged(paper, clause, sentence, number, there)


def _values(paper: Paper) -> Iterator[Defect]:
    """``c = 2 as defined in Lemma 9``: the value there."""
    for clause in clauses(paper):
        for place, sentence in enumerate(clause.formulas):
            said = STATED.match(clause.after(place))
            chains = list(sentence.chains())
            name = said["home"] if said else ""
            home = [p for p in paper.passages if name and p.name == name]
            sides = chains[0].equation if len(home) == len(chains) == 1 else None
            if sides is None:
                continue
            left, right = sides
            there = [(s, c.equation[1]) for s in home[0].formulas for c in s.chains()
                     if c.equation is not None and c.equation[0] == left]  # fmt: skip
            try:
                differ = len(there) == 1 and form_of(there[0][1]).terms != form_of(right).terms
            except Formless:
                continue
            if differ and tree.letters(right) == tree.letters(there[0][1]):
                title = f"{to_text(left)} is said to be as in {name}, and has another value there"
                evidence = (f"{name}: {to_text_of(there[0][0])}", f"here: {to_text_of(sentence)}")
                yield Defect("citation", sentence.place, title, "changes a constant or a rate", sentence.latex,
                             evidence, unit=clause.passage.id)  # fmt: skip


def _judged(paper: Paper, clause: Clause, sentence: Sentence, number: str, there: Sentence) -> Iterator[Defect]:
    symbol = _symbol(sentence)
    if not symbol or symbol in _symbols(there):
        return
    homes = [n for n, s in paper.numbered.items() if s.read.statements and symbol in _defines(s)]
    if not homes:
        return
    title = f"the definition of {symbol} is said to stand in ({number}), which does not have it; ({homes[0]}) has"
    evidence = (f"({number}): {to_text_of(there)}", f"({homes[0]}): {to_text_of(paper.numbered[homes[0]])}")
    yield Defect("citation", sentence.place, title, "wording", sentence.latex, evidence, f"{symbol} {number}",
                 clause.passage.id)  # fmt: skip


def _symbol(sentence: Sentence) -> str:
    """The name of a formula that is one symbol."""
    members = [c.members for c in sentence.chains()]
    if len(members) != 1 or len(members[0]) != 1:
        return ""
    return _name(members[0][0])


def _name(node: tree.Node) -> str:
    match node:
        case tree.Letter(name=name) | tree.Index(base=name) | tree.Call(function=name):
            return name
    return ""


def _symbols(sentence: Sentence) -> set[str]:
    found: set[str] = set()
    for node in sentence.nodes():
        found |= tree.letters(node) | tree.functions(node)
    return found


def _defines(sentence: Sentence) -> set[str]:
    """Names that stand alone on the left of an equation."""
    return {_name(c.members[0]) for c in sentence.chains() if c.relations and c.relations[0].word in ("==", ":=")} - {
        ""
    }
