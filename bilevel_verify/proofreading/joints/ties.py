"""Ties between letters (``kappa = L/mu``, ``B = sqrt(eps/rho)``): a product may be rewritten with them at any place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from bilevel_verify.language import tree
from bilevel_verify.proofreading.joints.forms import SAMPLES, Exponent, Formless, Monomial, form_of, inverse, joined
from bilevel_verify.proofreading.source import Paper

MOST_GONE = 5
ZERO: Exponent = (Fraction(0),) * SAMPLES


@dataclass(frozen=True, slots=True)
class Tie:
    """A product of powers that is a number: the quotient of the sides of ``letter = product``.

    ``of`` is the letter, ``home`` the statement or section that says so.
    """

    powers: Monomial
    of: str = ""
    home: str = ""


def ties_of(paper: Paper) -> tuple[Tie, ...]:
    """What the paper ties by a product: of each ``letter = product`` the quotient of its sides."""
    found: dict[Tie, None] = {}
    for sentence in paper.sentences:
        for chain in sentence.chains():
            for left, relation, right in chain.links():
                if isinstance(left, tree.Letter) and relation.word in ("==", ":="):
                    tie = _quotient(left, right)
                    if tie:
                        found[Tie(tie, left.name, sentence.home)] = None
    return tuple(found)


def _quotient(left: tree.Node, right: tree.Node) -> Monomial | None:
    try:
        one, other = form_of(left).single, form_of(right).single
    except Formless:
        return None
    return None if one is None or other is None or not other[0] else over(one[0], other[0])


def over(one: Monomial, other: Monomial) -> Monomial:
    """The powers of one product less those of another, numbers left out."""
    return frozenset((n, e) for n, e in joined(one, inverse(other))[0] if not n.startswith("#"))


def letters_of(monomial: Monomial) -> frozenset[str]:
    """The letters and other quantities of a product, numbers left out."""
    return frozenset(n for n, _ in monomial if not n.startswith("#"))


def rewritten(ties: Iterable[Tie], source: Monomial, printed: Monomial, hidden: bool) -> bool:
    """Whether a product may be another one that ties rewrite.

    With ``hidden`` only the letters of the printed one count; then a tie has to have a letter that was rewritten away,
    and it may not define a letter that stands in neither: such a letter is no constant that an order hides. What is
    rewritten away is so as a whole, or it stays and is hidden.
    Otherwise two products with different letters always may: what is not tied by a product may be tied by a formula.
    """
    here, there = letters_of(printed), letters_of(source)
    if not here <= there or (not hidden and here != there):
        return True
    fitting = [t for t in ties if not hidden or (letters_of(t.powers) & (there - here) and t.of in ("", *here, *there))]
    wanted = over(source, printed)
    if not hidden:
        return any(_by(scope, wanted, None) for scope in _scopes(fitting))
    gone = sorted(there - here)
    kept = [frozenset(k) for n in range(len(gone) + 1) for k in combinations(gone, n)] if len(gone) <= MOST_GONE else []
    return not kept or any(
        _by(scope, frozenset((n, e) for n, e in wanted if n not in names), there)
        for scope in _scopes(fitting)
        for names in kept
    )


def _scopes(ties: list[Tie]) -> Iterator[list[Monomial]]:
    """Ties that hold together: a letter that has two of them has one of them in each statement or section."""
    values: dict[str, set[Monomial]] = {}
    for tie in ties:
        values.setdefault(tie.of, set()).add(tie.powers)
    several = {of for of, found in values.items() if of and len(found) > 1}
    for home in dict.fromkeys(t.home for t in ties if t.of in several) or ("",):
        yield [t.powers for t in ties if t.of not in several or t.home == home]


def _by(ties: list[Monomial], wanted: Monomial, letters: frozenset[str] | None) -> bool:
    """Whether a product is a product of powers of ties; with ``letters`` only these count."""
    names = sorted(letters if letters is not None else {n for m in (wanted, *ties) for n, _ in m})
    return all(_spanned(_row(wanted, names, k), [_row(t, names, k) for t in ties]) for k in range(SAMPLES))


def _row(monomial: Monomial, names: Collection[str], sample: int) -> list[Fraction]:
    table = dict(monomial)
    return [table.get(name, ZERO)[sample] for name in names]


def _spanned(wanted: list[Fraction], rows: list[list[Fraction]]) -> bool:
    """Whether a row is a combination of others."""
    rest, rows = list(wanted), [list(row) for row in rows]
    for column in range(len(wanted)):
        pivot = next((row for row in rows if row[column]), None)
        if pivot is None:
            continue
        rows = [_less(row, pivot, column) for row in rows if row is not pivot]
        rest = _less(rest, pivot, column)
    return not any(rest)


def _less(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    factor = row[column] / pivot[column]
    return [a - factor * b for a, b in zip(row, pivot, strict=True)]
