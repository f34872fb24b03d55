"""Sums term by term, and what a sum has more than one that is shorter by a summand."""

from __future__ import annotations

from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.atoms import ANY, NONNEGATIVE, Atoms
from bilevel_verify.manuscript.proofs.polynomials import Polynomial
from bilevel_verify.theorems.rewrite import free_letters, substitute

Span = tuple[str, tree.Node, tree.Node]
"""The index of a sum and its ends."""


def summed(atoms: Atoms, name: str, body: tree.Node, span: Span) -> Polynomial:
    """A sum (or integral) term by term: what does not run with its index is a factor.

    Raises
    ------
    Unreadable : a term or an end that has no form.
    """
    index, low, high = span
    ends_ = [atoms.scalar(end) for end in (low, high)]
    length = p.plus(ends_[1], ends_[0], -1)
    if name == "sum" and set(length) <= {p.UNIT} and length.get(p.UNIT, 0) < 0:
        return {}
    bound = f"bound_{atoms.depth + 1}"
    inside = _inside(atoms, substitute(body, {index: tree.Letter(bound)}))
    ends = ", ".join(p.key(end) for end in ends_)
    used = frozenset(free_letters(low) | free_letters(high))
    total: Polynomial = {}
    for monomial, value in inside.items():
        runs = tuple((n, e) for n, e in monomial if bound in atoms.letters.get(n, ()))
        rest = tuple((n, e) for n, e in monomial if (n, e) not in runs)
        text = f"{name}({p.shown(runs)}; {ends})"
        if name == "sum" and text not in atoms.parts and low != high:
            _peeled(atoms, text, body, span)
        sign = NONNEGATIVE if atoms.sign(runs) != ANY else ANY
        inner = frozenset().union(*(atoms.letters.get(n, frozenset()) for n, _ in runs)) - {bound}
        total = p.plus(total, p.scaled(atoms.named(text, sign, used | inner), value, rest))
    return total


def _inside(atoms: Atoms, body: tree.Node) -> Polynomial:
    atoms.depth += 1
    try:
        return atoms.scalar(body)
    finally:
        atoms.depth -= 1


def _peeled(atoms: Atoms, text: str, body: tree.Node, span: Span) -> None:
    """The last summand of a sum, as far as it is a term of its own: for sums that are longer by one."""
    index, low, high = span
    if not isinstance(high, tree.Letter) or atoms.depth:
        return
    atoms.parts[text] = ("open", ())
    before = tree.Add((high, tree.Negate(tree.Number(Fraction(1)))))
    try:
        last = atoms.scalar(substitute(body, {index: high}))
        rest, full = (
            atoms.scalar(tree.Call("sum", (body, tree.Tuple((tree.Letter(index), low, end))))) for end in (before, high)
        )
    except ValueError:
        return
    atoms.parts[text] = ("peeled", (p.plus(p.plus(full, rest, -1), last, -1),))
