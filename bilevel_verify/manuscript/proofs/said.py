"""What a paper says in words beside its formulas: assumptions, steps of its algorithms, results that it cites.

``theory/print/KEY.toml`` has them after the formulas::

    [[said]]
    source = "Assumption 2.1 (ii): the gradient of g is L_g-Lipschitz"
    latex = '\\|\\nabla g(x)-\\nabla g(y)\\|\\le L_g\\|x-y\\|'      # or  use = 65, the number of a formula of the print
    any = 'x y'                # letters of the formula that stand for anything of their kind
    within = ["lemma-1"]       # statements and their proofs; left out: the whole paper
    from = 0                   # smallest value of the running letters in ``any``

A result of the paper itself has ``cites``, the number of the formula that states it: it is as good as its verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product, starmap

from bilevel_verify.language import tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.proofs.atoms import ANY, NEGATIVE, NONNEGATIVE, POSITIVE
from bilevel_verify.manuscript.proofs.forms import Forms
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import free_letters, substitute

Bound = tuple[tuple[str, tree.Node], ...]
"""Letters with what is put for them."""
MOST_INSTANCES = 400
OPERATORS = frozenset({"norm", "dual_norm", "dot", "T", "inv", "sum", "max", "min", "sqrt", "abs", "log", "frobenius"})


@dataclass(frozen=True)
class Rule:
    """A relation that is in force, for all values of its letters ``any``; ``line`` is the printed relation it cites.

    ``running`` are those of its letters that are whole numbers from ``least`` on.
    """

    relation: Relation
    any: frozenset[str]
    source: str
    least: int = 0
    line: str = ""
    running: frozenset[str] = frozenset()


def rules_of(paper: Paper, statement: str) -> list[Rule]:
    """What is in force in a statement and in its proof."""
    found: list[Rule] = []
    for said, letters, relations in paper.said:
        if said.within and statement not in said.within:
            continue
        line = f"{said.cites}.1" if said.cites else ""
        for one in relations:
            own = letters & (free_letters(one.left) | free_letters(one.right))
            found.append(Rule(one, own, said.source, said.least, line, own & paper.notation.indices))
    return found


class Pool:
    """Expressions that occur, each once, in order; entries and values of functions also by their names."""

    def __init__(self) -> None:
        self.nodes: dict[tree.Node, None] = {}
        self.named: dict[str, list[tree.Index]] = {}
        self.called: dict[str, list[tree.Call]] = {}

    def add(self, nodes: Iterable[tree.Node]) -> None:
        """More of them."""
        for node in nodes:
            if node not in self.nodes:
                self.nodes[node] = None
                if isinstance(node, tree.Index):
                    self.named.setdefault(node.base, []).append(node)
                elif isinstance(node, tree.Call):
                    self.called.setdefault(node.function, []).append(node)

    def like(self, anchor: tree.Node) -> Sequence[tree.Node]:
        """The entries of the same sequence, or the values of the same function."""
        if isinstance(anchor, tree.Index):
            return self.named.get(anchor.base, ())
        assert isinstance(anchor, tree.Call)
        return self.called.get(anchor.function, ())


def instances(rule: Rule, pool: Pool, forms: Forms) -> Iterator[Relation]:
    """A rule for the objects that occur in a pool of expressions."""
    relation = rule.relation
    if not rule.any:
        yield Relation(tidy(relation.left), relation.op, tidy(relation.right))
        return
    anchors = _anchors(relation, rule.any)
    values: dict[str, dict[tree.Node, None]] = {name: {} for name in sorted(rule.any)}
    for anchor in anchors:
        for node in pool.like(anchor):
            for name, value in _letters_of(anchor, node, rule.any) or ():
                values[name][value] = None
    calls = [a for a in anchors if isinstance(a, tree.Call)]
    asked = [relation.left] if relation.op == "==" and _is_anchor(relation.left) else calls or anchors[:1]
    allowed = cache(lambda name, value: _allowed(name, value, rule, forms))  # once for a letter and a value
    for count, choice in enumerate(product(*values.values())):
        if count >= MOST_INSTANCES:
            return
        bound = tuple(zip(values, choice))
        if all(starmap(allowed, bound)) and all(_put(a, bound) in pool.nodes for a in asked):
            yield Relation(_put(relation.left, bound), relation.op, _put(relation.right, bound))


@lru_cache(maxsize=10_000)
def _anchors(relation: Relation, free: frozenset[str]) -> list[tree.Node]:
    """The entries and values in a relation in which one of its free letters stands, each once."""
    parts = (n for side in (relation.left, relation.right) for n in side.walk() if _is_anchor(n))
    return [a for a in dict.fromkeys(parts) if free_letters(a) & free]


def entry_sign(rules: list[Rule], node: tree.Index, forms: Forms) -> str:
    """What is said of the sign of an entry of a sequence."""
    found = ANY
    for rule in rules:
        left, op, right = rule.relation.left, rule.relation.op, rule.relation.right
        if op not in (">", ">=", "<") or not isinstance(left, tree.Index) or not isinstance(right, tree.Number):
            continue
        bound = _letters_of(left, node, rule.any)
        if bound is None or (right.value > 0 if op == "<" else right.value < 0):
            continue
        if all(_allowed(name, value, rule, forms) for name, value in bound):
            if op in ("<", ">") or right.value > 0:
                return NEGATIVE if op == "<" else POSITIVE
            found = NONNEGATIVE
    return found


def letter_ranges(rules: list[Rule]) -> dict[str, Domain]:
    """Ranges of letters of which a lower end is said that is a number."""
    found = {}
    for rule in rules:
        left, op, right = rule.relation.left, rule.relation.op, rule.relation.right
        if op in (">", ">=") and not rule.any and isinstance(left, tree.Letter) and isinstance(right, tree.Number):
            found[left.name] = Domain(rule.source, "interval", Expression(right, ""), None, op == ">=", False)
    return found


@lru_cache(maxsize=100_000)
def _put(node: tree.Node, bound: Bound) -> tree.Node:
    return tidy(substitute(node, dict(bound)))


@lru_cache(maxsize=100_000)
def tidy(node: tree.Node) -> tree.Node:
    """``x[k + 1 - 1]`` as ``x[k]``: indices that are sums of letters and numbers, in one form."""
    from bilevel_verify.manuscript.comparing import plain
    from bilevel_verify.theorems.rewrite import rebuild

    node = rebuild(node, tidy)
    if isinstance(node, tree.Index):
        return tree.Index(node.base, tuple(_index(i) for i in node.indices))
    return plain(node) if isinstance(node, tree.Add | tree.Multiply | tree.Negate) else node


@lru_cache(maxsize=100_000)
def _index(node: tree.Node) -> tree.Node:
    from bilevel_verify.audit.scalar.linear import linear_form

    form = linear_form(node)
    if form is None:
        return node
    terms: list[tree.Node] = []
    for name, value in sorted(form[1].items()):
        letter = tree.Letter(name)
        terms.append(letter if value == 1 else tree.Multiply((tree.Number(value), letter)))
    if form[0] or not terms:
        terms.append(tree.Number(form[0]))
    return terms[0] if len(terms) == 1 else tree.Add(tuple(terms))


def _is_anchor(node: tree.Node) -> bool:
    return isinstance(node, tree.Index) or (isinstance(node, tree.Call) and node.function not in OPERATORS)


@lru_cache(maxsize=100_000)
def _letters_of(pattern: tree.Node, node: tree.Node, free: frozenset[str]) -> Bound | None:
    """The values of the free letters of a pattern with which it is a tree; None if there are none."""
    bound: dict[str, tree.Node] = {}
    return tuple(bound.items()) if _matches(pattern, node, free, bound) else None


def _matches(pattern: tree.Node, node: tree.Node, free: frozenset[str], bound: dict[str, tree.Node]) -> bool:
    """Whether a tree is the pattern with values for its free letters."""
    match pattern, node:
        case (tree.Letter(name=name), _) if name in free:
            return bound.setdefault(name, node) == node
        case (tree.Index(base=a, indices=one), tree.Index(base=b, indices=other)):
            return a == b and len(one) == len(other) and all(_shifted(p, n, free, bound) for p, n in zip(one, other))
        case (tree.Call(function=a, arguments=one), tree.Call(function=b, arguments=other)):
            if a != b or len(one) != len(other):
                return False
            return all(_matches(p, n, free, bound) for p, n in zip(one, other))
    return pattern == node


def _shifted(pattern: tree.Node, node: tree.Node, free: frozenset[str], bound: dict[str, tree.Node]) -> bool:
    """An index ``k + 1`` against an index: ``k`` is that less one."""
    match pattern:
        case tree.Add(terms=(tree.Letter(name=n) as letter, tree.Number(value=value))) if n in free:
            return _matches(letter, _index(tree.Add((node, tree.signed(-value)))), free, bound)
        case tree.Add(terms=(tree.Letter(name=n) as letter, tree.Negate(operand=tree.Number() as less))) if n in free:
            return _matches(letter, _index(tree.Add((node, less))), free, bound)
    return _matches(pattern, _index(node), free, bound)


def _allowed(name: str, value: tree.Node, rule: Rule, forms: Forms) -> bool:
    """Whether a running letter stays in its range, and a vector is put for a vector."""
    from bilevel_verify.manuscript.proofs import polynomials as p

    if name not in rule.running:
        return forms.kind(value) == forms.kind(tree.Letter(name))
    try:
        rest = p.plus(forms.scalar(value), p.number(-rule.least))
    except ValueError:
        return False
    return not rest or forms.polynomial_sign(rest) != ANY
