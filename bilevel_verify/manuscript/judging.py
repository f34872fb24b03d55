"""The print layer: a printed relation judged by itself, as the reader reads it.

Nothing is written by hand. The letters have the ranges that the paper gives them, the hypotheses are those of the
statement in which the relation stands (or of whose proof it is a part), its own conditions (``for all k >= 1``) and no
others. What the engines cannot see into (a norm, a value of a function, an entry of a sequence) is a letter that may
have any value of its kind, so that what is proved holds for the object as well. The reverse is not true, and a proof
may use what was said before it: where a counterexample is found the relation is *undecided*, and the reason shows the
point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bilevel_verify.audit.entries.definedness import undefined, where_defined
from bilevel_verify.audit.entries.reading import REAL, Written
from bilevel_verify.audit.entries.steps import decide_step
from bilevel_verify.audit.instances.matrices import shown
from bilevel_verify.audit.scalar.claim import KINDS, Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import to_text, tree
from bilevel_verify.latex import Statement
from bilevel_verify.manuscript.comparing import FLIPPED, Relation, same
from bilevel_verify.manuscript.facts import facts_about
from bilevel_verify.manuscript.fidelity import Paper, relation_text
from bilevel_verify.manuscript.matrices import attacked
from bilevel_verify.manuscript.naming import Naming
from bilevel_verify.manuscript.opaque import FOLDS, Letters, blind, kind_of_call, opaque
from bilevel_verify.manuscript.orders import decide_order
from bilevel_verify.manuscript.proofs.lines import BOOKKEEPING, LOEWNER, Known, derived, difference, lines_before
from bilevel_verify.manuscript.relations import Printed, candidates, defined_before
from bilevel_verify.theorems.card_parts import Domain, Expression, Root
from bilevel_verify.theorems.prescribed import formulas_of
from bilevel_verify.theorems.rewrite import free_letters, has_order, rebuild
from bilevel_verify.theorems.vocabulary import NUMBERS, SCALAR_FUNCTIONS


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the engines say of a printed relation: ``holds`` or ``undecided``, with the reason.

    ``uses`` are the names of printed relations from which it follows; it is undecided as long as they are.
    """

    verdict: str
    reason: str
    text: str
    uses: tuple[str, ...] = ()


class OutOfScope(Exception):
    """A relation that no engine can be asked about; the message is a reason of the closed list of coverage."""


def judge(paper: Paper, printed: Printed, effort: float = 1.0, seed: int = 0) -> Judgement:
    """Judge one printed relation.

    Raises
    ------
    OutOfScope : sets, operators, orders, minimisers: no relation between numbers.
    """
    relation = printed.relation
    ordered = any(has_order(side) for side in (relation.left, relation.right))
    if relation.op in LOEWNER and not printed.goal and not ordered:
        found = _from_lines(paper, printed) or _apart(paper, printed)
        if found is not None:
            return found
    if printed.goal or (relation.op not in FLIPPED and not (ordered and relation.op in LOEWNER)):
        raise OutOfScope("set or operator statement")
    if printed.definition or _is_setting(paper, printed):
        again = _defined_again(paper, printed) if printed.definition else None
        if again is None:
            raise OutOfScope("definition")
        return again
    if ordered:
        return _ordered(paper, printed)
    if _is_range(relation, _table(paper, printed)):
        raise OutOfScope("range or hypothesis")
    if not all(_is_number(paper, side) for side in (relation.left, relation.right)):
        found = _vector_relation(paper, relation) or _from_lines(paper, printed) or _apart(paper, printed)
        if found is None:
            raise OutOfScope("equation between vectors, matrices or sets")
        return found
    alone = _alone(paper, printed, effort, seed)
    if alone.verdict == "holds":
        return alone
    return _from_lines(paper, printed) or _attacked(paper, relation, seed) or alone


def _ordered(paper: Paper, printed: Printed) -> Judgement:
    """A relation with orders: by growth, and by the lines before it.

    Raises
    ------
    OutOfScope : an order inside of what has none, or of what is no number.
    """
    try:
        found = decide_order(paper, printed, _table(paper, printed), lines_before(paper, printed))
    except (ValueError, IndexError, BilevelVerifyError, RecursionError):
        found = None
    if found is None:
        raise OutOfScope("order" if printed.relation.op in FLIPPED else "set or operator statement")
    decision = found.decision
    given = f"; with {', '.join(found.known)}" if found.known else ""
    said = f"{decision.engine}: {decision.certificate}{given}"
    if decision.outcome == "proved" and not found.uses:
        return Judgement("holds", said, found.text)
    if decision.outcome == "proved":
        return Judgement("undecided", f"follows from {', '.join(found.uses)}; {said}", found.text, found.uses)
    if decision.outcome == "refuted":
        said = f"does not follow from the hypotheses of the statement alone: {decision.certificate}"
    return Judgement("undecided", said[:400], found.text)


