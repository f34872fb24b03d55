"""Identities between derivatives, proved for all smooth f and g in all dimensions by implicit differentiation.

The objects (``grad_phi``, ``hess_y_star``, ...) are derived here from their definitions by the chain rule and by
differentiating the optimality conditions of the two lower levels; the printed formula is only read. Both sides become
tensor networks, and equal normal forms are a proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from bilevel_verify.audit.identities import networks
from bilevel_verify.audit.identities.networks import (
    Network,
    NoNetwork,
    ShapeMismatch,
    atom,
    contracted,
    derivative,
    normal,
)
from bilevel_verify.audit.scalar.claim import Decision
from bilevel_verify.language import tree
from bilevel_verify.theorems.card import Identity
from bilevel_verify.theorems.rewrite import substitute

ENGINE = "implicit differentiation"


def prove_identity(entry: Identity) -> Decision:
    """``proved`` if both sides have one normal form; ``undecided`` otherwise (a refutation needs numbers)."""
    definitions = {name: value.tree for name, value in entry.define.items()}
    try:
        _one_place(entry)
        reader = _Reader(definitions)
        left, right = reader.of(entry.left.tree), reader.of(entry.right.tree)
        difference = left.plus(right, Fraction(-1))
        for expand in (False, True):
            if not normal(difference, expand):
                text = "both sides have one normal form for all smooth f and g, in all dimensions"
                return Decision("proved", ENGINE, text)
        return Decision("undecided", ENGINE, "the normal forms differ")
    except (NoNetwork, ShapeMismatch) as reason:
        return Decision("undecided", ENGINE, str(reason))


def _one_place(entry: Identity) -> None:
    """Every function must be taken at one and the same x: networks do not tell two places apart."""
    places = set()
    for side in (entry.left.tree, entry.right.tree, *(value.tree for value in entry.define.values())):
        for part in side.walk():
            if isinstance(part, tree.Call) and part.arguments and part.function not in ("T", "inv", "mode"):
                places.add(part.arguments[0])
    if len(places) > 1 or not all(isinstance(place, tree.Letter) for place in places):
        raise NoNetwork("functions at more than one place")


def jacobians() -> dict[str, Network]:
    """Derivatives of the two lower-level solutions, from ``d/dx grad_y g(x, y_star(x)) = 0`` and the same for L."""
    found = {}
    for point, name in (("star", "g"), ("lam", "L")):
        mixed, inverse = atom(name, point, "xy"), atom(f"inv {name}", point, "yy")
        found[point] = contracted(mixed, 1, inverse, 0).times(Fraction(-1))
    return found


def truths() -> dict[str, Network]:
    """The objects that a printed formula may claim to be, derived from their definitions."""
    chain = jacobians()
    phi = atom("f", "star", "")
    penalty = atom("L", "lam", "").plus(atom("g", "star", "").times(Fraction(-1), 1))
    found = {"phi": phi, "L_star": penalty, "grad_y_star": chain["star"], "grad_y_star_lam": chain["lam"]}
    found["grad_phi"], found["grad_L_star"] = (_tidy(derivative(n, chain)) for n in (phi, penalty))
    found["hess_phi"] = derivative(found["grad_phi"], chain)
    found["hess_L_star"] = derivative(found["grad_L_star"], chain)
    found["hess_y_star"] = derivative(chain["star"], chain)
    found["hess_y_star_lam"] = derivative(chain["lam"], chain)
    return found


def _tidy(network: Network) -> Network:
    """Terms that vanish because a lower level is stationary, left out before the next derivative."""
    return Network(network.axes, tuple(item for item in network.terms if not networks.vanishes(item[2])))


class _Reader:
    """Printed formulas to networks."""

    def __init__(self, definitions: Mapping[str, tree.Node]) -> None:
        self.definitions, self.truths = definitions, truths()

    def of(self, node: tree.Node) -> Network:
        match node:
            case tree.Letter(name=name) if name in self.definitions:
                return self.of(substitute(self.definitions[name], {}))
            case tree.Letter(name=name) if name[:1] in ("x", "y"):
                return atom("point " + name, "letter", name[:1])
            case tree.Add(terms=terms):
                parts = [self.of(t) for t in terms]
                total = parts[0]
                for part in parts[1:]:
                    total = total.plus(part)
                return total
            case tree.Negate(operand=operand):
                return self.of(operand).times(Fraction(-1))
            case tree.Divide(numerator=top, denominator=tree.Number(value=value)) if value:
                return self.of(top).times(1 / value)
            case tree.Multiply(factors=factors):
                return self.product(factors)
            case tree.MatrixMultiply(left=left, right=right):
                one, two = self.of(left), self.of(right)
                return contracted(one, len(one.axes) - 1, two, 0)
            case tree.Call():
                return self.call(node)
        raise NoNetwork(f"{type(node).__name__} in an identity")

    def product(self, factors: tuple[tree.Node, ...]) -> Network:
        number, power, rest = Fraction(1), 0, []
        for factor in factors:
            match factor:
                case tree.Number(value=value):
                    number *= value
                case tree.Letter(name="lam"):
                    power += 1
                case _:
                    rest.append(factor)
        if len(rest) != 1:
            raise NoNetwork("a product of two tensors")
        inner = self.of(rest[0])
        return networks.zero(inner.axes) if not number else inner.times(number, power)

    def call(self, node: tree.Call) -> Network:
        name, arguments = node.function, node.arguments
        if name in self.truths and len(arguments) == 1:
            return self.truths[name]
        if name == "v_star" and len(arguments) == 2:
            point = self.point(arguments[1])
            return contracted(atom("inv g", point, "yy"), 1, atom("f", point, "y"), 0)
        if name == "T" and len(arguments) == 1:
            inner = self.of(arguments[0])
            return inner.moved(tuple(reversed(range(len(inner.axes)))))
        if name == "inv" and len(arguments) == 1:
            return self.inverse(self.of(arguments[0]))
        if name == "mode" and len(arguments) == 3 and isinstance(arguments[1], tree.Number):
            return self.mode(self.of(arguments[0]), int(arguments[1].value) - 1, self.of(arguments[2]))
        return self.oracle(node)

    def oracle(self, node: tree.Call) -> Network:
        """``hess_xy_g(x, y_star(x))`` and its kind."""
        kind, _, rest = node.function.partition("_")
        if len(node.arguments) != 2:
            raise NoNetwork(f"the function {node.function} of {len(node.arguments)} arguments")
        if node.function in ("f", "g"):
            return atom(node.function, self.point(node.arguments[1]), "")
        slots, _, name = rest.partition("_")
        size = {"grad": 1, "hess": 2, "third": 3}.get(kind)
        if size is None or len(slots) != size or set(slots) - {"x", "y"} or name not in ("f", "g", "L"):
            raise NoNetwork(f"the function {node.function}")
        return atom(name, self.point(node.arguments[1]), slots)

    def point(self, node: tree.Node) -> str:
        match node:
            case tree.Call(function="y_star", arguments=(_,)):
                return "star"
            case tree.Call(function="y_star_lam", arguments=(_,)):  # a second one is another penalty parameter
                return "lam"
            case tree.Letter(name=name):
                return "at " + name
        raise NoNetwork("a point that is no solution of a lower level")

    def inverse(self, inner: Network) -> Network:
        if len(inner.terms) == 1:
            coefficient, power, term = inner.terms[0]
            node = term.nodes[0]
            plain = len(term.nodes) == 1 and node.slots == "yy" and node.name in ("g", "L")
            if plain and not power and coefficient:
                return atom(f"inv {node.name}", node.point, "yy").times(1 / coefficient)
        raise NoNetwork("the inverse of a sum or of another matrix")

    def mode(self, tensor: Network, axis: int, matrix: Network) -> Network:
        """The columns of the matrix against one axis; its rows take the place of the axis."""
        if len(matrix.axes) != 2 or not 0 <= axis < len(tensor.axes):
            raise NoNetwork("mode(T, i, A) with an axis or a matrix that is not there")
        joined = contracted(tensor, axis, matrix, 1)
        size = len(tensor.axes)
        order = [*range(axis), size - 1, *range(axis, size - 1)]
        return joined.moved(tuple(order))
