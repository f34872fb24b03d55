"""Relations between numbers that are said where a proof may use them, and points that meet all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.audit.scalar.numeric import Array, evaluate
from bilevel_verify.drafting.letters import plain
from bilevel_verify.drafting.relations import comparisons
from bilevel_verify.errors import BilevelVerifyError, LatexError
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import read_latex
from bilevel_verify.latex.statements import EQUATES, ORDERED
from bilevel_verify.manuscript.relations import combined
from bilevel_verify.proofreading.joints.clauses import HOLE, named_in, numbered_in
from bilevel_verify.proofreading.joints.forms import ORDERS
from bilevel_verify.proofreading.joints.parameters import Frame, frame_of, leans_on, numbers_used
from bilevel_verify.proofreading.source import PROMISES, Paper, Passage, Sentence
from bilevel_verify.theorems.rewrite import free_letters, rebuild, substitute
from bilevel_verify.theorems.vocabulary import NUMBERS

if TYPE_CHECKING:
    from bilevel_verify.drafting.draft import Draft

ROWS, COLUMNS = 240, 60
"""Draws of the constants of the problem, and of the parameters beside each of them."""
ACCURACY = re.compile(r"eps\w*|tol\w*|accuracy|varepsilon")
WORDS = re.compile(r"\b(?:sufficiently|enough|appropriate\w*|suitabl\w+|properly|small|large|tuned?|chosen as)\b", re.I)
ENTRY = re.compile(r"(?P<base>\w+)\[(?P<index>0|[a-z])\]")
"""The first entry of a sequence, or one whose index is a letter."""
SPECIAL = re.compile(r"\b(?:when(?:ever)?|for|setting|if|with|at|case|taking|where)\s*\Z", re.I)
ABOVE, ASIDE = re.compile(r"\\leq?(?![a-z])"), re.compile(r",?\s*\\q?quad\b|\\text")
THEN = re.compile(r"\b[Tt]hen\b|\bwe have\b")
SUPPOSES = re.compile(r"\b(?:if|when(?:ever)?|for(?: all| any| every| each)?|with|provided(?: that)?|where)\s*\Z", re.I)


@dataclass(frozen=True)
class Said:
    """What is said: letters with their values, relations, and letters that may be anything these relations allow.

    ``known`` are the letters that are introduced outside of proofs, ``free`` those among them that an algorithm or a
    statement chooses, ``whole`` those that are whole numbers, ``blurred`` those of relations that were not understood.
    """

    define: Mapping[str, tree.Node]
    where: tuple[tree.Node, ...]
    known: frozenset[str]
    free: frozenset[str]
    whole: frozenset[str]
    blurred: frozenset[str]

    def with_more(self, relations: Iterable[tree.Node]) -> Said:
        """The same with relations that a proof has reached."""
        more = tuple(r for r in relations if r not in self.where)
        return Said(self.define, (*self.where, *more), self.known, self.free, self.whole, self.blurred)

    def out(self, node: tree.Node) -> tree.Node:
        """A formula with the values put in."""
        for _ in range(6):
            changed = substitute(node, dict(self.define), caught=True)
            if changed == node:
                break
            node = changed
        return node

    def points(self, names: Iterable[str]) -> dict[str, Array]:
        """A table of points, constants in rows and parameters in columns; nothing is asked of them yet."""
        draw = np.random.default_rng(0)
        found: dict[str, Array] = {}
        for name in sorted(names):
            size = (ROWS, COLUMNS) if name in self.free else (ROWS, 1)
            low, high = (-5, -2) if ACCURACY.fullmatch(name) else (-4, 4) if name in self.free else (-1, 1)
            values = 10 ** draw.uniform(low, high, size)
            found[name] = np.ceil(values if name in self.free else 100 * values) if name in self.whole else values
        return found

    def met(self, points: Mapping[str, Array]) -> Array:
        """Where every relation holds; relations with letters that have no value are left out."""
        holds = np.ones((ROWS, COLUMNS), bool)
        for relation in self.where:
            written = self.out(relation)
            if free_letters(written) - NUMBERS <= points.keys():
                holds = holds & np.asarray(evaluate(written, points), bool)
        return holds

    def letters(self, node: tree.Node) -> set[str]:
        """The letters of a formula and of all relations that are tied to them."""
        found = free_letters(self.out(node)) - NUMBERS
        written = [free_letters(self.out(r)) - NUMBERS for r in self.where]
        while more := [w for w in written if w & found and not w <= found]:
            found |= set().union(*more)
        return found


def said_of(draft: Draft, paper: Paper, home: Passage, proof: Passage, alone: bool = False) -> Said:
    """What is said outside of other statements and proofs, and in those that the statement names and its proof cites.

    With ``alone`` what the proof cites is left out: the question is whether it may be cited.
    """
    number = next(n for n, p in enumerate(paper.passages) if p is home)
    frame = frame_of(draft, number)
    words = home.words + ("" if alone else proof.words)
    cited = [paper.stated[n] for n in named_in(words) if n in paper.stated]
    loose = [paper.numbered[n] for n in numbered_in(words) if n in paper.numbered]
    around = [p for p in paper.passages if p.kind not in (*PROMISES, "proof") or p is home or p in cited]
    lines = {id(s) for p in around for s in _lines(p)}
    relations = [r for p in around for s in _standing(p, home) for r in relations_of(s, id(s) in lines)]
    relations += [r for p in around for s in _standing(p, home) for r in _within(s)]
    relations += [r for s in loose for r in relations_of(s, False)]
    values: dict[str, set[tree.Node]] = {n: {v} for n, v in frame.define.items() if plain(v)}
    for relation in relations:
        match relation:
            case tree.Compare(operands=(tree.Letter(name=name), value), operators=("==",)) if name not in frame.define:
                values.setdefault(name, set()).add(value)
    define = {n: next(iter(v)) for n, v in values.items() if len(v) == 1 and n not in tree.letters(next(iter(v)))}
    several = {n for n in values if n not in define}
    where = [r for r in (*relations, *_scalar(frame), *_ranges(draft, number)) if not _defines(r, define)]
    known = {n for p in around for s in p.formulas for node in s.nodes() for n in names_of(node)}
    blurred = several | _blurred(around) | _closed(paper) | _tied(around)
    whole = {*paper.notation.indices} | {n for r in where for n in _counted(r)} | _ceilings(define)
    return Said(define, tuple(dict.fromkeys(where)), frozenset(known), frozenset(_free(paper, home) - define.keys()),
                frozenset(whole), frozenset(blurred))  # fmt: skip


def leaned_on(paper: Paper, proof: Passage) -> list[str]:
    """The statements on which a proof leans, by name or by the number of a relation in them or in their proofs."""
    names = {p.id: p.name for p in paper.stated.values()}
    found = [n for n in named_in(proof.words) if leans_on(proof.words, n) and n in paper.stated]
    numbered = [paper.numbered[n].home for n in numbers_used(proof.words) if n in paper.numbered]
    return list(dict.fromkeys([*found, *(names[home] for home in numbered if home in names)]))


def supposed_in(stated: Passage) -> list[Sentence]:
    """The formulas of a statement that suppose something: those before its conclusion, and quantifiers and cases."""
    end = THEN.search(stated.words)
    count = stated.words[: end.start()].count(HOLE) if end else len(stated.formulas)
    pieces = stated.words.split(HOLE)
    return [s for n, s in enumerate(stated.formulas) if n < count or SUPPOSES.search(pieces[n])]


def _standing(passage: Passage, home: Passage) -> Iterator[Sentence]:
    """The formulas of a passage but for what the statement itself promises and for special cases in the text."""
    pieces = passage.words.split(HOLE)
    for n, sentence in enumerate(supposed_in(passage) if passage is home else passage.formulas):
        value = any(
            c.equation is not None for c in sentence.chains()
        )  # "with nu = 1" is a case, "with eta <= 1/L" holds
        special = passage.kind == "remark" or (passage.kind == "text" and SPECIAL.search(pieces[n]) is not None)
        if not (value and special):
            yield sentence


def _lines(passage: Passage) -> tuple[Sentence, ...]:
    """The lines of an algorithm, from the first one that assigns something; what its inputs meet stands before."""
    if passage.kind != "algorithm":
        return ()
    words = [{r.word for c in s.chains() for r in c.relations} for s in passage.formulas]
    first = next((n for n, found in enumerate(words) if found & EQUATES), len(words))
    return passage.formulas[first:]


def names_of(node: tree.Node) -> set[str]:
    """Letters, and first entries of sequences under their text."""
    parts = set(node.walk())
    return {p.name for p in parts if isinstance(p, tree.Letter)} | {
        to_text(p) for p in parts if isinstance(p, tree.Index)
    }


def lettered(node: tree.Node) -> tree.Node:
    """A formula with letters for entries of sequences, inputs or bounded by the text, and for gaps of values."""
    if is_gap(node):
        return tree.Letter(f"({to_text(node)})")
    entry = isinstance(node, tree.Index) and ENTRY.fullmatch(to_text(node)) is not None
    return tree.Letter(to_text(node)) if entry else rebuild(node, lettered)


def is_gap(node: tree.Node) -> bool:
    """``f(x_0) - f^*``: a number that is not negative."""
    match node:
        case tree.Add(terms=(tree.Call(arguments=(tree.Index(indices=(first,)),)), tree.Negate(operand=tree.Letter()))):
            return tree.is_zero(first)
    return False


def last_side(paper: Paper, sentence: Sentence) -> tree.Node | None:
    """The last side of an upper bound of which the formula was not read as a whole, ``f(X(t)) - f^* <= c/t``."""
    parts = ABOVE.split(ASIDE.split(sentence.latex)[0])
    if sentence.read.statements or len(parts) < 2:
        return None
    try:
        statements = read_latex(parts[-1].strip(" .,\n"), paper.notation).statements
    except LatexError:
        return None
    alone = len(statements) == 1 and len(statements[0].members) == 1
    return statements[0].members[0] if alone else None


def gaps_in(node: tree.Node) -> set[str]:
    """The names of gaps in a formula with letters for them."""
    return {n for n in tree.letters(node) if is_gap_name(n)}


def is_gap_name(name: str) -> bool:
    """Whether a letter stands for a gap; what it is made of is known."""
    return name.startswith("(")


def relations_of(sentence: Sentence, listed: bool) -> Iterator[tree.Compare]:
    """The relations of a formula between two numbers; of an algorithm's lines those that bound an input."""
    for chain in sentence.chains():
        for first, relation, second in chain.links():
            word = "==" if relation.word == ":=" else relation.word
            left, right = lettered(first), lettered(second)
            if listed and word != "in" and not isinstance(right, tree.Number):
                continue
            if word in (ORDERED if listed else (*ORDERED, "==")) and plain(left) and plain(right):
                if not (tree.functions(left) | tree.functions(right)) & {*ORDERS}:
                    yield tree.Compare((left, right), (word,))
            elif word == "in" and isinstance(left, tree.Letter) and isinstance(right, tree.Tuple | tree.Call):
                ends = right.items if isinstance(right, tree.Tuple) else right.arguments
                if len(ends) == 2 and all(isinstance(e, tree.Number) for e in ends):
                    yield from (tree.Compare(pair, ("<=",)) for pair in ((ends[0], left), (left, ends[1])))