def _defined_again(paper: Paper, printed: Printed) -> Judgement | None:
    """A symbol that is defined a second time: does the later definition say what the earlier one says?"""
    first = defined_before(paper.read, printed)
    if first is None:
        return None
    again = replace(printed, relation=Relation(first, "==", printed.relation.right), definition=False)
    if all(_is_number(paper, side) for side in (again.relation.left, again.relation.right)):
        return None
    return _vector_relation(paper, again.relation) or _from_lines(paper, again) or _apart(paper, again)


def _attacked(paper: Paper, relation: Relation, seed: int) -> Judgement | None:
    """A relation of matrices alone: how it stood up to instances. Undecided either way: its matrices are special."""
    found = attacked(paper, relation, seed)
    if found is None or not found.attack.instances:
        return None
    attack, stands = found.attack, f"with {found.stands}"
    reason = f"survived {attack.instances} instances, largest ratio {attack.ratio:.6g}; {stands}"
    if attack.refuted:
        at = ", ".join(f"{name} = {value}" for name, value in shown(attack.at).items())
        reason = f"does not hold for all matrices: {at}; {stands}"
    return Judgement("undecided", reason[:400], relation_text(relation))


def _from_lines(paper: Paper, printed: Printed) -> Judgement | None:
    """What follows from what the paper says and from the lines before, if a way was found."""
    found = derived(paper, printed, known_of(paper, printed))
    if found is None:
        return None
    said = "; ".join(s for s in found.sources if s not in BOOKKEEPING) or "algebra"
    reason = f"follows from {', '.join(found.uses)}; {said}" if found.uses else f"derived: {said}"
    return Judgement("undecided" if found.uses else "holds", reason, relation_text(printed.relation), found.uses)


def _apart(paper: Paper, printed: Printed) -> Judgement | None:
    """A relation between vectors or matrices that no step closes: what is left of it if its sides are sums of words."""
    rest = difference(paper, printed, known_of(paper, printed))
    if rest is None:
        return None
    reason = f"no identity by itself, and nothing that is said closes it: the sides differ by {rest}"
    return Judgement("undecided", reason[:400], relation_text(printed.relation))


def _alone(paper: Paper, printed: Printed, effort: float, seed: int) -> Judgement:
    """A relation between numbers by itself, with the hypotheses of its statement."""
    relation, table = printed.relation, _table(paper, printed)
    decision = Decision("undecided", "reading")
    tried = []
    for attempt in (_steps, _scalars) if paper.source.euclidean else (_scalars,):
        for form in dict.fromkeys((relation, _defined(paper, relation))):
            try:
                decision, text = attempt(paper, form, printed, table, effort, seed)
            except (ValueError, IndexError, BilevelVerifyError, RecursionError) as error:
                tried.append(str(error)[:120])
                continue
            if decision.outcome == "proved":
                return Judgement("holds", f"{decision.engine}: {decision.certificate}".strip(": "), text)
    if decision.outcome == "refuted":
        at = ", ".join(f"{n} = {v}" for n, v in decision.point.items())
        return Judgement("undecided", f"does not follow from the hypotheses of the statement alone: {at}"[:400], text)
    if decision.engine == "reading":
        return Judgement(
            "undecided", f"no engine reads it: {tried[0] if tried else 'no value'}", relation_text(relation)
        )
    return Judgement("undecided", f"{decision.engine}: {decision.certificate}".strip(": ")[:400], text)


def _is_setting(paper: Paper, printed: Printed) -> bool:
    """Whether a statement says what a parameter of it is: the card prescribes the same, in the same place."""
    left, entry = printed.relation.left, paper.card.entries.get(printed.formula.statement)
    if printed.relation.op != "==" or printed.formula.in_proof or not isinstance(left, tree.Letter | tree.Index):
        return False
    if entry is None:
        return False
    for name, (definition, _, _) in formulas_of(paper.card, entry, ()).items():
        if paper.naming.printed(tree.Letter(name)) != left or isinstance(definition.value, Root):
            continue
        if same(paper.naming.printed(definition.value.tree), printed.relation.right, paper.usual):
            return True
    return False


def _is_range(relation: Relation, table: Written) -> bool:
    """Whether a relation only says where a letter lives, or is a hypothesis in force: nothing is claimed."""
    whole = tree.Compare((relation.left, relation.right), (relation.op,))
    turned = tree.Compare((relation.right, relation.left), (FLIPPED[relation.op],))
    plain = (tree.Letter, tree.Number, tree.Index)
    bare = all(isinstance(s, plain) for s in (relation.left, relation.right)) and relation.op != "=="
    return bare or whole in table.where or turned in table.where


