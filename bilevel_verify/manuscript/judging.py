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

from bilevel_verify.audit.entries.reading import Written
from bilevel_verify.audit.instances.matrices import shown
from bilevel_verify.audit.scalar.claim import KINDS, Decision
from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.language import tree
from bilevel_verify.manuscript.claims import between_numbers, between_vectors
from bilevel_verify.manuscript.comparing import Relation, same
from bilevel_verify.manuscript.fidelity import Paper, relation_text
from bilevel_verify.manuscript.matrices import attacked
from bilevel_verify.manuscript.opaque import FOLDS, kind_of_call
from bilevel_verify.manuscript.orders import decide_order
from bilevel_verify.manuscript.proofs.lines import BOOKKEEPING, derived, difference, lines_before
from bilevel_verify.manuscript.proofs.question import LOEWNER, Known
from bilevel_verify.manuscript.relations import Printed, candidates, defined_before
from bilevel_verify.theorems.card_parts import Root
from bilevel_verify.theorems.prescribed import formulas_of
from bilevel_verify.theorems.rewrite import has_order
from bilevel_verify.theorems.vocabulary import SCALAR_FUNCTIONS


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
    if printed.goal or (relation.op not in tree.MIRRORED and not (ordered and relation.op in LOEWNER)):
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
        raise OutOfScope("order" if printed.relation.op in tree.MIRRORED else "set or operator statement")
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
    for attempt in (between_vectors, between_numbers) if paper.source.euclidean else (between_numbers,):
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
    turned = tree.Compare((relation.right, relation.left), (tree.MIRRORED[relation.op],))
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
    ends = {n: d.with_ends(naming.printed) for n, d in table.domains.items() if n in letter}
    domains = {letter[n]: d for n, d in ends.items()}
    formulas = {letter.get(n, n): naming.printed(node) for n, node in table.formulas.items()}
    plain = {n: body for n, body in paper.defined.letters().items() if n not in formulas and not has_order(body)}
    between = [c for c in candidates(printed.conditions) if c.op in tree.MIRRORED]
    conditions = [tree.Compare((c.left, c.right), (c.op,)) for c in between]
    return Known({**formulas, **plain}, domains, (*(naming.printed(w) for w in table.where), *conditions))


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