def _within(sentence: Sentence) -> Iterator[tree.Compare]:
    """``q := 1 - beta mu \\in [0, 1)``: a formula between the ends of an interval."""
    for chain in sentence.chains():
        for left, relation, right in chain.links():
            if relation.word == "in" and plain(left) and not isinstance(left, tree.Letter):
                found = (c for c in comparisons(left, "in", right) if isinstance(c, tree.Compare))
                yield from (c for c in found if all(map(plain, c.operands)))


def reached_in(sentence: Sentence) -> Iterator[tree.Compare]:
    """What a chain says of two members between numbers that are no neighbours: ``a <= |v| <= b``."""
    for chain in sentence.chains():
        words = [r.word for r in chain.relations][chain.continues :]
        sides = [(n, side) for n, side in enumerate(map(lettered, chain.members))
                 if plain(side) and not tree.functions(side) & {*ORDERS}]  # fmt: skip
        for (first, one), (last, other) in pairwise(sides):
            whole = combined(words[first:last])
            if last > first + 1 and whole in ORDERED:
                yield tree.Compare((one, other), (whole,))


def _defines(relation: tree.Node, define: Mapping[str, tree.Node]) -> bool:
    match relation:
        case tree.Compare(operands=(tree.Letter(name=name), value), operators=("==",)):
            return define.get(name) == value
    return False


