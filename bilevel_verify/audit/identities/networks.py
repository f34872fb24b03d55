"""Tensor networks: derivatives of f, g and L = f + lam g at a point, contracted; equal in all dimensions or not at all.

A network is a sum of terms. A term is a number times a power of ``lam`` times nodes whose slots (of type x or y) are
wired to each other or left open as the axes of the tensor. All slots of one type of a node are interchangeable, because
partial derivatives are symmetric. Rules of the points are applied until nothing changes: the lower level is stationary
at ``star``, the penalised one at ``lam``, and ``inv(hess_yy) @ hess_yy`` is the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

End = tuple[int, int]
"""(node, slot) of a wire's end; node -1 stands for the open axis of that number."""


class NoNetwork(Exception):
    """An expression that is no sum of contracted derivatives (a closed circle of wires, another function ...)."""


class ShapeMismatch(Exception):
    """Axes of different type or number are added or contracted."""


@dataclass(frozen=True, slots=True)
class Node:
    """A derivative: ``name`` is f, g, L, ``inv g`` or ``inv L``, at a named point; one letter x or y for each slot."""

    name: str
    point: str
    slots: str


@dataclass(frozen=True)
class Term:
    """Nodes and wires; every slot and every open axis has exactly one partner."""

    nodes: tuple[Node, ...]
    wires: Mapping[End, End]

    def joined(self, one: End, other: End) -> Term:
        """The open ends ``one`` and ``other`` (axes) contracted with each other."""
        a, b = self.wires[one], self.wires[other]
        wires = {k: v for k, v in self.wires.items() if k not in (one, other)}
        if a == other:
            raise NoNetwork("the trace of an identity")
        return Term(self.nodes, wires | {a: b, b: a})


@dataclass(frozen=True)
class Network:
    """``sum coefficient * lam**power * term``; ``axes`` are the types of the open axes."""

    axes: str
    terms: tuple[tuple[Fraction, int, Term], ...]

    def plus(self, other: Network, factor: Fraction = Fraction(1)) -> Network:
        """Sum with a multiple of another network of the same axes."""
        if self.axes != other.axes:
            raise ShapeMismatch(f"a sum of tensors with the axes {self.axes or 'none'} and {other.axes or 'none'}")
        return replace(self, terms=(*self.terms, *((factor * c, p, t) for c, p, t in other.terms)))

    def times(self, factor: Fraction, power: int = 0) -> Network:
        """A multiple, with a power of ``lam``."""
        return replace(self, terms=tuple((c * factor, p + power, t) for c, p, t in self.terms))

    def moved(self, order: tuple[int, ...]) -> Network:
        """The axes in another order: axis number i of the result is axis ``order[i]``."""
        terms = tuple((c, p, _reordered(t, order)) for c, p, t in self.terms)
        return Network("".join(self.axes[i] for i in order), terms)


def atom(name: str, point: str, slots: str) -> Network:
    """One derivative with all its slots open, in the order of ``slots``."""
    wires: dict[End, End] = {}
    for place in range(len(slots)):
        wires |= {(0, place): (-1, place), (-1, place): (0, place)}
    return Network(slots, ((Fraction(1), 0, Term((Node(name, point, slots),), wires)),))


def zero(axes: str) -> Network:
    """The zero tensor with these axes."""
    return Network(axes, ())


def contracted(left: Network, i: int, right: Network, j: int) -> Network:
    """Axis i of one network with axis j of another; the other axes of ``left`` come first, then those of ``right``."""
    if left.axes[i] != right.axes[j]:
        raise ShapeMismatch(f"a contraction of an axis of {left.axes[i]} with one of {right.axes[j]}")
    size, total = len(left.axes), len(left.axes) + len(right.axes)
    axes = left.axes + right.axes
    kept = [k for k in range(total) if k not in (i, size + j)]
    terms = []
    for a, p, one in left.terms:
        for b, q, two in right.terms:
            both = _side_by_side(one, two, size).joined((-1, i), (-1, size + j))
            terms.append((a * b, p + q, _renumbered(both, {old: new for new, old in enumerate(kept)})))
    return Network("".join(axes[k] for k in kept), tuple(terms))


