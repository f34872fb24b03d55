"""Relations between norms of matrices in a proof, attacked with a letter for each matrix and vector of the print.

The Hessian at ``x`` and the Hessian at ``y`` are two letters. Only relations that are about matrices and vectors alone
are attacked: a constant of the paper would need its hypotheses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bilevel_verify.audit.instances.matrices import Attack, attack
from bilevel_verify.audit.instances.matrices import Relation as OfMatrices
from bilevel_verify.language import to_text, tree
from bilevel_verify.manuscript.comparing import Relation
from bilevel_verify.manuscript.fidelity import Paper
from bilevel_verify.manuscript.opaque import kind_of_node
from bilevel_verify.theorems.rewrite import rebuild

TRIES = 200
MOST = 6
"""Letters in one relation."""
SEEN = frozenset({"norm", "frobenius", "dot", "inv", "T", "sqrt", "max", "min", "abs"})
KINDS = {"matrix": "matrices", "vector": "vectors"}


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an attack found, and what its letters stand for."""

    attack: Attack
    stands: str


def attacked(paper: Paper, relation: Relation, seed: int = 0) -> Attacked | None:
    """Attack a printed inequality; None if it is not one between norms of matrices alone."""
    if relation.op not in tree.MIRRORED or relation.op == "==" or not paper.source.euclidean:
        return None
    letters = _Letters(paper)
    try:
        left, right = letters.of(relation.left), letters.of(relation.right)
    except ValueError:
        return None
    if "matrices" not in {kind.rpartition(" ")[2] for kind in letters.kinds.values()} or len(letters.kinds) > MOST:
        return None
    found = attack(OfMatrices(left, relation.op, right, letters.kinds), TRIES, seed)
    return Attacked(found, ", ".join(f"{name} for {to_text(node)}" for node, name in letters.made.items()))


@dataclass
class _Letters:
    paper: Paper
    made: dict[tree.Node, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def of(self, node: tree.Node) -> tree.Node:
        """The formula with letters for its matrices and vectors.

        Raises
        ------
        ValueError : a number of the paper, or something else that is no matrix and no vector.
        """
        match node:
            case tree.Number():
                return node
            case tree.Call(function=name) if name in SEEN:
                return rebuild(node, self.of)
            case tree.Letter() | tree.Index() | tree.Call():
                return self._letter(node)
            case tree.Add() | tree.Negate() | tree.Multiply() | tree.MatrixMultiply() | tree.Divide():
                return rebuild(node, self.of)
            case tree.Power(base=base, exponent=exponent):
                return tree.Power(self.of(base), exponent)
        raise ValueError(type(node).__name__)

    def _letter(self, node: tree.Node) -> tree.Node:
        kind = kind_of_node(self.paper, node)
        if kind not in KINDS:
            raise ValueError(f"{to_text(node)} is a {kind}")
        if node not in self.made:
            name = f"{kind}_{len(self.made) + 1}"
            self.made[node] = name
            self.kinds[name] = "symmetric matrices" if kind == "matrix" and _symmetric(node) else KINDS[kind]
        return tree.Letter(self.made[node])


def _symmetric(node: tree.Node) -> bool:
    """Whether it is printed as a Hessian, or a block of one with the same variables twice."""
    name = node.function if isinstance(node, tree.Call) else ""
    first, _, rest = name.partition("_")
    return first == "hess" and (rest[:1] == rest[1:2] or "_" not in rest)
