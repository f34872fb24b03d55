"""A printed relation as a claim of the audit's engines: letters and vectors for what they cannot see into."""

from __future__ import annotations

from dataclasses import replace

from bilevel_verify.audit.entries.definedness import undefined, where_defined
from bilevel_verify.audit.entries.reading import REAL, Written
from bilevel_verify.audit.entries.steps import decide_step
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import Statement
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.facts import facts_about
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.opaque import Letters, blind, kind_of_call, opaque
from bilevel_verify.manuscript.relations import Printed, candidates
from bilevel_verify.theorems.card_parts import Domain
from bilevel_verify.theorems.rewrite import free_letters, rebuild
from bilevel_verify.theorems.vocabulary import NUMBERS


def _conditions(paper: Paper, statements: tuple[Statement, ...]) -> list[tree.Node]:
    """Conditions printed after a formula, as far as they are comparisons."""
    found: list[tree.Node] = []
    for one in candidates(statements):
        if one.op in tree.MIRRORED:
            found.append(tree.Compare((one.left, one.right), (one.op,)))
    return [paper.naming.of_card(c) for c in found]


def between_numbers(
    paper: Paper, relation: Relation, printed: Printed, table: Written, effort: float, seed: int
) -> tuple[Decision, str]:
    """The relation between numbers, with letters for what is no formula of numbers."""
    letters = Letters(paper)
    left, right = (opaque(paper.naming.of_card(side), letters) for side in (relation.left, relation.right))
    conditions = [*_conditions(paper, printed.conditions), *facts_about(letters.made, paper.source.euclidean)]
    claim = _claim(left, relation.op, right, letters, table, conditions)
    decision = decide(claim, seed=seed, effort=effort)
    if decision.outcome == "proved":
        decision = where_defined(decision, undefined(claim, seed, ())[0])
    text = f"{to_text(claim.left)} {relation.op} {to_text(claim.right)}"
    return decision, text + (f", {letters.shown()}" if letters.made else "")


def _claim(
    left: tree.Node, op: str, right: tree.Node, letters: Letters, table: Written, conditions: list[tree.Node]
) -> ScalarClaim:
    left, right = table.out(left), table.out(right)
    where = [w for w in map(table.out, table.where) if not blind(w)] + [
        c for c in map(table.out, conditions) if not blind(c)
    ]
    used = set().union(*(free_letters(n) for n in (left, right))) - NUMBERS
    for _ in range(4):
        used |= set().union(*(free_letters(w) for w in where if free_letters(w) & used), set()) - NUMBERS
    domains: dict[str, Domain] = {}
    pending = sorted(used)
    while pending:
        name = pending.pop()
        if name in domains:
            continue
        domain = (letters.domains.get(name) or table.domains.get(name) or REAL).with_ends(table.out)
        domains[name] = domain
        ends = [e.tree for e in (domain.lower, domain.upper) if e is not None]
        pending += sorted(set().union(*(free_letters(e) for e in ends), set()) - NUMBERS - domains.keys())
    kept = tuple(w for w in where if free_letters(w) - NUMBERS <= domains.keys())
    return ScalarClaim(left, op, right, domains, kept)


def between_vectors(
    paper: Paper, relation: Relation, printed: Printed, table: Written, effort: float, seed: int
) -> tuple[Decision, str]:
    """The relation for all vectors: linear in inner products, each vector of the print a vector of its own.

    Raises
    ------
    ValueError : there is no vector in it, or a matrix times one.
    """
    letters, vectors = Letters(paper), Letters(paper)
    left, right = (_vectors(paper.naming.of_card(s), letters, vectors, table) for s in (relation.left, relation.right))
    names = tuple(f"vector_{place}" for place in range(1, len(vectors.made) + 1))
    if not 1 <= len(names) <= 5:
        raise ValueError("no vectors, or too many of them")
    claim = _claim(left, relation.op, right, letters, table, _conditions(paper, printed.conditions))
    scalars = replace(claim, domains={n: d for n, d in claim.domains.items() if n not in names})
    decision = decide_step(scalars, names, seed=seed, effort=effort)
    if decision.outcome == "proved":
        decision = where_defined(decision, undefined(scalars, seed, names)[0])
    stands = ", ".join(f"{n} for {to_text(v)}" for n, v in zip(names, vectors.made))
    return decision, f"{to_text(claim.left)} {relation.op} {to_text(claim.right)}, {stands}"


def _vectors(node: tree.Node, letters: Letters, vectors: Letters, table: Written) -> tree.Node:
    """A formula of numbers whose norms and inner products are of combinations of vectors."""
    if isinstance(node, tree.Call) and node.function in ("norm", "dot"):
        return tree.Call(node.function, tuple(_combination(a, letters, vectors, table) for a in node.arguments))
    if isinstance(node, tree.Call | tree.Index | tree.Letter | tree.Number):
        return opaque(node, letters)
    if isinstance(node, tree.MatrixMultiply | tree.Tuple):
        raise ValueError("matrices")
    return rebuild(node, lambda part: _vectors(part, letters, vectors, table))


def _combination(node: tree.Node, letters: Letters, vectors: Letters, table: Written) -> tree.Node:
    """A combination of vectors, each of them a letter.

    Raises
    ------
    ValueError : a part that is no vector, or a matrix in it.
    """
    paper = letters.paper
    match node:
        case tree.Add(terms=terms):
            return tree.Add(tuple(_combination(t, letters, vectors, table) for t in terms))
        case tree.Negate(operand=inner):
            return tree.Negate(_combination(inner, letters, vectors, table))
        case tree.Divide(numerator=top, denominator=bottom):
            return tree.Divide(_combination(top, letters, vectors, table), opaque(bottom, letters))
        case tree.Multiply(factors=factors):
            held = [_is_vector_node(paper, f) for f in factors]
            if held.count(True) != 1:
                raise ValueError("a product that is no multiple of a vector")
            return tree.Multiply(tuple(
                _combination(f, letters, vectors, table) if v else opaque(f, letters)
                for f, v in zip(factors, held)))  # fmt: skip
    if not _is_vector_node(paper, node):
        raise ValueError("a norm of what is no vector")
    if node not in vectors.made:
        vectors.made[node] = f"vector_{len(vectors.made) + 1}"
    return tree.Letter(vectors.made[node])


def _is_vector_node(paper: Paper, node: tree.Node) -> bool:
    """Whether an expression is a vector, by its kinds."""
    match node:
        case tree.Letter(name=name):
            return paper.prints_kind(name) == "vector"
        case tree.Index(base=name):
            return paper.prints_kind(name) == "vector"
        case tree.Call(function="sum", arguments=(body, *_)):
            return _is_vector_node(paper, body)
        case tree.Call():
            return kind_of_call(paper.notation, node) == "vector"
        case tree.Add(terms=terms):
            return all(_is_vector_node(paper, t) for t in terms)
        case tree.Negate(operand=inner):
            return _is_vector_node(paper, inner)
        case tree.Multiply(factors=factors):
            return sum(_is_vector_node(paper, f) for f in factors) == 1
        case tree.Divide(numerator=top):
            return _is_vector_node(paper, top)
        case tree.MatrixMultiply(right=right):
            return _is_vector_node(paper, right)
    return False