def _defined(paper: Paper, relation: Relation) -> Relation:
    """The relation with what the print defines written out."""
    return Relation(paper.defined.out(relation.left), relation.op, paper.defined.out(relation.right))


def _table(paper: Paper, printed: Printed) -> Written:
    """Ranges of the letters, definitions that the paper prints, hypotheses of the statement in which a relation stands.

    What the card adds, prescribes or reads into the print has no part in it.
    """
    card = paper.card
    formulas = {
        name: definition.value.tree
        for name, definition in card.definitions.items()
        if definition.printed and not isinstance(definition.value, Root) and not has_order(definition.value.tree)
    }
    domains = {n: spec.domain for n, spec in card.letters.items() if spec.domain is not None and not spec.domain.unread}
    entry = card.entries.get(printed.formula.statement)
    where = tuple(c.tree for c in entry.where if c.origin) if entry is not None else ()
    kept = {n: d for n, d in domains.items() if d.kind in KINDS and n not in formulas}
    return Written(formulas, kept, where)


def known_of(paper: Paper, printed: Printed) -> Known:
    """What is in force where a relation stands, in the names of the print."""
    table, naming = _table(paper, printed), paper.naming
    letter = {n: naming.name(n) for n in paper.card.letters}
    # a letter of the card that stands for something else in the print has nothing to say about a letter of that name
    letter = {n: own for n, own in letter.items() if own != n or not isinstance(naming.trees.get(n), tree.Node)}
    ends = {n: _renamed_ends(d, naming) for n, d in table.domains.items() if n in letter}
    domains = {letter[n]: d for n, d in ends.items()}
    formulas = {letter.get(n, n): naming.printed(node) for n, node in table.formulas.items()}
    plain = {n: body for n, body in paper.defined.letters().items() if n not in formulas and not has_order(body)}
    conditions = [tree.Compare((c.left, c.right), (c.op,)) for c in candidates(printed.conditions) if c.op in FLIPPED]
    return Known({**formulas, **plain}, domains, (*(naming.printed(w) for w in table.where), *conditions))


def _renamed_ends(domain: Domain, naming: Naming) -> Domain:
    low, high = (
        None if e is None else Expression(naming.printed(e.tree), e.text) for e in (domain.lower, domain.upper)
    )
    return replace(domain, lower=low, upper=high)


def _conditions(paper: Paper, statements: tuple[Statement, ...]) -> list[tree.Node]:
    """Conditions printed after a formula, as far as they are comparisons."""
    found: list[tree.Node] = []
    for one in candidates(statements):
        if one.op in FLIPPED:
            found.append(tree.Compare((one.left, one.right), (one.op,)))
    return [paper.naming.of_card(c) for c in found]


def _scalars(
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
        domain = _written_ends(letters.domains.get(name) or table.domains.get(name) or REAL, table)
        domains[name] = domain
        ends = [e.tree for e in (domain.lower, domain.upper) if e is not None]
        pending += sorted(set().union(*(free_letters(e) for e in ends), set()) - NUMBERS - domains.keys())
    kept = tuple(w for w in where if free_letters(w) - NUMBERS <= domains.keys())
    return ScalarClaim(left, op, right, domains, kept)


def _written_ends(domain: Domain, table: Written) -> Domain:
    """A range whose ends have the definitions written out."""
    low, high = (None if e is None else Expression(table.out(e.tree), e.text) for e in (domain.lower, domain.upper))
    return replace(domain, lower=low, upper=high)


def _steps(
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


def _is_number(paper: Paper, node: tree.Node) -> bool:
    """Whether a side is a number, by its values at random points or by its outermost sign."""
    for found in paper.prints.of(node):
        if found is not None:
            return not found.shape
    match node:
        case tree.Call(function=name):
            return name in FOLDS | SCALAR_FUNCTIONS or kind_of_call(paper.notation, node) == "scalar"
        case tree.Letter(name=name) | tree.Index(base=name):
            return paper.prints_kind(name) in ("scalar", "unknown")
        case tree.Add(terms=parts) | tree.Multiply(factors=parts):
            return all(_is_number(paper, p) for p in parts)
        case tree.Negate(operand=part) | tree.Divide(numerator=part) | tree.Power(base=part):
            return _is_number(paper, part)
    return isinstance(node, tree.Number)


def _vector_relation(paper: Paper, relation: Relation) -> Judgement | None:
    """An equation between vectors that is one of trees: the same after what the print defines is written out."""
    from bilevel_verify.manuscript.comparing import plain

    forms = [plain(paper.defined.out(s)) for s in (relation.left, relation.right)]
    if forms[0] == forms[1]:
        return Judgement("holds", "the same after the definitions of the print", relation_text(relation))
    return None
