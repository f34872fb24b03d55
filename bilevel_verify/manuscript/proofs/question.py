"""One question: whether a relation is a combination of facts, and what holds where it is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from bilevel_verify.language import tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.proofs import polynomials as p
from bilevel_verify.manuscript.proofs.atoms import ANY, NONNEGATIVE, POSITIVE
from bilevel_verify.manuscript.proofs.deriving import MOST_COLUMNS, Derivation, derive
from bilevel_verify.manuscript.proofs.facts import Fact, atoms_of, facts_about
from bilevel_verify.manuscript.proofs.forms import Forms
from bilevel_verify.manuscript.proofs.polynomials import Polynomial
from bilevel_verify.manuscript.proofs.said import Pool, Rule, entry_sign, instances, letter_ranges, tidy
from bilevel_verify.manuscript.proofs.squares import squares_in
from bilevel_verify.manuscript.proofs.words import Linear, added
from bilevel_verify.manuscript.relations import Printed
from bilevel_verify.theorems.card_parts import Domain, Expression
from bilevel_verify.theorems.rewrite import infinite

WHOLE = Domain("integers 0..", "integers", Expression(tree.Number(Fraction(0)), "0"), None, True, False)
LINE = "line "
NAMED = tree.Index | tree.Letter | tree.Call
LOEWNER = ("psd>=", "psd<=")
WEYL = "M >= -norm(M) I"
HYPOTHESIS = "the hypothesis of the induction"
ROUNDS = 3
FEW_NORMS = 8
"""Norms that are added up where a question is asked in a hurry."""


@dataclass(frozen=True)
class Known:
    """What is in force where a relation stands: in the names of the print.

    ``formulas`` are letters that the paper defines, ``where`` hypotheses, ``domains`` ranges.
    """

    formulas: Mapping[str, tree.Node]
    domains: Mapping[str, Domain]
    where: tuple[tree.Node, ...] = ()


class Question:
    """One relation with everything that may be used for it.

    ``kind`` says of a tree whether it is a scalar, a vector, ...; ``indices`` are the running letters; ``seeds`` are
    formulas whose objects rules are used for beside those of the relation; ``most`` is how many multiples of facts
    are combined.
    """

    def __init__(
        self,
        kind: Callable[[tree.Node], str],
        indices: Iterable[str],
        known: Known,
        rules: list[Rule],
        lines: list[Printed],
        written: bool,
        assumed: tuple[Relation, ...] = (),
        euclidean: bool = True,
        seeds: tuple[tree.Node, ...] = (),
        most: int = MOST_COLUMNS,
    ) -> None:
        self.assumed, self.seeds, self.most = assumed, seeds, most
        self.known, self.rules, self.lines, self.written = known, rules, lines, written
        self.arrays = False
        ranges = dict.fromkeys(indices, WHOLE) | letter_ranges(rules) | dict(known.domains)
        self.forms = Forms(kind, ranges, euclidean=euclidean, expand=written)
        self.forms.entry_sign = lambda node: entry_sign(rules, node, self.forms)

    def answered(self, relation: Relation) -> tuple[str, ...] | None:
        """Sources of a derivation.

        Raises
        ------
        ValueError : a side that has no form here.
        """
        relation = Relation(tidy(relation.left), relation.op, tidy(relation.right))
        pool = self._pool(relation)
        found = self._in_force(pool)
        op = relation.op
        if op in LOEWNER:
            goal, op = self._eigenvalues(relation), "<="
        elif self.forms.kind(relation.left) in ("vector", "matrix", "tensor"):
            return self._of_arrays(relation)
        else:
            left, right = self.forms.scalar(relation.left), self.forms.scalar(relation.right)
            goal = p.plus(right, left, -1)
            if op in (">=", ">"):
                goal = p.plus({}, goal, -1)
        facts = self._facts(found)
        needed = dict(self.forms.needs)
        facts = [*self._near(goal, facts), *squares_in((relation.left, relation.right), self.forms)]
        result = self._shown(goal, op, facts)
        if result is None or self._undefined(needed, result):
            return None
        return (*result, WEYL) if relation.op in LOEWNER else result

    def _eigenvalues(self, relation: Relation) -> Polynomial:
        """What must not be negative for ``A >= B`` in the order of matrices: of ``A - B = s I + M``, ``s - norm(M)``.

        Raises
        ------
        ValueError : sides that are no sums of products of matrices, or a norm that is not the spectral one.
        """
        if not self.forms.euclidean or any(self.forms.kind(s) != "matrix" for s in (relation.left, relation.right)):
            raise ValueError("no matrices with their spectral norm")
        sides = [self.forms.linear(s) for s in (relation.left, relation.right)]
        larger, smaller = sides if relation.op == "psd>=" else sides[::-1]
        rest = added(larger, smaller, p.number(-1))
        shift = rest.pop((), {})
        return p.plus(shift, self.forms.size("norm", rest, "matrix"), -1) if rest else shift

    def rest(self, relation: Relation) -> Linear | None:
        """Left less right of an equation between vectors or matrices, or of their order; None for another relation.

        Raises
        ------
        ValueError : a side that has no form here.
        """
        relation = Relation(tidy(relation.left), relation.op, tidy(relation.right))
        kinds = {self.forms.kind(side) for side in (relation.left, relation.right)}
        if relation.op not in ("==", *LOEWNER) or not kinds <= {"vector", "matrix", "tensor"}:
            return None
        self._in_force(self._pool(relation))
        return added(self.forms.linear(relation.left), self.forms.linear(relation.right), p.number(-1))

    def _shown(self, goal: Polynomial, op: str, facts: list[Fact]) -> tuple[str, ...] | None:
        if op != "==":
            found = derive(goal, facts, self.forms, op in ("<", ">"), self.most) if goal or op in ("<=", ">=") else None
            return None if found is None else found.sources
        ways: list[Derivation] = []
        for sign in (1, -1):
            if goal:
                way = derive(p.plus({}, goal, sign), facts, self.forms, most=self.most)
                if way is None:
                    return None
                ways.append(way)
        return tuple(dict.fromkeys(s for way in ways for s in way.sources))

    def _undefined(self, needs: Mapping[str, tuple[Polynomial, str]], used: tuple[str, ...]) -> bool:
        """Whether something stands under a line or a root of which nobody knows that it may."""
        for value, sign in needs.values():
            own = self.forms.polynomial_sign(value)
            if (sign == POSITIVE and own != POSITIVE) or (sign == NONNEGATIVE and own == ANY):
                return True
        return False

    def _of_arrays(self, relation: Relation) -> tuple[str, ...] | None:
        """An equation between vectors or matrices: the same sum of words."""
        if relation.op != "==":
            return None
        left, right = self.forms.linear(relation.left), self.forms.linear(relation.right)
        rest = added(left, right, p.number(-1))
        if any(self._shown(weight, "==", self._near(weight, self._facts([]))) is None for weight in rest.values()):
            return None
        return None if self._undefined(self.forms.needs, ()) else ("words of vectors and matrices",)

    def _pool(self, relation: Relation) -> Pool:
        nodes = [relation.left, relation.right, *self.seeds]
        nodes += [tidy(s) for r in self.lines for s in (r.relation.left, r.relation.right)]
        nodes += [tidy(s) for r in self.assumed for s in (r.left, r.right)]
        pool = Pool()
        pool.add(part for node in nodes for part in node.walk())
        return pool

    def _in_force(self, pool: Pool) -> list[tuple[Relation, str]]:
        """Instances of the rules for what occurs; equations of vectors become rules of the forms."""
        found: dict[Relation, str] = {}
        for _ in range(ROUNDS):
            fresh: list[tree.Node] = []
            for rule in self.rules:
                for one in instances(rule, pool, self.forms):
                    if one in found:
                        continue
                    found[one] = LINE + rule.line if rule.line else rule.source
                    if one.op == "==":
                        fresh += [n for s in (one.left, one.right) for n in s.walk() if n not in pool.nodes]
            pool.add(fresh)
            if not fresh:
                break
        arrays = {one: s for one, s in found.items() if one.op == "==" and self.forms.kind(one.left) != "scalar"}
        self.arrays = bool(arrays)
        taken = [a for a in arrays if (isinstance(a.left, NAMED) if self.written else _is_zero(a.right))]
        self.forms.take({a.left: a.right for a in taken}, {})
        for one in found:
            if (
                one.op == "=="
                and one not in arrays
                and isinstance(one.left, tree.Index)
                and isinstance(one.right, tree.Add)
            ):
                self.forms.take(self.forms.rules, {p.key(self.forms.scalar(one.right)): self.forms.text(one.left)})
        return [(one, source) for one, source in found.items() if one not in arrays]

    def _facts(self, found: list[tuple[Relation, str]]) -> list[Fact]:
        facts: list[Fact] = []
        every = [*found, *((r.relation, f"{LINE}{r.name}") for r in self.lines)]
        every += [(one, HYPOTHESIS) for one in self.assumed]
        every += [(_compared(c), "a hypothesis") for c in self.known.where if isinstance(c, tree.Compare)]
        for relation, source in every:
            one = self._fact(relation, source)
            if one is not None:
                facts.append(one)
        return facts

    def _fact(self, relation: Relation, source: str) -> Fact | None:
        if relation.op not in tree.MIRRORED:
            return None
        before = dict(self.forms.needs)
        try:
            left, right = (self.forms.scalar(tidy(s)) for s in (relation.left, relation.right))
            value = p.plus(right, left, -1)
        except (ValueError, RecursionError):
            self.forms.needs = before
            return None
        bad = self._undefined({k: v for k, v in self.forms.needs.items() if k not in before}, ())
        self.forms.needs = before
        if bad or not value:
            return None
        if relation.op in (">=", ">"):
            value = p.plus({}, value, -1)
        cost = 20.0 if source.startswith(LINE) else 1.0
        return Fact(value, source, relation.op == "==", relation.op in ("<", ">"), cost)

    def _near(self, goal: Polynomial, facts: list[Fact]) -> list[Fact]:
        """The facts that share an atom with the goal or with each other, and what is always true of their atoms."""
        used = set(atoms_of(goal))
        kept: list[Fact] = []
        for _ in range(ROUNDS):
            kept = [f for f in facts if used & set(atoms_of(f.value))]
            kept += self._defined(used)
            used |= {a for f in kept for a in atoms_of(f.value)}
        shown = tuple(dict.fromkeys(m for q in (goal, *(f.value for f in kept)) for m in q))
        few = None if self.most >= MOST_COLUMNS else FEW_NORMS
        return [*kept, *facts_about(self.forms, atoms_of(goal, *(f.value for f in kept)), shown, few)]

    def _defined(self, used: set[str]) -> list[Fact]:
        """Letters that the paper defines, and the ends of the ranges of letters."""
        found: list[Fact] = []
        for name in sorted(used):
            if name in self.known.formulas:
                one = self._fact(
                    Relation(tree.Letter(name), "==", self.known.formulas[name]), f"the definition of {name}"
                )
                found += [one] if one else []
            domain = self.forms.domains.get(name)
            for end, op, closed in _ends(domain):
                one = self._fact(Relation(tree.Letter(name), op if closed else op[0], end), f"the range of {name}")
                found += [one] if one else []
        return found


def _is_zero(node: tree.Node) -> bool:
    return node in (tree.Letter("zero"), tree.Number(Fraction(0)))


def _compared(node: tree.Compare) -> Relation:
    return Relation(node.operands[0], node.operators[0] if len(node.operators) == 1 else "", node.operands[1])


def _ends(domain: Domain | None) -> list[tuple[tree.Node, str, bool]]:
    if domain is None:
        return []
    whole = domain.kind == "integers"
    found = []
    if domain.lower is not None and not infinite(domain.lower.tree):
        found.append((domain.lower.tree, ">=", whole or domain.lower_closed))
    if domain.upper is not None and not infinite(domain.upper.tree):
        found.append((domain.upper.tree, "<=", whole or domain.upper_closed))
    return found
