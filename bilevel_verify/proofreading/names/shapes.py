"""Shapes over a whole paper: which symbol has how many entries, and where a formula asks for another number.

Every vector and matrix has unknown sizes; blocks of derivatives (``\\nabla_{xy}^2 g``) and declared spaces give some of
them a name. What most formulas agree on is taken as known, and then each formula is read alone with that. A conflict
is therefore that of the formula that stands against the rest of the paper.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from bilevel_verify.language import tree
from bilevel_verify.language.binding import binder
from bilevel_verify.latex import Notation
from bilevel_verify.latex.grammar.derivatives import split_name
from bilevel_verify.latex.statements import ORDERED
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.names.shape_reading import Conflict, ShapeReader, World
from bilevel_verify.proofreading.source import Paper, Sentence
from bilevel_verify.theorems.vocabulary import NUMBERS

TRUST = 3
"""A conflict is reported if its symbols stand in at least so many formulas without one for each with one."""

ONE_DIMENSION = re.compile(r"\b(?:one dimension|one-dimensional|univariate|on the (?:real )?line)\b", re.I)

DIFFER = re.compile(r"one side has (\w+) entries, the other (\w+)")
SETS = ("such_that", "set")
IN_VALUE = re.compile(r"\\in\s*\\(max|min)(?![a-z])")
LINE = re.compile(r"\\mathbb\{?R\}?\^\{?1\b")


def shape_defects(paper: Paper) -> Iterator[Defect]:
    """Formulas whose shapes do not fit what the rest of the paper says."""
    yield from _in_a_value(paper)
    yield from _other_things(paper)
    firm = _numbers(paper) if paper.guessed else None
    world = World(paper.notation, _blocks(paper), firm=firm, single=_single(paper), acting=_acting(paper))
    world = replace(world, picked=_picked(paper), spaces=_spaces(paper, world.blocks))
    world = replace(world, known=_votes(paper, world))
    on_line = _on_line(paper)
    clean: Counter[str] = Counter()
    broken: dict[str, int] = defaultdict(int)
    found: list[tuple[Sentence, str, set[str]]] = []
    for sentence in paper.sentences:
        if ONE_DIMENSION.search(sentence.before) or (sentence.unit or sentence.home) in on_line:  # vectors are numbers
            continue
        names = {n for node in sentence.nodes() for n in tree.letters(node)} - NUMBERS
        conflicts = list(_conflicts(sentence, world))
        for message, involved in conflicts:
            found.append((sentence, message, involved))
            for name in involved:
                broken[name] += 1
        if not conflicts:
            clean.update(names)
    apart = Counter((s.unit, _sizes(message)) for s, message, _ in found if s.unit.startswith("algorithm"))
    for sentence, message, involved in found:
        if apart[sentence.unit, _sizes(message)] > 1 and _sizes(message):  # there the letters are not those of the rest
            continue
        lines = {n for n in involved if _is_line(paper.notation, n)}
        if involved & paper.doubtful or any(clean[n] < TRUST * broken[n] for n in (lines or involved)):
            continue
        misread = (broken[n] > 1 and clean[n] < TRUST * broken[n] for n in involved - lines)
        if not _sizes(message) and any(misread):  # what is taken for a number breaks more than one formula
            continue
        grade = "wording" if message.startswith("an inner product") else "local slip"
        yield Defect("shape", sentence.place, message, grade, sentence.latex, unit=sentence.unit)


def _sizes(message: str) -> tuple[str, ...]:
    """The two sizes of which a conflict says that they differ."""
    return tuple(sorted(found.groups())) if (found := DIFFER.search(message)) else ()


def _in_a_value(paper: Paper) -> Iterator[Defect]:
    """``s \\in \\max_v h(v)``: not read, as a number is no set."""
    for sentence in paper.unread:
        found = IN_VALUE.search(sentence.latex)
        if found is not None and "where a set is expected" in sentence.read.message:
            title = f"the {found[1]} is a value, and nothing is in it: arg {found[1]} is meant"
            yield Defect("shape", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)


def _other_things(paper: Paper) -> Iterator[Defect]:
    """A minimiser compared as if it were the least value, and a point that is said to be a set."""
    counted = {n for p in paper.parts if isinstance(p, tree.Call) and (span := binder(p)) for end in (
        tree.Letter(span[0]), *span[1:]) for n in tree.letters(end)}  # fmt: skip
    points = _lengths(paper)
    for sentence in paper.sentences:
        for left, relation, right in (link for chain in sentence.chains() for link in chain.links()):
            for one, other in ((left, right), (right, left)):
                best = isinstance(one, tree.Call) and one.function in ("argmin", "argmax") and one.function[3:]
                if best and relation.word in ORDERED and tree.letters(other) - counted - NUMBERS:
                    title = f"the arg {best} is no value, and it is compared with one: the {best} is meant"
                    yield Defect("shape", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)
            named = f"{left.base}[]" if isinstance(left, tree.Index) else getattr(left, "name", "")
            if getattr(right, "function", "") in SETS and named in points and relation.word in ("==", "=", ":="):
                point = named.removesuffix("[]")
                title = f"{point} is a point elsewhere, and here it is equal to a set: an element is meant"
                yield Defect("shape", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)


def _is_line(notation: Notation, name: str) -> bool:
    kinds = {e.kind for role in ("letter", "sequence") if (e := notation.by_name.get((name, role)))}
    return bool(kinds & {"vector", "matrix"})


def _blocks(paper: Paper) -> dict[str, tuple[str, ...]]:
    """Function -> the letters of its blocks, in the order of its arguments, where derivatives name two of them."""
    found: dict[str, set[str]] = defaultdict(set)
    for sentence in paper.sentences:
        for node in sentence.nodes():
            for part in node.walk():
                if isinstance(part, tree.Call):
                    split = split_name(part.function, paper.notation.functions)
                    if split is not None and split[0].blocks:
                        found[split[1]] |= set(split[0].blocks)
    return {name: tuple(sorted(letters)) for name, letters in found.items() if len(letters) == 2}


def _on_line(paper: Paper) -> set[str]:
    """Units, and sections of plain text, in which points are numbers: a dimension is 1, a vector lies in the reals."""
    chains = [(s, c) for s in paper.sentences for c in s.chains() if c.relations]
    dimensions = {a for p in paper.parts if isinstance(p, tree.Call) and p.function == "reals" for a in p.arguments}
    found = {s.unit or s.home for s in paper.sentences if LINE.search(s.latex)}
    for sentence, chain in chains:
        first, last = chain.members[0], chain.members[-1]
        if chain.relations[-1].word == "==" and tree.rational(last) == 1 and first in dimensions:
            found.add(sentence.unit or sentence.home)
        reals = isinstance(last, tree.Call) and last.function == "reals" and not last.arguments
        if reals and chain.relations[-1].word == "in" and any(_is_line(paper.notation, n) for n in tree.letters(first)):
            found.add(sentence.unit or sentence.home)
    return found


def _spaces(paper: Paper, blocks: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Dimension -> the one block that lies in a space with it: n where ``x`` is in ``R^n`` and nothing else is."""
    letters = {letter for pair in blocks.values() for letter in pair}
    found: dict[str, set[str]] = defaultdict(set)
    for chain in (c for sentence in paper.sentences for c in sentence.chains()):
        match chain.members[-1:], [r.word for r in chain.relations][-1:]:
            case (tree.Call(function="reals", arguments=(tree.Letter(name=dimension),)),), ["in"]:
                heads = chain.members[:-1]
                found[dimension] |= {h.name if isinstance(h, tree.Letter) else "" for h in heads}
    return {n: name for n, names in found.items() if len(names) == 1 for name in names & letters}


