"""Numbers of calls with their parts: ``2T + 2 gradients (namely 2T in y and two in x)``.

The parts and the whole are told in one sentence, so that the sentence contradicts itself: whatever the algorithm does,
``T gradients in y and two in x`` are ``T + 2``, ``twice in each iteration`` of K iterations is ``2K``, once for each of
``x_0, ..., x_k`` is ``k + 1``. A part that is not understood makes the sentence one of which nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.proofreading.algorithms.counting import A_PART
from bilevel_verify.proofreading.algorithms.polynomials import NoCount, Polynomial, plus, polynomial, shown, times
from bilevel_verify.proofreading.counted.numerals import NUMERAL, WORDS, count_in, length_of, passes_of, span_of
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import HOLE, Clause, clauses
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.names.closed_forms import value_at
from bilevel_verify.proofreading.promises.said import supposed_in
from bilevel_verify.proofreading.source import Paper, Sentence, values_in
from bilevel_verify.theorems.rewrite import substitute

CALLS = r"(?:evaluates?|uses?|needs?|computes?|takes?|makes?|calls?|costs?|requires?|draws?|performs?)"
NAMELY = re.compile(
    rf"(?P<total>{HOLE})(?: [\w-]+){{0,4}}(?: {HOLE})? ?\((?:namely|that is|i\.e\.),? (?P<parts>[^()]*)\)"
)
COLON = re.compile(rf"\b{CALLS} (?P<total>{HOLE})(?: [\w-]+){{1,5}}: (?P<parts>[^:;]*?)\.?\Z")
TOGETHER = re.compile(
    rf"\b{CALLS} (?:{HOLE} (?={HOLE}|(?:{NUMERAL})\b))?(?P<parts>[^:;()]*?) ?,?"
    rf" (?:in total|altogether|that is|i\.e\.|in all),? (?P<total>{HOLE})(?P<unit>(?: [a-z-]+){{0,4}}) ?\.?\Z"
)
TOTAL = re.compile(
    rf"\b(?:[Ee]ach|[Ee]very|[Oo]ne) (?:iteration|step|pass)\b(?: of [\w: .-]*?)? {CALLS} (?P<parts>[^:;()]*?),?"
    rf" (?:so(?: that)?|hence|and) the total number of (?P<noun>[a-z -]+?) (?:is|equals) (?P<total>{HOLE}) ?\.?\Z"
)
NUMBER = rf"(?P<number>{HOLE}|\b(?:{NUMERAL})\b)"
EACH = (
    rf"(?: (?:in|for|at|per|from) (?:each|every)(?: of)?(?: the)?(?: (?P<each>{HOLE}))?(?P<kind>(?: [a-z-]+){{0,2}}))"
)
OBJECT = rf"(?: (?:in|for|at|with|to|of|from)(?: [a-z-]+){{0,4}}(?: {HOLE})?)"
PART = re.compile(
    rf"{NUMBER}(?P<noun>(?: (?!in\b|for\b|at\b|per\b|of\b|from\b|with\b|to\b)[a-z-]+){{0,4}})(?:{EACH}|{OBJECT})? ?"
)
OF_A_PART = re.compile(A_PART, re.I)
LISTED = re.compile(rf"\bthe (?P<number>{HOLE})(?: [a-z-]+){{1,3}} (?P<list>{HOLE})")
SIZES = (3, 4, 7)
BETWEEN = re.compile(r",? and |, ")


def part_joints(paper: Paper) -> Iterator[Judged]:
    """Every sentence that counts a whole and its parts."""
    for clause in clauses(paper):
        for pattern in (NAMELY, COLON, TOGETHER):
            for found in pattern.finditer(clause.words):
                total = clause.formulas[clause.words[: found.start("total")].count(HOLE)]
                parts = _sum(paper, clause, found["parts"], clause.words[: found.start("parts")].count(HOLE))
                if parts is not None and _is_whole(clause, found, total, parts):
                    yield from _judged(clause, total, parts)
                    yield from _members(paper, clause, total)
        for found in LISTED.finditer(clause.words):
            number, listed = (clause.words[: found.start(g)].count(HOLE) for g in ("number", "list"))
            yield from _listed(clause, clause.formulas[number], clause.formulas[listed])
        if (said := TOTAL.search(clause.words)) is not None:
            yield from _in_total(paper, clause, said)


def _listed(clause: Clause, number: Sentence, listed: Sentence) -> Iterator[Judged]:
    """``the 2^m rounds 2^m, ..., 2^{m+1} - 1``: as many as the list has."""
    nodes, span = list(number.nodes()), span_of(listed)
    if len(nodes) != 1 or span is None:
        return
    length = tree.Add((span[2], tree.Negate(span[1]), tree.Number(Fraction(1))))
    letters = tree.letters(nodes[0]) | tree.letters(length)
    if not tree.letters(nodes[0]) & tree.letters(length):
        return  # two names for one number, maybe
    values = [{n: Fraction(size + place) for place, n in enumerate(sorted(letters))} for size in SIZES]
    found = [(value_at(nodes[0], v), value_at(length, v)) for v in values]
    if any(one is None or other is None for one, other in found):
        return
    joint = f"the number {to_text_of(number)} and the length of {to_text_of(listed)}"
    if all(one == other for one, other in found):
        yield Judged("total", listed.place, joint, "holds")
    elif all(one != other for one, other in found):
        title = (
            f"{to_text_of(listed)} are not {to_text_of(number)}: {found[0][1]} and {found[0][0]} where the letters are "
        )
        title += ", ".join(f"{n} = {v}" for n, v in values[0].items())
        yield _told(listed, joint, title, clause)


def _is_whole(clause: Clause, found: re.Match[str], total: Sentence, parts: Polynomial) -> bool:
    """Whether the total is one of the things that the parts count, and of no longer time than they are."""
    unit = (found.groupdict().get("unit") or "").split()
    same = not unit or unit == ["times"] or unit[-1].rstrip("s") in found["parts"]
    more = {n for letters in count_in(total) or {} for n in letters} - {n for letters in parts for n in letters}
    return same and not (more and OF_A_PART.search(clause.words[: found.start("parts")]))


def _sum(paper: Paper, clause: Clause, words: str, holes: int) -> Polynomial | None:
    """The sum of parts such as ``n for v_0 and two for each of v_1, ..., v_m``; ``holes`` are formulas before them."""
    total: Polynomial = {}
    for piece in BETWEEN.split(words.strip()):
        count = HOLE in piece and piece.count(HOLE)
        found = PART.fullmatch(piece)
        value = _value(paper, clause, found, clause.formulas[holes : holes + count]) if found is not None else None
        if value is None:
            return None
        total, holes = plus(total, value), holes + count
    return total


def _value(paper: Paper, clause: Clause, part: re.Match[str], formulas: Sequence[Sentence]) -> Polynomial | None:
    said = part["number"]
    word: Polynomial = {(): Fraction(WORDS[said])} if WORDS.get(said) else {}
    number = count_in(formulas[0]) if said == HOLE else word
    if number is None or part["kind"] is None:
        return number
    if part["each"]:
        many = length_of(formulas[-1]) or count_in(formulas[-1])
    else:
        many = passes_of(paper, clause.words) if part["kind"].strip() in ("iteration", "step", "pass") else None
    return None if many is None else times(number, many)


def _judged(clause: Clause, total: Sentence, parts: Polynomial) -> Iterator[Judged]:
    """The whole against the sum of its parts, and its members against each other with the values that are given."""
    claimed = count_in(total)
    if claimed is None:
        return
    joint = f"the number {to_text_of(total)} and its parts"
    if claimed != parts:
        yield _told(total, joint, f"the parts are {shown(parts)} together, and not {shown(claimed)}", clause)
        return
    yield Judged("total", total.place, joint, "holds")


def _members(paper: Paper, clause: Clause, total: Sentence) -> Iterator[Judged]:
    """``n + 2(m-1) = 3n - 2`` in the proof of a statement with ``m = n``."""
    home = paper.stated.get(clause.passage.of) if clause.passage.kind == "proof" else None
    given = values_in(supposed_in(home)) if home is not None else {}
    (chain,) = total.chains()
    try:
        counts = [polynomial(substitute(member, given)) for member in chain.members]
    except NoCount:
        return
    for other in counts[1:]:
        if other != counts[0]:
            title = f"{to_text_of(total)}: with what is supposed the sides are {shown(counts[0])} and {shown(other)}"
            yield _told(total, f"the sides of {to_text_of(total)}", title, clause)
            return


def _in_total(paper: Paper, clause: Clause, found: re.Match[str]) -> Iterator[Judged]:
    """``Each iteration uses two gradients, so the total number of gradients is b + 2T``, with T passes."""
    total = clause.formulas[clause.words[: found.start("total")].count(HOLE)]
    claimed, passes = count_in(total), passes_of(paper, clause.words)
    noun = found["noun"].strip().rstrip("s")
    pieces = [p for p in BETWEEN.split(found["parts"]) if noun in p]
    part = PART.fullmatch(pieces[0]) if len(pieces) == 1 and HOLE not in found["parts"] else None
    if part is None or part["kind"] is not None or claimed is None or passes is None or len(passes) != 1:
        return
    ((letter, times_each),) = passes.items()
    wanted = times_each * WORDS[part["number"]]
    alone = not any(set(letter) & set(other) for other in claimed if other != letter)
    joint = f"the number {to_text_of(total)} and what each iteration uses"
    if letter and alone and claimed.get(letter) != wanted:
        said = f"{shown(passes)} iterations use {shown({letter: wanted})} of them, and {shown(claimed)} is printed"
        yield _told(total, joint, said, clause)


def _told(sentence: Sentence, joint: str, title: str, clause: Clause) -> Judged:
    evidence = (clause.words.replace(HOLE, "..."),)
    defect = Defect("total", sentence.place, title, "changes a constant or a rate", sentence.latex, evidence,
                    unit=sentence.unit)  # fmt: skip
    return Judged("total", sentence.place, joint, "refuted", title, defect)