def _scalar(frame: Frame) -> Iterator[tree.Node]:
    for node in frame.where:
        if isinstance(node, tree.Compare) and all(plain(o) for o in node.operands):
            yield node


def _ranges(draft: Draft, number: int) -> Iterator[tree.Compare]:
    ranges = {**draft.scopes.standing, **draft.scopes.of(number).ranges}
    for name, one in ranges.items():
        for end, ops in ((one.lower, (">", ">=")), (one.upper, ("<", "<="))):
            if end is not None and plain(end[0]):
                yield tree.Compare((tree.Letter(name), end[0]), (ops[end[1]],))


def _counted(relation: tree.Node) -> Iterator[str]:
    """``K >= 1``: a number of steps."""
    match relation:
        case tree.Compare(operands=(tree.Letter(name=name), tree.Number(value=value)), operators=(">=",)):
            if value in (0, 1, 2) and name[:1] in "KTNJIMSkntijm":
                yield name


def _ceilings(define: Mapping[str, tree.Node]) -> set[str]:
    return {n for n, v in define.items() if isinstance(v, tree.Call) and v.function in ("ceil", "floor")}


def _closed(paper: Paper) -> set[str]:
    """Entries of sequences that have a formula of their own, ``gamma_n = 2/(n + 2)``: it bounds them."""
    outside = {id(s) for p in paper.passages if p.kind not in (*PROMISES, "proof") for s in p.formulas}
    own = [
        (e[0].base, text) for s in paper.sentences for c in s.chains() if (e := c.equation) is not None
        and isinstance(e[0], tree.Index) and e[0].base not in tree.letters(e[1])
        and (not (text := to_text(e[0])).endswith("[0]") or id(s) in outside)
    ]  # fmt: skip
    entries = {to_text(p): p.base for p in paper.parts if isinstance(p, tree.Index)}
    return {
        text for text, base in entries.items()
        if any(base == b and (text == t if text.endswith("[0]") else not t.endswith("[0]")) for b, t in own)
    }  # fmt: skip