def _picked(paper: Paper) -> frozenset[tuple[str, str]]:
    """Symbols that stand alone, too, with the letters that may pick a component of them: ``u`` and ``u_i``.

    A letter that counts the points of a sequence stands in the next one, too: ``x_{k+1}`` beside ``x_k``.
    """
    alone = {p.name for p in paper.parts if isinstance(p, tree.Letter)}
    entries = {p for p in paper.parts if isinstance(p, tree.Index) and len(p.indices) == 1 and p.base in alone}
    plain = {(p.base, p.indices[0].name) for p in entries if isinstance(p.indices[0], tree.Letter)}
    moved = {(p.base, n) for p in entries if isinstance(p.indices[0], tree.Add) for n in tree.letters(p.indices[0])}
    return frozenset(plain - moved)


def _single(paper: Paper) -> frozenset[str]:
    """Sequences of which entries with one index stand somewhere."""
    parts = (p for p in paper.parts if isinstance(p, tree.Index))
    return frozenset(p.base for p in parts if len(p.indices) == 1)


def _acting(paper: Paper) -> frozenset[str]:
    """Letters and sequences that are certainly matrices: what is put before a vector, transposed or inverted."""
    sides = (p.left for p in paper.parts if isinstance(p, tree.MatrixMultiply))
    turned = (a for p in paper.parts if isinstance(p, tree.Call) and p.function in ("T", "inv") for a in p.arguments)
    return frozenset(name for node in (*sides, *turned) for name in tree.letters(node))


