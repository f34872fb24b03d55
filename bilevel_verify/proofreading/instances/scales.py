"""Formulas that are not homogeneous where nearly all others are: a lost letter, a wrong power.

A rescaling gives each symbol a power of one number. Of all rescalings in which a much-used symbol takes part, the one
that most formulas keep is looked for (least absolute deviations); a formula is told that it breaks, if its symbols
stand in several others that keep it. Formulas with orders say nothing: what they hide has a scale, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bilevel_verify.language import to_text, tree
from bilevel_verify.proofreading.defect import Defect
from bilevel_verify.proofreading.joints.forms import Formless, exponent_of
from bilevel_verify.proofreading.source import PROMISES, Paper, Sentence

Powers = dict[str, Fraction]
RELATIONS = ("==", ":=", "<-", "<", "<=", ">", ">=")
SAME = frozenset("norm norm_2 dual_norm frobenius abs T floor ceil plus component lambda_min lambda_max".split())
"""Functions whose value has the scale of their first argument."""
PLAIN = ("log", "exp", "sin", "cos", "count")
UNKNOWN = ("O", "softO", "Theta", "Omega", "Piecewise", "such_that", "indicator", "mode", "matrix", "argmin", "argmax",
           "integral", "prod")  # fmt: skip
TRIED, LEAST_KEPT, MOST_BROKEN, SUPPORT = 12, 60, 4, 3
CLOSE = 1e-6


class Scaleless(ValueError):
    """A formula whose scale is not known."""


@dataclass(frozen=True, slots=True)
class Row:
    """What must be without a scale for a formula to be homogeneous: powers of symbols."""

    powers: Mapping[str, Fraction]
    sentence: Sentence
    sides: tuple[tree.Node, tree.Node]


def scale_defects(paper: Paper) -> Iterator[Defect]:
    """Every formula that breaks a rescaling which nearly all others keep."""
    rows = _unique(_rows(paper))
    count = Counter(name for row in rows for name in row.powers)
    seen: set[int] = set()
    judged = {p.id for p in paper.passages if p.kind in (*PROMISES, "assumption")}
    for name, _ in count.most_common(TRIED):
        scale = _scaling(rows, name, sorted(count))
        if scale is None:
            continue
        touched = [(n, r) for n, r in enumerate(rows) if sum(abs(scale[s]) > CLOSE for s in r.powers) > 1]
        broken = [(n, r) for n, r in touched if abs(_value(r, scale)) > 0.02]
        if len(touched) < LEAST_KEPT or len(broken) > MOST_BROKEN:
            continue
        ill = {n for n, _ in broken}
        kept = Counter(s for n, r in touched if n not in ill for s in r.powers if abs(scale[s]) > CLOSE)
        for number, row in broken:
            known = all(kept[s] >= SUPPORT for s in row.powers if abs(scale[s]) > CLOSE) and _used(row, rows)
            if known and number not in seen and row.sentence.home in judged and not _is_label(row):
                seen.add(number)
                yield _defect(row, scale, len(touched) - len(broken))


def _defect(row: Row, scale: Mapping[str, float], kept: int) -> Defect:
    left, right = (to_text(side) for side in row.sides)
    moved = ", ".join(f"{s} by s**{scale[s]:.4g}" for s in sorted(row.powers) if abs(scale[s]) > CLOSE)
    title = f"the sides scale differently under a rescaling that the other formulas keep: {left[:80]} and {right[:80]}"
    evidence = (f"rescaled: {moved}", f"{kept} formulas keep it",
                f"the one side over the other: s**{_value(row, scale):.4g}")  # fmt: skip
    return Defect("shape", row.sentence.place, title, "local slip",
                  row.sentence.latex, evidence, f"scale {left} {right}", row.sentence.unit)  # fmt: skip


def _used(row: Row, rows: Sequence[Row]) -> bool:
    """Whether a letter that a row defines is used in the statement or proof where it is defined."""
    names = [side.name for side in row.sides if isinstance(side, tree.Letter)]
    mine = [r for r in rows if r.sentence.home == row.sentence.home and r.sentence is not row.sentence]
    return all(any(name in r.powers for r in mine) for name in names)


def _is_label(row: Row) -> bool:
    """Whether a side is the name of a term, ``(C) = ...``."""
    names = (side.name for side in row.sides if isinstance(side, tree.Letter))
    return any(re.search(rf"\({name}\)\s*&?\s*(?:=|\\[lg]e)", row.sentence.latex) for name in names)


def _unique(rows: Iterator[Row]) -> list[Row]:
    """Each condition once, from the first formula that has it."""
    table: dict[frozenset[tuple[str, Fraction]], Row] = {}
    for row in rows:
        if row.powers:
            table.setdefault(frozenset(row.powers.items()), row)
    return list(table.values())


def _value(row: Row, scale: Mapping[str, float]) -> float:
    return sum(float(power) * scale[name] for name, power in row.powers.items())


def _scaling(rows: Sequence[Row], name: str, symbols: Sequence[str]) -> dict[str, float] | None:
    """The rescaling with power 1 of one symbol for which the deviations add up to the least."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, hstack, identity

    place = {s: n for n, s in enumerate(symbols)}
    entries = [(r, place[s], float(p)) for r, row in enumerate(rows) for s, p in row.powers.items()]
    at, where, values = zip(*entries, strict=True)
    matrix: Any = coo_array((values, (at, where)), shape=(len(rows), len(symbols))).tocsr()
    eye: Any = identity(len(rows), format="csr")
    cost = np.concatenate([np.zeros(len(symbols)), np.ones(2 * len(rows))])
    bounds = [(1.0, 1.0) if s == name else (-12.0, 12.0) for s in symbols] + [(0.0, None)] * (2 * len(rows))
    table: Any = hstack([matrix, -eye, eye])
    found = linprog(cost, A_eq=table, b_eq=np.zeros(len(rows)), bounds=bounds, method="highs")
    return None if found.x is None else {s: float(found.x[n]) for s, n in place.items()}