def derivative(network: Network, jacobians: Mapping[str, Network]) -> Network:
    """Total derivative with respect to x; its axis comes first. ``jacobians`` : derivative of y for each point."""
    total = zero("x" + network.axes)
    for coefficient, power, term in network.terms:
        for place, node in enumerate(term.nodes):
            for piece in _pieces(node, jacobians):
                total = total.plus(_replaced(term, place, piece, network.axes).times(coefficient, power))
    return total


def _pieces(node: Node, jacobians: Mapping[str, Network]) -> Iterator[Network]:
    """Derivative of a single node as networks with the new axis first, then its slots."""
    if node.name.startswith("inv "):
        inner = derivative(atom(node.name[4:], node.point, "yy"), jacobians)
        inverse = atom(node.name, node.point, "yy")
        middle = contracted(inverse, 1, inner, 1)  # y, x, y
        yield contracted(middle, 2, inverse, 0).times(Fraction(-1)).moved((1, 0, 2))
        return
    yield atom(node.name, node.point, "x" + node.slots)
    if node.point not in jacobians:
        raise NoNetwork(f"the derivative at the point {node.point}")
    yield contracted(jacobians[node.point], 1, atom(node.name, node.point, "y" + node.slots), 0)


def _replaced(term: Term, place: int, piece: Network, axes: str) -> Network:
    """A term with one node replaced by a network whose first axis is new."""
    slots = len(term.nodes[place].slots)
    result = []
    for coefficient, power, inner in piece.terms:
        size = len(axes)
        shifted = _side_by_side(term, inner, size)
        wires, nodes = dict(shifted.wires), list(shifted.nodes)
        for slot in range(slots):
            outer, within = wires.pop((place, slot)), wires.pop((-1, size + 1 + slot))
            if outer == (place, slot):
                raise NoNetwork("a circle")
            wires |= {outer: within, within: outer}
            for key, value in list(wires.items()):  # a wire between two slots of the node itself
                if value == (place, slot):
                    wires[key] = within
        kept = Term(tuple(nodes), wires)
        order = {size: 0} | {k: k + 1 for k in range(size)}
        result.append((coefficient, power, _without(_renumbered(kept, order), {place})))
    return Network("x" + axes, tuple(result))


def normal(network: Network, expand: bool = False) -> dict[tuple[int, str], Fraction]:
    """Normal form: (power of lam, canonical text of the term) -> coefficient; empty for zero.

    ``expand`` writes L out as ``f + lam*g`` wherever it is not inverted.
    """
    total: dict[tuple[int, str], Fraction] = {}
    waiting = list(network.terms)
    while waiting:
        coefficient, power, term = waiting.pop()
        changed = _rule(term, expand)
        if changed is not None:
            waiting += [(coefficient * c, power + p, t) for c, p, t in changed]
            continue
        key = (power, canonical(term))
        total[key] = total.get(key, Fraction(0)) + coefficient
    return {key: value for key, value in total.items() if value}


def vanishes(term: Term) -> bool:
    """Whether a term is zero because a lower level is stationary."""
    return _rule(term, False) == []


def _rule(term: Term, expand: bool) -> list[tuple[Fraction, int, Term]] | None:
    """One step of simplification; None where no rule applies."""
    for place, node in enumerate(term.nodes):
        stationary = (node.name, node.point) in (("g", "star"), ("L", "lam"))
        if stationary and node.slots == "y":
            return []
        if (node.name, node.point, node.slots) == ("f", "lam", "y"):
            return [(Fraction(-1), 1, _renamed(term, place, "g"))]
        if node.name.startswith("inv ") and (partner := _cancelling(term, place)) is not None:
            return [(Fraction(1), 0, _cancelled(term, place, *partner))]
    for place, node in enumerate(term.nodes):
        if expand and node.name == "L":
            return [(Fraction(1), 0, _renamed(term, place, "f")), (Fraction(1), 1, _renamed(term, place, "g"))]
    return None