def _numbers(paper: Paper) -> frozenset[str]:
    """Letters that stand where only a number can: in a denominator, a power, beside an order sign."""
    found: set[str] = set()
    for sentence in paper.sentences:
        for node in sentence.nodes():
            for part in node.walk():
                if isinstance(part, tree.Divide):
                    found |= _plain_letters(part.denominator)
                elif isinstance(part, tree.Call) and part.function in ("min", "argmin", "max", "argmax", "sup", "inf"):
                    found |= {n for n in _plain_letters(part.arguments[0]) if n.endswith("()")}
                elif isinstance(part, tree.Power):
                    found |= _plain_letters(part.base) | _plain_letters(part.exponent)
        for chain in sentence.chains():
            if {r.word for r in chain.relations} & ORDERED:
                found |= set().union(*(_plain_letters(member) for member in chain.members))
    return frozenset(found - _lengths(paper))


def _lengths(paper: Paper) -> set[str]:
    """Letters that are summands under a norm or in an inner product: no numbers, wherever else they stand."""
    found: set[str] = set()
    for sentence in paper.sentences:
        for node in sentence.nodes():
            for part in node.walk():
                if isinstance(part, tree.Call) and part.function in ("norm", "norm_2", "dot"):
                    for argument in part.arguments:
                        terms = argument.terms if isinstance(argument, tree.Add) else (argument,)
                        bare = (t.operand if isinstance(t, tree.Negate) else t for t in terms)
                        found |= {n for t in bare if not isinstance(t, tree.Multiply) for n in _plain_letters(t)}
    return {n for n in found if not n.endswith("()")}


def _plain_letters(node: tree.Node) -> set[str]:
    """Letters, and sequences as ``b[]``, that are summands or factors of a node, not inside functions."""
    match node:
        case tree.Letter(name=name):
            return {name}
        case tree.Index(base=name):
            return {f"{name}[]"}
        case tree.Call(function=name):
            return {f"{name}()"}
        case tree.Add() | tree.Multiply() | tree.Divide() | tree.Negate():
            return set().union(*(_plain_letters(part) for part in node.children()))
    return set()


def _votes(paper: Paper, world: World) -> dict[tuple[str, int], str]:
    """Side of a symbol -> the name of its size that most formulas give it when each is read alone."""
    votes: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for sentence in paper.sentences:
        for members in _groups(sentence):
            reader = ShapeReader(world)
            try:
                reader.chain(*members)
            except Conflict:
                continue
            for key, size in reader.sizes.of_symbol.items():
                name = reader.sizes.names.get(reader.sizes.root(size))
                if name:
                    votes[key][name] += 1
    known = {}
    for key, count in votes.items():
        (name, most), total = count.most_common(1)[0], sum(count.values())
        if most * 4 >= total * 3:
            known[key] = name
    return known


def _groups(sentence: Sentence) -> Iterator[tuple[tuple[tree.Node, ...], tuple[str, ...]]]:
    """Chains and their conditions, as members and signs."""
    for chain in (*sentence.chains(), *(c for s in sentence.chains() for c in s.conditions)):
        members = chain.members
        words = tuple(r.word for r in chain.relations)
        yield members, words[1:] if chain.continues else words


def _conflicts(sentence: Sentence, world: World) -> Iterator[tuple[str, set[str]]]:
    for members in _groups(sentence):
        reader = ShapeReader(world)
        try:
            reader.chain(*members)
        except Conflict as conflict:
            involved = set().union(*(tree.letters(n) for n in reader.at)) - NUMBERS
            yield str(conflict), (involved & reader.gave) or involved