def _blurred(passages: Sequence[Passage]) -> set[str]:
    """Letters of formulas that were not read."""
    return {n for p in passages for s in p.formulas if not s.read.statements for n in re.findall(r"[A-Za-z]+", s.latex)}


def _tied(passages: Sequence[Passage]) -> set[str]:
    """Letters that are set to a formula with another letter and a norm or value in it: ``R = |x_0 - x^*| + B``."""
    equations = (e for p in passages for s in p.formulas for c in s.chains() if (e := c.equation) is not None)
    return {
        left.name for left, right in equations
        if isinstance(left, tree.Letter) and isinstance(right, tree.Add) and not plain(right)
        and any(isinstance(term, tree.Letter) for term in right.terms)
    }  # fmt: skip


def _free(paper: Paper, home: Passage) -> set[str]:
    """Letters that an algorithm takes in, that a statement bounds or sets beyond their sign, or that are its own."""
    outside = [p for p in paper.passages if p.kind not in (*PROMISES, "proof")]
    found = {n for s in home.formulas for node in s.nodes() for n in names_of(node)}
    found -= {n for p in outside for s in p.formulas for node in s.nodes() for n in names_of(node)}
    for passage in paper.passages:
        if passage.kind == "algorithm" or passage.kind in PROMISES:
            lines = {id(s) for s in _lines(passage)}
            for sentence in passage.formulas:
                for relation in relations_of(sentence, id(sentence) in lines):
                    left, right = relation.operands
                    chosen = passage.kind == "algorithm" or not tree.is_zero(right)
                    found |= {left.name} if isinstance(left, tree.Letter) and chosen else set()
    return found


def failing(said: Said, relation: tree.Compare, of_constants: bool = False) -> dict[str, float] | None:
    """A point that meets all that is said and breaks a relation, where nothing between the constants alone can help.

    A relation that fails on one side only of an order between two constants may follow from that order, which a text
    need not print (``mu <= L``): nothing is said then. Nor is it of a relation without a letter that is chosen, unless
    ``of_constants``.
    """
    if not gaps_in(relation):  # a gap may have any value, so that what is said of it gives nothing of others
        said = replace(said, where=tuple(r for r in said.where if not gaps_in(r)))
    written = said.out(relation)
    names = free_letters(written) - NUMBERS if of_constants else said.letters(relation)
    chosen = said.free | said.define.keys() | (names if of_constants else set())
    if not names:
        return None if evaluate(written, {}) else {}
    if (
        names & said.blurred
        or not (free_letters(relation) | names) & chosen
        or not {n for n in names if not is_gap_name(n)} <= said.known
    ):
        return None
    points = said.points(names)
    try:
        holds = said.met(points)
        left, right = (np.broadcast_to(evaluate(said.out(o), points), holds.shape) for o in relation.operands)
    except (BilevelVerifyError, ArithmeticError, ValueError, TypeError, KeyError):
        return None
    with np.errstate(all="ignore"):
        margin = 1e-3 * (np.abs(left) + np.abs(right))
        wrong = {"<=": left > right + margin, "<": left > right + margin, ">=": left < right - margin,
                 ">": left < right - margin, "==": np.abs(left - right) > margin}[relation.operators[0]]  # fmt: skip
    broken = np.asarray((holds & wrong & np.isfinite(left) & np.isfinite(right)).any(axis=1))
    able = np.asarray(holds.any(axis=1))
    constants = sorted(n for n in names - said.free if not is_gap_name(n))
    if able.sum() < 10 or broken.sum() < 0.2 * able.sum() or not _either_way(points, constants, able, broken):
        return None
    row, column = np.argwhere(holds & wrong & np.isfinite(left) & np.isfinite(right))[0]
    return {
        n: float(np.broadcast_to(points[n], holds.shape)[row, column]) for n in sorted(free_letters(written) - NUMBERS)
    }


def _either_way(points: Mapping[str, Array], constants: Sequence[str], able: Array, broken: Array) -> bool:
    """Whether the relation fails however two of the constants are ordered."""
    for place, one in enumerate(constants):
        for other in constants[place + 1 :]:
            below = points[one][:, 0] <= points[other][:, 0]
            for side in (below, ~below):
                if (able & side).sum() >= 5 and not (broken & side).any():
                    return False
    return True
