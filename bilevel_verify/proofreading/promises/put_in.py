"""``(4) with x = x_k``: the value that a letter of a cited relation gets, against what comes out of it.

Refuted is a value with which no term of the cited relation that has the letter stands in the relation that comes out,
where with another point of that relation in its place one does. In a right text the terms of what is put in come out,
or they are rewritten, and then no other point makes them stand there by chance. Two values are refuted together where
more terms come out with the one in the place of the other.

``gamma_0 = 1``: the value of an entry against the formula that a line or the text gives for all entries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bilevel_verify.drafting.letters import plain
from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.carrying import to_text_of
from bilevel_verify.proofreading.joints.clauses import Clause, clauses
from bilevel_verify.proofreading.joints.forms import Formless, form_of
from bilevel_verify.proofreading.joints.judged import Judged
from bilevel_verify.proofreading.names.occurrences import whole
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence
from bilevel_verify.theorems.rewrite import rebuild, substitute

WITH = re.compile(r"\((?P<number>\d+(?:\.\d+)*)\) with (?P<holes>\x01(?:(?:, | and |, and )(?:by )?\x01)*)")
GIVES = re.compile(r"\b(?:gives?|is|yields?|proves?) \((?P<number>\d+(?:\.\d+)*)\)")
MOST = 40


def put_in_joints(paper: Paper) -> Iterator[Judged]:
    """Every value that a proof puts into a cited relation, and every entry of a sequence that it gives a value."""
    for clause in clauses(paper):
        if clause.passage.kind == "proof":
            yield from _entries(paper, clause)
            for found in WITH.finditer(clause.words):
                start = clause.words[: found.start("holes")].count("\x01")
                values = _values(clause.formulas[start : start + found["holes"].count("\x01")])
                cited, target = paper.numbered.get(found["number"]), _target(paper, clause, found.end())
                if values and cited is not None and target is not None:
                    yield from _judged(paper, clause, cited, target, values)


def _values(formulas: tuple[Sentence, ...]) -> dict[str, tree.Node]:
    found: dict[str, tree.Node] = {}
    for sentence in formulas:
        for chain in sentence.chains():
            if chain.relations and all(r.word == "==" for r in chain.relations):
                found |= {m.name: chain.members[-1] for m in chain.members[:-1] if isinstance(m, tree.Letter)}
    return found


def _target(paper: Paper, clause: Clause, end: int) -> Sentence | None:
    """What comes out: the relation that is named after ``gives``, or the next display of the passage."""
    named = GIVES.search(clause.words, end)
    if named is not None and "\x01" not in clause.words[end : named.start()]:
        return paper.numbered.get(named["number"])
    if named is None and "\x01" in clause.words[end:]:  # what comes out may stand in the sentence itself
        inline = clause.formulas[clause.words[:end].count("\x01")]
        if inline.read.formula.kind != "display" and any(c.relations for c in inline.chains()):
            return None
    last = clause.formulas[-1].read.formula.n if clause.formulas else 0
    here = [s for s in clause.passage.formulas if s.read.formula.n >= min(last, _first(clause, end))]
    return next((s for s in here if s.read.formula.kind == "display"), None)


def _first(clause: Clause, end: int) -> int:
    count = clause.words[:end].count("\x01")
    return clause.formulas[count].read.formula.n if count < len(clause.formulas) else 10**9


def _judged(
    paper: Paper, clause: Clause, cited: Sentence, target: Sentence, values: Mapping[str, tree.Node]
) -> Iterator[Judged]:
    links = [(left, r.word, right) for c in cited.chains() for left, r, right in c.links()]
    chain = next(iter(target.chains()), None)
    if len(links) != 1 or chain is None or len(chain.members) < 2:
        return
    left, op, right = links[0]
    first, later = _texts(chain.members[0]), frozenset().union(*(_texts(m) for m in chain.members[1:]))
    sides = {">=": (right, left), ">": (right, left)}.get(op, (left, right))
    points = {p for m in chain.members for p in m.walk() if isinstance(p, tree.Index | tree.Letter)}
    if len(points) > MOST or op not in ("<=", "<", ">=", ">", "=="):
        return
    for name in values:
        if _count(sides, name, values, first, later, op):
            continue
        turned = _turned(values[name])
        fits = [
            p
            for p in (turned, *sorted(points, key=to_text))
            if _count(sides, name, {**values, name: p}, first, later, op)
        ]
        if fits:
            sentence = target if target.unit == clause.passage.id else clause.formulas[0]
            said = f"{name} = {to_text(values[name])}"
            title = f"({cited.read.formula.number}) is used with {said}; what comes out has {to_text(fits[0])} there"
            evidence = (f"cited: {to_text_of(cited)}", f"comes out: {to_text_of(target)}")
            defect = Defect("citation", sentence.place, title, "local slip", sentence.latex, evidence,
                            unit=clause.passage.id)  # fmt: skip
            yield Judged(
                "citation", sentence.place, f"{said} in ({cited.read.formula.number})", "refuted", title, defect
            )
            return
    yield from _exchanged(paper, clause, cited, target, sides, values)


def _exchanged(
    paper: Paper, clause: Clause, cited: Sentence, target: Sentence, sides: tuple[tree.Node, tree.Node],
    values: Mapping[str, tree.Node],
) -> Iterator[Judged]:  # fmt: skip
    """``with u = x_k and x = x^*`` where what comes out has ``u = x^*`` and ``x = x_k``."""
    letters = {n for side in sides for n in tree.letters(side)}
    if len(values) != 2 or not letters >= values.keys() or len({*values.values()}) != 2:
        return
    (one, first), (other, second) = values.items()
    members = [m for c in target.chains() for m in c.members]
    members += [_written_out(paper, m) for m in members]
    given, turned = (_most(sides, v, members) for v in (values, {one: second, other: first}))
    if turned <= max(given, 1):
        return
    number = cited.read.formula.number
    said = f"{one} = {to_text(first)} and {other} = {to_text(second)}"
    title = f"({number}) is used with {said}; what comes out has the one in the place of the other"
    sentence = target if target.unit == clause.passage.id else clause.formulas[0]
    evidence = (f"cited: {to_text_of(cited)}", f"comes out: {to_text_of(target)}")
    defect = Defect("citation", sentence.place, title, "local slip", sentence.latex, evidence, unit=clause.passage.id)
    yield Judged("citation", sentence.place, f"{said} in ({number})", "refuted", title, defect)


def _written_out(paper: Paper, node: tree.Node) -> tree.Node:
    """A formula with what the text says its functions are, ``grad Phi(x) = grad_x f(x, y^*(x))``."""
    inner = rebuild(node, lambda part: _written_out(paper, part))
    if not isinstance(inner, tree.Call) or len(inner.arguments) != 1:
        return inner
    said = [(e[0].arguments[0], e[1]) for p in paper.passages if p.kind == "text" for s in p.formulas
            for c in s.chains() if (e := c.equation) is not None and isinstance(e[0], tree.Call)
            and e[0].function == inner.function and len(e[0].arguments) == 1]  # fmt: skip
    match said:
        case [(tree.Letter(name=name), value)]:
            return substitute(value, {name: inner.arguments[0]})
    return inner


def _most(sides: tuple[tree.Node, tree.Node], values: Mapping[str, tree.Node], members: list[tree.Node]) -> int:
    """How many terms come out, where a letter without a value, ``x^+``, may be any point of what comes out."""
    there = frozenset().union(*map(_texts, members))
    here = {n for m in members for n in tree.letters(m)}
    terms = [substitute(t, dict(values)) for side in sides for _, t in _terms(side)]
    open_letters = sorted({n for t in terms for n in tree.letters(t)} - here)
    points = {p for m in members for p in m.walk() if isinstance(p, tree.Index | tree.Letter)}
    ways = [{open_letters[0]: p} for p in points] if len(open_letters) == 1 else [{}]
    bare = frozenset(text.removeprefix("-") for text in there)
    return max(sum(to_text(_canonical(substitute(t, way))) in bare for t in terms) for way in ways)


def _turned(node: tree.Node) -> tree.Node:
    return node.operand if isinstance(node, tree.Negate) else tree.Negate(node)


def _count(
    sides: tuple[tree.Node, tree.Node], name: str, values: Mapping[str, tree.Node], first: frozenset[str],
    later: frozenset[str], op: str,
) -> int:  # fmt: skip
    """How many terms with the letter stand where they belong, once the values are put in.

    A term with two letters of one value may vanish, and is left out.
    """
    same = {n for n, v in values.items() if n != name and v == values[name]}
    total = 0
    for side, there in zip(sides, (first, later), strict=True):
        for sign, term in _terms(side):
            if tree.Letter(name) in term.walk() and not same & tree.letters(term):
                places = first | later if op == "==" else there
                total += sign + to_text(_canonical(substitute(term, dict(values)))) in places
    return total


def _terms(node: tree.Node) -> Iterator[tuple[str, tree.Node]]:
    """The summands of a side with their signs."""
    for part in node.terms if isinstance(node, tree.Add) else (node,):
        yield ("-", part.operand) if isinstance(part, tree.Negate) else ("", part)


def _texts(node: tree.Node) -> frozenset[str]:
    return frozenset(sign + to_text(_canonical(t)) for sign, t in _terms(node))


def _canonical(node: tree.Node) -> tree.Node:
    """A formula with the points of a distance in one order."""
    inner = rebuild(node, _canonical)
    match inner:
        case tree.Call(function="norm", arguments=(tree.Add(terms=(one, tree.Negate(operand=other))),)):
            pair = sorted((one, other), key=to_text)
            return tree.Call("norm", (tree.Add((pair[0], tree.Negate(pair[1]))),))
    return inner


def _entries(paper: Paper, clause: Clause) -> Iterator[Judged]:
    """``gamma_0 = 1`` against ``gamma_n = 2/(n + 2)``."""
    for sentence in clause.formulas:
        if sentence.read.formula.kind == "display":
            continue
        for entry, value in (c.equation for c in sentence.chains() if c.equation is not None):
            if isinstance(entry, tree.Index) and len(entry.indices) == 1 and whole(entry.indices[0]) is not None:
                for line, formula in _formulas(paper, entry):
                    yield from _compared(sentence, entry, value, line, formula)


def _formulas(paper: Paper, entry: tree.Index) -> Iterator[tuple[Sentence, tree.Node]]:
    """The formula of an entry, at its index, where there is one for all entries of the sequence."""
    found = []
    for passage in paper.passages:
        for sentence in passage.formulas if passage.kind not in (*PROMISES, "proof", "remark") else ():
            for left, right in (c.equation for c in sentence.chains() if c.equation is not None):
                match left:
                    case tree.Index(base=entry.base, indices=(tree.Letter(name=index),)) if plain(right):
                        found.append((sentence, substitute(right, {index: entry.indices[0]})))
    if len(found) == 1:
        yield found[0]


def _compared(
    sentence: Sentence, entry: tree.Index, value: tree.Node, line: Sentence, formula: tree.Node
) -> Iterator[Judged]:
    try:
        same = not plain(value) or form_of(value).terms == form_of(formula).terms
    except (Formless, ZeroDivisionError):
        return
    joint = f"{to_text_of(sentence)} and {to_text_of(line)}"
    if same:
        yield Judged("citation", sentence.place, joint, "holds")
        return
    title = f"{to_text(entry)} has another value: {to_text_of(line)}"
    defect = Defect("citation", sentence.place, title, "local slip", sentence.latex, unit=sentence.unit)
    yield Judged("citation", sentence.place, joint, "refuted", title, defect)