def _rows(paper: Paper) -> Iterator[Row]:
    both = {f"{name}()" for name in paper.valued}
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if relation.word in RELATIONS:  # ``J(x)`` beside ``J = ...``: a bracket behind it may be a factor
                    yield from (row for row in _of_link(sentence, left, right) if not both & row.powers.keys())


def _of_link(sentence: Sentence, left: tree.Node, right: tree.Node) -> Iterator[Row]:
    found: list[tuple[Powers, tree.Node, tree.Node]] = []
    try:
        if tree.is_zero(left) or tree.is_zero(right):
            _powers(right if tree.is_zero(left) else left, found)
        else:
            one, other = _powers(left, found), _powers(right, found)
            found.append((_less(one, other), left, right))
    except (Scaleless, Formless):
        return
    for powers, first, second in found:
        yield Row(powers, sentence, (first, second))


def _less(one: Powers, other: Powers, times: Fraction = Fraction(-1)) -> Powers:
    names = {*one, *other}
    total = {n: one.get(n, Fraction(0)) + times * other.get(n, Fraction(0)) for n in names}
    return {n: p for n, p in total.items() if p}


def _powers(node: tree.Node, found: list[tuple[Powers, tree.Node, tree.Node]]) -> Powers:
    """The scale of a formula; what must be alike inside of it goes to ``found``.

    Raises
    ------
    Scaleless : it is not known.
    """
    match node:
        case tree.Number():
            return {}
        case tree.Letter(name=name):
            if name in ("oo", "_", "dots", "zero"):
                raise Scaleless(name)
            return {} if name in ("pi", "E", "I") else {name: Fraction(1)}
        case tree.Index(base=base):
            return {f"{base}[]": Fraction(1)}
        case tree.Add(terms=terms):
            return _alike(terms, found)
        case tree.Negate(operand=inner):
            return _powers(inner, found)
        case tree.Multiply(factors=factors):
            total: Powers = {}
            for factor in factors:
                total = _less(total, _powers(factor, found), Fraction(1))
            return total
        case tree.MatrixMultiply(left=left, right=right):
            return _less(_powers(left, found), _powers(right, found), Fraction(1))
        case tree.Divide(numerator=top, denominator=bottom):
            return _less(_powers(top, found), _powers(bottom, found))
        case tree.Power(base=base, exponent=exponent):
            return _less({}, _powers(base, found), exponent_of(exponent)[0])
        case tree.Call():
            return _of_call(node, found)
    raise Scaleless("no formula of numbers and vectors")


def _alike(parts: Sequence[tree.Node], found: list[tuple[Powers, tree.Node, tree.Node]]) -> Powers:
    """Terms of a sum, members of a maximum: one scale; a zero has any."""
    kept = [(part, _powers(part, found)) for part in parts if not tree.is_zero(part)]
    for part, powers in kept[1:]:
        found.append((_less(kept[0][1], powers), kept[0][0], part))
    return kept[0][1] if kept else {}


def _of_call(node: tree.Call, found: list[tuple[Powers, tree.Node, tree.Node]]) -> Powers:
    name, arguments = node.function, node.arguments
    if name in UNKNOWN:
        raise Scaleless(name)
    spanned = bool(arguments) and isinstance(arguments[-1], tree.Tuple)
    if name in ("sum", "max", "min", "sup", "inf") and spanned:
        return _powers(arguments[0], found)
    if name in ("max", "min"):
        return _powers(arguments[0], found)
    if name == "dot":
        return _less(_powers(arguments[0], found), _powers(arguments[1], found), Fraction(1))
    if name == "sqrt":
        return _less({}, _powers(arguments[0], found), Fraction(1, 2))
    if name == "expectation":
        return _powers(arguments[-1], found)
    if name == "inv":
        return _less({}, _powers(arguments[0], found))
    if name in SAME and arguments:
        return _powers(arguments[0], found)
    if name in PLAIN and arguments:
        found.append((_powers(arguments[0], found), arguments[0], tree.Number(Fraction(1))))
        return {}
    return {f"{name}()": Fraction(1)}
