"""A letter in what a statement promises that nothing introduces: no text, no hypothesis, no statement before it.

A right text cannot be told: what it speaks of stands somewhere by itself, in a relation, in an algorithm or in the
text. Letters of formulas that were not read, indices and bound letters are left alone. A function and a sequence,
``h(x)`` and ``Phi_k``, are looked for in the printed formulas, read or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.forms import ORDERS
from bilevel_verify.proofreading.names.occurrences import ends_of_sums, uses
from bilevel_verify.proofreading.promises.conclusions import own_proofs
from bilevel_verify.proofreading.promises.said import names_of, supposed_in
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters
from bilevel_verify.theorems.vocabulary import NUMBERS

GREEK = frozenset({"Phi", "Psi", "Gamma", "Lambda", "Theta", "Omega", "Xi", "Sigma", "phi", "psi", "theta", "omega"})
"""Letters of which the name is the macro; others may be written in more than one way."""

IDENTITY = frozenset(("I", "Id"))
"""What nobody introduces."""


def introduction_defects(paper: Paper) -> Iterator[Defect]:
    """Letters of the relations that statements with a proof promise."""
    if not paper.guessed:
        return
    around = {n for p in paper.passages if p.kind not in (*PROMISES, "proof") for s in p.formulas
              for node in s.nodes() for n in names_of(node)}  # fmt: skip
    running = {u.name for s in paper.sentences for n in s.nodes() for u in uses(n) if u.base or u.binder is not None}
    entries = {p.base for p in paper.parts if isinstance(p, tree.Index)}
    silent = around | running | entries | paper.notation.indices | NUMBERS | paper.notation.functions
    for place, home in enumerate(paper.passages):
        if home.kind in PROMISES and own_proofs(paper, home.name):
            yield from _of(paper, home, place, frozenset(silent), frozenset(running))
            yield from _heads(paper, home, place)


def _of(paper: Paper, home: Passage, place: int, silent: frozenset[str], running: frozenset[str]) -> Iterator[Defect]:
    supposed = supposed_in(home)
    for sentence in (s for s in home.formulas if s not in supposed and s.read.formula.kind == "display"):
        related = [m for c in sentence.chains() for m in c.members if c.relations]
        names = {p.name for m in related for p in m.walk() if isinstance(p, tree.Letter)} - silent
        names &= {n for m in related for n in free_letters(m)} - IDENTITY
        for name in sorted(n for n in names if not _is_entry(n, silent, paper.notation.indices)):
            if ends_of_sums(related, name) > 1:  # a statement about sums, of any length
                continue
            if any(_introduces(s, name) for p in paper.passages[: place + 1] for s in p.formulas):
                continue
            if any(_defines(s, name) for p in paper.passages for s in p.formulas if p.of == home.name):
                continue
            if _counts_terms(related, name) and any(
                _introduces(s, name) for p in own_proofs(paper, home.name) for s in p.formulas
            ):
                continue
            if any(_supposes(s, name) for s in supposed) or any(_mentions(s, name) for s in paper.unread):
                continue
            title = f"{home.name} speaks of {name}, and nothing introduces it"
            yield Defect("letter", sentence.place, title, "wording", sentence.latex, (to_text_of(sentence),),
                         f"introduced {name}", sentence.unit)  # fmt: skip


def _counts_terms(nodes: list[tree.Node], name: str) -> bool:
    """Whether a mean is taken of as many terms as the letter says, ``1/K sum_{k=0}^{K-1}``: of any number."""
    parts = [p for node in nodes for p in node.walk()]
    spans = [span for p in parts if isinstance(p, tree.Call) and (span := binder(p)) is not None]
    divided = any(isinstance(p, tree.Divide) and p.denominator == tree.Letter(name) for p in parts)
    return divided and any(name in tree.letters(span[2]) for span in spans)


def _heads(paper: Paper, home: Passage, place: int) -> Iterator[Defect]:
    """Functions that are called and sequences whose entries stand in a display that a statement promises."""
    supposed = supposed_in(home)
    seen = [s.latex for n, p in enumerate(paper.passages) for s in p.formulas
            if (n < place or p.kind not in (*PROMISES, "proof")) and p is not home]  # fmt: skip
    seen += [s.latex for s in supposed] + [s.latex for s in paper.sentences if _names_at_left(s)]
    words = " ".join(p.words for p in paper.passages[: place + 1])
    for sentence in (s for s in home.formulas if s not in supposed and s.read.formula.kind == "display"):
        names = {n for c in sentence.chains() if c.relations for m in c.members for n in _head_names(paper, m)}
        for name in sorted(names if "=:" not in paper.text else ()):
            printed = _printed(paper, name)
            bound = re.search(rf"{printed.pattern}[^{{}}]*\\in|\\forall", sentence.latex)
            if printed.search(sentence.latex) and not bound and not any(map(printed.search, (*seen, words))):
                title = f"{home.name} speaks of {name}, and nothing introduces it"
                yield Defect("letter", sentence.place, title, "wording", sentence.latex, (to_text_of(sentence),),
                             f"introduced {name}", sentence.unit)  # fmt: skip


def _printed(paper: Paper, name: str) -> re.Pattern[str]:
    """How a name is printed; ``h_t`` is another function than ``h``, and ``\\mathcal{O}`` no letter."""
    if len(name) > 1:
        return re.compile(rf"\\{name}(?![A-Za-z])")
    after = r"(?![A-Za-z_])" if name in paper.notation.functions else r"(?![A-Za-z])"
    return re.compile(rf"(?<![A-Za-z\\])(?<!mathbb\{{)(?<!mathcal\{{)(?<!mathrm\{{)(?<!\{{\\rm ){name}{after}")


def _head_names(paper: Paper, node: tree.Node) -> set[str]:
    """Names of one letter, of the functions and sequences in a formula."""
    called = {p.function for p in node.walk() if isinstance(p, tree.Call)} & paper.notation.functions - {*ORDERS}
    entries = {p.base for p in node.walk() if isinstance(p, tree.Index)}
    return {n for n in called | entries if len(n) == 1 or n in GREEK}


def _names_at_left(sentence: Sentence) -> bool:
    """Whether a formula gives a function or an entry of a sequence its value, or is a name alone."""
    return any(
        (isinstance(c.members[0], tree.Call | tree.Index) and (c.equation is not None or not c.relations))
        or (isinstance(c.members[0], tree.Letter) and not c.relations)
        for c in sentence.chains() if c.members
    )  # fmt: skip


def _is_entry(name: str, silent: frozenset[str], indices: frozenset[str]) -> bool:
    """Whether it is an entry of a sequence that was read as a letter, ``x_K``."""
    base, *parts = name.split("_")
    return base in silent and bool(parts) and all(p in indices or p.isdigit() or p.isupper() for p in parts)


def _defines(sentence: Sentence, name: str) -> bool:
    """Whether a formula gives the letter its value."""
    return any(c.equation is not None and c.equation[0] == tree.Letter(name) for c in sentence.chains())


def _introduces(sentence: Sentence, name: str) -> bool:
    """Whether the letter stands alone, as a side of a relation or among others."""
    for chain in sentence.chains():
        for member in (*chain.members, *(m for c in chain.conditions for m in c.members)):
            items = member.items if isinstance(member, tree.Tuple) else (member,)
            if isinstance(member, tree.Call) and member.function == "list":  # k = 1, ..., K
                items = (*member.arguments, *(tree.Letter(n) for n in tree.letters(member.arguments[-1])))
            if any(item == tree.Letter(name) for item in items):
                return True
    return False


def _supposes(sentence: Sentence, name: str) -> bool:
    """Whether a hypothesis is about the letter, and does not only give the value of another one."""
    for chain in sentence.chains():
        sides = chain.members[:1] if chain.equation is not None else chain.members
        if any(name in tree.letters(m) for m in sides):
            return True
        if any(isinstance(m, tree.Add) and tree.Letter(name) in m.terms for m in chain.members):  # b + e: a change of b
            return True
    return False


def _mentions(sentence: Sentence, name: str) -> bool:
    return name.split("_")[0] in to_text_of(sentence)