def _cancelling(term: Term, place: int) -> tuple[int, int, int] | None:
    """(slot of the inverse, node, slot there) of a second derivative wired to its own inverse."""
    inverse = term.nodes[place]
    for slot in (0, 1):
        node, other = term.wires[(place, slot)]
        if node >= 0 and term.nodes[node] == Node(inverse.name[4:], inverse.point, "yy"):
            return slot, node, other
    return None


def _cancelled(term: Term, place: int, slot: int, node: int, other: int) -> Term:
    a, b = term.wires[(place, 1 - slot)], term.wires[(node, 1 - other)]
    if a == (node, 1 - other):
        raise NoNetwork("the trace of an identity")
    wires = {k: v for k, v in term.wires.items() if k[0] not in (place, node)}
    return _without(Term(term.nodes, wires | {a: b, b: a}), {place, node})


def _renamed(term: Term, place: int, name: str) -> Term:
    nodes = (*term.nodes[:place], replace(term.nodes[place], name=name), *term.nodes[place + 1 :])
    return Term(nodes, term.wires)


def canonical(term: Term) -> str:
    """A text that two terms share exactly if they are the same network (components without circles)."""
    left, parts = set(range(len(term.nodes))), []
    for axis in sorted(slot for node, slot in term.wires if node == -1):
        end = term.wires[(-1, axis)]
        if end[0] == -1:
            if axis < end[1]:
                parts.append(f"identity({axis},{end[1]})")
        elif end[0] in left:
            seen: set[int] = set()
            parts.append(f"{axis}:{_text(term, end, seen)}")
            left -= seen
    while left:
        start = next(iter(left))
        component = _component(term, start)
        texts = []
        for node in component:
            seen = set()
            texts.append(_text(term, (node, -1), seen))
        parts.append(min(texts))
        left -= component
    return " ".join(sorted(parts))


def _text(term: Term, entered: End, seen: set[int]) -> str:
    place, through = entered
    if place in seen:
        raise NoNetwork("a circle of contractions")
    seen.add(place)
    node = term.nodes[place]
    branches = []
    for slot, kind in enumerate(node.slots):
        if slot != through:
            other = term.wires[(place, slot)]
            branches.append(f"{kind}{other[1]}" if other[0] == -1 else f"{kind}[{_text(term, other, seen)}]")
    entry = node.slots[through] if through >= 0 else ""
    return f"{entry}{node.name}@{node.point}({','.join(sorted(branches))})"


def _component(term: Term, start: int) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        place = waiting.pop()
        for slot in range(len(term.nodes[place].slots)):
            other = term.wires[(place, slot)][0]
            if other >= 0 and other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _shift(term: Term, change: Callable[[End], End]) -> dict[End, End]:
    return {change(a): change(b) for a, b in term.wires.items()}


def _side_by_side(one: Term, two: Term, axes: int) -> Term:
    """Both terms as one; the axes of the second are numbered after the first ``axes``."""
    size = len(one.nodes)

    def change(end: End) -> End:
        return (-1, end[1] + axes) if end[0] == -1 else (end[0] + size, end[1])

    return Term((*one.nodes, *two.nodes), {**one.wires, **_shift(two, change)})


def _renumbered(term: Term, order: Mapping[int, int]) -> Term:
    def change(end: End) -> End:
        return (-1, order[end[1]]) if end[0] == -1 else end

    return Term(term.nodes, _shift(term, change))


def _reordered(term: Term, order: tuple[int, ...]) -> Term:
    return _renumbered(term, {old: new for new, old in enumerate(order)})


def _without(term: Term, gone: set[int]) -> Term:
    """A term without nodes that have no wires left."""
    kept = [i for i in range(len(term.nodes)) if i not in gone]
    places = {old: new for new, old in enumerate(kept)}

    def change(end: End) -> End:
        return end if end[0] == -1 else (places[end[0]], end[1])

    return Term(tuple(term.nodes[i] for i in kept), _shift(term, change))
